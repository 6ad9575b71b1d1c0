"""Reporters: observers that show a run."""
