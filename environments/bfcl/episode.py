"""The official multi-turn protocol.

A turn begins with its user messages (a turn in which held-out functions are first offered, with a message that describes them). Each
answer is decoded; an undecodable or empty one ends the turn, any other is executed and answered with one tool message a call. An answer
in excess of `step_limit` in a turn ends the episode, which then fails; the last turn is scored as it stands instead, as officially. So
does an answer before the last that cannot be written into the next prompt (function-call mode).

Strict episodes refuse calls of functions that are not offered yet, and fail when anything is called in a turn that asks for something
that cannot be done (no ground truth, in the categories made for that) or after an answer in excess. Officially all this is allowed; what
fails officially fails strictly too.
"""

import json
import time
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any

from attrs import evolve, frozen

from coevolve import Action, Message, Observation, Step

from . import function_call, prompt, scoring
from .apis import Apis
from .decode import Call, Undecodable, decode
from .digest import digest, whole_state
from .release import ABSTAINING
from .simulated_apis import ERROR, Start, fault, fresh
from .visible import visible_state

MAX_RESULTS = 200_000
"""Characters of results for one answer; later calls of it are not executed."""
MAX_SECONDS = 10.0
"""Seconds for one answer, checked between its calls."""


@frozen
class Rules:
    """The options of an environment that its episodes follow."""

    mode: str
    doc_style: str
    step_limit: int
    positional: str
    strict: bool


@frozen
class _Progress:
    executed: int = 0
    """Answers executed in this turn."""
    calls: tuple[Call, ...] = ()
    """Of this turn."""
    played: tuple[tuple[Call, ...], ...] = ()
    """Calls of each turn that has ended."""
    right: tuple[bool, ...] = ()
    """For each turn that has ended, whether it was right."""
    shares: tuple[float, ...] = ()
    """For each turn that has ended, how much of it was done, in [0, 1]."""
    results: tuple[str, ...] = ()
    """Of all turns so far."""
    refused: bool = False
    """Whether a call was refused that the official code would carry out."""
    breach: str | None = None
    """Why a strict episode fails."""
    cut: bool = False
    """Whether it was ended before its last turn."""
    done: bool = False

    @property
    def turn(self) -> int:
        """Number of the current turn, from 0."""
        return len(self.played)


class BfclEpisode:
    """One attempt at one task; `payload` is the task's."""

    tools: Sequence[dict[str, Any]] | None

    def __init__(self, apis: Apis, payload: Mapping[str, Any], rules: Rules) -> None:
        self._apis, self._payload, self._rules = apis, payload, rules
        self._start = Start.of(payload)
        self._question: Sequence[Sequence[Message]] = payload["question"]
        self._missed: Mapping[str, Sequence[str]] = payload.get("missed_function", {})
        self._reference = scoring.reference(apis, self._start, json.dumps(payload["ground_truth"]))
        self._services = fresh(apis, self._start)
        self._at = _Progress()
        offer = (apis, self._start.classes, prompt.held_out(payload), rules.doc_style)
        self.tools = None if rules.mode == "prompt" else prompt.tools(*offer)
        system = [{"role": "system", "content": prompt.system_prompt(*offer)}] if rules.mode == "prompt" else []
        self.messages: Sequence[Message] = (*system, *self._turn(0))

    def _turn(self, turn: int) -> tuple[Message, ...]:
        if names := self._missed.get(str(turn)):
            text = prompt.late_message(self._apis, names, self._rules.doc_style, self._rules.mode)
            return (*self._question[turn], {"role": "user", "content": text})
        return tuple(self._question[turn])

    def step(self, text: str) -> Observation:
        if self._at.done:
            raise RuntimeError("the episode is over")
        seen = self._answered(text)
        writes = self._rules.mode == "fc" and not self._apis.release.early  # the official handler writes calls into its next prompt
        if writes and not seen.done and (why := function_call.unwritable(text)):
            self._at = evolve(self._at, breach=self._at.breach or why, cut=True, done=True)
            return evolve(seen, done=True, fault=why)
        return seen

    def _answered(self, text: str) -> Observation:
        try:
            calls = self._decode(function_call.without_thoughts(text))
        except Undecodable as error:
            return self._end_turn(None if self._at.calls else f"no calls in the answer ({str(error)[:100]})")
        if not calls:
            return self._end_turn(None)
        steps = self._execute(calls)
        at = self._at
        self._at = at = evolve(
            at, executed=at.executed + 1, calls=at.calls + tuple(calls), results=at.results + tuple(step.observation for step in steps)
        )
        fault = None
        if at.executed > self._rules.step_limit:
            fault = f"more than {self._rules.step_limit} steps in turn {at.turn}"
            if at.turn == len(self._question) - 1:
                self._end_turn(None)
            self._at = evolve(self._at, breach=self._at.breach or fault, cut=not self._at.done, done=True)
        comma = ", " if self._rules.mode == "prompt" else ","
        messages = tuple(
            {"role": "tool", "name": call.as_code(comma), "content": step.observation} for call, step in zip(calls, steps, strict=True)
        )
        return Observation(messages, steps, self._at.done, fault)

    def _decode(self, text: str) -> list[Call]:
        early = self._apis.release.early
        if self._rules.mode == "fc":
            return function_call.decode(text, early)
        return decode(text, self._apis.parameters, self._rules.positional, early)

    def _execute(self, calls: Sequence[Call]) -> tuple[Step, ...]:
        steps, seen, begun = [], 0, time.monotonic()
        for call in calls:
            if seen > MAX_RESULTS or time.monotonic() - begun > MAX_SECONDS:
                result = fault(f"{ERROR}too much for one answer")
            elif self._rules.strict and self._withheld(call.name):
                result = fault(f"{ERROR}{call.name} is not offered")
                self._at = evolve(self._at, refused=True)
            else:
                result = self._services.execute(call)
            seen += len(result.text)
            action = Action(call.name, json.loads(json.dumps(call.arguments)), self._at.turn)
            steps.append(Step(action, result.text, result.value, result.error))
        return tuple(steps)

    def _withheld(self, name: str) -> bool:
        return any(int(turn) > self._at.turn and name in names for turn, names in self._missed.items())

    def _end_turn(self, fault: str | None) -> Observation:
        at = self._at
        turn = self._reference[at.turn] if at.turn < len(self._reference) else None
        right = scoring.passes(self._services, turn, len(at.calls), at.results)
        breach = at.breach
        if turn is None and at.calls and self._payload["category"] in ABSTAINING:
            breach = breach or f"calls in turn {at.turn}, which asks for what cannot be done"
        share = 1.0 if right or turn is None else scoring.share(self._services, turn, len(at.calls), at.results)
        played = (*at.played, at.calls)
        done = len(played) == len(self._question)
        right_so_far, shares = (*at.right, right), (*at.shares, share)
        self._at = evolve(at, executed=0, calls=(), played=played, right=right_so_far, shares=shares, breach=breach, done=done)
        return Observation((), (), True, fault) if done else Observation(self._turn(len(played)), (), False, fault)

    def score(self) -> float:
        """1.0 when every turn with a ground truth has ended and was right, else 0.0; an episode that was cut short fails, as officially."""
        right = self._complete(self._at.right)
        if self._rules.strict:
            right = right and self._at.breach is None and self.official_score() == 1.0
        return float(right)

    def _complete(self, right: Sequence[bool]) -> bool:
        return len(self._reference) == len(self._question) and not self._at.cut and all(right) and not any(self._reference[len(right) :])

    def official_score(self) -> float:
        """The official scorer's verdict on these calls, 0.0 or 1.0; the same as `score` unless the episode is strict.

        When a strict episode refused calls, all are carried out again in fresh services, as the official checker does.
        """
        if not self._at.refused:
            return float(self._complete(self._at.right))
        return float(self._complete(scoring.judge(fresh(self._apis, self._start), self._reference, self._at.played)))

    def progress(self) -> float:
        """The mean over the turns with a ground truth: 1 for a right turn, for another one the share that was done (scoring.share), and
        0 for one that the episode did not come to. Not the reward.
        """
        at = self._at
        under_way = self._reference[at.turn] if at.turn < len(self._reference) and at.calls else None
        last = () if under_way is None else (scoring.share(self._services, under_way, len(at.calls), at.results),)
        return self._mean((*at.shares, *last))

    def turns_right(self) -> float:
        """Share of the turns with a ground truth that have ended and were right."""
        return self._mean(self._at.right)

    def _mean(self, of_turns: Sequence[float]) -> float:
        asked = [number for number, turn in enumerate(self._reference) if turn is not None]
        return sum(of_turns[number] for number in asked if number < len(of_turns)) / len(asked) if asked else 1.0

    def metrics(self) -> dict[str, float]:
        """Official score and share of right turns, both in [0, 1], which are reported beside the reward."""
        return {"official_score": self.official_score(), "turns_right": self.turns_right()}

    def report(self) -> dict[str, Any]:
        """The results beside the score, as JSON values: official score, progress, right turns, and why a strict episode fails."""
        return {
            "score": self.score(),
            "official_score": self.official_score(),
            "progress": self.progress(),
            "turns_right": self.turns_right(),
            "turns": len(self._reference),
            "turns_ended": self._at.turn,
            "breach": self._at.breach,
        }

    def snapshot(self) -> Any:
        return self._services.save(), self._at

    def restore(self, snapshot: Any) -> None:
        saved, self._at = snapshot
        self._services.load(saved)

    def state(self) -> str:
        return digest(whole_state(self._services.instances))

    def visible_state(self) -> dict[str, Any]:
        """The services' public attributes, which the score compares, and the current folder, by class."""
        return visible_state(self._services.instances)

    def close(self) -> None:
        """Does nothing: an episode holds nothing outside the object."""

    def __enter__(self) -> "BfclEpisode":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()
