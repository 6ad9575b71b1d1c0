"""Who does the environment's work, where it is not this process."""
