"""The environment: BFCL multi-turn tasks, their splits, and what signals, synthesizers and validators need."""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cached_property
from importlib.util import find_spec
from itertools import groupby
from pathlib import Path
from typing import Any, ClassVar

from attrs import frozen

from coevolve import NOTE, Action, Description, Goal, RolloutGroup, Step, Task, TaskKeys, Trajectory, UserError, did_you_mean, perform

from . import assets, function_call
from .apis import Apis, load
from .compose import actions_key, compose
from .data import NAME, scenarios
from .decode import Call
from .digest import digest
from .episode import BfclEpisode, Rules
from .goals.story import goals
from .prompt import MODES, STYLES
from .release import CATEGORIES, CLASSES, DEFAULT, RELEASES, SCORER
from .schema import tools
from .simulated_apis import Start, fresh
from .splits import SPLITS, assign
from .variants import variants

_POSITIONAL = ("bind", "drop")
_ALL = (*CATEGORIES, "all")
_NOTES = """Berkeley Function Calling Leaderboard, multi-turn, release {version}. A user asks over several turns; in each, the agent
answers with calls, such as {answer}, sees their results, and ends the turn with {end}. Success needs, at each turn's end, the
reference's state of all services and all of the reference's results, those of pure reads too."""


@frozen
class BfclOptions:
    """The table [environment.bfcl] of a run's configuration."""

    release: str = DEFAULT
    """Version of the bfcl-eval wheel whose data and simulators are used: "2026.3.23", or "2025.7.17" (the last with data named v3)."""
    category: str = "base"
    """Which of the benchmark's multi-turn categories: "base", "miss_func", "miss_param", "long_context", or "all" four."""
    mode: str = "prompt"
    """How calls are written: "prompt" (`[f(a=1)]`) or "fc" (function calls in Qwen's format, tools through the chat template)."""
    doc_style: str = "compact"
    """Function documents: "compact" (signature and first sentence, about 600 tokens) or "official" (about 7,600 tokens)."""
    strict: bool = False
    """Refuse functions that are not offered yet, and fail episodes that act where nothing can be done; officially both are allowed.
    One ground truth, multi_turn_miss_func_49, uses a function before it is offered, so that task is then unreachable."""
    exclude_unreachable: bool = False
    """Exclude the tasks whose own ground truth does not pass; `coevolve env doctor bfcl` lists them."""
    split_seed: int = 0
    """Seed of the division into train, dev and test."""
    step_limit: int = 20
    """Answers with calls in one turn before the episode is failed (official: 20)."""
    positional: str = "bind"
    """Positional arguments in prompt-mode answers: "bind" them to parameters, or "drop" them as the official decoder does."""


class Bfcl:
    """BFCL's multi-turn tasks. Nothing is fetched or loaded before the first use. Thread-safe."""

    name: ClassVar[str] = NAME
    Options: ClassVar[type[Any]] = BfclOptions
    fixed_options: ClassVar[tuple[str, ...]] = (
        "release", "category", "mode", "doc_style", "strict", "exclude_unreachable", "split_seed", "step_limit", "positional",
    )  # fmt: skip

    def __init__(self, options: BfclOptions) -> None:
        choices = (("release", RELEASES), ("category", _ALL), ("mode", MODES), ("doc_style", STYLES), ("positional", _POSITIONAL))
        for field, known in choices:
            if (value := getattr(options, field)) not in known:
                raise UserError(f"environment.bfcl.{field}: unknown {value!r}{did_you_mean(str(value), known)}")
        if options.step_limit < 1:
            raise UserError("environment.bfcl.step_limit: give a number above 0 (official: 20)")
        self.options = options
        self._rules = Rules(options.mode, options.doc_style, options.step_limit, options.positional, options.strict)

    @cached_property
    def apis(self) -> Apis:
        """The simulators, fetched at the first use. Raises UserError when that fails."""
        release = RELEASES[self.options.release]
        return load(release, assets.ensure(release))

    @cached_property
    def _tasks(self) -> dict[str, Mapping[int, Task]]:
        """All tasks of all categories, by category and scenario; the splits need them all."""
        return {category: self._read(category) for category in CATEGORIES}

    def _read(self, category: str) -> Mapping[int, Task]:
        try:
            if found := scenarios(self.apis, category):
                return found
            why = "it contains no tasks"
        except (ValueError, LookupError, AttributeError, TypeError, SyntaxError) as error:  # a file that is cut off, of data or of code
            why = " ".join(f"{type(error).__name__}: {error}".split())
        folder, command = self.apis.folder, assets.command(self.apis.release)
        raise UserError(f"the copy of BFCL in {folder} is damaged ({why}): delete that folder, then run: {command}")

    @cached_property
    def _splits(self) -> dict[str, list[int]]:
        base = self._tasks["base"]
        classes = {index: task.payload["involved_classes"] for index, task in base.items()}
        variants = {index: [tasks[index] for tasks in self._tasks.values() if index in tasks] for index in base}
        marks = {index: {mark for task in tasks for mark in (_solution(task), *_beginnings(task))} for index, tasks in variants.items()}
        return assign(classes, marks, self.options.split_seed)

    @cached_property
    def unreachable(self) -> dict[str, str]:
        """Tasks of the chosen categories whose own ground truth does not pass, with the reason."""
        chosen = [task for category in self._categories for task in self._tasks[category].values()]
        return {task.id: reason for task in chosen if (reason := self._replay(task)) is not None}

    @property
    def _categories(self) -> tuple[str, ...]:
        return CATEGORIES if self.options.category == "all" else (self.options.category,)

    def _replay(self, task: Task) -> str | None:
        asked, answered = len(task.payload["question"]), len(task.payload["ground_truth"])
        if asked != answered:
            return f"{asked} requests, but ground truths for {answered} turns"
        with self.open(task) as episode:
            faults = [seen.fault for seen in perform(episode, self.script(task.solution))]
            return None if episode.score() == 1.0 else next(reversed(faults), None) or "the scorer refuses its ground truth"

    def splits(self) -> tuple[str, ...]:
        return SPLITS

    def tasks(self, split: str) -> Sequence[Task]:
        if split not in SPLITS:
            raise UserError(f"BFCL has no split {split!r}{did_you_mean(split, SPLITS)}")
        left_out = self.unreachable if self.options.exclude_unreachable else {}
        chosen = [self._tasks[category][index] for category in self._categories for index in self._splits[split]]
        return tuple(task for task in chosen if task.id not in left_out)

    def provenance(self) -> dict[str, Any]:
        """What a result must be reported with: results that differ in any of these are not comparable."""
        options = self.options
        return {
            "benchmark": "BFCL multi-turn",
            "release": options.release,
            "data": RELEASES[options.release].prefix,
            "category": options.category,
            "mode": options.mode,
            "doc_style": options.doc_style,
            "positional": options.positional,
            "strict": options.strict,
            "step_limit": options.step_limit,
            "scorer": SCORER,
            "split_seed": options.split_seed,
            "tasks": {split: len(self.tasks(split)) for split in ("train", "dev", "test")},
            "excluded": sorted(self.unreachable) if options.exclude_unreachable else [],
        }

    def aggregates(self, groups: Sequence[RolloutGroup]) -> dict[str, float]:
        """Success in each of the benchmark's categories, where the tasks are of several. Rollouts without a score are left out."""
        found: dict[str, list[bool]] = defaultdict(list)
        for group in groups:
            found[group.task.payload["category"]] += [t.success for t in group.trajectories if t.score is not None]
        by = {f"success_{name}": sum(found[name]) / len(found[name]) for name in CATEGORIES if found[name]}
        return by if len(by) > 1 else {}

    @classmethod
    def answer_budget(cls, options: BfclOptions) -> int:
        """Tokens for the longest answers of the benchmark's own solutions, and some reasoning before them."""
        return 2048 if options.category in ("long_context", "all") else 1024

    def open(self, task: Task) -> BfclEpisode:
        payload = task.payload
        if payload.get("release") != self.options.release:
            raise UserError(f"{task.id} is of BFCL release {payload.get('release')}; set environment.bfcl.release to it")
        for owner in payload["involved_classes"]:
            if owner not in CLASSES:
                raise UserError(f"{task.id}: BFCL has no class {owner!r}{did_you_mean(str(owner), CLASSES)}")
        return BfclEpisode(self.apis, payload, self._rules)

    def describe(self) -> Description:
        answer = self._answer([Call("f", {"a": 1}), Call("g", {"b": "x"})])
        return Description(tools(self.apis), _NOTES.format(version=self.options.release, answer=answer, end=self._end))

    def patterns(self, trajectory: Trajectory) -> tuple[str, ...]:
        """`Class.function:ok` or `:err`, once an episode; a function that does not exist is "unknown:err"."""
        return tuple(dict.fromkeys(self._pattern(step) for step in trajectory.steps))

    def _pattern(self, step: Step) -> str:
        function = self.apis.functions.get(step.action.name)
        return f"{function.owner}.{function.name}:{'ok' if step.error is None else 'err'}" if function else "unknown:err"

    def script(self, actions: Sequence[Action]) -> tuple[str, ...]:
        """For each turn an answer with all its calls, then one that ends it; turns without actions are ended at once."""
        answers, turn = [], 0
        for number, group in groupby(actions, key=lambda action: action.turn):
            answers += [self._end] * max(0, number - turn)
            answers += [self._answer([Call(action.name, dict(action.arguments)) for action in group]), self._end]
            turn = max(turn, number) + 1
        return tuple(answers)

    @property
    def _end(self) -> str:
        return "[]" if self.options.mode == "prompt" else "Done."

    def _answer(self, calls: list[Call]) -> str:
        return f"[{', '.join(map(str, calls))}]" if self.options.mode == "prompt" else function_call.write(calls)

    def compose(self, start: Task, steps: Sequence[Step], task_id: str, query: str | None = None) -> Task | None:
        return compose(self.apis, start, steps, task_id, query, self.options.step_limit)

    def goals(self, start: Task, seed: int, count: int, after: Sequence[Action] = ()) -> list[Goal]:
        """What users of this task's services want (goals/): carried out in a copy of its world, so every goal works there."""
        return goals(self.apis, Start.of(start.payload), seed, count, after)

    def variants(self, task: Task, seed: int) -> list[Task]:
        """The task with a function that comes late, and among large amounts of data (variants.py)."""
        return variants(self.apis, task, seed)

    def keys(self, task: Task) -> TaskKeys:
        """Carries out the solution in a fresh world. The family is the scenario that the task starts from."""
        world = fresh(self.apis, Start.of(task.payload))
        results = [world.execute(Call(action.name, dict(action.arguments))).text for action in task.solution]
        return TaskKeys(
            actions=_solution(task),
            end_state=digest([world.public(), sorted(results)]),
            family=f"scenario:{task.payload['scenario']}",
        )

    @classmethod
    def setup(cls, **settings: str) -> str:
        """Settings: `wheel=PATH`, a local file; `release=VERSION`, another release. Returns one line; raises UserError with the fix."""
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
    def doctor(cls, thorough: bool = True) -> list[str]:
        """The thorough examination replays every ground truth of every release that is here, through the protocol and the scorer."""
        lines = [] if _found(DEFAULT) else [assets.describe(RELEASES[DEFAULT])]
        if find_spec("mpmath") is None:
            return [*lines, "mpmath is missing; run: pip install 'coevolve[bfcl]'"]
        for version in filter(_found, RELEASES) if thorough else ():
            broken = cls(BfclOptions(release=version, category="all")).unreachable
            fix = "exclude it with environment.exclude_unreachable=true"
            lines += [f"{NOTE}BFCL {version}: {name} cannot be solved ({reason}); {fix}" for name, reason in broken.items()]
        return lines


def _found(version: str) -> bool:
    release = RELEASES[version]
    return (assets.importable(release) or assets.fetched(release)) is not None


def _beginnings(task: Task) -> list[str]:
    """The task's initial state as it is written, and the part of it that the task's own services load."""
    written = task.payload["initial_config"]
    loaded = {owner: written[owner] for owner in task.payload["involved_classes"] if written.get(owner)}
    return [json.dumps(state, sort_keys=True) for state in (written, loaded) if state]


def _solution(task: Task) -> str:
    return actions_key([(action.name, action.arguments) for action in task.solution])
