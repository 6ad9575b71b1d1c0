"""Goals about notes (Simple Note)."""
