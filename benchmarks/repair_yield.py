"""How many refused candidates are admitted after a repair, by reason, on the desk.

    python benchmarks/repair_yield.py [--candidates 150] [--repairs 2] [--seed 0]

Candidates of `programmatic` and `random` go through the validators "minimal" and "execution", and then through four attempts by a policy
that is made up: it gets each link right with a probability that is drawn once for the two tools (0.3, 0.7, 0.9 or 1.0), and solves a task
when it gets all of its links right. More than two solved attempts are too easy, none is too hard. With `--drop-all` the scorer must miss
every call, lookups included, which the desk's scorer does not: this gives many `droppable_call`, and no attempts are made. A refused
candidate is repaired up to `--repairs` times. The pool does not grow, so that all candidates are judged alike.
"""

import argparse
import random
from collections import Counter
from itertools import islice
from typing import Any
from zlib import crc32

from coevolve import CandidateTask, TaskPool, Verdict
from coevolve.environments.desk import Desk, DeskOptions
from coevolve.plugins.validators.execution import Execution, ExecutionOptions
from coevolve.plugins.validators.frontier import ACCEPTED, decision
from coevolve.plugins.validators.minimal import Minimal, MinimalOptions
from coevolve.synthesizers.catalog import catalog_of
from coevolve.synthesizers.links import Survey
from coevolve.synthesizers.programmatic import Programmatic, ProgrammaticOptions
from coevolve.synthesizers.random import RandomExploration, RandomOptions
from coevolve.synthesizers.refused import REPAIRED_HERE
from coevolve.testing import make_feedback

ATTEMPTS, LOW, HIGH = 4, 1, 2
SKILLS = (0.3, 0.7, 0.9, 1.0)


class Judge:
    """The validators and the made-up policy."""

    def __init__(self, desk: Any, seed: int, drop_all: bool) -> None:
        self.desk, self.seed, self.attempts = desk, seed, 0 if drop_all else ATTEMPTS
        self.catalog, self.pool = catalog_of(desk.describe()), TaskPool(tuple(desk.tasks("train")))
        self.validators: list[Any] = [Minimal(MinimalOptions()), Execution(ExecutionOptions(drop_all=drop_all))]

    def __call__(self, candidate: CandidateTask) -> Verdict:
        """The verdict of the first validator that refuses, or of the attempts."""
        for validator in self.validators:
            verdict: Verdict = validator.validate(candidate, self.desk, self.pool, self.desk.tasks("test"))
            if not verdict.accepted:
                return verdict
        if not self.attempts:
            return Verdict(True, ACCEPTED)
        (solved,) = Survey().solved([candidate.task], self.desk, self.catalog)
        rate = 1.0
        for use in solved.link_uses:
            rate *= SKILLS[crc32(f"{self.seed} {use.link.producer} {use.link.consumer}".encode()) % len(SKILLS)]
        draw = random.Random(f"{self.seed} {candidate.task.id} {candidate.task.query}")
        count = sum(draw.random() < rate for _ in range(self.attempts))
        reason = str(decision(count, 0, LOW, HIGH))
        return Verdict(reason == ACCEPTED, reason, f"{count} of {self.attempts} attempts solved it")


def measure(maker: Any, judge: Judge, count: int, repairs: int) -> tuple[Counter[str], Counter[tuple[str, str]]]:
    """First verdicts by reason, and (reason of the first refusal, what became of it) for those that may be repaired."""
    first, then = Counter[str](), Counter[tuple[str, str]]()
    feedback = make_feedback(judge.desk.tasks("train"), wanted=count)
    for candidate in islice(maker.synthesize(feedback, judge.desk, random.Random(judge.seed)), count):
        verdict = judge(candidate)
        first[str(verdict.reason)] += 1
        reason, now = str(verdict.reason), candidate
        if verdict.accepted or reason not in REPAIRED_HERE:
            continue
        for number in range(1, repairs + 1):
            made = maker.repair(now, verdict, judge.desk, random.Random(f"{judge.seed} {now.task.id}"))
            if made is None:
                then[reason, "no repair"] += 1
                break
            now, verdict = made, judge(made)
            if verdict.accepted:
                then[reason, f"admitted after {number}"] += 1
                break
        else:
            then[reason, f"refused again: {verdict.reason}"] += 1
    return first, then


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--candidates", type=int, default=150)
    parser.add_argument("--repairs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--drop-all", action="store_true")
    given = parser.parse_args()
    judge = Judge(Desk(DeskOptions(seed=given.seed, train=64, dev=1, test=200)), given.seed, given.drop_all)
    makers: list[Any] = [Programmatic(ProgrammaticOptions(max_calls=10**6)), RandomExploration(RandomOptions(max_calls=10**6))]
    for maker in makers:
        first, then = measure(maker, judge, given.candidates, given.repairs)
        print(f"{maker.name}: {given.candidates} candidates, {first['accepted']} admitted as they were")
        for reason, refused in sorted(first.items()):
            fates = {fate: number for (of, fate), number in sorted(then.items()) if of == reason}
            if reason != "accepted":
                admitted = sum(number for fate, number in fates.items() if fate.startswith("admitted"))
                what = ", ".join(f"{number} {fate}" for fate, number in fates.items())
                print(f"  {reason}: {refused} refused" + (f", {admitted} admitted after a repair ({what})" if fates else ", not repaired"))


if __name__ == "__main__":
    main()
