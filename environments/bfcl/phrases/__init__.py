"""Phrases of the benchmark's functions, one module for each class; realizer.py says how they are used."""
