"""Whole runs of the trainer: learning, resuming, saving, stopping."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import attrs
import pytest
import torch

from coevolve import CoevolveError, Sampling, Task, Trajectory, UserError
from coevolve.plugins.policies.transformers import TransformersOptions, TransformersPolicy
from coevolve.plugins.trainers.grpo import Grpo, GrpoOptions


def weights(trainer: Any) -> dict[str, torch.Tensor]:
    return {name: weight.clone() for name, weight in trainer.policy().model.state_dict().items()}


def moments(checkpoint: Path) -> list[torch.Tensor]:
    """What AdamW keeps between two steps, as it stands in a checkpoint."""
    state = torch.load(checkpoint / "optimizer.pt")["state"]
    return [state[n][name] for n in sorted(state) for name in ("step", "exp_avg", "exp_avg_sq")]


@pytest.mark.parametrize("options", [{}, {"num_iterations": 2, "micro_batch": 4, "schedule": "cosine", "warmup": 2}, {"lora_rank": 4}])
def test_a_resumed_run_ends_bit_for_bit_like_a_whole_one(grpo: Callable[..., Any], tmp_path: Path, options: dict[str, Any]) -> None:
    whole, loop = grpo(steps=6, **options)
    loop.checkpoints = {3, 6}
    whole.train(loop, None)
    expected = moments(loop.committed[1][1])

    again, resumed = grpo(steps=6, **options)
    resumed.iteration = 3
    torch.manual_seed(77)
    again.train(resumed, loop.committed[0][1])
    assert list(resumed.metrics) == [4, 5, 6]
    for iteration in (4, 5, 6):
        assert resumed.groups[iteration] == loop.groups[iteration]
        assert resumed.metrics[iteration] == loop.metrics[iteration]
    assert weights(again).keys() == weights(whole).keys()
    assert all(torch.equal(weight, weights(again)[name]) for name, weight in weights(whole).items())
    assert expected and all(map(torch.equal, expected, moments(resumed.committed[0][1])))


@pytest.mark.parametrize("options", [{}, {"lora_rank": 4}])
def test_a_finished_run_that_is_resumed_gives_the_trained_policy(grpo: Callable[..., Any], tmp_path: Path, options: dict[str, Any]) -> None:
    whole, loop = grpo(steps=2, learning_rate=0.01, **options)
    whole.train(loop, None)
    whole.save_policy(tmp_path / "first")
    again, resumed = grpo(steps=2, learning_rate=0.01, **options)
    again.save_policy(tmp_path / "untrained")
    resumed.iteration = 2
    again.train(resumed, loop.committed[0][1])
    again.save_policy(tmp_path / "second")
    assert resumed.groups == {}
    saved = {name: (tmp_path / name / "model.safetensors").read_bytes() for name in ("first", "second", "untrained")}
    assert saved["second"] == saved["first"] != saved["untrained"]


def test_the_policy_learns_what_is_rewarded(grpo: Callable[..., Any]) -> None:
    trainer, loop = grpo(batch=4, rollouts=8, steps=10, learning_rate=0.02, beta=0.01)

    def change(iteration: int, made: list[Trajectory]) -> list[Trajectory]:
        def share(t: Trajectory) -> float:
            words: list[str] = [word for m in t.messages if m["role"] == "assistant" for word in m["content"].split()]
            return sum(word < "w2" for word in words) / max(1, len(words))

        return [attrs.evolve(t, score=share(t)) for t in made]

    loop.change = change
    trainer.train(loop, None)
    rewards = [loop.metrics[iteration]["reward"] for iteration in range(1, 11)]
    assert sum(rewards[-3:]) / 3 > sum(rewards[:3]) / 3 + 0.2
    assert loop.metrics[10]["kl"] > loop.metrics[1]["kl"] == pytest.approx(0.0, abs=1e-6)
    for metrics in loop.metrics.values():
        assert {"loss", "kl", "reward", "grad_norm", "entropy", "clip_ratio", "logprob_gap", "trained_tokens"} <= metrics.keys()


def test_lora_trains_adapters_and_saves_a_whole_model(grpo: Callable[..., Any], tiny: Any, tmp_path: Path) -> None:
    trainer, loop = grpo(steps=2, lora_rank=4, lora_targets=("q_proj", "v_proj"), learning_rate=0.05)
    trainer.train(loop, None)
    trained = {name for name, weight in trainer.policy().model.named_parameters() if weight.requires_grad}
    assert trained and all("lora" in name and ("q_proj" in name or "v_proj" in name) for name in trained)
    assert loop.metrics[1]["kl"] == pytest.approx(0.0, abs=1e-6) and loop.metrics[2]["kl"] > 1e-3
    trainer.save_policy(tmp_path / "policy")
    assert_same_text(trainer.policy(), tmp_path / "policy")
    assert any("lora" in name for name in weights(trainer))  # saving merged a copy only


def assert_same_text(live: Any, folder: Path) -> None:
    saved = TransformersPolicy(TransformersOptions(model=str(folder)))
    talks = [p.begin(Task("t", "none", "q"), [{"role": "user", "content": "w1 w2 w3"}], None, 0) for p in (live, saved)]
    texts = [p.complete([talk], Sampling(1.0, 12, 3)) for p, talk in zip((live, saved), talks, strict=True)]
    assert texts[0] == texts[1] and talks[0].ids == talks[1].ids
    assert talks[0].logprobs == pytest.approx(talks[1].logprobs, abs=1e-4)


def test_the_saved_policy_is_the_trained_one(grpo: Callable[..., Any], tiny: Any, tmp_path: Path) -> None:
    trainer, loop = grpo(steps=2, learning_rate=0.05)
    trainer.save_policy(tmp_path / "before")
    assert_same_text(trainer.policy(), tmp_path / "before")
    trainer.train(loop, None)
    trainer.save_policy(tmp_path / "after")
    assert_same_text(trainer.policy(), tmp_path / "after")
    assert not torch.equal(trainer.policy().model.lm_head.weight, tiny.model().lm_head.weight)


def test_checkpoints_are_kept_while_they_are_needed(grpo: Callable[..., Any], tmp_path: Path) -> None:
    trainer, loop = grpo(steps=4)
    loop.checkpoints = {1, 2, 4}
    stale = tmp_path / "run" / "checkpoints" / "checkpoint-99"
    stale.mkdir(parents=True)
    kept = []
    loop.during = lambda iteration: kept.append(sorted(p.name for p in (tmp_path / "run" / "checkpoints").iterdir()))
    trainer.train(loop, None)
    assert [(iteration, folder.name) for iteration, folder in loop.committed] == [(n, f"checkpoint-{n}") for n in (1, 2, 4)]
    assert kept[1] == ["checkpoint-1"] and kept[2] == kept[3] == ["checkpoint-1", "checkpoint-2"]
    assert sorted(p.name for p in (tmp_path / "run" / "checkpoints").iterdir()) == ["checkpoint-2", "checkpoint-4"]
    assert loop.committed[0][1].parent == tmp_path / "run" / "checkpoints"


def test_the_checkpoint_before_a_resume_survives_its_first_commit(grpo: Callable[..., Any]) -> None:
    trainer, loop = grpo(steps=3)
    loop.checkpoints = {1}
    trainer.train(loop, None)
    again, resumed = grpo(steps=3)
    resumed.iteration, resumed.checkpoints = 1, {2}
    again.train(resumed, loop.committed[0][1])
    assert loop.committed[0][1].is_dir() and resumed.committed[0][1].is_dir()


def test_a_gradient_that_is_not_finite_stops_before_the_update(grpo: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    trainer, loop = grpo(steps=3)
    before: dict[str, torch.Tensor] = {}

    def spoil(iteration: int) -> None:
        model = trainer.policy().model
        before.update(weights(trainer))
        model.lm_head.weight.register_hook(lambda gradient: gradient * float("nan"))

    loop.during = lambda iteration: spoil(iteration) if iteration == 1 else None
    with pytest.raises(CoevolveError, match=r"iteration 2: the gradient is not finite.*resume"):
        trainer.train(loop, None)
    assert all(torch.equal(weight, before[name]) for name, weight in weights(trainer).items())


def test_a_loss_that_is_not_finite_stops_before_the_update(grpo: Callable[..., Any]) -> None:
    trainer, loop = grpo(steps=2)

    def spoil(iteration: int) -> None:
        assert iteration == 1, "an update was made"
        norm = trainer.policy().model.model.norm
        norm.register_forward_hook(lambda module, inputs, output: output * float("nan") if module.training else output)

    loop.during = spoil
    with pytest.raises(CoevolveError, match=r"iteration 2: the loss is nan.*resume"):
        trainer.train(loop, None)


@pytest.mark.parametrize("lora_rank", [0, 2])
def test_checkpointing_activations_changes_no_number(grpo: Callable[..., Any], lora_rank: int) -> None:
    metrics = []
    for checkpointing in (False, True):
        trainer, loop = grpo(steps=2, gradient_checkpointing=checkpointing, lora_rank=lora_rank)
        trainer.train(loop, None)
        metrics.append(loop.metrics[2])
    assert metrics[0] == pytest.approx(metrics[1], rel=1e-3, abs=1e-5)


def test_an_interrupt_passes_through(grpo: Callable[..., Any]) -> None:
    def interrupt(iteration: int) -> None:
        raise KeyboardInterrupt

    trainer, loop = grpo(steps=2)
    loop.during = interrupt
    with pytest.raises(KeyboardInterrupt):
        trainer.train(loop, None)
    assert loop.committed == []


def test_a_finished_run_trains_nothing_and_a_begun_one_needs_a_checkpoint(grpo: Callable[..., Any]) -> None:
    trainer, loop = grpo(steps=0)
    trainer.train(loop, None)
    assert loop.groups == {}
    trainer, loop = grpo(steps=2)
    loop.iteration = 1
    with pytest.raises(CoevolveError, match="no checkpoint to resume from"):
        trainer.train(loop, None)


def test_training_prints_nothing_and_keeps_the_settings_of_transformers(
    grpo: Callable[..., Any], capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    from transformers.utils import logging as chatter

    before = chatter.get_verbosity(), chatter.is_progress_bar_enabled()
    trainer, loop = grpo(steps=1)
    capfd.readouterr()
    trainer.train(loop, None)
    assert capfd.readouterr() == ("", "") and not caplog.records
    assert (chatter.get_verbosity(), chatter.is_progress_bar_enabled()) == before


def test_a_model_that_cannot_chat_is_refused_before_anything_is_written(tiny: Any, tmp_path: Path) -> None:
    folder = tiny.save(tmp_path / "model")
    (folder / "chat_template.jinja").unlink()
    run = SimpleNamespace(seed=0, steps=1, batch=1, rollouts=2, temperature=1.0, folder=tmp_path / "run", planned=False)
    with pytest.raises(UserError, match="has no chat template"):
        Grpo(GrpoOptions()).setup(TransformersPolicy(TransformersOptions(model=str(folder))), run)
    assert not (tmp_path / "run").exists()


def test_a_resume_trains_at_the_rate_that_it_is_given(grpo: Callable[..., Any]) -> None:
    first, loop = grpo(steps=1, learning_rate=0.01)
    first.train(loop, None)
    again, resumed = grpo(steps=2, learning_rate=0.0025)
    resumed.iteration = 1
    again.train(resumed, loop.committed[0][1])
    assert resumed.metrics[2]["learning_rate"] == pytest.approx(0.0025)
