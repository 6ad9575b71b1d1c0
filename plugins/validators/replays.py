"""Replay other actions in place of a candidate's solution, and describe what went wrong in a replay."""

from collections.abc import Sequence

from coevolve import Action, Environment, Replay, Task, play


def attempt(environment: Environment, task: Task, actions: Sequence[Action], limit: int) -> Replay | None:
    """Replay `actions` in a fresh episode, at most `limit` completions; raises what the environment raises.

    None when the environment cannot express the actions as texts, or when the texts are those of the solution (as when only an ending call
    such as "done" was dropped, which `script` adds by itself).
    """
    try:
        texts = environment.script(actions)
    except (ValueError, TypeError, LookupError):
        return None
    return None if texts == environment.script(task.solution) else play(environment, task, texts[:limit])


def failure(made: Replay, wanted: int) -> str | None:
    """Describe what went wrong in the replay of `wanted` actions; None when all were executed without an error."""
    failed = next((step for step in made.steps if step.error is not None), None)
    if failed is not None:
        return f"{failed.action.name}: {failed.error}"
    if made.fault is not None:
        return made.fault
    return f"{len(made.own_steps)} of {wanted} calls were carried out" if len(made.own_steps) < wanted else None
