"""Rollouts of the desk's policy: coevolve's loop and TRL's own tool loop (`environment_factory`), same model, tasks and calls, in one run.

    OMP_NUM_THREADS=1 python benchmarks/trl_loop.py [EPISODES] [ROUNDS]

TRL's environment passes each call's text to a desk episode. A text that is not a call, or `done`, ends the loop. Completions have the same
limit, and both sides sample at temperature 1 on one thread. TRL is timed from prompts to padded tensors, without log-probabilities. Times
are CPU seconds of this process, which other jobs on the machine disturb less, and wall seconds.
"""

import statistics
import sys
import tempfile
import time
from typing import Any

from coevolve import Sampling, Task
from coevolve.core.record.timing import Clock
from coevolve.core.rollouts.runner import RolloutLimits, RolloutRunner
from coevolve.environments.desk import Desk
from coevolve.environments.desk.calls import DONE, parse
from coevolve.plugins.policies.transformers import TransformersOptions, TransformersPolicy

NEW_TOKENS, GROUP = 48, 8
TEMPLATE = (
    "{% for m in messages %}{{ '<' + m['role'] + '>' + m['content'] }}"
    "{% for c in m.get('tool_calls') or [] %}{{ c['function']['arguments']['text'] }}{% endfor %}{{ '<end>' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<assistant>' }}{% endif %}"
)
DESK = Desk(Desk.Options())
TASKS: dict[str, Task] = {task.id: task for task in DESK.tasks("train")}


class DeskTools:
    """One episode in the form that TRL requires: its public methods are the tools."""

    def reset(self, task: str, **_: Any) -> None:
        self._episode = DESK.open(TASKS[task])

    def call(self, text: str) -> str:
        """Carry out a call.

        Args:
            text: The call as the policy wrote it.
        """
        seen = self._episode.step(text)
        return "\n".join(str(message["content"]) for message in seen.messages)

    def get_reward(self) -> float:
        return self._episode.score()


def read(tokenizer: Any, ids: list[int], **_: Any) -> dict[str, Any]:
    """Parse the policy's text as a tool call, if it is one."""
    text = tokenizer.decode(ids, skip_special_tokens=True)
    action = parse(text)
    if action is None or action.name == DONE:
        return {"role": "assistant", "content": text}
    return {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"type": "function", "function": {"name": "call", "arguments": {"text": text}}}],
    }


def trl_trainer(policy: TransformersPolicy, episodes: int, folder: str) -> Any:
    import trl.trainer.grpo_trainer as trl
    from datasets import Dataset
    from transformers import PrinterCallback

    trl.parse_response = read
    tokenizer = policy.tokenizer
    tokenizer.chat_template, tokenizer.response_template = TEMPLATE, "{}"
    trl.supports_tool_calling = lambda tokenizer: True
    trl.get_training_chat_template = lambda *a, **k: None
    arguments = trl.GRPOConfig(
        folder, beta=0.0, use_cpu=True, bf16=False, num_generations=GROUP, per_device_train_batch_size=episodes, report_to=[],
        max_completion_length=400, generation_kwargs={"max_new_tokens": NEW_TOKENS}, gradient_checkpointing=False, temperature=1.0,
    )  # fmt: skip
    rows = [{"prompt": [dict(m) for m in DESK.open(task).messages], "task": name} for name, task in list(TASKS.items())[:64]]
    trainer = trl.GRPOTrainer(
        policy.load(), None, arguments, Dataset.from_list(rows), processing_class=tokenizer, environment_factory=DeskTools
    )
    trainer.remove_callback(PrinterCallback)
    return trainer


def clocks() -> tuple[float, float]:
    """CPU seconds of this process, and wall seconds."""
    return time.process_time(), time.perf_counter()


def main() -> None:
    episodes, rounds = (int(n) for n in (*sys.argv[1:], "64", "5")[:2])
    tasks = list(TASKS.values())[: episodes // GROUP]
    policy = TransformersPolicy(TransformersOptions())
    runner = RolloutRunner(DESK, RolloutLimits(), Clock())
    with tempfile.TemporaryDirectory() as folder:
        trainer = trl_trainer(TransformersPolicy(TransformersOptions()), episodes, folder)
        trainer.model.train()
        inputs = [{"prompt": [dict(m) for m in DESK.open(task).messages], "task": task.id} for task in tasks for _ in range(GROUP)]
        ratios: list[tuple[float, ...]] = []
        for seed in range(rounds + 1):  # the first one warms up
            began = clocks()
            groups = runner.run(policy, tasks, GROUP, Sampling(1.0, NEW_TOKENS, seed), 0)
            between = clocks()
            made = trainer._generate_and_score_completions([dict(row) for row in inputs])
            ended = clocks()
            own, theirs = ([b - a for a, b in zip(*pair, strict=True)] for pair in ((began, between), (between, ended)))
            wrote = sum(sum(t.tokens.mask) for group in groups for t in group.trajectories if t.tokens)
            their_tokens = int((made["completion_mask"] * made["tool_mask"]).sum())
            print(
                f"coevolve {own[0]:.2f} CPU s, {own[1]:.2f} s, {wrote} tokens; TRL {theirs[0]:.2f}, {theirs[1]:.2f}, {their_tokens} tokens"
            )
            if seed:
                ratios.append(tuple(b / a for a, b in zip(own, theirs, strict=True)))
    for name, found in zip(("CPU seconds", "seconds by the clock"), zip(*ratios, strict=True), strict=True):
        print(
            f"TRL / coevolve, {episodes} episodes: {statistics.median(found):.2f} times the {name} ({min(found):.2f} to {max(found):.2f})"
        )
    runner.close()


if __name__ == "__main__":
    main()
