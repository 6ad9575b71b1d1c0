"""Validators decide which candidate tasks join the pool."""
