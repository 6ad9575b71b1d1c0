"""From trajectories to the training batch: tokens stay as sampled, faults carry no loss, errors name their cause."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import attrs
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from coevolve import CoevolveError, Outcome, Tokens, Trajectory, UserError
from coevolve.plugins.policies.scripted import Scripted, ScriptedOptions
from coevolve.plugins.trainers.grpo import Grpo, GrpoOptions
from coevolve.plugins.trainers.grpo.trl_trainer import rows_for_trl


def unpadded(batches: list[dict[str, Any]]) -> Counter[tuple[Any, ...]]:
    found: Counter[tuple[Any, ...]] = Counter()
    for batch in batches:
        for n in range(len(batch["advantages"])):
            prompt = batch["prompt_ids"][n][batch["prompt_mask"][n].bool()].tolist()
            real = batch["completion_mask"][n].bool()
            parts = (batch[name][n][real].tolist() for name in ("completion_ids", "tool_mask", "sampling_per_token_logps"))
            found[(tuple(prompt), *(tuple(part) for part in parts))] += 1
    return found


def as_float32(values: tuple[float, ...]) -> tuple[float, ...]:
    return tuple(torch.tensor(values, dtype=torch.float32).tolist())


def test_trained_tokens_are_the_sampled_ones(grpo: Callable[..., Any], seen: list[Any]) -> None:
    trainer, loop = grpo(batch=30, rollouts=8, micro_batch=40)
    trainer.train(loop, None)
    trajectories = [t for group in loop.groups[1] for t in group.trajectories]
    assert len(trajectories) == 240 and len({t.tokens.completion_ids for t in trajectories}) > 200
    expected: Counter[tuple[Any, ...]] = Counter()
    for trajectory in trajectories:
        tokens = trajectory.tokens
        expected[(tokens.prompt_ids, tokens.completion_ids, tokens.mask, as_float32(tokens.logprobs))] += 1
        # the mask covers what the policy said: its texts are the decoded own tokens, in order
        said = " ".join(m["content"] for m in trajectory.messages if m["role"] == "assistant").split()
        own = [token for token, mask in zip(tokens.completion_ids, tokens.mask, strict=True) if mask]
        assert trainer.policy().tokenizer.decode(own, skip_special_tokens=True).split() == said
    assert unpadded(seen) == expected


tokens = st.integers(1, 4).flatmap(
    lambda size: st.builds(
        Tokens,
        st.lists(st.integers(3, 40), min_size=1, max_size=3).map(tuple),
        st.lists(st.integers(3, 40), min_size=size, max_size=size).map(tuple),
        st.lists(st.integers(0, 1), min_size=size, max_size=size).map(tuple),
        st.lists(st.floats(-9, 0), min_size=size, max_size=size).map(tuple),
    )
)


@given(st.lists(st.tuples(st.none() | tokens | st.just(Tokens((5,), (), (), ())), st.none() | st.floats(0, 1)), min_size=1, max_size=6))
def test_rows_hold_the_sampled_tokens_and_faults_are_masked(pairs: list[tuple[Tokens | None, float | None]]) -> None:
    rows = rows_for_trl([t for t, _ in pairs], [s for _, s in pairs], pad=0)
    for n, (sampled, score) in enumerate(pairs):
        ids, mask, logps = rows["completion_ids"][n], rows["env_mask"][n], rows["logprobs"][n]
        assert len(ids) == len(mask) == len(logps) >= 1 and rows["prompt_ids"][n] and rows["score"][n] == score
        if sampled is None or not sampled.completion_ids:
            assert (ids, mask, logps) == ([0], [0], [0.0])
        else:
            assert (tuple(ids), tuple(logps)) == (sampled.completion_ids, sampled.logprobs)
            assert tuple(mask) == (sampled.mask if score is not None else (0,) * len(sampled.mask))


def broken(trajectory: Trajectory, tokens: Tokens | None) -> Trajectory:
    return attrs.evolve(trajectory, outcome=Outcome.INFRASTRUCTURE_FAULT, score=None, fault="step: OSError: gone", tokens=tokens)


def test_infrastructure_faults_leave_the_other_six_alone(grpo: Callable[..., Any], seen: list[Any]) -> None:
    scores = [1.0, 0.0, 0.0, 1.0, 1.0, 0.25, 0.5, 0.5]

    def change(iteration: int, made: list[Trajectory]) -> list[Trajectory]:
        made = [attrs.evolve(t, score=s) for t, s in zip(made, scores, strict=True)]
        return [*made[:6], broken(made[6], made[6].tokens), broken(made[7], None)]

    trainer, loop = grpo(batch=1, rollouts=8)
    loop.change = change
    trainer.train(loop, None)
    good = torch.tensor(scores[:6])
    expected = [*((good - good.mean()) / (good.std() + 1e-4)).tolist(), 0.0, 0.0]
    assert sorted(seen[0]["advantages"].tolist()) == pytest.approx(sorted(expected), abs=1e-5)
    sampled = [t.tokens for t in loop.groups[1][0].trajectories]
    trained = int((seen[0]["completion_mask"] * seen[0]["tool_mask"]).sum())
    assert trained == sum(sum(t.mask) for t in sampled[:6]) == int(loop.metrics[1]["trained_tokens"]) == int(seen[0]["num_items_in_batch"])
    assert loop.metrics[1]["reward"] == pytest.approx(good.mean().item(), rel=1e-5)


@pytest.mark.parametrize("weight", [0.0, 0.5])
def test_progress_is_part_of_the_reward_where_a_weight_says_so(grpo: Callable[..., Any], seen: list[Any], weight: float) -> None:
    progress = [0.0, 0.25, 0.5, None]

    def change(iteration: int, made: list[Trajectory]) -> list[Trajectory]:
        return [attrs.evolve(t, score=0.0, progress=p) for t, p in zip(made, progress, strict=True)]

    trainer, loop = grpo(batch=1, rollouts=4, progress_weight=weight)
    loop.change = change
    trainer.train(loop, None)
    rewards = torch.tensor([weight * (p or 0.0) for p in progress])
    expected = (rewards - rewards.mean()) / (rewards.std() + 1e-4)
    assert sorted(seen[0]["advantages"].tolist()) == pytest.approx(sorted(expected.tolist()), abs=1e-4)
    assert (loop.metrics[1]["zero_advantage_groups"] == 0.0) == (weight > 0.0)
    assert all(t.score == 0.0 for t in loop.groups[1][0].trajectories), "the score stays what it is"


def test_without_a_weight_progress_changes_nothing_bit_for_bit(grpo: Callable[..., Any], seen: list[Any]) -> None:
    found = []
    for known in (None, 0.3):
        trainer, loop = grpo(batch=2, rollouts=4, steps=2)
        loop.change = lambda iteration, made, known=known: [attrs.evolve(t, progress=known) for t in made]
        trainer.train(loop, None)
        found.append({name: weight.clone() for name, weight in trainer.policy().model.state_dict().items()})
    assert all(torch.equal(found[0][name], found[1][name]) for name in found[0])


def test_nothing_to_train_on_names_the_cause(grpo: Callable[..., Any]) -> None:
    trainer, loop = grpo()
    loop.change = lambda iteration, made: [broken(t, None) for t in made]
    with pytest.raises(CoevolveError, match=r"1 has no token to train on: 8 of 8 .* infrastructure faults \(step: OSError: gone\)$"):
        trainer.train(loop, None)
    trainer, loop = grpo()
    loop.change = lambda iteration, made: [attrs.evolve(t, tokens=Tokens((3,), (), (), ())) for t in made]
    with pytest.raises(CoevolveError, match=r"0 of 8 .*; the others had no room for a completion: raise policy\.max_context"):
        trainer.train(loop, None)


def test_a_group_with_a_missing_rollout_is_refused(grpo: Callable[..., Any]) -> None:
    trainer, loop = grpo()
    loop.change = lambda iteration, made: made[:-1]
    with pytest.raises(CoevolveError, match=r"2 groups of 4 rollouts were due, these came: \[4, 3\]"):
        trainer.train(loop, None)


def test_the_loss_uses_the_temperature_of_sampling(grpo: Callable[..., Any]) -> None:
    trainer, loop = grpo(temperature=0.7)
    trainer.train(loop, None)
    assert loop.metrics[1]["logprob_gap"] < 1e-4


def test_policies_and_numbers_that_cannot_be_trained_are_refused(grpo: Callable[..., Any], tmp_path: Any) -> None:
    from types import SimpleNamespace

    run: Any = SimpleNamespace(seed=0, steps=1, batch=2, rollouts=4, folder=tmp_path, planned=False)
    with pytest.raises(UserError, match=r"policy 'scripted' cannot be trained .*no token ids.*tokenised again"):
        Grpo(GrpoOptions()).setup(Scripted(ScriptedOptions()), run)
    with pytest.raises(UserError, match="set it to at least 2"):
        grpo(rollouts=1)
    with pytest.raises(UserError, match="micro_batch 3 does not divide the 8 rows"):
        grpo(micro_batch=3)
    with pytest.raises(UserError, match="did you mean 'constant'"):
        Grpo(GrpoOptions(schedule="constnat"))
    with pytest.raises(ValueError, match="num_iterations"):
        GrpoOptions(num_iterations=0)
