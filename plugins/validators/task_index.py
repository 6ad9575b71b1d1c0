"""Index of the known tasks (the pool's, or the held-out split's) by text, actions, end state and family."""

from collections.abc import Sequence

from attrs import define, field, frozen

from coevolve import Environment, FindsCopies, Replay, Task, TaskKeys

from .equivalence import ComparedTask, EquivalenceIndex, compared
from .masked_text import masked, same_scenario
from .similarity import Text, nearest, text_of


@frozen
class _Entry:
    task: Task
    text: Text
    keys: TaskKeys | None


@define
class TaskIndex:
    """Finds a known task that equals a candidate in one respect. `update` computes only what is new since the last call."""

    environment: Environment
    ordered: bool
    """Whether texts with the same content words in another order are different."""
    limit: int
    """Most completions of one replay."""
    _tasks: tuple[Task, ...] = ()
    _entries: dict[str, _Entry] = field(factory=dict)
    _content: dict[tuple[str, ...], list[_Entry]] = field(factory=dict)
    _actions: dict[str, str] = field(factory=dict)
    _ends: dict[str, str] = field(factory=dict)
    _families: dict[str, str] = field(factory=dict)
    _unsolved: list[tuple[str, Task]] = field(factory=list)
    """The masked request of each task without a known solution, which has no keys."""
    _equivalents: EquivalenceIndex = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._equivalents = EquivalenceIndex(self.environment, self.limit)

    def update(self, tasks: Sequence[Task]) -> None:
        """Hold exactly `tasks`. The keys of a task are computed once, and again only when the task itself has changed.

        Raises what the environment raises; the tasks before the failing one are then held.
        """
        new = tasks if isinstance(tasks, tuple) else tuple(tasks)
        if new is self._tasks:
            return
        known = len(self._tasks)
        if len(new) < known or any(a is not b for a, b in zip(self._tasks, new, strict=False)):
            known = 0
            for of in (self._content, self._actions, self._ends, self._families):
                of.clear()
            self._unsolved.clear()
            self._equivalents.clear()
        self._tasks = new[:known]
        for task in new[known:]:
            self._add(self._entry(task))
            self._tasks = new[: len(self._tasks) + 1] if len(self._tasks) + 1 < len(new) else new

    def _entry(self, task: Task) -> _Entry:
        entry = self._entries.get(task.id)
        if entry is None or (entry.task is not task and entry.task != task):
            # A task without a solution (some benchmarks hide them) can only be compared by its text.
            keys = self.environment.keys(task) if task.solution else None
            entry = self._entries[task.id] = _Entry(task, text_of(task.query), keys)
        return entry

    def _add(self, entry: _Entry) -> None:
        name = entry.task.id
        self._content.setdefault(self._words(entry.text), []).append(entry)
        if entry.keys is None:
            self._unsolved.append((masked(entry.task.query), entry.task))
        else:
            self._actions.setdefault(entry.keys.actions, name)
            self._ends.setdefault(entry.keys.end_state, name)
            if entry.keys.family is not None:
                self._families.setdefault(entry.keys.family, name)
            self._equivalents.add(compared(entry.task))

    def _words(self, text: Text) -> tuple[str, ...]:
        return text.content if self.ordered else text.bag

    def has_id(self, task_id: str) -> bool:
        """Whether a known task has this id."""
        return any(task.id == task_id for task in self._tasks)

    def same_text(self, query: Text, threshold: float, task: Task | None = None) -> str | None:
        """Describe a known task with the same text; None when there is none. `threshold`: see `similarity.nearest`.

        With `task`, only known tasks that begin in the same state count: "How much fuel do I have?" has another answer in another world.
        """
        near = self._content.get(self._words(query), [])
        if task is not None and near:
            start = self._equivalents.start(task)
            near = [entry for entry in near if self._equivalents.start(entry.task) == start]
        if same := next((entry for entry in near if entry.text.plain == query.plain), None):
            return f"{same.task.id} has the same text"
        score = nearest(query, [entry.text for entry in near], threshold) if near else None
        return None if score is None else f"{near[0].task.id} has the same content words (similarity {score:.0f})"

    def same_actions(self, keys: TaskKeys) -> str | None:
        """Id of a known task whose solution makes the same calls; None when there is none."""
        return self._actions.get(keys.actions)

    def same_end(self, keys: TaskKeys) -> str | None:
        """Id of a known task with the same end state; None when there is none."""
        return self._ends.get(keys.end_state)

    def same_family(self, keys: TaskKeys) -> str | None:
        """Id of a known task of the same family; None when there is none, or when the environment has no families."""
        return None if keys.family is None else self._families.get(keys.family)

    def same_scenario(self, task: Task) -> str | None:
        """Describe a known task without a known solution that `task` is with other values, or in other words; None when there is none.

        By the requests without their values, and by what the environment knows of such tasks (optional.FindsCopies).
        """
        if not self._unsolved:
            return None
        near = same_scenario(masked(task.query), [text for text, _ in self._unsolved])
        if near is not None:
            return f"{self._unsolved[near][1].id} asks the same, but for values"
        if not isinstance(self.environment, FindsCopies):
            return None
        name = self.environment.copied(task, [known for _, known in self._unsolved])
        return None if name is None else f"{name} asks for the same in other words, as far as is known without its solution"

    def equivalent(self, candidate: ComparedTask, made: Replay) -> str | None:
        """Id of a known task to which the candidate is equivalent (equivalence.py); `made` is the replay of the candidate's solution."""
        return self._equivalents.find(candidate, made)
