"""One attempt at a desk task, and its score."""

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from types import TracebackType
from typing import Any

from coevolve import Action, Message, Observation, Step, Task

from . import goal_share
from .calls import DONE, parse, write
from .world import Refused, World


@lru_cache(maxsize=65536)
def reference(seed: int, solution: tuple[str, ...]) -> tuple[str, str | None] | None:
    """State digest and answer that the solution leads to in a fresh world; None when a call is refused or it does not end with `done`."""
    world = World(seed)
    for text in solution:
        action = parse(text)
        if action is None:
            return None
        if action.name == DONE:
            return world.digest(), action.arguments.get("answer")
        try:
            world.call(action)
        except Refused:
            return None
    return None


def seed_of(task: Task) -> int:
    """The seed of the task's world."""
    return int(task.payload.get("seed", 0))


class DeskEpisode:
    """An episode of at most `limit` calls. Text that is not a call, and the limit, end it with a policy fault; the task then fails."""

    tools: Sequence[dict[str, Any]] | None = None

    def __init__(self, task: Task, messages: Sequence[Message], limit: int) -> None:
        self.messages = messages
        self._task, self._limit = task, limit
        self._world, self._calls, self._done = World(seed_of(task)), 0, False
        self._answer: str | None = None
        self._found: goal_share.Parts = Counter()
        self._finished = False

    def step(self, text: str) -> Observation:
        if self._done:
            return Observation(done=True)
        action = parse(text)
        if action is None:
            self._done = True
            return Observation(_reply("error: this is no call"), done=True, fault="no_call")
        if action.name == DONE:
            return self._finish(action)
        self._calls += 1
        step = self._call(action)
        self._done = self._calls >= self._limit
        return Observation(_reply(step.observation), (step,), self._done, "too_many_calls" if self._done else None)

    def _call(self, action: Action) -> Step:
        try:
            result = self._world.call(action)
        except Refused as refused:
            return Step(action, f"error: {refused}", None, str(refused))
        self._found |= goal_share.lookups([(action, result)])
        return Step(action, result, result)

    def _finish(self, action: Action) -> Observation:
        if action.arguments.keys() - {"answer"}:
            self._done = True
            return Observation(_reply("error: wants answer="), done=True, fault="no_call")
        self._answer, self._done, self._finished = action.arguments.get("answer"), True, True
        return Observation((), (Step(action, "", self._answer),), done=True)

    def score(self) -> float:
        """1.0 when the episode ended with `done`, the reference's answer and the reference's final state, else 0.0."""
        wanted = reference(seed_of(self._task), self._solution())
        return float(self._finished and wanted == (self._world.digest(), self._answer))

    def progress(self) -> float:
        """Share of the task's parts that are there; see goal_share.py."""
        return goal_share.share(goal_share.wanted(seed_of(self._task), self._solution()), self._found, self._world, self._answer)

    def _solution(self) -> tuple[str, ...]:
        return tuple(write(action) for action in self._task.solution)

    def snapshot(self) -> Any:
        return self._world.copy(), self._calls, self._done, self._answer, self._finished, self._found.copy()

    def restore(self, snapshot: Any) -> None:
        world, self._calls, self._done, self._answer, self._finished, found = snapshot
        self._world, self._found = world.copy(), found.copy()

    def state(self) -> str:
        return self._world.digest()

    def visible_state(self) -> dict[str, Any]:
        """The records of actions and the number of refused calls: all that a call can change."""
        return {key: value for key, value in self._world.copy().state.items() if key != "seed"}

    def close(self) -> None:
        """Does nothing: an episode holds nothing outside the object."""

    def __enter__(self) -> "DeskEpisode":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


def _reply(text: str) -> tuple[Message, ...]:
    return ({"role": "user", "content": text},)
