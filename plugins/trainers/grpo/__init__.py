"""Trainer "grpo": group-relative policy optimisation on TRL's GRPOTrainer."""

from .options import GrpoOptions
from .trainer import Grpo, coevolve_trainers

__all__ = ["Grpo", "GrpoOptions", "coevolve_trainers"]
