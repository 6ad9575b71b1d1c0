"""Weakness signals, one file for each kind.

A new signal of this package is a file here with a class that has `detect`, and the hook `coevolve_signals` that returns the class
(forgetting.py is the model). Add its import path to `DEFAULT_PLUGINS` in core/registry.py, and its name to `signals.names` of a recipe in
core/settings/recipes/. A signal of another package needs the hook and an entry point: docs/plugins.md.
"""
