"""Admit candidates by execution alone (paper, section 3; the checks themselves are this project's).

The checks run in this order, the cheapest first:

1. form and text: the task is complete, and its text matches neither a held-out task nor a pool task that begins in the same state;
2. two replays of the solution: they succeed, agree, satisfy the scorer and have an effect;
3. keys: actions, end state and family differ from those of all known tasks, and no known task is equivalent (equivalence.py);
4. wrong solutions, which the scorer must refuse: doing nothing, the parent's solution, the solution without one call, and the solution
   with one argument changed.

A dropped call or a changed argument counts against a task only when the world then ends in another state, or when the call was the last:
a scorer that looks at the end state cannot see that a lookup was skipped. A solution that is longer than necessary is refused; the
validator "minimal", placed before this one, shortens it.
"""

import copy
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import attrs
from attrs import field, frozen, validators

from coevolve import Action, CandidateTask, Environment, Reason, Refusal, Replay, Task, TaskPool, Verdict, hookimpl, play

from .equivalence import compared
from .grounding import ungrounded_literal
from .replays import attempt, failure
from .similarity import text_of
from .task_index import TaskIndex
from .trace import traced


@frozen
class ExecutionOptions:
    """Options of the validator "execution"."""

    similarity: float = field(default=60.0, validator=[validators.ge(0.0), validators.le(100.0)])
    """Token sort ratio (0 to 100) from which two texts with equal content words are near duplicates; it bounds courtesy and fillers."""
    max_completions: int = field(default=200, validator=validators.ge(1))
    """Most completions of one replay. A longer solution is refused: it could not be checked to its end."""
    mutations: int = field(default=8, validator=validators.ge(1))
    """Most calls dropped, and most arguments changed, to check that the scorer refuses wrong solutions. Each costs one replay."""
    drop_all: bool = False
    """Whether the scorer must miss every call, lookups included. For scorers that demand each result (BFCL). Off by default:
    scorers that see only the end state miss no lookup."""
    all_parents: bool = False
    """Whether the unchanged solutions of all parents in the pool must fail. By default only the first one's: each costs a replay."""
    grounding: bool = False
    """Whether every literal of the solution needs a source: the user's messages, an earlier result, or the tool's document (grounding.py).
    Off by default, because many tasks that people wrote fail this check; the validator "request" has it on."""


class Execution:
    """Accepts a candidate that executes, has an effect, is new, is not held out, and is solved by its solution only."""

    name: ClassVar[str] = "execution"
    Options: ClassVar[type] = ExecutionOptions

    def __init__(self, options: ExecutionOptions) -> None:
        self.options = options
        self._environment: Environment | None = None
        self._pool: TaskIndex
        self._held_out: TaskIndex

    def validate(self, candidate: CandidateTask, environment: Environment, pool: TaskPool, held_out: Sequence[Task]) -> Verdict:
        try:
            self._refresh(environment, pool, held_out)
            self._check(candidate.task, environment, pool)
        except Refusal as refusal:
            return refusal.verdict
        except Exception as error:  # noqa: BLE001 - whatever the environment raises is an infrastructure fault, never an acceptance
            return Verdict(False, Reason.ENVIRONMENT_ERROR, f"{type(error).__name__}: {error}")
        return Verdict(True, "accepted")

    def _refresh(self, environment: Environment, pool: TaskPool, held_out: Sequence[Task]) -> None:
        if environment is not self._environment:
            limit = self.options.max_completions
            self._pool = TaskIndex(environment, ordered=True, limit=limit)
            self._held_out = TaskIndex(environment, ordered=False, limit=limit)
            self._environment = environment
        self._pool.update(pool.tasks)
        self._held_out.update(held_out)

    def _check(self, task: Task, environment: Environment, pool: TaskPool) -> None:
        self._form(task, environment)
        self._text(task)
        right = self._replay(environment, task)
        self._replays(environment, task, right)
        if self.options.grounding and (missing := ungrounded_literal(environment, traced(environment, task, self.options.max_completions))):
            raise Refusal(Reason.UNGROUNDED, missing)
        self._newness(task, environment)
        if same := self._held_out.same_scenario(task):
            raise Refusal(Reason.HELD_OUT_FAMILY, same)
        self._equivalence(task, right)
        self._nothing(environment, task)
        self._wrong(environment, task, right, pool)

    def _form(self, task: Task, environment: Environment) -> None:
        problem = None
        if not task.query.strip():
            problem = "it has no query"
        elif not task.solution:
            problem = "it has no solution"
        elif task.environment != environment.name:
            problem = f"it is for the environment {task.environment!r}"
        elif self._pool.has_id(task.id) or self._held_out.has_id(task.id):
            problem = f"the id {task.id} is taken"
        else:
            try:
                json.dumps([dict(task.payload), [[action.name, dict(action.arguments), action.turn] for action in task.solution]])
            except (TypeError, ValueError, RecursionError) as error:
                problem = f"its values are not JSON: {error}"
        if problem:
            raise Refusal(Reason.MALFORMED, problem)

    def _text(self, task: Task) -> None:
        text = text_of(task.query)
        if same := self._held_out.same_text(text, self.options.similarity):
            raise Refusal(Reason.HELD_OUT_TEXT, same)
        if same := self._pool.same_text(text, self.options.similarity, task):
            raise Refusal(Reason.DUPLICATE_TEXT, same)

    def _replays(self, environment: Environment, task: Task, right: Replay) -> None:
        if problem := failure(right, len(task.solution)):
            raise Refusal(Reason.CALL_FAILED, problem)
        if self._replay(environment, task) != right:
            raise Refusal(Reason.REPLAY_DIFFERS, "two replays gave other observations or another end state")
        if not right.solved:
            raise Refusal(Reason.NOT_SOLVED, f"the solution scores {right.score:g}")
        informative = any(_adds_to(step.result, task.query) for step in right.steps)
        if right.state == right.start and not informative:
            raise Refusal(Reason.NO_EFFECT, "the state is as at the start and no call tells anything new")

    def _newness(self, task: Task, environment: Environment) -> None:
        keys = environment.keys(task)
        for reason, same in (
            (Reason.HELD_OUT_FAMILY, self._held_out.same_family(keys)),
            (Reason.HELD_OUT_ACTIONS, self._held_out.same_actions(keys)),
            (Reason.HELD_OUT_END_STATE, self._held_out.same_end(keys)),
            (Reason.DUPLICATE_ACTIONS, self._pool.same_actions(keys)),
            (Reason.DUPLICATE_END_STATE, self._pool.same_end(keys)),
        ):
            if same is not None:
                raise Refusal(reason, f"as in {same}")

    def _equivalence(self, task: Task, right: Replay) -> None:
        candidate = compared(task)
        for reason, tasks in ((Reason.HELD_OUT_END_STATE, self._held_out), (Reason.DUPLICATE_END_STATE, self._pool)):
            if same := tasks.equivalent(candidate, right):
                raise Refusal(reason, f"as in {same}, but for calls that no request asks for")

    def _nothing(self, environment: Environment, task: Task) -> None:
        """An agent that writes empty texts, and one that ends the episode at once, must fail."""
        ended = self._try(environment, task, ())
        if (ended is not None and ended.solved) or self._replay(environment, task, [""] * self.options.max_completions).solved:
            raise Refusal(Reason.SOLVED_BY_NOTHING, "the scorer accepts an episode without a call")

    def _wrong(self, environment: Environment, task: Task, right: Replay, pool: TaskPool) -> None:
        named = task.origin.parents if self.options.all_parents else task.origin.parents[:1]
        for parent in (one for one in pool if one.id in named):
            if parent.solution != task.solution and self._accepts(environment, task, parent.solution):
                raise Refusal(Reason.SOLVED_BY_WRONG, f"the scorer accepts the solution of {parent.id}")
        if self.options.drop_all:
            self._droppable(environment, task)
        count, effective, last = len(task.solution), [], True
        for index in reversed(range(max(0, count - self.options.mutations), count)):
            tried = self._try(environment, task, [*task.solution[:index], *task.solution[index + 1 :]])
            if tried is None:
                continue
            if tried.solved and (last or tried.state != right.state):
                raise Refusal(Reason.SOLVED_BY_WRONG, f"the scorer accepts it without {task.solution[index].name}")
            if last or tried.state != right.state:
                effective.append(index)
            last = False
        budget = self.options.mutations
        for index in effective:
            for changed in _altered(task.solution[index]):
                if budget == 0:
                    return
                budget -= 1
                tried = self._try(environment, task, [*task.solution[:index], changed, *task.solution[index + 1 :]])
                if tried is not None and tried.solved and (tried.state != right.state or _result(tried, index) != _result(right, index)):
                    raise Refusal(Reason.SOLVED_BY_WRONG, f"the scorer accepts {changed.name} with other arguments")

    def _droppable(self, environment: Environment, task: Task) -> None:
        for index, action in enumerate(task.solution):
            if self._accepts(environment, task, [*task.solution[:index], *task.solution[index + 1 :]]):
                raise Refusal(
                    Reason.DROPPABLE_CALL, f"the scorer accepts it without {action.name}, call {index + 1} of {len(task.solution)}"
                )

    def _accepts(self, environment: Environment, task: Task, actions: Sequence[Action]) -> bool:
        tried = self._try(environment, task, actions)
        return tried is not None and tried.solved

    def _try(self, environment: Environment, task: Task, actions: Sequence[Action]) -> Replay | None:
        return attempt(environment, task, actions, self.options.max_completions)

    def _replay(self, environment: Environment, task: Task, texts: Sequence[str] | None = None) -> Replay:
        texts = environment.script(task.solution) if texts is None else texts
        return play(environment, task, texts[: self.options.max_completions])


def _adds_to(result: Any, query: str, key: str = "") -> bool:
    """Whether a result holds a value that the request does not hold. Yes or no counts, unless it only reports that a call went well."""
    if isinstance(result, Mapping):
        return any(_adds_to(value, query, str(name)) for name, value in result.items())
    if isinstance(result, list | tuple):
        return any(_adds_to(value, query, key) for value in result)
    if isinstance(result, bool):
        return key != "" and not key.casefold().endswith(("status", "success", "ok", "result"))
    return result is not None and str(result).strip() != "" and str(result) not in query


def _result(replay: Replay, index: int) -> Any:
    return (replay.own_steps[index].result, replay.own_steps[index].error) if index < len(replay.own_steps) else None


def _altered(action: Action) -> Iterator[Action]:
    """Copies of the action, each with one argument changed. Arguments that are objects, None or empty lists stay as they are."""
    for key, value in action.arguments.items():
        changed: Any = None
        if isinstance(value, bool):
            changed = not value
        elif isinstance(value, int | float):
            changed = value + 1
        elif isinstance(value, str):
            changed = f"{value}x"
        elif isinstance(value, list) and value:
            changed = copy.deepcopy(value[:-1])
        if changed is not None:
            yield attrs.evolve(action, arguments={**action.arguments, key: changed})


@hookimpl
def coevolve_validators() -> list[type[Execution]]:
    return [Execution]
