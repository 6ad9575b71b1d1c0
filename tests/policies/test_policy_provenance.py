"""Results name what made the model's input of the messages."""

from pathlib import Path
from typing import Any

from coevolve import Outcome, RolloutGroup, Sampling, Task, Trajectory
from coevolve.core.rollouts.evaluation import _prompts
from coevolve.plugins.policies.transformers import TransformersOptions, TransformersPolicy

TASK = Task("t", "none", "q")


def policy(folder: Path, **options: Any) -> TransformersPolicy:
    return TransformersPolicy(TransformersOptions(model=str(folder), **options))


def test_template_dtype_context_and_end_tokens_are_named(tiny: Any, tmp_path: Path) -> None:
    folder = tiny.save(tmp_path / "model")
    own = policy(folder).provenance()
    assert {name: own[name] for name in ("dtype", "max_context", "end_tokens")} == {
        "dtype": "float32",
        "max_context": 256,
        "end_tokens": "<|end|>",
    }
    assert own["chat_template"].startswith("of the model (")
    same, other = tmp_path / "same.jinja", tmp_path / "other.jinja"
    same.write_text(tiny.TEMPLATE)
    other.write_text("\u200b" + tiny.TEMPLATE, encoding="utf-8")  # invisible, and part of every prompt
    named = [policy(folder, chat_template=str(file)).provenance()["chat_template"] for file in (same, other)]
    assert named[0].split("(")[1] == own["chat_template"].split("(")[1] != named[1].split("(")[1]
    assert named[0].startswith(str(same))
    assert policy(folder, max_context=100, dtype="bfloat16").provenance() == {**own, "max_context": 100, "dtype": "bfloat16"}


def test_the_digest_of_prompts_is_that_of_their_ids(tiny: Any, tmp_path: Path) -> None:
    folder = tiny.save(tmp_path / "model")
    (tmp_path / "other.jinja").write_text("<|system|> " + tiny.TEMPLATE)

    def digest(made: TransformersPolicy, text: str, seed: int = 0) -> str:
        talk = made.begin(TASK, [{"role": "user", "content": text}], None, 0)
        made.complete([talk], Sampling(1.0, 4, seed))
        rolled = Trajectory("t", 0, 0, tuple(talk.messages), (), Outcome.COMPLETED, 1.0, tokens=talk.tokens)
        return _prompts([RolloutGroup(TASK, 0, (rolled,))])

    first = digest(policy(folder), "w1")
    assert first == digest(policy(folder, dtype="float32"), "w1", seed=5)
    assert first != digest(policy(folder), "w2")
    assert first != digest(policy(folder, chat_template=str(tmp_path / "other.jinja")), "w1")
    without = Trajectory("t", 0, 0, (), (), Outcome.COMPLETED, 1.0)
    assert _prompts([RolloutGroup(TASK, 0, (without,))]) == ""
