"""Policies without a model, and a trainer that needs no torch: a table of success probabilities that GRPO's advantages move.

    theta[skill] += rate * A_k * (right - sigmoid(theta[skill])),   A_k = (score_k - mean) / (standard deviation + 1e-6)

A skill is a link of the stockroom: a lookup in one representation for the call that uses it. A rollout that gets a skill wrong looks the
other representation up and goes on with what it found, so its failure may show only in the end state.
"""

import json
import math
import random
import statistics
import zlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from attrs import define, frozen

from coevolve import (
    Action,
    Conversation,
    LoopState,
    Message,
    Policy,
    RolloutGroup,
    RunInfo,
    Sampling,
    Step,
    Task,
    Tokens,
    UserError,
    iterate,
)

from .stockroom import perform

OTHER = {"code": "barcode", "barcode": "code", "badge": "address", "address": "badge"}


@define
class Talk:
    """A conversation without tokens."""

    task: Task
    row: int
    messages: list[Message]
    tokens: Tokens | None = None
    skills: tuple[str | None, ...] = ()
    found: tuple[Step, ...] = ()
    """The solution's steps, as a rollout that gets everything right would see them."""

    def observe(self, messages: Sequence[Message]) -> None:
        self.messages.extend(messages)

    @property
    def turn(self) -> int:
        """How many completions there were."""
        return sum(message["role"] == "assistant" for message in self.messages)

    def write(self, text: str) -> str:
        self.messages.append({"role": "assistant", "content": text})
        return text


@frozen
class ScriptedOptions:
    """`write(task, row)` gives the completions of one rollout in order; after the last one come empty completions."""

    write: Callable[[Task, int], Sequence[str]] = lambda task, row: ()


class ScriptedPolicy:
    """Writes given texts instead of sampling: `ScriptedPolicy(ScriptedOptions(lambda task, row: environment.script(task.solution)))`."""

    name: ClassVar[str] = "written"
    Options: ClassVar[type] = ScriptedOptions

    def __init__(self, options: ScriptedOptions) -> None:
        self.options = options

    def begin(self, task: Task, messages: Sequence[Message], tools: Sequence[dict[str, Any]] | None, row: int) -> Talk:
        return Talk(task, row, list(messages))

    def complete(self, conversations: Sequence[Conversation], sampling: Sampling) -> list[str | None]:
        texts: list[str | None] = []
        for talk in conversations:
            assert isinstance(talk, Talk)
            script = self.options.write(talk.task, talk.row)
            texts.append(talk.write(script[talk.turn] if talk.turn < len(script) else ""))
        return texts


def skills(task: Task) -> tuple[str | None, ...]:
    """For each action of a stockroom task's solution the skill that it needs, None where there is nothing to get wrong."""
    steps, _ = perform(task.payload["world"], task.solution)
    needed: list[str | None] = []
    for index, step in enumerate(steps):
        kind = step.action.arguments.get("as")
        later = [s.action for s in steps[index + 1 :] if kind and step.result["reference"] in s.action.arguments.values()]
        needed.append(f"{step.action.name}[{kind}] -> {later[0].name}" if later else None)
    return tuple(needed)


@frozen
class TabularOptions:
    """Where the table starts. `model` is a folder that the trainer saved, "" for a fresh table."""

    model: str = ""
    strong: float = 3.0
    """Logit of a skill that the policy has."""
    weak: float = -1.0
    """Logit of a skill that it lacks."""
    share: float = 0.3
    """Share of the skills that it lacks, by a hash of their names."""


class TabularPolicy:
    """Acts in the stockroom: knows every solution but gets a skill right only with the table's probability."""

    name: ClassVar[str] = "tabular"
    Options: ClassVar[type] = TabularOptions

    def __init__(self, options: TabularOptions) -> None:
        self.options = options
        self.table: dict[str, float] = {}
        if options.model:
            path = Path(options.model) / "table.json"
            if not path.is_file():
                raise UserError(f"{options.model} holds no table.json; name a folder that the tabular trainer saved")
            self.table.update(json.loads(path.read_text("utf-8")))

    def logit(self, skill: str) -> float:
        """The table's entry, or where it starts."""
        weak = zlib.crc32(skill.encode()) % 1000 < 1000 * self.options.share
        return self.table.get(skill, self.options.weak if weak else self.options.strong)

    def probability(self, skill: str) -> float:
        return 1 / (1 + math.exp(-self.logit(skill)))

    def begin(self, task: Task, messages: Sequence[Message], tools: Sequence[dict[str, Any]] | None, row: int) -> Talk:
        steps, _ = perform(task.payload["world"], task.solution)
        return Talk(task, row, list(messages), None, skills(task), tuple(steps))

    def complete(self, conversations: Sequence[Conversation], sampling: Sampling) -> list[str | None]:
        return [talk.write(self._next(talk, sampling)) for talk in conversations if isinstance(talk, Talk)]

    def _next(self, talk: Talk, sampling: Sampling) -> str:
        turn, solution = talk.turn, talk.task.solution
        if turn >= len(solution):
            return ""
        action, skill = solution[turn], talk.skills[turn]
        arguments = {key: self._seen(talk, value) for key, value in action.arguments.items()}
        if skill is not None:
            draw = random.Random(f"{sampling.seed} {talk.row} {turn}").random() if sampling.temperature > 0 else 0.5
            if draw >= self.probability(skill):
                arguments["as"] = OTHER[arguments["as"]]
        return json.dumps({"tool": action.name, "arguments": arguments})

    @staticmethod
    def _seen(talk: Talk, value: Any) -> Any:
        """What this rollout found where the solution found `value`."""
        answers = [message["content"] for message in talk.messages if message["role"] == "tool"]
        for step, answer in zip(talk.found, answers, strict=False):
            if isinstance(step.result, Mapping) and value in step.result.values() and value is not True:
                found = json.loads(answer)
                return next(iter(found.values())) if "error" not in found else value
        return value


@frozen
class TabularTrainerOptions:
    """`rate` is the step size in logits for an advantage of one."""

    rate: float = 0.3


class TabularTrainer:
    """Trains a `TabularPolicy`; a checkpoint is one JSON file."""

    name: ClassVar[str] = "tabular"
    Options: ClassVar[type] = TabularTrainerOptions

    def __init__(self, options: TabularTrainerOptions) -> None:
        self.options = options
        self._policy = TabularPolicy(TabularOptions())
        self._folder = Path()

    def setup(self, policy: Policy, run: RunInfo) -> None:
        if not isinstance(policy, TabularPolicy):
            raise UserError(f"the tabular trainer cannot train {type(policy).__name__}; choose the policy 'tabular'")
        self._policy, self._folder = policy, run.folder / "checkpoints"

    def train(self, loop: LoopState, resume_from: Path | None) -> None:
        if resume_from is not None:
            self._policy.table = json.loads((resume_from / "table.json").read_text("utf-8"))
        iterate(loop, self._policy, self._update_all, self._save)

    def _update_all(self, groups: Sequence[RolloutGroup]) -> dict[str, float]:
        return {"moved": sum(self._update(group) for group in groups)}

    def _save(self, iteration: int) -> Path:
        folder = self._folder / f"{iteration}"
        self.save_policy(folder)
        return folder

    def _update(self, group: RolloutGroup) -> float:
        """Move the group's skills by its advantages; return the sum of the moves' sizes."""
        if not group.scores or min(group.scores) == max(group.scores):
            return 0.0
        mean, deviation, moved = statistics.fmean(group.scores), statistics.stdev(group.scores), 0.0
        needed = skills(group.task)
        for trajectory in group.trajectories:
            if trajectory.score is None:
                continue
            advantage = (trajectory.score - mean) / (deviation + 1e-6)
            for skill, action, step in zip(needed, group.task.solution, trajectory.steps, strict=False):
                if skill is not None:
                    right = float(_kind(step.action) == _kind(action))
                    move = self.options.rate * advantage * (right - self._policy.probability(skill))
                    self._policy.table[skill] = self._policy.logit(skill) + move
                    moved += abs(move)
        return moved

    def policy(self) -> Policy:
        return self._policy

    def save_policy(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "table.json").write_text(json.dumps(self._policy.table, sort_keys=True), "utf-8")


def _kind(action: Action) -> Any:
    return action.arguments.get("as")
