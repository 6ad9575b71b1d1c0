"""What runs beside the AppWorld engine, in its own Python: only the standard library, `appworld` and this folder's modules are imported."""
