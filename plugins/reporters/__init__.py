"""Reporters are observers that print a run's progress."""
