"""What the trainer maximises, and so which groups of rollouts teach something: those whose rewards differ."""

from collections.abc import Callable

from ..contracts import Trainer
from ..model import RolloutGroup, Trajectory
from ..optional import HasReward

Reward = Callable[[Trajectory], float | None]
"""A rollout's reward; None without a score."""


def score(trajectory: Trajectory) -> float | None:
    """The reward of a trainer that does not say otherwise."""
    return trajectory.score


def reward_of(trainer: Trainer) -> Reward:
    """The trainer's own reward (`optional.HasReward`), else the score."""
    return trainer.reward if isinstance(trainer, HasReward) else score


def is_mixed(group: RolloutGroup, reward: Reward = score) -> bool:
    """Whether the rewards of the group differ, so that its advantages are not all 0."""
    return len({found for trajectory in group.trajectories if (found := reward(trajectory)) is not None}) > 1
