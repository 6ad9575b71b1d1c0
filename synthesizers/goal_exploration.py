"""Explore what an environment's users want (optional.HasGoals): draw goals in the worlds of pool tasks, execute them, make tasks of them.

A goal whose calls fail, or that asks what a pool task asks already, is dropped.
"""

import random
from collections.abc import Sequence
from typing import Any

import attrs
from attrs import define, field, frozen

from coevolve import Action, CandidateTask, Environment, ExplorationContext, Goal, Origin, Step, Task

from .call_exploration import CallBudget
from .catalog import Catalog
from .links import Link, SolvedTask, link_uses


@frozen
class ExecutedGoal:
    """A goal in the world of `start`, with the steps of its calls and the links between them."""

    goal: Goal
    start: Task
    steps: tuple[Step, ...]
    links: tuple[Link, ...]


def offers_goals(environment: Environment) -> bool:
    """Whether the environment knows what its users want."""
    return callable(getattr(environment, "goals", None))


def offered_goals(environment: Any, start: Task, seed: int, count: int, after: Sequence[Action] = ()) -> Sequence[Goal]:
    """What `HasGoals.goals` returns."""
    found: Sequence[Goal] = environment.goals(start, seed, count, after)
    return found


@define
class GoalExploration:
    """The goals of one evolution."""

    name: str
    """The synthesizer's name: the kind of the tasks' origin and the beginning of their ids."""
    iteration: int
    environment: Environment
    catalog: Catalog
    budget: CallBudget
    rng: random.Random
    seen: set[str]
    """Requests of the pool and of this evolution's candidates."""
    kinds: dict[str, int] = field(factory=dict)
    """Kind of goal -> how many tasks of the pool and candidates have it."""
    made: int = 0

    def draw(self, starts: Sequence[SolvedTask], count: int) -> list[ExecutedGoal]:
        """Executed goals in the worlds of `starts`, one start after the other, until there are `count` of them or no more."""
        found: list[ExecutedGoal] = []
        for one in starts:
            if len(found) >= count:
                break
            self.budget.spend()
            goals = offered_goals(self.environment, one.task, self.rng.getrandbits(32), 2)
            found += [done for goal in goals if goal.query not in self.seen and (done := self.execute(one.task, goal)) is not None]
        return found

    def execute(self, start: Task, goal: Goal) -> ExecutedGoal | None:
        """Carry out a goal in a fresh episode of `start`; None when a call fails, or one before the last ends the episode."""
        self.budget.spend(1 + len(goal.actions))
        steps: list[Step] = []
        with self.environment.open(start) as episode:
            for action in goal.actions:
                # Without its turn's number: `script` would first move on to that turn of the start task, which may have fewer.
                seen = episode.step(self.environment.script([Action(action.name, action.arguments)])[0])
                own = [step for step in seen.steps if not step.inner]
                if len(own) != 1 or own[0].error is not None or (seen.done and action is not goal.actions[-1]):
                    return None
                steps.append(attrs.evolve(own[0], action=action))
        return ExecutedGoal(goal, start, tuple(steps), tuple(dict.fromkeys(use.link for use in link_uses(steps, self.catalog))))

    def candidate(self, chosen: ExecutedGoal, context: ExplorationContext, **detail: Any) -> CandidateTask | None:
        """The goal as a candidate task; None when the environment cannot make a task of it."""
        self.budget.spend()
        self.seen.add(chosen.goal.query)
        task_id = f"{self.name}-{self.iteration}-{self.made}"
        task = self.environment.compose(chosen.start, chosen.steps, task_id, chosen.goal.query)
        if task is None:
            return None
        self.made += 1
        self.kinds[chosen.goal.kind] = self.kinds.get(chosen.goal.kind, 0) + 1
        signal = context.signal.id if context.signal else None
        detail = {"goal": chosen.goal.kind, "calls": len(chosen.steps), **detail}
        origin = Origin(self.name, self.iteration, signal, (chosen.start.id,), detail)
        return CandidateTask(attrs.evolve(task, id=task_id, origin=origin), context, chosen.steps)


def goal_kinds(tasks: Sequence[Task]) -> dict[str, int]:
    """Kind of goal -> how many of the tasks were made of one."""
    counts: dict[str, int] = {}
    for kind in (task.origin.detail.get("goal") for task in tasks):
        if isinstance(kind, str):
            counts[kind] = counts.get(kind, 0) + 1
    return counts
