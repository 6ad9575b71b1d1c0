"""Repair a refused task that was made of a goal (repairs.py), where the environment knows what its users want (optional.HasGoals)."""

from collections.abc import Iterator, Sequence
from itertools import chain, islice

import attrs
from attrs import define, field

from coevolve import CandidateTask, Goal, Task

from .catalog import same_call
from .goal_exploration import ExecutedGoal, GoalExploration, offered_goals
from .refused import DROPPABLE, TOO_LONG, TOO_SHORT, RefusedCandidate, named_call

OFFERED = 8
"""Goals that are asked for at once."""
FURTHER = 4
"""Goals that are tried as the continuation of a task that is too easy, or in the place of one with a call that is not needed."""
WORLDS = 4
"""Worlds in which another goal of the same kind is looked for."""
JOINT = " + "
"""Stands between the kinds of goals that follow each other (optional.Goal)."""


@define
class GoalRepair:
    """The repair of one candidate that was made of a goal."""

    refused: RefusedCandidate
    goals: GoalExploration = field(init=False)

    def __attrs_post_init__(self) -> None:
        one, known = self.refused, self.refused.known
        iteration, seen = known.feedback.iteration, set(known.seen)
        self.goals = GoalExploration(known.name, iteration, one.environment, one.catalog, one.budget, one.rng, seen)

    @property
    def kind(self) -> str:
        """The refused goal's kind."""
        return str(self.refused.candidate.task.origin.detail.get("goal", ""))

    def made(self) -> CandidateTask | None:
        """The repaired candidate; None when there is none. Raises BudgetExhausted."""
        reason = self.refused.verdict.reason
        if reason in TOO_SHORT:
            found = self._longer()
        elif reason in TOO_LONG:
            found = self._shorter()
        elif reason in DROPPABLE:
            return self._without()
        else:
            found = self._same_kind()
        return next((made for one in found if (made := self._candidate(one)) is not None), None)

    def _longer(self) -> Iterator[ExecutedGoal]:
        """The candidate's calls and then a further goal, which knows of them; as turns of its own where tasks have several.

        Goals of kinds that the candidate has not are tried first.
        """
        refused = self.refused
        refused.budget.spend(1 + len(refused.actions))
        offered = offered_goals(refused.environment, refused.start, refused.rng.getrandbits(32), FURTHER, refused.actions)
        several = any(action.turn for one in refused.known.solved for action in one.task.solution)
        first = refused.candidate.task.query
        number = max((action.turn for action in refused.actions), default=-1) + 1 if several else 0
        had = set(self.kind.split(JOINT))
        beginnings = [refused.actions]
        if refused.actions and not refused.actions[-1].arguments:
            beginnings.append(refused.actions[:-1])  # the call may only end the episode, which the further goal does now
        for goal in sorted(offered, key=lambda goal: bool(had & set(goal.kind.split(JOINT)))):
            more = [attrs.evolve(action, turn=number + action.turn * several) for action in goal.actions]
            kind = JOINT.join(part for part in (self.kind, goal.kind) if part)
            for beginning in beginnings:
                done = self.goals.execute(refused.start, Goal(kind, f"{first}\n\n{goal.query}", (*beginning, *more)))
                if done is not None:
                    yield done
                    break

    def _shorter(self) -> Iterator[ExecutedGoal]:
        """The goal's first turns, about half of them; then other goals of the same start with fewer calls, the longest first."""
        yield from self._first_turns()
        others = self._offered(self.refused.start)
        fewer = [goal for goal in others if len(goal.actions) < len(self.refused.actions)]
        for goal in sorted(fewer, key=lambda goal: -len(goal.actions)):
            if (done := self.goals.execute(self.refused.start, goal)) is not None:
                yield done

    def _first_turns(self, most: int | None = None) -> Iterator[ExecutedGoal]:
        """The goal's turns before turn `most`, or before some turn, the middle one first."""
        actions, texts = self.refused.actions, self.refused.candidate.task.query.split("\n\n")
        turns = max((action.turn for action in actions), default=0) + 1
        if len(texts) != turns:
            return
        # A turn without calls is the beginning of the next one's goal.
        kinds, calling = self.kind.split(JOINT), sorted({action.turn for action in actions})
        counts = sorted(range(1, turns), key=lambda count: (abs(count - turns // 2), count)) if most is None else [most]
        for count in counts:
            kept = tuple(action for action in actions if action.turn < count)
            # A last turn without calls leaves something open that only the next turn says.
            if not kept or kept[-1].turn != count - 1:
                continue
            whole = sum(turn < count for turn in calling)
            kind = JOINT.join(kinds[:whole]) if len(kinds) == len(calling) else self.kind
            done = self.goals.execute(self.refused.start, Goal(kind, "\n\n".join(texts[:count]), kept))
            if done is not None:
                yield done

    def _without(self) -> CandidateTask | None:
        """The turns before that of the call; another goal of the same kind; the calls without it, in the environment's words."""
        refused, actions = self.refused, self.refused.actions
        named = named_call(refused.verdict, refused.candidate.task.solution)
        dropped = next((n for n, action in enumerate(actions) if named is not None and same_call(action, named)), None)
        if dropped is None:
            return None
        for one in chain(self._first_turns(actions[dropped].turn), islice(self._same_kind(), FURTHER)):
            made = self._candidate(one)
            if made is not None and refused.spare(made.task, made.exploration) is None:
                return made
        rest = self.goals.execute(refused.start, Goal(self.kind, "", (*actions[:dropped], *actions[dropped + 1 :])))
        task = refused.composed(refused.start, rest.steps) if rest else None
        if rest is None or task is None or refused.spare(task, rest.steps) is not None:
            return None
        return refused.repaired(task, rest.steps, rest.links)

    def _same_kind(self) -> Iterator[ExecutedGoal]:
        """Other goals of the same kind, here and in other worlds; after them those that share a part of the kind."""
        refused, worlds = self.refused, [self.refused.start]
        worlds += [refused.rng.choice(refused.known.solved).task for _ in range(WORLDS - 1)]
        alike: list[tuple[Task, Goal]] = []
        for start in worlds:
            for goal in self._offered(start):
                if goal.kind == self.kind and (done := self.goals.execute(start, goal)) is not None:
                    yield done
                elif goal.kind != self.kind and set(goal.kind.split(JOINT)) & set(self.kind.split(JOINT)):
                    alike.append((start, goal))
        for start, goal in alike:
            if (done := self.goals.execute(start, goal)) is not None:
                yield done

    def _offered(self, start: Task) -> Sequence[Goal]:
        self.refused.budget.spend()
        offered = offered_goals(self.refused.environment, start, self.refused.rng.getrandbits(32), OFFERED)
        return [goal for goal in offered if goal.query not in self.goals.seen and goal.query != self.refused.candidate.task.query]

    def _candidate(self, one: ExecutedGoal) -> CandidateTask | None:
        """The executed goal as a repaired candidate; None when it makes no task, or none that is longer or shorter as it should be."""
        refused = self.refused
        task = refused.composed(one.start, one.steps, one.goal.query)
        if task is None:
            return None
        more = refused.length(task) - refused.length(refused.candidate.task)
        reason = refused.verdict.reason
        if (reason in TOO_SHORT and more <= 0) or (reason in TOO_LONG and more >= 0):
            return None
        return refused.repaired(task, one.steps, one.links, one.start, goal=one.goal.kind)
