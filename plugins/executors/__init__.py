"""Where the environment's work is done."""
