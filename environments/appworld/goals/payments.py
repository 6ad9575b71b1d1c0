"""Goals about money between friends (Venmo)."""
