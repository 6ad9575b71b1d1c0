"""Weakness signals, one file for each kind."""
