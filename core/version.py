"""The version of the package; pyproject.toml holds the same, and a test compares them."""

__version__ = "0.1.0"
