"""Synthesizers: explore the environment and make tasks of what they find."""
