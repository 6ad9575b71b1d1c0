"""Actions carried out in a fresh episode of a task, and what came of them."""

from collections.abc import Sequence

from attrs import frozen

from coevolve import SUCCESS, Action, Environment, Message, Step, Task


@frozen
class Replay:
    """`start` and `state` are the digests of the world before and after; `ending` is the call that ended the episode, with its answer."""

    steps: tuple[Step, ...]
    messages: tuple[Message, ...]
    start: str
    state: str
    score: float
    fault: str | None
    ending: Action | None = None

    @property
    def end(self) -> tuple[str, Action | None]:
        """What is left when all is over: the state and the answer."""
        return self.state, self.ending

    @property
    def solved(self) -> bool:
        return self.score >= SUCCESS

    @property
    def taken(self) -> tuple[Step, ...]:
        """The steps that are actions of their own, in the actions' order: without what was done inside of them."""
        return tuple(step for step in self.steps if not step.inner)


def replay(environment: Environment, task: Task, texts: Sequence[str], limit: int) -> Replay:
    """Say `texts`, at most `limit` of them, in a fresh episode of the task."""
    steps: list[Step] = []
    messages: list[Message] = []
    fault = ending = None
    with environment.open(task) as episode:
        start = episode.state()
        for text in texts[:limit]:
            seen = episode.step(text)
            steps += seen.steps
            messages += seen.messages
            fault = fault or seen.fault
            if seen.done:
                ending = seen.steps[-1].action if seen.steps else None
                break
        return Replay(tuple(steps), tuple(messages), start, episode.state(), episode.score(), fault, ending)


def attempt(environment: Environment, task: Task, actions: Sequence[Action], limit: int) -> Replay | None:
    """The replay of other actions than the solution's; None when the environment cannot write them down, or writes what it writes for the
    solution (an ending call such as "done", which `script` adds by itself)."""
    try:
        texts = environment.script(actions)
    except (ValueError, TypeError, LookupError):
        return None
    return None if texts == environment.script(task.solution) else replay(environment, task, texts, limit)


def failure(made: Replay, wanted: int) -> str | None:
    """What went wrong with a replay of `wanted` actions, in words; None when all were carried out without an error."""
    failed = next((step for step in made.steps if step.error is not None), None)
    if failed is not None:
        return f"{failed.action.name}: {failed.error}"
    if made.fault is not None:
        return made.fault
    return f"{len(made.taken)} of {wanted} calls were carried out" if len(made.taken) < wanted else None
