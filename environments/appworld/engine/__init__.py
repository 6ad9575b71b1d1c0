"""Code that runs in the AppWorld engine's own Python: it imports only the standard library, `appworld` and this folder's modules."""
