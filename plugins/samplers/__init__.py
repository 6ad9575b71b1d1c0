"""Samplers choose the tasks of the next batch."""
