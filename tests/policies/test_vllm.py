"""Policy "vllm" with vLLM itself: its samples agree with transformers, also after updates."""

import importlib.util
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from coevolve import HasWeights, Outcome, RolloutGroup, Sampling, Task, Trajectory, UserError
from coevolve.plugins.policies.transformers import TransformersOptions, TransformersPolicy
from coevolve.plugins.policies.vllm import VllmOptions, VllmPolicy

HERE = importlib.util.find_spec("vllm") is not None
needs_vllm = pytest.mark.skipif(
    not HERE, reason="vLLM is not installed: benchmarks/vllm_check.sh makes an environment with its CPU build and runs these tests in it"
)
# vLLM and its imports raise warnings.
pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.slow]
BOUND = 1e-3
"""Upper bound on the largest difference of log-probabilities; float32 gives about 1e-5."""
QUERIES = ("w1 w2 w3", "w4 w5 w6 w7 w8", "w9", "w1 w2 w3")


def talks(policy: Any, turns: int, seed: int, temperature: float = 1.0) -> list[Any]:
    made = [policy.begin(Task(f"t{n}", "none", q), [{"role": "user", "content": q}], None, n) for n, q in enumerate(QUERIES)]
    for turn in range(turns):
        if turn:
            for n, one in enumerate(made):
                one.observe([{"role": "tool", "content": f"w{n + turn} w3"}])
        policy.complete(made, Sampling(temperature, 12, seed))
    return made


def gap(model: Any, made: list[Any]) -> float:
    """The largest absolute difference between the engine's log-probabilities and those of a plain pass."""
    worst = 0.0
    for one in made:
        told = one.tokens
        ids = torch.tensor([told.prompt_ids + told.completion_ids])
        with torch.no_grad():
            logp = model(ids).logits[0, :-1].log_softmax(-1).gather(1, ids[0, 1:, None])[:, 0]
        own = torch.tensor(told.mask) == 1
        worst = max(worst, (logp[len(told.prompt_ids) - 1 :] - torch.tensor(told.logprobs))[own].abs().max().item())
    return worst


@pytest.fixture(scope="module")
def model_folder(tiny: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A head size that vLLM's CPU build has; the head is the embedding."""
    folder: Path = tiny.save(tmp_path_factory.mktemp("vllm") / "model", head_dim=32)
    return folder


@pytest.fixture(scope="module")
def started(model_folder: Path) -> VllmPolicy:
    return VllmPolicy(VllmOptions(model=str(model_folder), device="cpu", cache_gb=0.2, max_context=200))


@pytest.fixture
def vllm(started: VllmPolicy) -> Iterator[VllmPolicy]:
    """The policy with the weights of its files, whatever the test before did."""
    if HERE:
        started.engine.follow(started.load())
    yield started


def test_without_vllm_the_error_names_what_to_install(model_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    policy = VllmPolicy(VllmOptions(model=str(model_folder)))
    assert isinstance(policy, HasWeights)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(UserError, match=r"needs vLLM, which is not installed: pip install 'coevolve\[vllm\]'"):
        policy.check()


def test_several_processes_are_refused(model_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: name)
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(UserError, match="samples in one process"):
        VllmPolicy(VllmOptions(model=str(model_folder))).check()


@needs_vllm
def test_ids_and_logprobs_are_those_of_the_model(vllm: VllmPolicy, model_folder: Path) -> None:
    plain = TransformersPolicy(TransformersOptions(model=str(model_folder), device="cpu"))
    made = talks(vllm, 3, seed=1)
    assert gap(plain.model, made) < BOUND
    for one, query in zip(made, QUERIES, strict=True):
        told = one.tokens
        assert told.prompt_ids == plain.chat.prompt([{"role": "user", "content": query}], None)
        assert len(told.completion_ids) == len(told.mask) == len(told.logprobs)
        assert all(logp == 0.0 for own, logp in zip(told.mask, told.logprobs, strict=True) if not own)
        assert [m["role"] for m in one.messages] == ["user", "assistant", "tool", "assistant", "tool", "assistant"]
    assert {tuple(one.ids) for one in talks(vllm, 3, seed=1)} == {tuple(one.ids) for one in made}, "a draw is a function of its seed"
    assert made[0].ids != made[3].ids, "rows of one prompt draw apart"
    assert talks(vllm, 1, seed=2)[0].ids != made[0].ids[: len(talks(vllm, 1, seed=2)[0].ids)]


@needs_vllm
def test_greedy_text_is_that_of_policy_transformers(vllm: VllmPolicy, model_folder: Path) -> None:
    plain = TransformersPolicy(TransformersOptions(model=str(model_folder), device="cpu", max_context=200))
    assert [one.ids for one in talks(vllm, 2, 0, 0.0)] == [one.ids for one in talks(plain, 2, 0, 0.0)]


@needs_vllm
def test_a_conversation_that_is_full_gets_no_completion(vllm: VllmPolicy) -> None:
    (full, *_) = made = talks(vllm, 1, seed=1)
    full.observe([{"role": "tool", "content": "w1 " * 200}])
    found = vllm.complete(made[:2], Sampling(1.0, 4, 1))
    assert found[0] is None and found[1] is not None


@needs_vllm
@pytest.mark.parametrize("pause", [0.02, 0.2])
def test_after_an_update_it_samples_from_the_new_weights(vllm: VllmPolicy, pause: float) -> None:
    model = vllm.load()
    live = vllm.over(model)
    assert gap(model, talks(live, 2, seed=1)) < BOUND
    for _ in range(2):
        with torch.no_grad():
            for weight in model.parameters():
                weight.add_(torch.randn_like(weight) * pause)
        live.take_weights()
        assert gap(model, talks(live, 2, seed=1)) < BOUND


@needs_vllm
def test_adapters_are_merged_into_what_it_gets_and_the_model_stays_as_it_is(vllm: VllmPolicy) -> None:
    from peft import LoraConfig, get_peft_model

    model: Any = get_peft_model(vllm.load(), LoraConfig(r=4, lora_alpha=8, target_modules="all-linear", task_type="CAUSAL_LM"))
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "lora_B" in name:
                weight.normal_(std=0.3)
    before = {name: weight.clone() for name, weight in model.state_dict().items()}
    made = talks(vllm.over(model), 2, seed=1)
    assert gap(model, made) < BOUND
    with model.disable_adapter():
        assert gap(model, made) > 10 * BOUND, "the adapters do something"
    assert all(torch.equal(weight, before[name]) for name, weight in model.state_dict().items())


@needs_vllm
def test_a_head_that_is_not_packed_again_is_stale(vllm: VllmPolicy, monkeypatch: pytest.MonkeyPatch) -> None:
    """The reason for `pack_head`: when this test fails, vLLM packs the head itself."""
    monkeypatch.setattr("coevolve.plugins.policies.vllm_engine.pack_head", lambda model: None)
    model = vllm.load()
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(torch.randn_like(weight) * 0.2)
    assert gap(model, talks(vllm.over(model), 1, seed=1)) > 10 * BOUND


class Loop:
    """Two tasks with two rollouts each; the second rollout has the better score."""

    steps = 3

    def __init__(self) -> None:
        self.iteration = 0
        self.metrics: list[dict[str, float]] = []

    def rollout(self, policy: Any, iteration: int) -> list[RolloutGroup]:
        told = [one.tokens for one in talks(policy, 2, iteration)]
        made = [Trajectory(f"t{n // 2}", iteration, n % 2, (), (), Outcome.COMPLETED, n % 2, tokens=t) for n, t in enumerate(told)]
        return [RolloutGroup(Task(f"t{g}", "none", "q"), iteration, tuple(made[2 * g : 2 * g + 2])) for g in range(2)]

    def finish_iteration(self, iteration: int, metrics: dict[str, float]) -> bool:
        self.iteration = iteration
        self.metrics.append(metrics)
        return False

    def commit(self, iteration: int, folder: Path) -> None:
        raise AssertionError("no checkpoint was asked for")


@needs_vllm
@pytest.mark.parametrize("options", [{}, {"lora_rank": 4}])
def test_grpo_trains_with_it(model_folder: Path, vllm: VllmPolicy, tmp_path: Path, options: dict[str, Any]) -> None:
    from coevolve.plugins.trainers.grpo import Grpo, GrpoOptions

    loop = Loop()
    trainer = Grpo(GrpoOptions(learning_rate=0.01, max_gap=BOUND, **options))
    run: Any = SimpleNamespace(seed=1, steps=3, batch=2, rollouts=2, temperature=1.0, folder=tmp_path, planned=False)
    trainer.setup(vllm, run)
    before = gap(vllm.load(), talks(vllm, 1, seed=9))
    trainer.train(loop, None)
    assert before < BOUND and len(loop.metrics) == 3
    assert all(metrics["logprob_gap_max"] < BOUND and abs(metrics["logprob_ratio"] - 1) < BOUND for metrics in loop.metrics)
    live = trainer.policy()
    assert gap(vllm.load(), talks(live, 2, seed=3)) > BOUND, "the updates reached the engine"
