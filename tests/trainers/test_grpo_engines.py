"""An engine apart from the model that is trained: it gets the weights, and a run with another policy's rollouts stops."""

import copy
import math
from collections.abc import Callable
from typing import Any

import attrs
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from coevolve import CoevolveError, HasWeights, Trajectory
from coevolve.plugins.policies.scripted import Scripted
from coevolve.plugins.policies.transformers import TransformersOptions, TransformersPolicy
from coevolve.plugins.trainers.grpo import Grpo, GrpoOptions
from coevolve.plugins.trainers.grpo.trl_trainer import Gap


class Copying(TransformersPolicy):
    """Samples from a copy of the live model and takes the live weights when the trainer asks for it."""

    live: Any = None

    def over(self, model: Any) -> "Copying":
        twin = copy.deepcopy(model)
        for module in twin.modules():
            module.__dict__.pop("forward", None)  # accelerate's wrapper, which leads to the original
        other = super().over(twin)
        other.live = model
        return other

    def take_weights(self) -> None:
        self.model.load_state_dict(self.live.state_dict())


class Stale(Copying):
    """Keeps the weights that it began with."""

    def take_weights(self) -> None:
        pass


def weights(trainer: Any) -> list[torch.Tensor]:
    """Of the model that is trained."""
    policy = trainer.policy()
    model = policy.live if isinstance(policy, Copying) else policy.model
    return [weight.detach().clone() for weight in model.parameters()]


@pytest.mark.parametrize("options", [{}, {"lora_rank": 4}, {"num_iterations": 2, "micro_batch": 4}])
def test_an_engine_with_a_copy_of_the_weights_trains_alike(grpo: Callable[..., Any], options: dict[str, Any]) -> None:
    plain, loop = grpo(steps=3, learning_rate=0.02, **options)
    plain.train(loop, None)
    copying, other = grpo(steps=3, learning_rate=0.02, policy=Copying, **options)
    copying.train(other, None)
    assert other.groups == loop.groups and other.metrics == loop.metrics
    assert all(map(torch.equal, weights(plain), weights(copying)))


def test_an_engine_that_misses_an_update_stops_the_run_before_the_next(grpo: Callable[..., Any]) -> None:
    trainer, loop = grpo(steps=4, learning_rate=0.02, policy=Stale)
    kept: list[list[torch.Tensor]] = []
    loop.during = lambda iteration: kept.append(weights(trainer))
    with pytest.raises(CoevolveError, match=r"^iteration 2: .*sampled from another policy.*untouched: resume.*max_gap") as caught:
        trainer.train(loop, None)
    assert "\n" not in str(caught.value)
    assert len(kept) == 1 and all(map(torch.equal, kept[0], weights(trainer)))


def shifted(iteration: int, made: list[Trajectory]) -> list[Trajectory]:
    """The engine claims a log-probability that is 0.25 too low for every second token, and 0.05 for the others."""

    def shift(trajectory: Trajectory) -> Trajectory:
        tokens = trajectory.tokens
        assert tokens is not None
        claimed = [p - (0.25 if n % 2 else 0.05) * m for n, (p, m) in enumerate(zip(tokens.logprobs, tokens.mask, strict=True))]
        return attrs.evolve(trajectory, tokens=attrs.evolve(tokens, logprobs=tuple(claimed)))

    return [shift(trajectory) for trajectory in made]


def test_the_gap_is_measured_and_bounded(grpo: Callable[..., Any]) -> None:
    stopped, loop = grpo(max_gap=0.04)
    loop.change = shifted
    with pytest.raises(CoevolveError, match=r"above max_gap 0\.04"):
        stopped.train(loop, None)
    allowed, loop = grpo(max_gap=0.3)
    loop.change = shifted
    allowed.train(loop, None)
    shifts = [
        (0.25 if n % 2 else 0.05)
        for group in loop.groups[1]
        for t in group.trajectories
        if t.tokens
        for n, own in enumerate(t.tokens.mask)
        if own
    ]
    found = loop.metrics[1]
    rounding = 1e-4  # of float32 log-probabilities, which are rounded differently for each instruction set
    assert found["logprob_gap"] == pytest.approx(sum(shifts) / len(shifts), abs=rounding)
    assert found["logprob_gap_max"] == pytest.approx(0.25, abs=rounding)
    assert found["logprob_ratio"] == pytest.approx(sum(map(math.exp, shifts)) / len(shifts), abs=rounding)


@pytest.mark.parametrize(("dtype", "bound"), [("float32", 0.001), ("bfloat16", 0.1)])
def test_the_bound_follows_the_dtype(grpo: Callable[..., Any], dtype: str, bound: float) -> None:
    trainer, _ = grpo(dtype=dtype)
    assert trainer.largest_gap() == bound
    assert Grpo(GrpoOptions(max_gap=2.0)).largest_gap() == 2.0


def test_who_can_be_trained(tiny: Any, tmp_path: Any) -> None:
    options = TransformersOptions(model=str(tiny.save(tmp_path / "model")))
    assert isinstance(TransformersPolicy(options), HasWeights) and isinstance(Copying(options), HasWeights)
    assert isinstance(TransformersPolicy, HasWeights) and not isinstance(Scripted, HasWeights), "a class is asked, and no file is read"


@given(st.lists(st.lists(st.floats(-5, 5), max_size=6), max_size=5))
def test_a_gap_in_parts_is_the_gap_of_the_whole(parts: list[list[float]]) -> None:
    gap = Gap()
    for part in parts:
        gap = gap.with_tokens(torch.tensor(part, dtype=torch.float64))
    whole = [d for part in parts for d in part]
    assert gap.tokens == len(whole)
    assert gap.mean == pytest.approx(sum(map(abs, whole)) / len(whole) if whole else 0.0)
    assert gap.max == max(map(abs, whole), default=0.0)
    assert gap.ratio == pytest.approx(sum(map(math.exp, whole)) / len(whole) if whole else 1.0)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_difference_that_is_not_finite_makes_the_gap_infinite(value: float) -> None:
    gap = Gap().with_tokens(torch.tensor([0.0, value]))
    assert not gap.mean <= 1e9 and gap.max == math.inf
