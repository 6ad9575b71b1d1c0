"""The pool's door: a candidate is admitted by execution alone (paper, section 3; the checks themselves are this project's).

In this order, cheapest first: form, text, two replays of the solution, duplicates and held-out tasks by actions, end state and family,
tasks that do what a known one does and ask for no more (sameness.py), then what must not be accepted: doing nothing, the parent's
solution, the solution without one call, the solution with an argument changed. A solution that is longer than it need be is refused; the
validator "minimal", placed before this one, makes it shorter. Dropping a call or changing an argument is only held against a task when
the world ends differently (or the call was the last one): a scorer that looks at the end state cannot see a lookup that was skipped.
"""

import copy
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import attrs
from attrs import field, frozen, validators

from coevolve import Action, CandidateTask, Environment, Reason, Refusal, Replay, Task, TaskPool, Verdict, hookimpl, play

from .grounding import ungrounded
from .known import Index
from .replays import attempt, failure
from .sameness import known
from .similarity import text_of


@frozen
class ExecutionOptions:
    """Options of the execution validator."""

    similarity: float = field(default=60.0, validator=[validators.ge(0.0), validators.le(100.0)])
    """Similarity of texts with equal content words from which they are near duplicates (token sort ratio, 0 to 100)."""
    max_completions: int = field(default=200, validator=validators.ge(1))
    """Completions after which a replay is given up."""
    mutations: int = field(default=8, validator=validators.ge(1))
    """How many calls are dropped and how many arguments changed, at most, to see that a wrong solution is refused."""
    drop_all: bool = False
    """The scorer must miss every call, lookups too: for scorers that demand each result (BFCL), not for those that see the end alone."""
    all_parents: bool = False
    """The untouched solutions of all parents in the pool must fail, not only the first one's."""
    grounding: bool = False
    """Every literal of the solution must be said by the user, shown by an earlier call, or told by the tool's document (grounding.py)."""


class Execution:
    """Accepts what replays, has an effect, is new, is not held out, and is solved by its solution and by nothing less."""

    name: ClassVar[str] = "execution"
    Options: ClassVar[type] = ExecutionOptions

    def __init__(self, options: ExecutionOptions) -> None:
        self.options = options
        self._environment: Environment | None = None
        self._pool: Index
        self._held_out: Index

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
            self._pool, self._held_out = Index(environment, ordered=True, limit=limit), Index(environment, ordered=False, limit=limit)
            self._environment = environment
        self._pool.update(pool.tasks)
        self._held_out.update(held_out)

    def _check(self, task: Task, environment: Environment, pool: TaskPool) -> None:
        self._form(task, environment)
        self._text(task)
        right = self._replay(environment, task)
        self._replays(environment, task, right)
        if self.options.grounding and (missing := ungrounded(environment, task, self.options.max_completions)):
            raise Refusal(Reason.UNGROUNDED, missing)
        self._newness(task, environment)
        self._sameness(task, right)
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
        elif self._pool.holds(task.id) or self._held_out.holds(task.id):
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
        if same := self._pool.same_text(text, self.options.similarity):
            raise Refusal(Reason.DUPLICATE_TEXT, same)

    def _replays(self, environment: Environment, task: Task, right: Replay) -> None:
        if problem := failure(right, len(task.solution)):
            raise Refusal(Reason.CALL_FAILED, problem)
        if self._replay(environment, task) != right:
            raise Refusal(Reason.REPLAY_DIFFERS, "two replays gave other observations or another end state")
        if not right.solved:
            raise Refusal(Reason.NOT_SOLVED, f"the solution scores {right.score:g}")
        told = any(_tells(step.result, task.query) for step in right.steps)
        if right.state == right.start and not told:
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

    def _sameness(self, task: Task, right: Replay) -> None:
        candidate = known(task)
        for reason, tasks in ((Reason.HELD_OUT_END_STATE, self._held_out), (Reason.DUPLICATE_END_STATE, self._pool)):
            if same := tasks.same(candidate, right):
                raise Refusal(reason, f"as in {same}, but for calls that no request asks for")

    def _nothing(self, environment: Environment, task: Task) -> None:
        """Silence, and an agent that ends the episode at once, must fail: the goal is not there at the start."""
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


def _tells(result: Any, query: str) -> bool:
    """Whether a result holds a value that the request does not."""
    if isinstance(result, Mapping):
        return any(_tells(value, query) for value in result.values())
    if isinstance(result, list | tuple):
        return any(_tells(value, query) for value in result)
    return result is not None and not isinstance(result, bool) and str(result).strip() != "" and str(result) not in query


def _result(replay: Replay, index: int) -> Any:
    return (replay.own_steps[index].result, replay.own_steps[index].error) if index < len(replay.own_steps) else None


def _altered(action: Action) -> Iterator[Action]:
    """The action with one argument changed, for each argument that can be."""
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
