"""Say in words why a run is not learning, and stop one whose environment has broken down."""

from collections import deque
from collections.abc import Sequence

from ..errors import TooManyFaults
from ..model import SUCCESS, Outcome, RolloutGroup
from .rewards import Reward, is_mixed, score


class CircuitBreaker:
    """Raises TooManyFaults when more than `limit` (a share in (0, 1]) of an iteration's rollouts are infrastructure faults."""

    def __init__(self, limit: float) -> None:
        self._limit = limit

    def check(self, groups: Sequence[RolloutGroup]) -> None:
        rollouts = [t for group in groups for t in group.trajectories]
        faults = [t for t in rollouts if t.outcome is Outcome.INFRASTRUCTURE_FAULT]
        if rollouts and len(faults) / len(rollouts) > self._limit:
            share = f"{len(faults)} of {len(rollouts)} rollouts were infrastructure faults (limit {self._limit:.0%})"
            raise TooManyFaults(f"{share}; the first: {faults[0].fault}")


class StallNotice:
    """Notices `patience` iterations in a row in which no group held unequal rewards: then every advantage is 0 and nothing is learnt."""

    def __init__(self, patience: int, reward: Reward = score) -> None:
        self._reward = reward
        self._means: deque[list[float]] = deque(maxlen=patience)
        self._patience = patience

    def seen(self, groups: Sequence[RolloutGroup]) -> str | None:
        """The diagnosis, once each time that the patience has run out."""
        if any(is_mixed(group, self._reward) for group in groups):
            self._means.clear()
            return None
        self._means.append([group.mean for group in groups if group.mean is not None])
        if len(self._means) < self._patience:
            return None
        means = [mean for row in self._means for mean in row]
        self._means.clear()
        text = f"no learning signal for {self._patience} iterations: the K rollouts of every task scored the same"
        if not means:
            return text + ", none has a score (only infrastructure faults)"
        if all(mean < SUCCESS for mean in means):
            return (
                text + ", all failed: the tasks are too hard for this policy, or its calls are not understood; look at `coevolve show RUN`"
            )
        if all(mean >= SUCCESS for mean in means):
            return text + ", all succeeded: the tasks are too easy; evolve more often, or take harder ones"
        return text + ", some always succeed and some always fail: raise rollouts (K) or the temperature"
