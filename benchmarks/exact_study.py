"""Compare arms on the exact learner (exact_learner.py): worlds drawn by seed, paired differences with 95 % intervals.

    OMP_NUM_THREADS=1 python benchmarks/exact_study.py TABLE [--seeds 101-116] [--jobs 2]

TABLES below has the tables. Within a world all arms have the same policy, pool, tests and draws. Success is the exact expected one on
800 tests, nearly greedy (three times the logits) and sampled.
"""

import argparse
import math
import os
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor

import attrs
import numpy as np
from exact_learner import PLACE, Arm, Ended, Learner, Run, World

from coevolve import Feedback, Signal
from coevolve.core.settings.retirement import Retirement
from coevolve.environments.desk.demonstrations import CLUSTERINGS
from coevolve.plugins.samplers.learnability import Learnability, LearnabilityOptions
from coevolve.plugins.samplers.learning_progress import LearningProgress, LearningProgressOptions
from coevolve.plugins.samplers.mixed import Mixed, MixedOptions
from coevolve.plugins.samplers.plr import Plr, PlrOptions
from coevolve.plugins.samplers.thompson import Thompson, ThompsonOptions
from coevolve.plugins.validators.frontier import FrontierOptions
from coevolve.synthesizers.catalog import Catalog
from coevolve.synthesizers.link_weights import LinkWeights
from coevolve.synthesizers.links import Link, SolvedTask
from coevolve.synthesizers.programmatic import Programmatic, ProgrammaticOptions
from coevolve.synthesizers.random import RandomExploration, RandomOptions

AS_BEFORE = {"estimates": "levels", "estimate_power": 2.0, "count_power": 1.0, "rare": 0.0}
"""The synthesizer before failures were estimated by random effects."""


class Oracle(Programmatic):
    """Guided exploration that knows how often each link truly fails."""

    learner: Learner

    def weights(self, feedback: Feedback, signals: Sequence[Signal], solved: Sequence[SolvedTask], catalog: Catalog) -> LinkWeights:
        probability = self.learner.probability()

        class TrueWeights(LinkWeights):
            def estimate(self, link: Link) -> float:
                place = PLACE.get((link.producer, link.consumer))
                return 1e-3 if place is None else float(1 - probability[place])

        found = super().weights(feedback, signals, solved, catalog)
        return TrueWeights(**{one.name: getattr(found, one.name) for one in attrs.fields(LinkWeights) if one.init})


def programmatic(**options: object) -> Arm:
    """An arm with guided exploration with these options."""
    return Arm(lambda learner: Programmatic(ProgrammaticOptions(**options)))  # type: ignore[arg-type]


def oracle(learner: Learner) -> Oracle:
    made = Oracle(ProgrammaticOptions())
    made.learner = learner
    return made


RANDOM = Arm(lambda learner: RandomExploration(RandomOptions()))
COVER = programmatic(use_signals=False, count_power=1.0)
BEFORE = programmatic(**AS_BEFORE)
FRONTIER = FrontierOptions(attempts=4, low=0, high=2)


def mixed() -> Mixed:
    return Mixed(MixedOptions())


NEW = attrs.evolve(programmatic(), sampler=mixed, frontier=FRONTIER)
SIGNALS = ("forgetting", "boundary", "rare")

def lp():
    return LearningProgress(LearningProgressOptions())

class Blame(Programmatic):
    def weights(self, feedback, signals, solved, catalog):
        from coevolve.synthesizers.random_effects import ScoredTask, fit
        from coevolve.synthesizers.link_weights import _scores
        found = super().weights(feedback, signals, solved, catalog)
        if not signals: return found
        rows = _scores(feedback, solved)
        for link, of in found.rates.links.items():
            if of.total >= 4:
                rows.append(ScoredTask((Link(link[0], (), link[1], link[2]),), 1 - of.failures / of.total))
        found.effects = fit(rows, catalog)
        return found

def door(attempts: int, high: int, low=0, **more: object) -> Arm:
    return attrs.evolve(programmatic(), sampler=lp, frontier=FrontierOptions(attempts=attempts, low=low, high=high), **more)

def nodoor(**more): return attrs.evolve(programmatic(), sampler=lp, **more)

TABLES: dict[str, dict[str, Arm]] = {
    "dev": {
        "cover": COVER,
        "programmatic": BEFORE,
        "random+lp": attrs.evolve(RANDOM, sampler=lp),
        "d024": door(4,2),
        "d012": door(2, 1),
        "d124": door(4, 2, 1),
        "d012 w24": door(2, 1, wanted=24),
        "d012 rare0": attrs.evolve(door(2, 1), synthesizer=programmatic(rare=0.0).synthesizer),
        "d012 rare3": attrs.evolve(door(2, 1), synthesizer=programmatic(rare=3.0).synthesizer),
        "d012 blame": attrs.evolve(door(2, 1), synthesizer=lambda l: Blame(ProgrammaticOptions())),
        "d012 mixed": attrs.evolve(door(2, 1), sampler=mixed),
        "before c32": attrs.evolve(BEFORE, wanted=32, candidates=32),
        "d012 c32": door(2, 1, wanted=32, candidates=32),
        "nodoor c32": nodoor(wanted=32, candidates=32),
        "before c64": attrs.evolve(BEFORE, wanted=64, candidates=64),
        "d012 c64": door(2, 1, wanted=64, candidates=64),
        "nodoor c64": nodoor(wanted=64, candidates=64),
    },
}


def seeds(text: str) -> list[int]:
    """Seeds from a text such as 1,2,101-116."""
    parts = [part.split("-") for part in text.split(",")]
    return [seed for part in parts for seed in range(int(part[0]), int(part[-1]) + 1)]


def carry_out(job: tuple[str, str, str, int]) -> Ended:
    """One run: table, arm, clustering and seed."""
    table, arm, clustering, seed = job
    return Run(World.draw(seed, clustering), TABLES[table][arm], normalised=os.environ.get("LINEAR") is None)()


T95 = {2: 4.303, 3: 3.182, 5: 2.571, 7: 2.365, 11: 2.201, 15: 2.131, 23: 2.069, 31: 2.040, 47: 2.012, 63: 1.998}
"""Student's t for 95 %, by degrees of freedom."""


def difference(ours: np.ndarray, theirs: np.ndarray) -> str:
    """The mean paired difference with its 95 % interval, and in how many worlds it is positive."""
    gaps = ours - theirs
    reach = T95.get(len(gaps) - 1, 2.0) * gaps.std(ddof=1) / math.sqrt(len(gaps))
    return f"{gaps.mean():+.3f} [{gaps.mean() - reach:+.3f}, {gaps.mean() + reach:+.3f}] {int((gaps > 0).sum())}/{len(gaps)}"


def main() -> None:
    """Print a table for each clustering."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("table", choices=list(TABLES))
    parser.add_argument("--seeds", type=seeds, default=seeds("101-116"), help="such as 1,2,101-116")
    parser.add_argument("--clusterings", nargs="+", choices=CLUSTERINGS, default=list(CLUSTERINGS))
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    given = parser.parse_args()
    arms = TABLES[given.table]
    jobs = [(given.table, arm, clustering, seed) for clustering in given.clusterings for seed in given.seeds for arm in arms]
    with ProcessPoolExecutor(given.jobs) as pool:
        found = dict(zip(jobs, pool.map(carry_out, jobs, chunksize=len(arms)), strict=True))  # a world is drawn once in a process
    base = list(arms)[:2]
    heads = "".join(f" minus {name} |" for name in base)
    for clustering in given.clusterings:
        print(f"\nclustered by {clustering}, seeds {given.seeds[0]} to {given.seeds[-1]}\n")
        print(
            f"| arm | greedy | sampled |{heads} rollouts | attempts | candidates | admitted | weak links | broken |\n|{'---|' * (9 + len(base))}"
        )
        for arm in arms:
            ended = np.array([attrs.astuple(found[given.table, arm, clustering, seed]) for seed in given.seeds])
            line = f"| {arm} | {ended[:, 0].mean():.3f} | {ended[:, 1].mean():.3f} |"
            for other in base:
                theirs = np.array([found[given.table, other, clustering, seed].greedy for seed in given.seeds])
                line += "  |" if other == arm else f" {difference(ended[:, 0], theirs)} |"
            print(line + "".join(f" {value:.0f} |" for value in ended[:, 2:].mean(0)))


if __name__ == "__main__":
    main()
