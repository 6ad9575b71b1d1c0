"""Policies: inference engines."""
