"""The environment: splits, episodes, the public description, patterns, composing and keys."""

import json
import threading
from collections.abc import Sequence
from itertools import islice
from typing import Any, ClassVar

from attrs import field, frozen, validators

from coevolve import Action, Description, Message, Step, Task, TaskKeys, Tool, Trajectory, UserError, did_you_mean

from .calls import DONE, write
from .compose import compose
from .episode import DeskEpisode, reference, seed_of
from .generator import generate
from .tools import ENTITIES, TOOLS, Spec
from .values import FORMS
from .wording import family

NOTES = """A small office of 14 apps. Write one call a turn, on one line: `tool argument=value ...`, for example
`contacts.birthday person=ana@desk.org as=iso`. Lookups take `as=`, the form to write the value in. Every action and lookup that takes a
value reads one form of it only; a refused call stays on record and the task is lost. When all is done write `done`, or `done answer=value`
when something was to be told. Every meeting, note, order and so on goes by one word."""


@frozen
class DeskOptions:
    """Options of the desk."""

    seed: int = 0
    """Which tasks are generated; the tools are always the same."""
    train: int = field(default=64, validator=validators.ge(1))
    """Tasks in split "train": the seed pool. A larger pool begins with the smaller one."""
    dev: int = field(default=200, validator=validators.ge(1))
    """Tasks in split "dev"."""
    test: int = field(default=800, validator=validators.ge(1))
    """Tasks in the held-out split "test"."""
    calls: int = field(default=8, validator=validators.ge(1))
    """Calls in an episode, without `done`; one more is a policy fault."""
    patterns: str = field(default="links", validator=validators.in_(("links", "tools", "both")))
    """What the rare signal counts: "links" (a lookup's value handed to a tool, `producer>consumer`), "tools" (names), or "both"."""
    manual: bool = False
    """Whether a system message lists the tools: for language models that were not trained on the desk (about 3,000 words)."""


class Desk:
    """Tools that need each other's values in the right form; success is the right final state and the right answer. Thread-safe."""

    name: ClassVar[str] = "desk"
    Options: ClassVar[type[Any]] = DeskOptions
    fixed_options: ClassVar[tuple[str, ...]] = ("seed", "train", "dev", "test", "calls", "patterns", "manual")

    def __init__(self, options: DeskOptions) -> None:
        self.options = options
        self._sizes = {"train": options.train, "dev": options.dev, "test": options.test}
        self._tasks: dict[str, tuple[Task, ...]] = {}
        self._lock = threading.Lock()

    def splits(self) -> tuple[str, ...]:
        return tuple(self._sizes)

    def tasks(self, split: str) -> Sequence[Task]:
        if split not in self._sizes:
            raise UserError(f"the desk has no split {split!r}{did_you_mean(split, self._sizes)}")
        with self._lock:
            if split not in self._tasks:
                self._tasks[split] = tuple(islice(generate(split, self.options.seed), self._sizes[split]))
            return self._tasks[split]

    def open(self, task: Task) -> DeskEpisode:
        messages: list[Message] = [{"role": "user", "content": task.query}]
        if self.options.manual:
            messages.insert(0, {"role": "system", "content": manual()})
        return DeskEpisode(task, tuple(messages), self.options.calls)

    def describe(self) -> Description:
        return Description(tuple(_tool(spec) for spec in TOOLS.values()), NOTES)

    def patterns(self, trajectory: Trajectory) -> tuple[str, ...]:
        links, tools = _links(trajectory.steps), [s.action.name for s in trajectory.steps if s.action.name in TOOLS]
        found = {"links": links, "tools": tools, "both": links + tools}[self.options.patterns]
        return tuple(dict.fromkeys(found))

    def script(self, actions: Sequence[Action]) -> tuple[str, ...]:
        texts = tuple(write(action) for action in actions)
        return texts if actions and actions[-1].name == DONE else (*texts, DONE)

    def compose(self, start: Task, steps: Sequence[Step], task_id: str, query: str | None = None) -> Task | None:
        return compose(start, steps, task_id, query, self.options.calls + 1)

    @classmethod
    def answer_budget(cls, options: Any) -> int:
        """Tokens of the longest call in the small policy's own vocabulary, and some more."""
        return 48

    def keys(self, task: Task) -> TaskKeys:
        seed, texts = seed_of(task), tuple(write(a) for a in task.solution)
        return TaskKeys(json.dumps([seed, *texts]), json.dumps(reference(seed, texts) or [seed, *texts]), family(task.solution))


def _links(steps: Sequence[Step]) -> list[str]:
    """`producer>consumer` for each lookup's value that was passed to a tool, also when the tool refused its form."""
    found, given = [], dict[tuple[str, str], str]()
    for step in steps:
        spec = TOOLS.get(step.action.name)
        if spec is None:
            continue
        producer = given.get((spec.takes, str(step.action.arguments.get(spec.takes)))) if spec.takes else None
        if producer:
            found.append(f"{producer}>{spec.name}")
        if spec.gives and step.error is None:
            given[spec.gives, str(step.result)] = spec.name
    return found


def _tool(spec: Spec) -> Tool:
    properties: dict[str, Any] = {}
    if spec.entity:
        properties[spec.entity] = {"type": "string", "format": spec.entity, "enum": list(ENTITIES[spec.entity])}
    if spec.takes:
        properties[spec.takes] = {"type": "string", "format": spec.takes}
    if spec.gives:
        properties["as"] = {"type": "string", "enum": list(FORMS[spec.gives])}
    returns: dict[str, Any] = {"type": "string", "format": spec.gives} if spec.gives else {"type": "string", "enum": ["ok"]}
    schema = {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}
    return Tool(spec.name, spec.phrase.format(e=f"<{spec.entity}>", v=f"<{spec.takes}>"), schema, returns, spec.app)


def manual() -> str:
    """The text of a system message: the notes, forms and entities, and one line for each tool."""
    names = [f"every {entity}: {', '.join(words)}" for entity, words in ENTITIES.items()]
    lines = [f"{s.name} {' '.join(f'{a}=' for a in s.arguments)}: {_tool(s).description}" for s in TOOLS.values()]
    forms = [f"forms of a {kind}: {', '.join(table)}" for kind, table in FORMS.items()]
    return "\n".join([NOTES, "", *forms, "", *names, "", *lines])
