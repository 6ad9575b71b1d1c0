"""Repair candidates that were refused for what their solution does: make them longer, shorter, without a call, or with other values.

    droppable_call                          the calls without the one that the verdict names
    too_easy, no_effect, solved_by_nothing  the calls again, and one or two further links, or a further goal
    too_hard                                the shortest part of the calls that holds a target link, or the goal's first turns
    call_failed, replay_differs             the same kind of calls with other values, or another goal of the same kind

link_repairs.py does this for chains of calls, goal_repairs.py for goals (optional.HasGoals). A repair is a pure function of the candidate,
the verdict, the environment, the random numbers and of what the synthesizer was given in this evolution (`EvolutionInput`). It explores in
fresh episodes with a budget of its own. So a resumed run, which begins its evolution anew, repairs alike.
"""

import random

from coevolve import CandidateTask, Environment, Verdict

from .call_exploration import BudgetExhausted, CallBudget
from .goal_exploration import offers_goals
from .goal_repairs import GoalRepair
from .link_repairs import LinkRepair
from .refused import REPAIRED_HERE, EvolutionInput, RefusedCandidate


def repair(
    known: EvolutionInput | None, candidate: CandidateTask, verdict: Verdict, environment: Environment, rng: random.Random, max_calls: int
) -> CandidateTask | None:
    """The repaired candidate after at most `max_calls` environment calls.

    None where there is none, for a reason that lies in the wording, and where the evolution (`known`) or the start task is not known.
    """
    start = known.start(candidate) if known else None
    if known is None or start is None or verdict.reason not in REPAIRED_HERE or not candidate.exploration:
        return None
    refused = RefusedCandidate(known, candidate, verdict, environment, rng, CallBudget(max_calls), start)
    made_of_goal = "goal" in candidate.task.origin.detail and offers_goals(environment)
    try:
        return GoalRepair(refused).made() if made_of_goal else LinkRepair(refused).made()
    except BudgetExhausted:
        return None
