"""Samplers: which tasks are trained on next."""
