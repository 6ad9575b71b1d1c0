"""Worlds in which tasks are carried out, one package each."""
