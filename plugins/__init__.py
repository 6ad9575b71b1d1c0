"""Default plugins that are neither environments, signals nor synthesizers: trainers, validators, samplers, policies, reporters."""
