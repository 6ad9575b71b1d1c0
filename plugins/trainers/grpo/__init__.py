"""Trainer "grpo": group-relative policy optimisation on TRL's GRPOTrainer."""

from .trainer import Grpo, GrpoOptions, coevolve_trainers

__all__ = ["Grpo", "GrpoOptions", "coevolve_trainers"]
