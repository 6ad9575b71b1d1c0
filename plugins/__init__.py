"""Default plugins besides environments, signals and synthesizers: trainers, validators, samplers, policies, executors, reporters."""
