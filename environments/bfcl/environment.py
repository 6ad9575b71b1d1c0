"""The environment: BFCL multi-turn tasks, their splits, and what signals, synthesizers and validators ask of it."""

import json
from collections.abc import Sequence
from functools import cached_property
from importlib.util import find_spec
from itertools import groupby
from pathlib import Path
from typing import Any, ClassVar

from attrs import frozen

from coevolve import Action, Description, Step, Task, TaskKeys, Trajectory, UserError, did_you_mean

from . import assets
from .apis import Apis, load
from .compose import actions_key, compose
from .data import NAME, tasks
from .decode import Call
from .digest import digest
from .episode import BfclEpisode
from .prompt import STYLES, system_prompt
from .release import CATEGORIES, CLASSES, DEFAULT, RELEASES
from .schema import tools
from .splits import SPLITS, assign
from .world import fresh

_POSITIONAL = ("bind", "drop")
_NOTES = """Berkeley Function Calling Leaderboard, multi-turn, release {version}. A user asks over several turns; in each, the agent
answers with a list of calls such as [f(a=1), g(b='x')], sees their results, and ends the turn with []. Success needs, at each turn's end,
the reference's state of all services and all of the reference's results, those of pure reads too."""


@frozen
class BfclOptions:
    """The table [environment.bfcl] of a run's configuration."""

    release: str = DEFAULT
    """Version of the bfcl-eval wheel whose data and simulators are used."""
    category: str = "base"
    """Which of the benchmark's multi-turn categories."""
    doc_style: str = "compact"
    """System prompt: "compact" (signature and first sentence, about 600 tokens) or "official" (about 7,600 tokens)."""
    split_seed: int = 0
    """Seed of the division into train, dev and test."""
    step_limit: int = 20
    """Answers with calls in one turn before the episode is failed (official: 20)."""
    positional: str = "bind"
    """Positional arguments in answers: "bind" them to parameters, or "drop" them as the official decoder does."""


class Bfcl:
    """BFCL multi-turn in prompt mode. Nothing is fetched or loaded before the first use."""

    name: ClassVar[str] = NAME
    Options: ClassVar[type[Any]] = BfclOptions

    def __init__(self, options: BfclOptions) -> None:
        for field, known in (("release", RELEASES), ("category", CATEGORIES), ("doc_style", STYLES), ("positional", _POSITIONAL)):
            if (value := getattr(options, field)) not in known:
                raise UserError(f"environment.bfcl.{field}: unknown {value!r}{did_you_mean(str(value), known)}")
        if options.step_limit < 1:
            raise UserError("environment.bfcl.step_limit: give a number above 0 (official: 20)")
        self.options = options

    @cached_property
    def apis(self) -> Apis:
        """The simulators; fetched now if need be."""
        release = RELEASES[self.options.release]
        return load(release, assets.ensure(release))

    @cached_property
    def _tasks(self) -> dict[int, Task]:
        try:
            found = {task.payload["scenario"]: task for task in tasks(self.apis, self.options.category)}
            if found:
                return found
            why = "it holds no task"
        except (ValueError, LookupError, AttributeError, TypeError, SyntaxError) as error:  # a file that is cut off, of data or of code
            why = " ".join(f"{type(error).__name__}: {error}".split())
        folder = self.apis.folder
        raise UserError(f"the copy of BFCL in {folder} is damaged ({why}): delete that folder, then run: coevolve env setup bfcl")

    @cached_property
    def _splits(self) -> dict[str, list[int]]:
        classes = {index: task.payload["involved_classes"] for index, task in self._tasks.items()}
        return assign(classes, {index: _solution(task) for index, task in self._tasks.items()}, self.options.split_seed)

    def splits(self) -> tuple[str, ...]:
        return SPLITS

    def tasks(self, split: str) -> Sequence[Task]:
        if split not in SPLITS:
            raise UserError(f"BFCL has no split {split!r}{did_you_mean(split, SPLITS)}")
        return tuple(self._tasks[index] for index in self._splits[split])

    def open(self, task: Task) -> BfclEpisode:
        payload = task.payload
        if payload.get("release") != self.options.release:
            raise UserError(f"{task.id} is of BFCL release {payload.get('release')}; set environment.bfcl.release to it")
        for owner in payload["involved_classes"]:
            if owner not in CLASSES:
                raise UserError(f"{task.id}: BFCL has no class {owner!r}{did_you_mean(str(owner), CLASSES)}")
        system = system_prompt(self.apis, tuple(payload["involved_classes"]), self.options.doc_style)
        return BfclEpisode(self.apis, payload, system, self.options.step_limit, self.options.positional)

    def describe(self) -> Description:
        return Description(tools(self.apis), _NOTES.format(version=self.options.release))

    def patterns(self, trajectory: Trajectory) -> tuple[str, ...]:
        """`Class.function:ok` or `:err`, once an episode; a function that does not exist is "unknown:err"."""
        return tuple(dict.fromkeys(self._pattern(step) for step in trajectory.steps))

    def _pattern(self, step: Step) -> str:
        function = self.apis.functions.get(step.action.name)
        return f"{function.owner}.{function.name}:{'ok' if step.error is None else 'err'}" if function else "unknown:err"

    def script(self, actions: Sequence[Action]) -> tuple[str, ...]:
        """One answer with all calls of a turn, then an empty list that ends it; counted from the first action's turn."""
        answers, turn = [], None
        for number, group in groupby(actions, key=lambda action: action.turn):
            answers += ["[]"] * (0 if turn is None else max(0, number - turn - 1))
            calls = [str(Call(action.name, dict(action.arguments))) for action in group]
            answers += [f"[{', '.join(calls)}]", "[]"]
            turn = number
        return tuple(answers)

    def compose(self, start: Task, steps: Sequence[Step], task_id: str, query: str | None = None) -> Task | None:
        return compose(self.apis, start, steps, task_id, query, self.options.step_limit)

    def keys(self, task: Task) -> TaskKeys:
        """Carries out the solution in a fresh world. The family is the scenario that the task starts from."""
        world = fresh(self.apis, tuple(task.payload["involved_classes"]), json.dumps(task.payload["initial_config"]))
        results = [world.execute(Call(action.name, dict(action.arguments))).text for action in task.solution]
        return TaskKeys(
            actions=_solution(task),
            end_state=digest([world.public(), sorted(results)]),
            family=f"scenario:{task.payload['scenario']}",
        )

    @classmethod
    def setup(cls, **settings: str) -> str:
        """`wheel=PATH` takes a local file; `release=VERSION` another release."""
        for key in settings:
            if key not in ("wheel", "release"):
                raise UserError(f"coevolve env setup bfcl: unknown setting {key!r}{did_you_mean(key, ('wheel', 'release'))}")
        version = settings.get("release", DEFAULT)
        if version not in RELEASES:
            raise UserError(f"BFCL has no release {version!r}{did_you_mean(version, RELEASES)}")
        release = RELEASES[version]
        if assets.importable(release) is None:
            try:
                assets.install(release, Path(settings["wheel"]) if "wheel" in settings else None)
            finally:
                assets.forget()
        return assets.describe(release)

    @classmethod
    def doctor(cls) -> list[str]:
        release = RELEASES[DEFAULT]
        found = assets.importable(release) or assets.fetched(release)
        lines = [] if found else [assets.describe(release)]
        if find_spec("mpmath") is None:
            lines.append("mpmath is missing; run: pip install 'coevolve[bfcl]'")
        return lines


def _solution(task: Task) -> str:
    return actions_key([(action.name, action.arguments) for action in task.solution])
