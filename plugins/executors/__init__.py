"""Executors: they run the environment in workers outside of this process."""
