"""Executors run the environment in workers outside this process."""
