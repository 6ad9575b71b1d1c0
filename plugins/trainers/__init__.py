"""Trainers: how the policy is updated."""
