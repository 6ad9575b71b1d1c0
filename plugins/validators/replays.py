"""Replays of a candidate's solution and of other actions in its place."""

from collections.abc import Sequence

from coevolve import Action, Environment, Replay, Task, play


def attempt(environment: Environment, task: Task, actions: Sequence[Action], limit: int) -> Replay | None:
    """The replay of other actions than the solution's; None when the environment cannot write them down, or writes what it writes for the
    solution (an ending call such as "done", which `script` adds by itself)."""
    try:
        texts = environment.script(actions)
    except (ValueError, TypeError, LookupError):
        return None
    return None if texts == environment.script(task.solution) else play(environment, task, texts[:limit])


def failure(made: Replay, wanted: int) -> str | None:
    """What went wrong with a replay of `wanted` actions, in words; None when all were carried out without an error."""
    failed = next((step for step in made.steps if step.error is not None), None)
    if failed is not None:
        return f"{failed.action.name}: {failed.error}"
    if made.fault is not None:
        return made.fault
    return f"{len(made.own_steps)} of {wanted} calls were carried out" if len(made.own_steps) < wanted else None
