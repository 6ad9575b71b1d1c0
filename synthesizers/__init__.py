"""Synthesizers explore the environment and make candidate tasks of what they find."""
