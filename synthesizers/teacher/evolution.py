"""One evolution by a teacher: reflection, re-exploration and abstraction for each signal, several explorations at once.

Explorations run in waves of `concurrency`. A wave is complete before its candidates are yielded, in the order of the explorations'
numbers. So the order does not depend on which answer arrives first, no request or connection is open while candidates are validated, and a
replay sends the same requests as the run.
"""

import asyncio
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from attrs import define, field, frozen

from coevolve import (
    CandidateTask,
    Environment,
    ExplorationContext,
    Feedback,
    InfrastructureFault,
    Origin,
    Reason,
    Refusal,
    Step,
    Task,
    Tool,
    one_line,
)

from . import rendering, schemas, tool_list
from .abstraction import realise, verdict_of
from .assignments import Assignment
from .faults import BudgetSpent, TeacherFault
from .guided_exploration import KEPT, GuidedExploration
from .offered_tools import offered_tools
from .options import TeacherOptions
from .parsing import read_candidates
from .prompts import Prompts, tools_chars, world_chars
from .questions import Questions
from .reflection import context_of, reflect
from .replies import Candidate, Reflection
from .teacher_client import TeacherClient
from .world import world_of

NAME = "teacher"


@frozen
class ExplorationResult:
    """The result of one exploration. `asked`: its requests. `unreadable`: replies that could not be read.

    `fault`: what ended it early, or None. `spent`: whether that was the budget of the run or of the evolution.
    """

    candidates: tuple[CandidateTask, ...]
    asked: int
    unreadable: int
    fault: str | None = None
    spent: bool = False


@define
class Evolution:
    """The explorations of one evolution. `calls` is the number of requests that they may still make in total (None: no limit)."""

    options: TeacherOptions
    client: TeacherClient
    feedback: Feedback
    environment: Environment
    calls: int | None
    tools: Mapping[str, Tool] = field(init=False)
    notes: str = field(init=False)
    several: bool = field(init=False)
    tally: Counter[str] = field(factory=Counter)
    """Counts of faults and unreadable replies, for `problems`."""

    def __attrs_post_init__(self) -> None:
        description = self.environment.describe()
        self.tools, self.notes = {tool.name: tool for tool in description.tools}, description.notes
        self.several = any(action.turn for task in self.feedback.pool for action in task.solution)

    def run(self, assignments: Sequence[Assignment]) -> Iterator[CandidateTask]:
        """Run the assignments; yield candidates, also refused ones. Raises UserError, TooManyFaults; other faults end one exploration."""
        waiting = list(assignments)
        while waiting and (size := self._wave(len(waiting))):
            share = None if self.calls is None else self.calls // size
            wave, waiting = waiting[:size], waiting[size:]
            results = asyncio.run(self._explore(wave, share))
            for found in results:
                self._count(found)
            for found in results:
                yield from found.candidates
            if any(found.spent for found in results):
                break
        self.tally["not begun because the calls were used up"] += len(waiting)

    def problems(self) -> str | None:
        """The faults of this evolution in one line; None where there are none."""
        counted = [f"{count} {what}" for what, count in sorted(self.tally.items()) if count and what != "explorations"]
        if not counted:
            return None
        return f"teacher, evolution at {self.feedback.iteration}: of {self.tally['explorations']} explorations: {'; '.join(counted)}"

    def _wave(self, waiting: int) -> int:
        """The number of explorations in the next wave, at most `concurrency`, and at most as many as the remaining calls allow.

        With too few calls for a whole exploration, a single shorter one still runs if it can explore one call and abstract it.
        """
        size = min(waiting, self.options.concurrency)
        if self.calls is None:
            return size
        whole = self.options.rounds * self.options.steps + 1 + self.options.use_signals
        if self.calls < KEPT + 1 + self.options.use_signals:
            return 0
        return min(size, max(1, self.calls // whole))

    def _count(self, found: ExplorationResult) -> None:
        if self.calls is not None:
            self.calls -= found.asked
        self.tally["explorations"] += 1
        self.tally["unreadable replies"] += found.unreadable
        if found.fault:
            self.tally[found.fault] += 1

    async def _explore(self, wave: Sequence[Assignment], share: int | None) -> list[ExplorationResult]:
        try:
            results = await asyncio.gather(*(self._one(assignment, share) for assignment in wave), return_exceptions=True)
        finally:
            await self.client.aclose()
        for result in results:  # the first in order, so that a run and its replay fail with the same error
            if isinstance(result, BaseException):
                raise result
        return [result for result in results if isinstance(result, ExplorationResult)]

    async def _one(self, assignment: Assignment, share: int | None) -> ExplorationResult:
        options, number = self.options, assignment.number
        questions = Questions(self.client, self.feedback.iteration, number, options.reasks, options.max_tokens, share)
        try:
            known, world = await asyncio.to_thread(self._beginning, assignment.task)
        except InfrastructureFault as stopped:
            return ExplorationResult((), 0, 0, one_line(str(stopped).split("\n", 1)[0], 300))
        offered, prompts = self._prompts(assignment, known, world)
        made: tuple[CandidateTask, ...] = ()
        exploration = GuidedExploration(self.environment, self.tools, assignment.task, prompts, questions)
        fault: TeacherFault | InfrastructureFault | None = None
        try:
            others = [group for group in self.feedback.groups if group.task.id != assignment.task.id]
            reflection = await reflect(questions, prompts, assignment, others)
            try:
                await exploration.run(prompts.explore(reflection), offered)
            except BudgetSpent:
                raise
            except InfrastructureFault as stopped:  # the steps so far may still become tasks
                fault = stopped
            if any(step.error is None for step in exploration.steps):
                made = await self._abstract(assignment, prompts, questions, reflection, exploration)
        except InfrastructureFault as stopped:
            fault = stopped
        spent = isinstance(fault, BudgetSpent)
        text = None if fault is None else "out of calls" if spent else one_line(str(fault).split("\n", 1)[0], 300)
        return ExplorationResult(made, len(questions.keys), questions.unreadable, text, spent and questions.left != 0)

    def _beginning(self, task: Task) -> tuple[dict[str, Tool], str]:
        """The tools that the task has, and what the world holds where it begins."""
        with self.environment.open(task) as episode:
            return offered_tools(episode, task, self.tools), world_of(episode, world_chars(self.options))

    def _prompts(self, assignment: Assignment, known: Mapping[str, Tool], world: str) -> tuple[Sequence[Tool], Prompts]:
        """The tools to offer, of those that the task has (`known`), the used ones first, and the prompts that list them."""
        options, task = self.options, assignment.task
        used = [step.action.name for group in assignment.groups for t in group.trajectories for step in t.steps]
        names = list(dict.fromkeys(name for name in [*(a.name for a in task.solution), *used] if name in known))
        offered = tool_list.relevant(list(known.values()), names, options.max_tools)
        listed = tool_list.tools(list(known.values()), names, options.max_tools, tools_chars(options))
        return offered, Prompts.of(options, self.notes, listed, task, self.several, world)

    async def _abstract(
        self, assignment: Assignment, prompts: Prompts, questions: Questions, reflection: Reflection | None, exploration: GuidedExploration
    ) -> tuple[CandidateTask, ...]:
        options, steps = self.options, exploration.steps
        room = prompts.room(prompts.abstract(reflection, ""))
        messages = prompts.abstract(reflection, rendering.steps(steps, room, idle=exploration.idle))
        used = [self.tools[name] for name in dict.fromkeys(step.action.name for step in steps) if name in self.tools]
        schema = schemas.candidates(used, len(steps), options.candidates, self.several, options.queries)
        refused: list[Refusal] = []

        def read(reply: str) -> list[Candidate] | None:
            candidates, refusals = read_candidates(reply, options.queries)
            refused.extend(refusal for refusal in refusals if refusal.reason not in (Reason.NONE, Reason.UNREADABLE))
            return None if [refusal.reason for refusal in refusals] == [Reason.UNREADABLE] else candidates

        candidates = await questions.ask("abstract", "", messages, schema, read) or []
        context = context_of(assignment, reflection)
        return await asyncio.to_thread(self._candidate_tasks, assignment, context, questions.keys, steps, candidates, refused)

    def _candidate_tasks(
        self,
        assignment: Assignment,
        context: ExplorationContext,
        keys: Sequence[str],
        steps: Sequence[Step],
        candidates: Sequence[Candidate],
        refused: Sequence[Refusal],
    ) -> tuple[CandidateTask, ...]:
        """A candidate task for each candidate, then one, for the record, for each part of the reply that could not be read."""
        made: list[CandidateTask] = []
        signal = assignment.signal.id if assignment.signal else None
        detail = {"exploration": assignment.number, "explored": len(steps), "targets": list(context.targets)}
        origin = Origin(NAME, self.feedback.iteration, signal, (assignment.task.id,), detail)
        start = assignment.task

        def add(task: Task, refusal: Refusal | None = None) -> None:
            made.append(CandidateTask(task, context, tuple(steps), tuple(keys), verdict_of(refusal) if refusal else None))

        def task_id() -> str:
            return f"{NAME}-{self.feedback.iteration}-{assignment.number}-{len(made)}"

        def unmade(query: str, intent: str) -> Task:
            return Task(task_id(), start.environment, query, intent, (), dict(start.payload), origin)

        for candidate in candidates:
            try:
                add(realise(candidate, start, steps, self.environment, task_id(), origin, self.options.queries))
            except Refusal as refusal:
                add(unmade(candidate.query, candidate.intent), refusal)
        for unread in refused:
            add(unmade("", ""), unread)
        return tuple(made)
