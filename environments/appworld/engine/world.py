"""One world: the engine's world of a task, in which blocks of code run."""

import contextlib
import os
import signal
from collections.abc import Iterator, Sequence
from typing import Any

from . import code_restrictions
from .canonical import canonical_diff

MAX_OUTPUT = 20_000
"""Most characters of one block's output, unless the request has another limit."""
CALLS = 1_000
"""API calls of one block (the engine's own limit)."""
_FAILED = "Execution failed. Traceback:\n"
_SURROGATES = "replace"


def experiment() -> str:
    """The name of the engine's folder for this process's files."""
    return os.environ["COEVOLVE_EXPERIMENT"]


def open_world(task_id: str, interactions: int = 1_000, seconds: int = 100) -> Any:
    """The engine's world of a task, without ground truth, guarded; `coevolve_calls` on it collects its API calls as they happen."""
    from appworld.environment import AppWorld

    world = AppWorld(
        task_id=task_id,
        experiment_name=experiment(),
        load_ground_truth=False,
        max_interactions=interactions,
        max_api_calls_per_interaction=CALLS,
        timeout_seconds=seconds,
    )
    world.coevolve_calls, world.coevolve_inside = [], True
    world.coevolve_save_logs = world.save_logs
    # After every block the engine writes all logs anew, and fails for good at a text that UTF-8 cannot hold: here they are written once.
    world.save_logs = _nothing
    world.coevolve_save_state, world._save_state = world._save_state, _nothing
    code_restrictions.watch(world, world.coevolve_calls)
    return world


def _nothing(*_args: Any) -> None:
    """Replaces a method whose work is done once at the end."""


def clean(text: str) -> str:
    """The text with lone surrogates replaced."""
    return text.encode("utf-8", _SURROGATES).decode("utf-8")


def shorten(text: str, limit: int) -> str:
    """At most `limit` characters of the text, and a note with the number of those left out."""
    if len(text) <= limit:
        return text
    return f"{text[:limit]}\n[output shortened: {len(text) - limit} of {len(text)} characters left out]"


@contextlib.contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Raise TimeoutError in the code after that much processor time (0: never).

    The engine's own limit is in wall-clock time, which depends on the load of the machine.
    """

    def interrupt(_number: int, _frame: Any) -> None:
        raise TimeoutError(f"Execution took more than {seconds:g} seconds of processor time.")

    signal.signal(signal.SIGPROF, interrupt)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)


class World:
    """Carries out the operations of one episode; each takes the fields of a request (docs/appworld.md) and returns its value as JSON."""

    def __init__(self, guards: Sequence[str]) -> None:
        self.guards = list(guards)
        self.world: Any = None
        self.limit = MAX_OUTPUT

    def open(self, request: dict[str, Any]) -> Any:
        self.limit = int(request.get("output", MAX_OUTPUT))
        self.world = open_world(request["task"], int(request.get("interactions", 1_000)), int(request["block_seconds"]))
        task = self.world.task
        who = task.supervisor
        return {
            "instruction": task.instruction,
            "datetime": task.datetime.isoformat(),
            "supervisor": {name: getattr(who, name) for name in ("first_name", "last_name", "email", "phone_number")},
            "apps": dict(task.app_descriptions),
            "guards": self.guards,
        }

    def execute(self, request: dict[str, Any]) -> Any:
        calls: list[code_restrictions.Call] = self.world.coevolve_calls
        calls.clear()
        with at_most(float(request.get("cpu", 0.0))):
            output = clean(self.world.execute(clean(request["code"])))
        failed = output.startswith(_FAILED)
        error = output.rstrip().rsplit("\n", 1)[-1][:500] if failed else None
        return {"output": shorten(output, self.limit), "error": error, "calls": list(calls), "completed": self.completed()}

    def completed(self) -> bool:
        """Whether the task was marked complete."""
        self.world.coevolve_inside = False
        try:
            return bool(self.world.task_completed())
        except Exception:  # noqa: BLE001 - the code may have broken the app that answers; the evaluation finds out
            return False
        finally:
            self.world.coevolve_inside = True

    def diff(self, _request: dict[str, Any]) -> Any:
        return canonical_diff(self.world)

    def save(self, _request: dict[str, Any]) -> Any:
        for entry in self.world.environment_io:
            entry["input"], entry["output"] = clean(entry["input"]), clean(entry["output"])
        self.world.coevolve_save_state(self.world.output_db_home_path_on_disk)
        self.world.coevolve_save_logs()
        return None
