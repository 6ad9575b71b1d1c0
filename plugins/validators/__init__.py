"""Validators: the pool's door."""
