"""The official multi-turn protocol in prompt mode.

A turn begins with its user messages. Each answer is decoded; an undecodable or empty one ends the turn, any other is executed and
answered with one tool message a call. More than `step_limit` executed answers in a turn end the episode, which then fails.
"""

import json
import time
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Literal

from attrs import evolve, frozen

from coevolve import Action, Message, Observation, Step

from . import scoring
from .apis import Apis
from .decode import Call, Undecodable, decode
from .digest import digest, whole_state
from .world import ERROR, Result, fresh

MAX_RESULTS = 200_000
"""Characters of results for one answer; later calls of it are not executed."""
MAX_SECONDS = 10.0
"""Seconds for one answer, looked at between its calls."""


@frozen
class _Progress:
    turn: int = 0
    executed: int = 0
    """Answers executed in this turn."""
    calls: int = 0
    results: tuple[str, ...] = ()
    """Of all turns so far."""
    passed: bool = True
    done: bool = False


class BfclEpisode:
    """One attempt at one task; `payload` is the task's."""

    tools: Sequence[dict[str, Any]] | None = None

    def __init__(self, apis: Apis, payload: Mapping[str, Any], system: str, step_limit: int, positional: str) -> None:
        classes, config = tuple(payload["involved_classes"]), json.dumps(payload["initial_config"])
        self._apis, self._step_limit, self._positional = apis, step_limit, positional
        self._question: Sequence[Sequence[Message]] = payload["question"]
        self._reference = scoring.reference(apis, classes, config, json.dumps(payload["ground_truth"]))
        self._world = fresh(apis, classes, config)
        self._at = _Progress()
        self.messages: Sequence[Message] = ({"role": "system", "content": system}, *self._question[0])

    def step(self, text: str) -> Observation:
        if self._at.done:
            raise RuntimeError("the episode is over")
        try:
            calls = decode(text, self._apis.parameters, self._positional)
        except Undecodable as error:
            return self._end_turn(None if self._at.calls else f"no calls in the answer ({str(error)[:100]})")
        if not calls:
            return self._end_turn(None)
        steps = self._execute(calls)
        at = self._at
        self._at = evolve(
            at, executed=at.executed + 1, calls=at.calls + len(steps), results=at.results + tuple(step.observation for step in steps)
        )
        fault = None
        if self._at.executed > self._step_limit:
            fault = f"more than {self._step_limit} steps in turn {at.turn}"
            self._at = evolve(self._at, passed=False, done=True)
        messages = tuple({"role": "tool", "name": str(call), "content": step.observation} for call, step in zip(calls, steps, strict=True))
        return Observation(messages, steps, self._at.done, fault)

    def _execute(self, calls: Sequence[Call]) -> tuple[Step, ...]:
        steps, seen, begun = [], 0, time.monotonic()
        for call in calls:
            if seen > MAX_RESULTS or time.monotonic() - begun > MAX_SECONDS:
                result = Result(f"{ERROR}too much for one answer", None, f"{ERROR}too much for one answer")
            else:
                result = self._world.execute(call)
            seen += len(result.text)
            action = Action(call.name, json.loads(json.dumps(call.arguments)), self._at.turn)
            steps.append(Step(action, result.text, result.value, result.error))
        return tuple(steps)

    def _end_turn(self, fault: str | None) -> Observation:
        at = self._at
        passed = at.passed and scoring.passes(self._world, self._reference[at.turn], at.calls, at.results)
        turn = at.turn + 1
        self._at = _Progress(turn, results=at.results, passed=passed, done=turn == len(self._question))
        return Observation((), (), True, fault) if self._at.done else Observation(tuple(self._question[turn]), (), False, fault)

    def score(self) -> float:
        """1.0 when every turn that asks for something has ended and was right; an episode cut short fails, as officially."""
        return float(self._at.passed and not any(self._reference[self._at.turn :]))

    def snapshot(self) -> Any:
        return self._world.save(), self._at

    def restore(self, snapshot: Any) -> None:
        saved, self._at = snapshot
        self._world.load(saved)

    def state(self) -> str:
        return digest(whole_state(self._world.instances))

    def close(self) -> None:
        """Nothing outlives the object."""

    def __enter__(self) -> "BfclEpisode":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> Literal[False]:
        self.close()
        return False
