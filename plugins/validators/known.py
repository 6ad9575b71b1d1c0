"""What is known already: the pool's and the held-out split's tasks, indexed by text, actions, end state and family."""

from collections.abc import Sequence

from attrs import define, field, frozen

from coevolve import Environment, Replay, Task, TaskKeys

from .sameness import Known, Sameness, known
from .similarity import Text, nearest, text_of


@frozen
class _Entry:
    task: Task
    text: Text
    keys: TaskKeys | None


@define
class Index:
    """Tasks by what makes them the same. `update` costs only what is new since the last call."""

    environment: Environment
    ordered: bool
    """Whether the order of content words tells texts apart."""
    limit: int
    """Completions of one replay at most."""
    _tasks: tuple[Task, ...] = ()
    _entries: dict[str, _Entry] = field(factory=dict)
    _plain: dict[str, str] = field(factory=dict)
    _content: dict[tuple[str, ...], list[_Entry]] = field(factory=dict)
    _actions: dict[str, str] = field(factory=dict)
    _ends: dict[str, str] = field(factory=dict)
    _families: dict[str, str] = field(factory=dict)
    _sameness: Sameness = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._sameness = Sameness(self.environment, self.limit)

    def update(self, tasks: Sequence[Task]) -> None:
        """Hold exactly `tasks`; what was computed for a task is kept while the task object stays the same."""
        new = tasks if isinstance(tasks, tuple) else tuple(tasks)
        if new is self._tasks:
            return
        known = len(self._tasks)
        if len(new) < known or any(a is not b for a, b in zip(self._tasks, new, strict=False)):
            known = 0
            for of in (self._plain, self._content, self._actions, self._ends, self._families):
                of.clear()
            self._sameness.clear()
        self._tasks = new[:known]
        for task in new[known:]:
            self._add(self._entry(task))
            self._tasks = new[: len(self._tasks) + 1] if len(self._tasks) + 1 < len(new) else new

    def _entry(self, task: Task) -> _Entry:
        entry = self._entries.get(task.id)
        if entry is None or (entry.task is not task and entry.task != task):
            # A task without a solution (a benchmark that hides them) can only be compared by its text.
            keys = self.environment.keys(task) if task.solution else None
            entry = self._entries[task.id] = _Entry(task, text_of(task.query), keys)
        return entry

    def _add(self, entry: _Entry) -> None:
        name = entry.task.id
        self._plain.setdefault(entry.text.plain, name)
        self._content.setdefault(self._words(entry.text), []).append(entry)
        if entry.keys is not None:
            self._actions.setdefault(entry.keys.actions, name)
            self._ends.setdefault(entry.keys.end_state, name)
            if entry.keys.family is not None:
                self._families.setdefault(entry.keys.family, name)
            self._sameness.add(known(entry.task))

    def _words(self, text: Text) -> tuple[str, ...]:
        return text.content if self.ordered else text.bag

    def holds(self, task_id: str) -> bool:
        """Whether a task of that id is among those held."""
        return any(task.id == task_id for task in self._tasks)

    def same_text(self, query: Text, threshold: float) -> str | None:
        """What in the known tasks has the same text, in words; None when nothing has."""
        if query.plain in self._plain:
            return f"{self._plain[query.plain]} has the same text"
        near = self._content.get(self._words(query), [])
        score = nearest(query, [entry.text for entry in near], threshold) if near else None
        return None if score is None else f"{near[0].task.id} has the same content words (similarity {score:.0f})"

    def same_actions(self, keys: TaskKeys) -> str | None:
        return self._actions.get(keys.actions)

    def same_end(self, keys: TaskKeys) -> str | None:
        return self._ends.get(keys.end_state)

    def same_family(self, keys: TaskKeys) -> str | None:
        return None if keys.family is None else self._families.get(keys.family)

    def same(self, candidate: Known, made: Replay) -> str | None:
        """The known task that the candidate is the same as (sameness.py); `made` is the replay of its solution."""
        return self._sameness.find(candidate, made)
