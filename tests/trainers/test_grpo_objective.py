"""The loss against the formula, computed here row by row from plain logits."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from coevolve.plugins.trainers.grpo.objective import group_scale
from coevolve.plugins.trainers.grpo.trl_trainer import by_length, distinct_rows


def rows_of(batch: dict[str, Any]) -> list[dict[str, Any]]:
    """The micro-batch without padding: per row ids, positions in them that the policy wrote, and what belongs to those."""
    rows = []
    for n in range(len(batch["advantages"])):
        prompt = batch["prompt_ids"][n][batch["prompt_mask"][n].bool()].tolist()
        real = batch["completion_mask"][n].bool()
        own = (batch["completion_mask"][n] * batch["tool_mask"][n]).bool()
        row = {"prompt": prompt, "ids": prompt + batch["completion_ids"][n][real].tolist(), "advantage": batch["advantages"][n].item()}
        row["own"] = [len(prompt) + j for j in own.nonzero().flatten().tolist()]
        row["sampled"] = batch["sampling_per_token_logps"][n][own]
        row["old"] = batch["old_per_token_logps"][n][own] if "old_per_token_logps" in batch else None
        rows.append(row)
    return rows


def plain_logps(model: Any, row: dict[str, Any]) -> torch.Tensor:
    with torch.no_grad():
        logp = model(torch.tensor([row["ids"]])).logits[0].double().log_softmax(dim=-1)
    return torch.stack([logp[n - 1, row["ids"][n]] for n in row["own"]]) if row["own"] else torch.zeros(0, dtype=torch.float64)


def formula(batches: list[dict[str, Any]], model: Any, reference: Any, epsilon: float, beta: float) -> tuple[float, int]:
    """(loss, clipped tokens) of one optimiser step: -(1/N) sum CLIP(r, A) + beta (1/N) sum (exp(d) - d - 1)."""
    total, count, clipped = 0.0, 0, 0
    for row in (row for batch in batches for row in rows_of(batch)):
        new = plain_logps(model, row)
        old = new if row["old"] is None else row["old"].double()
        ratio, a = (new - old).exp(), row["advantage"]
        bound = ratio.clamp(1 - epsilon, 1 + epsilon)
        d = plain_logps(reference, row) - new
        total += (-torch.minimum(ratio * a, bound * a) + beta * (d.exp() - d - 1)).sum().item()
        count += len(row["own"])
        clipped += int(((ratio * a) > (bound * a)).sum())
    return total / count, clipped


@pytest.mark.parametrize("beta", [0.0, 0.2])
@pytest.mark.parametrize("micro_batch", [0, 4])
def test_one_step_is_the_formula(grpo: Callable[..., Any], tiny: Any, seen: list[Any], beta: float, micro_batch: int) -> None:
    trainer, loop = grpo(batch=3, steps=2, beta=beta, micro_batch=micro_batch, learning_rate=0.01)
    trainer.train(loop, None)
    parts = 3 if micro_batch else 1
    assert len(seen) == 2 * parts
    for iteration in (1, 2):  # the second has weights that differ from the reference's
        batches = seen[(iteration - 1) * parts : iteration * parts]
        model = tiny.model()
        model.load_state_dict(batches[0]["weights"])
        expected, clipped = formula(batches, model, tiny.model(), 0.2, beta)
        assert clipped == 0
        assert sum(batch["loss"] for batch in batches) == pytest.approx(expected, abs=1e-5)
        assert loop.metrics[iteration]["loss"] == pytest.approx(expected, abs=1e-5)
        assert ("kl" in loop.metrics[iteration]) == (beta > 0)
        assert loop.metrics[iteration]["logprob_gap"] < 1e-4
        assert loop.metrics[iteration]["trained_tokens"] == sum(len(row["own"]) for batch in batches for row in rows_of(batch))


def test_clipping_acts_on_later_steps_of_a_batch(grpo: Callable[..., Any], tiny: Any, seen: list[Any]) -> None:
    trainer, loop = grpo(batch=2, steps=1, num_iterations=3, epsilon=0.05, beta=0.3, learning_rate=5e-4)
    trainer.train(loop, None)
    assert len(seen) == 3 and list(loop.groups) == list(loop.metrics) == [1]
    total = []
    for n, batch in enumerate(seen):
        model = tiny.model()
        model.load_state_dict(batch["weights"])
        expected, clipped = formula([batch], model, tiny.model(), 0.05, 0.3)
        assert batch["loss"] == pytest.approx(expected, rel=1e-5, abs=1e-5)
        assert (clipped > 0) == (n > 0)
        total.append(batch["loss"])
    assert loop.metrics[1]["loss"] == pytest.approx(sum(total) / 3, rel=1e-5)
    assert loop.metrics[1]["clip_ratio"] > 0
    assert loop.metrics[1]["logprob_gap"] < 1e-4


def test_advantages_are_relative_to_the_group(grpo: Callable[..., Any], seen: list[Any]) -> None:
    trainer, loop = grpo(batch=3, rollouts=5)
    trainer.train(loop, None)
    expected = []
    for group in loop.groups[1]:
        scores = torch.tensor(group.scores, dtype=torch.float64)
        for trajectory, advantage in zip(group.trajectories, (scores - scores.mean()) / (scores.std() + 1e-4), strict=True):
            tokens = trajectory.tokens
            expected.append(([*tokens.prompt_ids, *tokens.completion_ids], advantage.item()))
    found = [(row["ids"], row["advantage"]) for row in rows_of(seen[0])]
    for (ids, advantage), (expected_ids, expected_advantage) in zip(sorted(found), sorted(expected), strict=True):
        assert ids == expected_ids and advantage == pytest.approx(expected_advantage, abs=1e-5)


def test_exact_normaliser_is_the_mean_of_the_tasks_own_objectives(grpo: Callable[..., Any], tiny: Any, seen: list[Any]) -> None:
    trainer, loop = grpo(batch=3, rollouts=4, beta=0.0, exact_group_normaliser=True)
    trainer.train(loop, None)
    objectives = []
    for group in loop.groups[1]:
        scores = torch.tensor(group.scores, dtype=torch.float64)
        advantages = (scores - scores.mean()) / (scores.std() + 1e-4)
        tokens = [sum(t.tokens.mask) for t in group.trajectories]
        objectives.append(sum(n * a.item() for n, a in zip(tokens, advantages, strict=True)) / sum(tokens))
    assert len({sum(sum(t.tokens.mask) for t in group.trajectories) for group in loop.groups[1]}) > 1
    assert seen[0]["loss"] == pytest.approx(-sum(objectives) / 3, abs=1e-5)


@given(st.integers(1, 5), st.integers(2, 4), st.data())
def test_the_group_scale_gives_each_group_its_own_normaliser(groups: int, rollouts: int, data: st.DataObject) -> None:
    tokens = data.draw(st.lists(st.integers(0, 50), min_size=groups * rollouts, max_size=groups * rollouts))
    scale = group_scale(torch.tensor(tokens), rollouts).tolist()
    sums = [sum(tokens[g * rollouts : (g + 1) * rollouts]) for g in range(groups)]
    alive = sum(s > 0 for s in sums)
    for g, own in enumerate(sums):
        expected = sum(sums) / (alive * own) if own else 0.0
        assert scale[g * rollouts : (g + 1) * rollouts] == pytest.approx([expected] * rollouts, rel=1e-5)


def test_micro_batches_hold_rows_of_like_length_and_all_of_each() -> None:
    generator = torch.Generator().manual_seed(0)
    prompts, completions = (torch.randint(1, 9, (4, 6), generator=generator) for _ in range(2))
    batches = [
        {
            "prompt_mask": torch.arange(9) >= 9 - prompts[n][:, None],
            "completion_mask": torch.arange(9) < completions[n][:, None],
            "advantages": torch.arange(6) + 6 * n,
            "num_items_in_batch": torch.tensor(77),
            "ref_per_token_logps": None,
        }
        for n in range(4)
    ]
    made = by_length(batches)
    assert by_length(batches[:1]) == batches[:1]
    lengths = [(b["prompt_mask"].sum(1) + b["completion_mask"].sum(1)).tolist() for b in made]
    flat = [length for part in lengths for length in part]
    assert [len(part) for part in lengths] == [6] * 4 and flat == sorted(flat, reverse=True)
    rows = torch.cat([b["advantages"] for b in made])
    assert sorted(rows.tolist()) == list(range(24))
    for name, sizes in (("prompt_mask", prompts), ("completion_mask", completions)):
        assert torch.equal(torch.cat([b[name] for b in made]).sum(1), sizes.flatten()[rows])
    assert all(b["num_items_in_batch"] == 77 and b["ref_per_token_logps"] is None for b in made)


@given(st.lists(st.tuples(st.lists(st.integers(0, 2), min_size=3, max_size=3), st.booleans()), min_size=1, max_size=12))
def test_rows_are_equal_only_when_all_their_columns_are(rows: list[tuple[list[int], bool]]) -> None:
    ids, scored = torch.tensor([row for row, _ in rows]), torch.tensor([[mask] for _, mask in rows])
    firsts, row_of = distinct_rows(ids, scored)
    assert torch.equal(ids[firsts][row_of], ids) and torch.equal(scored[firsts][row_of], scored)
    assert len(firsts) == len({(*row, mask) for row, mask in rows})
