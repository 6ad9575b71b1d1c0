"""One attempt at one task: a block of code a turn, until the task is marked complete, the code ends its world, or no turn is left.

The score is the engine's: 1 when all of its tests pass. With `partial`, an attempt that falls short gets up to PARTIAL for the tests that
doing nothing fails, and nothing unless all tests that doing nothing passes still do: the bare share of tests would pay for doing nothing.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from attrs import evolve, frozen

from coevolve import Action, InfrastructureFault, Message, Observation, Step, Task

from .beginnings import beginning
from .connection import EngineError, WorldEnded
from .protocol import NO_CODE, code_of, messages, output_message
from .reference import resolved
from .script import Calls, read_reference
from .world_pool import WorldHandle, WorldPool

PARTIAL = 0.49
"""Ceiling of the reward of an attempt that fails; below the score that counts as success."""


@frozen
class _Progress:
    """The state of an episode beside its world; a snapshot is one of these."""

    blocks: tuple[str, ...] = ()
    turns: int = 0
    done: bool = False
    ended: str | None = None
    """How the code ended its world."""


class AppWorldEpisode:
    """An episode in a world of its own, which is opened now and may be parked in between (world_pool.py)."""

    tools: Sequence[dict[str, Any]] | None = None

    def __init__(self, worlds: WorldPool, task: Task, calls: Calls, partial: bool) -> None:
        self._worlds, self._task, self._calls, self._partial = worlds, task, calls, partial
        self._turns = worlds.limits.interactions
        self._at = _Progress()
        self._found: tuple[tuple[str, ...], dict[str, Any]] | None = None
        self.world: WorldHandle = worlds.open(task)
        about = {**self.world.about, "instruction": task.query}
        self.messages: Sequence[Message] = messages(about, self._turns)

    def step(self, text: str) -> Observation:
        if self._at.done:
            raise RuntimeError("the episode is over")
        self._at = evolve(self._at, turns=self._at.turns + 1)
        code = code_of(text)
        if code is None:
            return self._end(Observation((NO_CODE,), (), False, "no code block"), False)
        secret = read_reference(code)
        given = resolved(self._worlds.root, code)
        try:
            found = self.world.execute(given)
        except WorldEnded as error:
            why = f"{error.reason}: {error}"
            self._at = evolve(self._at, blocks=(*self._at.blocks, given), done=True, ended=why)
            step = Step(Action("execute", {"code": code, "calls": 0}), why, None, why)
            return Observation((output_message(f"Execution failed: {error}"),), (step,), True, why)
        except EngineError as error:  # the code broke what executes it; the world is still there
            found = {"output": f"Execution failed. {error}", "error": str(error), "calls": [], "completed": False}
        self._at = evolve(self._at, blocks=(*self._at.blocks, given))
        if secret is not None:
            step = Step(Action("reference", {"task": secret}), "carried out", None, found["error"])
            return self._end(Observation((output_message("carried out"),), (step,), False), bool(found["completed"]))
        return self._end(Observation((output_message(found["output"]),), self._steps(code, found), False), bool(found["completed"]))

    def _end(self, seen: Observation, completed: bool) -> Observation:
        """The observation, marked as the last one when the episode is over with this turn."""
        if completed:
            self._at = evolve(self._at, done=True)
            return evolve(seen, done=True)
        if self._at.turns >= self._turns:
            self._at = evolve(self._at, done=True)
            return evolve(seen, done=True, fault=f"not completed in {self._turns} turns")
        return seen

    def _steps(self, code: str, found: Mapping[str, Any]) -> tuple[Step, ...]:
        calls, error, output = found["calls"], found["error"], found["output"]
        asked = self._calls.read(code)
        if asked is not None:
            last = next((call for call in reversed(calls) if call[0] == asked.name), None)
            result = last[3] if last is not None and error is None else None
            return (Step(asked, output, result, error),)
        whole = Step(Action("execute", {"code": code, "calls": len(calls)}), output, None if output == NOTHING else output, error)
        return (whole, *(_call(call, error is not None and call is calls[-1]) for call in calls))

    def score(self) -> float:
        """The engine's verdict on the world as it is, 0.0 or 1.0 (with `partial` also between); 0.0 when nothing is left to evaluate."""
        found = self._evaluation()
        if found["success"] is True:
            return 1.0
        return PARTIAL * progress(found) if self._partial else 0.0

    def metrics(self) -> dict[str, float]:
        """Task goal completion and the share of the engine's tests that pass, both in [0, 1]."""
        found = self._evaluation()
        share = len(found["passes"]) / found["num_tests"] if found["num_tests"] else 0.0
        return {"task_goal_completion": float(found["success"] is True), "tests_passed": share}

    def progress(self) -> float:
        """Share of passed tests among those that doing nothing fails; 0 unless all tests that doing nothing passes still pass."""
        return progress(self._evaluation())

    def evaluation(self) -> dict[str, Any]:
        """The engine's report: which of its tests pass and fail, with reasons, which may contain reference values."""
        return self._evaluation()

    def _evaluation(self) -> dict[str, Any]:
        if self._at.ended is not None:
            return _NOTHING_LEFT
        if self._found is None or self._found[0] != self._at.blocks:
            self._found = (self._at.blocks, self._evaluate())
        return self._found[1]

    def _evaluate(self) -> dict[str, Any]:
        for again in (True, False):
            try:
                return self.world.score()
            except (EngineError, WorldEnded) as error:
                why = error
                if again:
                    self.world.refresh()
        # Even a fresh replay cannot be evaluated. When the untouched task can, the code is to blame.
        with AppWorldEpisode(self._worlds, self._task, self._calls, False) as untouched:
            try:
                untouched.world.score()
            except (EngineError, WorldEnded) as error:
                raise InfrastructureFault(f"{self._task.id} cannot be evaluated, even untouched: {error}") from error
        return {**_NOTHING_LEFT, "failures": [{"requirement": "the world can be evaluated", "trace": str(why), "label": "no_op_pass"}]}

    def export(self, folder: Path) -> None:
        """Write the engine's own files of this attempt into `folder`, as its leaderboard tools read them.

        For a world that its code ended, the files before that block; for one that cannot be evaluated, those of the untouched world. Both
        fail the engine's evaluation.
        """
        if self._at.ended is not None:
            with AppWorldEpisode(self._worlds, self._task, self._calls, False) as before:
                before.world.rewind(self._at.blocks[:-1])
                before.world.export(folder)
        elif not self._evaluation()["num_tests"]:
            with AppWorldEpisode(self._worlds, self._task, self._calls, False) as untouched:
                untouched.world.export(folder)
        else:
            self.world.export(folder)

    def snapshot(self) -> Any:
        return self._at

    def restore(self, snapshot: Any) -> None:
        self._at = snapshot
        self.world.rewind(snapshot.blocks)

    def state(self) -> str:
        if self._at.ended is not None:
            return f"ended: {self._at.ended}"
        text = json.dumps([beginning(self._worlds.root, self._task), self.world.diff()], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()

    def visible_state(self) -> dict[str, Any]:
        """What was changed since the start, as the canonical diff has it: added, updated and removed rows by model."""
        if self._at.ended is not None:
            return {"ended": self._at.ended}
        return {model: {kind: rows for kind, rows in change.items() if rows} for model, change in self.world.diff().items()}

    def close(self) -> None:
        self.world.close()

    def __enter__(self) -> "AppWorldEpisode":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


NOTHING = "Execution successful."
"""The engine's output for a block that printed nothing."""
_NOTHING_LEFT: dict[str, Any] = {"success": False, "num_tests": 0, "passes": [], "failures": []}


def _call(call: Sequence[Any], fatal: bool) -> Step:
    """A recorded API call as a step; a refusal that the code handled is an answer like any other."""
    name, arguments, status, answer = call
    action = Action(name, arguments)
    if status == 200:
        result = None if name == "supervisor.complete_task" else answer
        return Step(action, json.dumps(answer), result, None, inner=True)
    if fatal:
        return Step(action, str(answer), None, str(answer), inner=True)
    return Step(action, str(answer), {"status": status, "message": answer}, None, inner=True)


def progress(found: Mapping[str, Any]) -> float:
    """Share of passed tests among those that doing nothing fails; 0 unless all tests that doing nothing passes still pass."""
    if any(test["label"] != "no_op_fail" for test in found["failures"]):
        return 0.0
    passed = sum(test["label"] == "no_op_fail" for test in found["passes"])
    return passed / (passed + len(found["failures"])) if passed else 0.0
