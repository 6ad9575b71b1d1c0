"""Weakness signals, one file each."""
