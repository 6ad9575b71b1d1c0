"""Goals over several apps."""
