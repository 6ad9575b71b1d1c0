"""Make variants of solved tasks. Each variant is executed in its parent's world before it is worded.

    swap       replaces a value of the request, in its words and in every call that takes the value
    suffix     adds new turns after the task's turns
    prefix     adds new turns before them
    recombine  adds turns of another task after some of this task's turns
    explore    where the environment offers goals, one goal as it is offered, and none of the task's turns: two goals know nothing of
               each other, so their turns may contradict; elsewhere it keeps some of the task's first turns and adds new ones

New turns are goals of the environment (optional.HasGoals) with their words; where it offers none, random calls that it words.
Turns of the task keep their words. A value that came from an earlier call's result is taken from that call's new result. A variant is
dropped when the source of a value would come later or not at all, since no agent could know the value.
"""

import random
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import attrs
from attrs import define, field, frozen

from coevolve import Step

from .argument_values import ArgumentValues, fitting_results
from .call_exploration import Exploration
from .catalog import Argument, Catalog, distinctive, json_equal, same_call
from .goal_exploration import offered_goals, offers_goals
from .links import SolvedTask, link_uses

TRIES = 12
"""Most calls tried for each new call of a turn."""
GOAL_TRIES = 3
"""Most goals tried for new turns."""
PLAIN_WORDS = 2
"""Most words of a value that may be exchanged for another."""


@frozen
class VariantTurn:
    """One user turn of a variant: its words and its executed calls. `text` is None for a new turn that the environment is to word."""

    text: str | None
    steps: tuple[Step, ...]


@define
class VariantBuilder(Exploration):
    """An exploration that also records which calls left the world as it was, and which goals were carried out."""

    reads: list[Step] = field(factory=list)
    goals: list[str] = field(factory=list)

    def try_call(self, name: str, arguments: dict[str, Any]) -> Step | None:
        before = self.episode.state()
        step = super().try_call(name, arguments)
        if step is not None and self.episode.state() == before:
            self.reads.append(step)
        return step


@frozen
class TaskTurns:
    """The user turns of a solved task: the words of each and the indices of its steps. The words of a task with one turn are None."""

    solved: SolvedTask
    texts: tuple[str | None, ...]
    groups: tuple[tuple[int, ...], ...]

    def __len__(self) -> int:
        return len(self.groups)


def task_turns(solved: SolvedTask, several: bool) -> TaskTurns | None:
    """The turns of a task that have calls, with their words (the query's paragraphs). None when paragraphs and turns do not match.

    The words of a turn without calls (the user leaves something open) belong to the next turn that has calls. `several`: whether tasks of
    this environment have several user turns; otherwise the whole task is one turn.
    """
    if len(solved.steps) != len(solved.task.solution):
        return None
    if not several:
        return TaskTurns(solved, (None,), (tuple(range(len(solved.steps))),))
    numbers = sorted({action.turn for action in solved.task.solution})
    groups = tuple(tuple(i for i, action in enumerate(solved.task.solution) if action.turn == number) for number in numbers)
    texts = tuple(part.strip() for part in solved.task.query.split("\n\n") if part.strip())
    if len(texts) != len(groups):
        if len(texts) != numbers[-1] + 1:
            return None
        texts = tuple("\n".join(texts[before + 1 : number + 1]) for before, number in zip([-1, *numbers], numbers, strict=False))
    return TaskTurns(solved, texts, groups)


def value_pattern(value: Any) -> re.Pattern[str]:
    """A pattern that finds a value in a request, but not as a part of another word or number.

    >>> bool(value_pattern(20.0).search("the last 20 lines")), bool(value_pattern("log").search("log.txt or login"))
    (True, False)
    """
    text = str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
    return re.compile(rf"(?<![\w.-]){re.escape(text)}(?:\.0+)?(?![\w-]|\.\w)")


@define
class Variants:
    """The operators of one evolution. Each returns the turns of a variant as executed by the builder, or None when it found none."""

    catalog: Catalog
    values: ArgumentValues
    rng: random.Random
    uses: dict[str, int]
    """Tool -> its calls in the pool and in candidates; new turns prefer tools with few calls."""
    longest: int
    """Most calls of a new turn."""

    def swap(self, builder: VariantBuilder, parent: TaskTurns, others: Sequence[TaskTurns]) -> list[VariantTurn] | None:
        query = parent.solved.task.query
        places = [
            (index, name, value)
            for index, step in enumerate(parent.solved.steps)
            for name, value in step.action.arguments.items()
            if isinstance(value, str | int | float) and not isinstance(value, bool) and _mentions(query, value)
        ]
        if not places:
            return None
        index, name, old = self.rng.choice(places)
        argument = self.catalog.argument(parent.solved.steps[index].action.name, name)
        new = self._other(parent, index, argument, old) if argument else None
        if new is None:
            return None
        made = [self._replay_turn(builder, parent, number, {}, (old, new)) for number in range(len(parent))]
        if not all(made):
            return None
        texts = [value_pattern(old).sub(lambda _: str(new), text if text is not None else query) for text in parent.texts]
        return [VariantTurn(text, tuple(steps or ())) for text, steps in zip(texts, made, strict=True)]

    def suffix(self, builder: VariantBuilder, parent: TaskTurns, others: Sequence[TaskTurns]) -> list[VariantTurn] | None:
        before = self._replay_turns(builder, parent, range(len(parent)))
        after = self._new_turns(builder, parent, len(parent)) if before else None
        return [*before, *after] if before and after else None

    def prefix(self, builder: VariantBuilder, parent: TaskTurns, others: Sequence[TaskTurns]) -> list[VariantTurn] | None:
        before = self._new_turns(builder, parent, 0)
        after = self._replay_turns(builder, parent, range(len(parent)), len(before)) if before else None
        return [*before, *after] if before and after else None

    def recombine(self, builder: VariantBuilder, parent: TaskTurns, others: Sequence[TaskTurns]) -> list[VariantTurn] | None:
        """`others`: tasks whose turns may work in this world, too. Executing them shows whether they do."""
        if not others:
            return None
        other = self.rng.choice(others)
        before = self._replay_turns(builder, parent, range(self.rng.randint(1, len(parent))))
        first = self.rng.randrange(len(other))
        numbers = range(first, self.rng.randint(first + 1, len(other)))
        after = self._replay_turns(builder, other, numbers, len(before)) if before else None
        if not before or not after or self._unsaid(builder, other, numbers, after):
            return None
        return [*before, *after]

    def _unsaid(self, builder: VariantBuilder, other: TaskTurns, numbers: Iterable[int], turns: Sequence[VariantTurn]) -> bool:
        """Whether a call of another task's turns takes a value that neither these turns' words nor a result of this world tells.

        Such a value was right in the other task's world.
        """
        said = "\n".join(other.texts[number] or other.solved.task.query for number in numbers)
        for step in (step for turn in turns for step in turn.steps):
            before = builder.steps[: next(n for n, made in enumerate(builder.steps) if made is step)]
            for name, value in step.action.arguments.items():
                argument = self.catalog.argument(step.action.name, name)
                free = isinstance(value, str | int | float) and not isinstance(value, bool) and argument and not argument.choices
                known = free and any(json_equal(leaf.value, value) for made in before for leaf in self.catalog.leaves(made))
                if free and not known and not _mentions(said, value):
                    return True
        return False

    def explore(self, builder: VariantBuilder, parent: TaskTurns, others: Sequence[TaskTurns]) -> list[VariantTurn] | None:
        if offers_goals(builder.environment):
            return self._goal_turns(builder, parent, 0)
        kept = self._replay_turns(builder, parent, range(self.rng.randrange(len(parent))))
        if kept is None:
            return None
        added: list[VariantTurn] = []
        for _ in range(self.rng.randint(1, 2)):
            added += self._new_turns(builder, parent, len(kept) + len(added)) or []
        return [*kept, *added] if added else None

    def _replay_turns(self, builder: VariantBuilder, parent: TaskTurns, numbers: Iterable[int], turn: int = 0) -> list[VariantTurn] | None:
        """Execute these turns of a task in order, the first as turn `turn`. None when a call fails."""
        sources: dict[int, Step] = {}
        made = []
        for place, number in enumerate(numbers, turn):
            builder.turn = place
            steps = self._replay_turn(builder, parent, number, sources)
            if steps is None:
                return None
            made.append(VariantTurn(parent.texts[number], tuple(steps)))
        return made

    def _replay_turn(
        self, builder: VariantBuilder, parent: TaskTurns, number: int, sources: dict[int, Step], change: tuple[Any, Any] | None = None
    ) -> list[Step] | None:
        """Execute one turn's calls; None when a call fails.

        `sources` maps the index of a call in the task's solution to its new step; the new steps are added. `change` is (old, new) value.
        """
        steps = []
        if change is not None:
            builder.turn = number
        for index in parent.groups[number]:
            action, arguments = parent.solved.steps[index].action, dict[str, Any]()
            for name, value in action.arguments.items():
                known, now = self._value(parent, index, name, _changed(value, change), sources)
                if not known:
                    return None
                arguments[name] = now
            step = builder.try_call(action.name, arguments)
            if step is None:
                return None
            sources[index] = step
            steps.append(step)
        return steps

    def _value(self, parent: TaskTurns, index: int, name: str, value: Any, sources: Mapping[int, Step]) -> tuple[bool, Any]:
        """Whether an agent can know an argument's value at this point, and the value."""
        use = next((h for h in parent.solved.link_uses if h.target == index and h.link.argument == name), None)
        old = parent.solved.steps[index].action.arguments[name]
        if use is None or not json_equal(old, value) or _mentions(parent.solved.task.query, value):
            return True, value
        source = sources.get(use.source)
        if source is None:
            return False, None
        before, now = self.catalog.leaves(parent.solved.steps[use.source]), self.catalog.leaves(source)
        place = next((place for place, leaf in enumerate(before) if json_equal(leaf.value, value)), None)
        if place is None or len(before) != len(now):
            return any(json_equal(leaf.value, value) for leaf in now), value
        return True, now[place].value

    def _other(self, parent: TaskTurns, index: int, argument: Argument, old: Any) -> Any:
        """Another value for an argument: from the same argument of pool tasks, the enumeration, or a number close to the old one.

        None for texts of several words and for ids: another task's would not go with the rest of the request.
        """
        if len(str(old).split()) > PLAIN_WORDS or argument.name.endswith("id"):
            return None
        found = [*self.values.from_pool(parent.solved.steps[index].action.name, argument), *argument.choices]
        if isinstance(old, int | float):
            found += [old + 1, old + 2, old * 2]
        query = parent.solved.task.query
        fitting = [
            value
            for value in found
            if argument.accepts(value, argument.format)
            and _fits_a_sentence(value)
            and not _mentions(query, value)
            and len(str(value).split()) <= PLAIN_WORDS
        ]
        return self.rng.choice(fitting) if fitting else None

    def _tools(self, parent: TaskTurns) -> list[str]:
        """All tools of the apps that a task's solution uses."""
        groups = {self.catalog.group(step.action.name) for step in parent.solved.steps}
        return [name for name in self.catalog.tools if self.catalog.group(name) in groups]

    def _new_turns(self, builder: VariantBuilder, parent: TaskTurns, number: int) -> list[VariantTurn] | None:
        """New turns, the first as turn `number`; None when there are none."""
        if offers_goals(builder.environment):
            return self._goal_turns(builder, parent, number)
        turn = self._new_turn(builder, parent, number)
        return None if turn is None else [turn]

    def _goal_turns(self, builder: VariantBuilder, parent: TaskTurns, number: int) -> list[VariantTurn] | None:
        """The turns of a goal in the world as it is now; None when there is none whose calls work."""
        after = [step.action for step in builder.steps]
        builder.budget.spend()
        for goal in offered_goals(builder.environment, parent.solved.task, self.rng.getrandbits(32), GOAL_TRIES, after):
            checkpoint, texts = builder.checkpoint(), goal.query.split("\n\n")
            made: list[list[Step]] = [[] for _ in texts]
            for action in goal.actions:
                builder.turn = number + action.turn
                step = builder.try_call(action.name, dict(action.arguments))
                if step is None:
                    break
                made[action.turn].append(step)
            else:
                builder.goals.append(goal.kind)
                return [VariantTurn(text, tuple(steps)) for text, steps in zip(texts, made, strict=True)]
            builder.roll_back(checkpoint)
        return None

    def _new_turn(self, builder: VariantBuilder, parent: TaskTurns, number: int) -> VariantTurn | None:
        """Make a new turn of at most `longest` calls. Calls before the last that change nothing and supply nothing are dropped."""
        builder.turn, begun = number, len(builder.steps)
        tools = self._tools(parent)
        weights = [1 / (1 + self.uses.get(tool, 0)) for tool in tools]
        wanted = self.rng.randint(1, self.longest)
        for _ in range(TRIES * wanted):
            if len(builder.steps) - begun == wanted:
                break
            tool = self.rng.choices(tools, weights)[0]
            arguments = self._arguments(builder, tool)
            if arguments is not None and not builder.has_call(tool, arguments):
                self._add_call(builder, parent, tool, arguments)
        while (idle := self._idle_call(builder, begun)) is not None:
            del builder.steps[idle]
        return VariantTurn(None, tuple(builder.steps[begun:])) if len(builder.steps) > begun else None

    @staticmethod
    def _add_call(builder: VariantBuilder, parent: TaskTurns, tool: str, arguments: dict[str, Any]) -> None:
        """Make one new call; undo it when it changes the world in the way that one of the task's own calls does."""
        checkpoint = builder.checkpoint()
        step = builder.try_call(tool, arguments)
        read = bool(builder.reads) and builder.reads[-1] is step
        if step is not None and not read and any(same_call(step.action, known.action) for known in parent.solved.steps):
            builder.roll_back(checkpoint)

    def _idle_call(self, builder: VariantBuilder, begun: int) -> int | None:
        sources = {h.source for h in link_uses(builder.steps, self.catalog)}
        inner = range(begun, len(builder.steps) - 1)
        return next((i for i in inner if i not in sources and any(builder.steps[i] is read for read in builder.reads)), None)

    def _arguments(self, builder: VariantBuilder, tool: str) -> dict[str, Any] | None:
        given: dict[str, Any] = {}
        for argument in self.catalog.arguments[tool]:
            if not argument.required and self.rng.random() < 0.8:
                continue
            found = [] if argument.choices else fitting_results(builder.steps, self.catalog, argument)
            drawn = self.rng.choice(found).value if found and self.rng.random() < 0.5 else self._draw(builder, tool, argument)
            if drawn is not None:
                given[argument.name] = drawn
            elif argument.required:
                return None
        return given

    def _draw(self, builder: VariantBuilder, tool: str, argument: Argument) -> Any:
        if bool in argument.types and not argument.choices:
            return self.rng.random() < 0.5
        used = self.values.from_pool(tool, argument)
        if used and not argument.choices and self.rng.random() < 0.5:
            return self.rng.choice(used)  # a value that other requests give here reads better than a word of this request
        return self.values.draw(builder.start, tool, argument, self.rng, beyond=True)


Operator = Callable[[Variants, VariantBuilder, TaskTurns, Sequence[TaskTurns]], list[VariantTurn] | None]
OPERATORS: dict[str, Operator] = {
    "swap": Variants.swap,
    "suffix": Variants.suffix,
    "prefix": Variants.prefix,
    "recombine": Variants.recombine,
    "explore": Variants.explore,
}
"""Operators by their name in the option `operators`."""


def numbered(made: Sequence[VariantTurn], several: bool) -> list[Step]:
    """The steps of all turns, each with the number of its turn (0 when tasks do not have several turns)."""
    return [attrs.evolve(s, action=attrs.evolve(s.action, turn=n * several)) for n, turn in enumerate(made) for s in turn.steps]


def _changed(value: Any, change: tuple[Any, Any] | None) -> Any:
    if change is None:
        return value
    if isinstance(value, list):
        return [_changed(inner, change) for inner in value]
    return change[1] if json_equal(value, change[0]) else value


def _mentions(query: str, value: Any) -> bool:
    """Whether the request holds a value. A small number or a single letter must occur exactly once, or it may mean something else."""
    if isinstance(value, list):
        return all(_mentions(query, inner) for inner in value)
    times = len(value_pattern(value).findall(query)) if str(value).strip() else 0
    return times > 0 if distinctive(value) else times == 1


def _fits_a_sentence(value: Any) -> bool:
    """Whether a value can stand in a sentence: not blank, on one line, at most 200 characters."""
    return not isinstance(value, str) or bool(value.strip() and "\n" not in value and len(value) <= 200)
