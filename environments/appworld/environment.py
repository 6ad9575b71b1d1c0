"""The environment: AppWorld's tasks and splits, and what signals, synthesizers and validators need."""

import json
import re
import threading
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from attrs import frozen

from coevolve import SUCCESS, Action, Description, Goal, RolloutGroup, Step, Task, TaskKeys, Trajectory, UserError, did_you_mean

from . import doctor as findings
from . import home
from .compose import compose, keys_of, trace_of
from .data_checks import SPLITS, task_ids
from .episode import AppWorldEpisode
from .goals import Snapshots, goals_in
from .held_out import Effect, copied
from .leaderboard import Roll, leaderboard
from .reference import OPEN_SPLITS, gold_blocks
from .script import Calls, completion
from .server_process import engine_server
from .setup import marker, setup
from .tools import documents, tools
from .world_pool import WorldLimits, WorldPool

NAME = "appworld"
SCORER = "1"
"""Changes with every change of a score."""
_DATA = ("auto", *home.KINDS)
_NOTES = """AppWorld: people's apps (payments, music, notes, messages, ...) in a simulated world. The agent writes Python that calls
apis.APP.API(...), one block a turn, and ends with apis.supervisor.complete_task(answer=...). A task is done when the answer is right and
exactly the wanted changes were made. Tools are called as app.api; access tokens are filled in. A solution of a question ends with
{"tool": "supervisor.complete_task", "arguments": {"answer": ...}}: a text, a number, or a list written with commas."""


@frozen
class AppWorldOptions:
    """The table [environment.appworld] of a run's configuration."""

    data: str = "auto"
    """Which data: "full" (the benchmark's), "tiny" (the small invented world), or "auto" (the benchmark's where it is set up)."""
    max_interactions: int = 50
    """Turns of an episode, including those without code (the package's own default is 1000; published agents use about 50)."""
    partial: bool = False
    """Reward attempts that fall short, up to 0.49, by the tests that doing nothing fails; only where nothing else was disturbed."""
    block_seconds: float = 10.0
    """Seconds of processor time for one block; then it is interrupted, and a second later its process is killed."""
    wall_seconds: float = 25.0
    """Seconds of wall clock for one block, for code that waits; keep it below the run's step_timeout (30)."""
    memory: int = 1024
    """MiB of address space that a world may take beyond what the warm engine has."""
    output_limit: int = 20_000
    """Characters of a block's output that the agent sees."""
    max_worlds: int = 0
    """Worlds at once (0: as many as fit into half of the free memory at twice the databases' size each)."""
    kernel_guards: bool = True
    """Confine worlds with Landlock and seccomp where the kernel has them; else only by resource limits and a count of processes."""


class AppWorld:
    """AppWorld in its own engine, which is started at the first use. Thread-safe."""

    name: ClassVar[str] = NAME
    Options: ClassVar[type[Any]] = AppWorldOptions
    fixed_options: ClassVar[tuple[str, ...]] = ("data", "max_interactions", "partial", "output_limit")

    def __init__(self, options: AppWorldOptions) -> None:
        if options.data not in _DATA:
            raise UserError(f"environment.appworld.data: unknown {options.data!r}{did_you_mean(options.data, _DATA)}")
        for field, least in (
            ("max_interactions", 1),
            ("block_seconds", 1),
            ("wall_seconds", 1),
            ("memory", 64),
            ("output_limit", 100),
            ("max_worlds", 0),
        ):
            if getattr(options, field) < least:
                raise UserError(f"environment.appworld.{field}: give a number of at least {least}")
        self.options = options
        self._lock = threading.Lock()
        self._worlds: WorldPool | None = None
        self._snapshots = Snapshots()

    @cached_property
    def kind(self) -> str:
        """Which data is used: "full" or "tiny". Raises UserError when it is not set up."""
        here = [kind for kind in home.KINDS if marker(home.root(kind)) is not None]
        if self.options.data != "auto" and self.options.data not in here:
            fix = "" if self.options.data == "tiny" else " --set data=download (or --set data=PATH)"
            raise UserError(f"the {self.options.data} data of AppWorld is not here; run: coevolve env setup appworld{fix}")
        if not here or not home.python().exists():
            raise UserError("AppWorld is not set up; run: coevolve env setup appworld")
        return here[0] if self.options.data == "auto" else self.options.data

    @property
    def root(self) -> Path:
        """The data root in use."""
        return home.root(self.kind)

    @property
    def worlds(self) -> WorldPool:
        """All worlds of this environment; the engine is started with the first of them."""
        with self._lock:
            if self._worlds is None:
                given = self.options
                limits = WorldLimits(
                    given.block_seconds, given.wall_seconds, given.memory, given.output_limit, given.max_interactions, given.max_worlds
                )
                self._worlds = WorldPool(engine_server(self.root, given.kernel_guards), self.root, limits)
            return self._worlds

    @cached_property
    def calls(self) -> Calls:
        """Calls of the documented APIs, from the data in use."""
        return Calls(documents(self.root))

    def splits(self) -> tuple[str, ...]:
        return tuple(split for split in SPLITS if task_ids(self.root, split))

    def tasks(self, split: str) -> Sequence[Task]:
        known = self.splits()
        if split not in known:
            raise UserError(f"AppWorld has no split {split!r} here{did_you_mean(split, known)}")
        # The caller will open some of the tasks, and the engine may take longer to get ready than the time limit of a call (step_timeout).
        self.worlds.server.connect().close()
        return tuple(self._task(split, task_id) for task_id in task_ids(self.root, split))

    def _task(self, split: str, task_id: str) -> Task:
        file = self.root / "data" / "tasks" / task_id / "specs.json"
        try:
            query = json.loads(file.read_text(encoding="utf-8"))["instruction"]
        except (OSError, ValueError, LookupError, TypeError) as error:
            raise UserError(f"{file} cannot be read ({error}); run: coevolve env setup appworld") from error
        blocks = gold_blocks(self.root, task_id)
        if split in OPEN_SPLITS:
            return Task(task_id, NAME, query, solution=tuple(Action("execute", {"code": block}) for block in blocks))
        return Task(task_id, NAME, query, solution=(Action("reference", {"task": task_id}),) if blocks else ())

    def open(self, task: Task) -> AppWorldEpisode:
        try:
            return AppWorldEpisode(self.worlds, task, self.calls, self.options.partial)
        except ValueError as error:
            raise UserError(f"{task.id} cannot be opened in the {self.kind} data: {error}") from error

    def describe(self) -> Description:
        return Description(tools(self.root, self.calls.documents), _NOTES)

    def patterns(self, trajectory: Trajectory) -> tuple[str, ...]:
        """`app.api:ok` or `:err` for each API that was called, once an episode; ids are in the arguments, which are not part of it."""
        return tuple(dict.fromkeys(_pattern(step) for step in trajectory.steps if re.fullmatch(r"\w+\.\w+", step.action.name)))

    def script(self, actions: Sequence[Action]) -> tuple[str, ...]:
        return tuple(completion(self.calls.block(action)) for action in actions)

    def compose(self, start: Task, steps: Sequence[Step], task_id: str, query: str | None = None) -> Task | None:
        return compose(self.worlds, self.calls, start, steps, task_id, query)

    def goals(self, start: Task, seed: int, count: int, after: Sequence[Action] = ()) -> Sequence[Goal]:
        return goals_in(self._snapshots.of(self.worlds, self.calls, start, after), self.calls.documents, seed, count)

    def keys(self, task: Task) -> TaskKeys:
        return keys_of(self.worlds, self.calls, task)

    def copied(self, task: Task, held_out: Sequence[Task]) -> str | None:
        """Compares what is known of the held-out tasks without their solutions (held_out.py)."""
        effect = Effect.of(trace_of(self.worlds, self.calls, task))
        found = copied(self.root, self._apps, task.query, effect, [other.id for other in held_out])
        return max(found, key=lambda copy: copy[1], default=(None, 0.0))[0]

    @cached_property
    def _apps(self) -> tuple[str, ...]:
        return tuple(sorted({name.split(".")[0] for name in self.calls.documents} - {"supervisor", "api_docs"}))

    def aggregates(self, groups: Sequence[RolloutGroup]) -> dict[str, float]:
        """Scenario goal completion over the scenarios all of whose tasks are in `groups`, and the number of these scenarios.

        A scenario counts as done when all of its tasks are done in rollouts of the same number. Empty when no scenario is complete.
        """
        wanted = _scenarios(task_id for split in self.splits() for task_id in task_ids(self.root, split))
        seen: dict[str, dict[str, Sequence[Trajectory]]] = defaultdict(dict)
        for group in groups:
            if "start" not in group.task.payload:
                seen[_scenario(group.task.id)][group.task.id] = group.trajectories
        whole = [tasks for name, tasks in seen.items() if wanted.get(name) == set(tasks)]
        done = [
            all(t.score is not None and t.score >= SUCCESS for t in row) for tasks in whole for row in zip(*tasks.values(), strict=False)
        ]
        return {"scenario_goal_completion": sum(done) / len(done), "scenarios": float(len(whole))} if done else {}

    @classmethod
    def answer_budget(cls, options: AppWorldOptions) -> int:
        """Tokens for a block of code, and some reasoning before it."""
        return 1024

    def provenance(self) -> Mapping[str, Any]:
        """What a result must be reported with: results that differ in any of these are not comparable."""
        given = self.options
        return {
            "benchmark": "AppWorld" if self.kind == "full" else "a tiny invented world in AppWorld's engine (no benchmark)",
            "appworld": home.ENGINE,
            "data": home.DATA,
            "max_interactions": given.max_interactions,
            "partial": given.partial,
            "block_seconds": given.block_seconds,
            "wall_seconds": given.wall_seconds,
            "output_limit": given.output_limit,
            "scorer": SCORER,
            "tasks": {split: len(task_ids(self.root, split)) for split in self.splits()},
        }

    def leaderboard(self, folder: Path, name: str, roll: Roll) -> Sequence[str]:
        """Two experiments as the official leaderboard takes them (leaderboard.py)."""
        return leaderboard(self, folder, name, roll)

    def close(self) -> None:
        """End all worlds and the engine; they end with the program too."""
        with self._lock:
            if self._worlds is not None:
                self._worlds.close()
                self._worlds = None

    @classmethod
    def setup(cls, **settings: str) -> str:
        """`data=tiny|download|PATH`, `python=PATH` (a Python 3.11), `verify=yes|no`."""
        return setup(settings)

    @classmethod
    def doctor(cls, thorough: bool = True) -> list[str]:
        """Looks at files; the thorough examination runs the engine's own verification as well."""
        return findings.examine() if thorough else findings.doctor()


def _pattern(step: Step) -> str:
    refused = isinstance(step.result, Mapping) and set(step.result) == {"status", "message"}
    return f"{step.action.name}:{'err' if refused or step.error is not None else 'ok'}"


def _scenario(task_id: str) -> str:
    return task_id.rpartition("_")[0]


def _scenarios(ids: Any) -> dict[str, set[str]]:
    found: dict[str, set[str]] = defaultdict(set)
    for task_id in ids:
        found[_scenario(task_id)].add(task_id)
    return found
