"""Compare arms on the exact learner (exact_learner.py): worlds drawn by seed, paired differences with 95 % intervals.

    OMP_NUM_THREADS=1 python benchmarks/exact_study.py TABLE [--seeds 101-116] [--jobs 2]

TABLES below has the tables. Within a world all arms have the same policy, pool and tests, and the same
draws wherever a task is the same. Success is the exact expected one on
800 tests, nearly greedy (three times the logits) and sampled.
"""

import argparse
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial

import attrs
import numpy as np
from exact_learner import PLACE, Learner, World
from exact_run import Arm, Ended, Run
from intervals import paired

from coevolve import Feedback, Sampler, Signal
from coevolve.core.settings.retirement import Retirement
from coevolve.environments.desk.demonstrations import CLUSTERINGS
from coevolve.plugins.samplers.learnability import Learnability, LearnabilityOptions
from coevolve.plugins.samplers.learning_progress import LearningProgress, LearningProgressOptions
from coevolve.plugins.samplers.mixed import Mixed, MixedOptions
from coevolve.plugins.samplers.plr import Plr, PlrOptions
from coevolve.plugins.samplers.thompson import Thompson, ThompsonOptions
from coevolve.plugins.samplers.uniform import Uniform, UniformOptions
from coevolve.plugins.validators.frontier import FrontierOptions
from coevolve.synthesizers.catalog import Catalog
from coevolve.synthesizers.link_weights import LinkWeights
from coevolve.synthesizers.links import Link, SolvedTask
from coevolve.synthesizers.programmatic import Programmatic, ProgrammaticOptions
from coevolve.synthesizers.random import RandomExploration, RandomOptions


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


def learning_progress() -> Sampler:
    return LearningProgress(LearningProgressOptions())


SAMPLERS: dict[str, Callable[[], Sampler]] = {
    "uniform": lambda: Uniform(UniformOptions()),
    "learnability": lambda: Learnability(LearnabilityOptions()),
    "learnability, decay .9": lambda: Learnability(LearnabilityOptions(decay=0.9)),
    "plr": lambda: Plr(PlrOptions()),
    "learning_progress": learning_progress,
    "thompson": lambda: Thompson(ThompsonOptions()),
    "mixed": lambda: Mixed(MixedOptions()),
}
RANDOM = Arm(lambda learner: RandomExploration(RandomOptions()))
COVER = programmatic(use_signals=False, count_power=1.0)
BEFORE = programmatic(estimates="levels", estimate_power=2.0, count_power=1.0, rare=0.0)
"""Guided exploration as it was before failures were estimated by random effects."""
NEW = attrs.evolve(programmatic(), sampler=learning_progress, frontier=FrontierOptions(attempts=2, low=0, high=1), repairs=1)
"""The default that the development on this learner led to; the network learned less with it than with the recipe's (docs/results.md)."""
RECIPE = attrs.evolve(programmatic(), frontier=FrontierOptions(attempts=4, low=1, high=3))
"""The desk recipe's settings."""
UNTRIED = attrs.evolve(NEW, frontier=None)


def equal(arm: Arm, candidates: int) -> Arm:
    """The arm with so many candidates in an evolution, repaired ones among them; all that pass are admitted."""
    return attrs.evolve(arm, wanted=candidates, candidates=candidates)


def erring(arm: Arm, frontier: tuple[int, int, int] | None, execution: bool = True) -> Arm:
    """The arm with a teacher that errs in half of its candidates. `frontier`: attempts, low and high."""
    tried = FrontierOptions(*frontier) if frontier else None
    return attrs.evolve(arm, broken=0.5, frontier=tried, execution=execution, repairs=0)


def with_signals(*signals: str, frontier: bool = True) -> Arm:
    """The default with these signals alone."""
    return attrs.evolve(NEW if frontier else UNTRIED, signals=signals)


TABLES: dict[str, dict[str, Arm]] = {
    "recipe": {
        "cover": COVER,
        "programmatic": BEFORE,
        "default": RECIPE,
    },
    "recipe, equal candidates": {
        "programmatic, 32": equal(BEFORE, 32),
        "first default, 32": equal(NEW, 32),
        "default, 32": equal(RECIPE, 32),
    },
    "arms": {
        "cover": COVER,
        "programmatic": BEFORE,
        "static": Arm(),
        "random": RANDOM,
        "random, mixed sampler": attrs.evolve(RANDOM, sampler=SAMPLERS["mixed"]),
        "random, learning_progress sampler": attrs.evolve(RANDOM, sampler=learning_progress),
        "programmatic, learning_progress sampler": attrs.evolve(BEFORE, sampler=learning_progress),
        "first default": NEW,
        "first default, uniform sampler": attrs.evolve(NEW, sampler=SAMPLERS["uniform"]),
        "first default without frontier": UNTRIED,
        "first default with the true rates (oracle)": attrs.evolve(NEW, synthesizer=oracle),
    },
    "candidates": {
        "cover, 32": equal(COVER, 32),
        "programmatic, 32": equal(BEFORE, 32),
        "first default, 32": equal(NEW, 32),
        "first default without frontier, 32": equal(UNTRIED, 32),
        "programmatic, 64": equal(BEFORE, 64),
        "first default, 64": equal(NEW, 64),
        "first default without frontier, 64": equal(UNTRIED, 64),
    },
    "signals": {
        "cover": COVER,
        "first default": NEW,
        "scores permuted among tasks": attrs.evolve(NEW, scramble="scores"),
        "tags on random tasks": attrs.evolve(NEW, scramble="tags"),
        "without forgetting": with_signals("boundary", "rare"),
        "without boundary, its reading at the door kept": with_signals("forgetting", "rare"),
        "without rare": with_signals("forgetting", "boundary"),
        "no signal, its reading at the door kept": with_signals(),
        "first default without frontier": UNTRIED,
        "forgetting alone": with_signals("forgetting", frontier=False),
        "boundary alone, not at the door": with_signals("boundary", frontier=False),
        "rare alone": with_signals("rare", frontier=False),
        "no signal": with_signals(frontier=False),
        "estimates alone": programmatic(),
        "estimates alone, scores permuted": attrs.evolve(programmatic(), scramble="scores"),
        "cover, count power 3": programmatic(use_signals=False),
        "programmatic": BEFORE,
        "programmatic, tags on random tasks": attrs.evolve(BEFORE, scramble="tags"),
    },
    "samplers": {
        **{f"random pool, {name}": attrs.evolve(RANDOM, sampler=make) for name, make in SAMPLERS.items()},
        "random pool, uniform, refill 1": attrs.evolve(RANDOM, refill=1),
        **{f"first default, {name}": attrs.evolve(NEW, sampler=make) for name, make in SAMPLERS.items()},
        "first default, uniform, refill 1": attrs.evolve(NEW, sampler=SAMPLERS["uniform"], refill=1),
    },
    "erring": {
        "programmatic, no check at all": erring(BEFORE, None, execution=False),
        "programmatic, execution": erring(BEFORE, None),
        "programmatic, solve check: 1 to 8 of 8": erring(BEFORE, (8, 1, 8)),
        "programmatic, frontier: 1 to 5 of 8": erring(BEFORE, (8, 1, 5)),
        "first default, no check at all": erring(UNTRIED, None, execution=False),
        "first default, solve check: 1 to 8 of 8": erring(NEW, (8, 1, 8)),
        "first default, frontier: 1 to 5 of 8": erring(NEW, (8, 1, 5)),
        "first default, frontier: 1 to 2 of 4": erring(NEW, (4, 1, 2)),
        "first default, frontier: 0 to 1 of 2": erring(NEW, (2, 0, 1)),
    },
    "resting": {
        "first default, uniform sampler": attrs.evolve(NEW, sampler=SAMPLERS["uniform"]),
        "first default": NEW,
        "uniform, rest after 1 solved": attrs.evolve(NEW, sampler=SAMPLERS["uniform"], retirement=Retirement(solved_after=1)),
        "uniform, rest after 2 solved": attrs.evolve(NEW, sampler=SAMPLERS["uniform"], retirement=Retirement(solved_after=2)),
        "first default, rest after 2 solved": attrs.evolve(NEW, retirement=Retirement(solved_after=2)),
        "first default, 8 tasks an evolution": attrs.evolve(NEW, wanted=8),
        "first default, 24 tasks an evolution": attrs.evolve(NEW, wanted=24),
        "first default, 32 tasks an evolution": attrs.evolve(NEW, wanted=32),
    },
}


PAIRS: dict[str, list[tuple[str, str]]] = {
    "arms": [
        ("first default", "random, mixed sampler"),
        ("first default", "programmatic, learning_progress sampler"),
        ("first default", "first default, uniform sampler"),
        ("first default", "first default without frontier"),
        ("random, mixed sampler", "random"),
    ],
    "candidates": [
        ("first default, 64", "programmatic, 64"),
        ("first default without frontier, 64", "programmatic, 64"),
        ("first default, 32", "first default without frontier, 32"),
        ("first default, 64", "first default without frontier, 64"),
    ],
    "signals": [
        ("first default", "no signal, its reading at the door kept"),
        ("first default without frontier", "no signal"),
        ("forgetting alone", "no signal"),
        ("boundary alone, not at the door", "no signal"),
        ("rare alone", "no signal"),
        ("estimates alone", "cover, count power 3"),
        ("estimates alone, scores permuted", "cover, count power 3"),
        ("programmatic", "programmatic, tags on random tasks"),
    ],
    "samplers": [(f"first default, {name}", "first default, uniform") for name in (*SAMPLERS, "uniform, refill 1") if name != "uniform"],
    "erring": [
        ("programmatic, frontier: 1 to 5 of 8", "programmatic, solve check: 1 to 8 of 8"),
        ("first default, frontier: 1 to 5 of 8", "first default, solve check: 1 to 8 of 8"),
        ("first default, frontier: 1 to 2 of 4", "first default, solve check: 1 to 8 of 8"),
        ("first default, frontier: 0 to 1 of 2", "first default, solve check: 1 to 8 of 8"),
        ("first default, frontier: 1 to 2 of 4", "programmatic, solve check: 1 to 8 of 8"),
    ],
    "resting": [],
    "recipe": [],
    "recipe, equal candidates": [],
}
"""Further differences, printed below a table."""


def seeds(text: str) -> list[int]:
    """Seeds from a text such as 1,2,101-116."""
    parts = [part.split("-") for part in text.split(",")]
    return [seed for part in parts for seed in range(int(part[0]), int(part[-1]) + 1)]


def carry_out(job: tuple[str, str, str, int], normalised: bool = True) -> Ended:
    """One run: table, arm, clustering and seed."""
    table, arm, clustering, seed = job
    return Run(World.draw(seed, clustering), TABLES[table][arm], normalised=normalised)()


def main() -> None:
    """Print a table for each clustering."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("table", choices=list(TABLES))
    parser.add_argument("--seeds", type=seeds, default=seeds("101-116"), help="such as 1,2,101-116")
    parser.add_argument("--clusterings", nargs="+", choices=CLUSTERINGS, default=list(CLUSTERINGS))
    parser.add_argument("--plain", action="store_true", help="updates that grow with the number of mixed groups")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    given = parser.parse_args()
    arms = TABLES[given.table]
    jobs = [(given.table, arm, clustering, seed) for clustering in given.clusterings for seed in given.seeds for arm in arms]
    with ProcessPoolExecutor(given.jobs) as pool:
        # A chunk is a world with all arms: each process draws the world once.
        ended = pool.map(partial(carry_out, normalised=not given.plain), jobs, chunksize=len(arms))
        found = dict(zip(jobs, ended, strict=True))
    base = list(arms)[:2]
    heads = "".join(f" minus {name} |" for name in base)
    for clustering in given.clusterings:
        print(f"\nclustered by {clustering}, seeds {given.seeds[0]} to {given.seeds[-1]}\n")
        print(f"| arm | greedy | sampled |{heads} rollouts | attempts | candidates | admitted | weak links | broken | repairs |")
        print(f"|{'---|' * (10 + len(base))}")
        for arm in arms:
            own = [found[given.table, arm, clustering, seed] for seed in given.seeds]
            means = np.array([attrs.astuple(one) for one in own]).mean(0)
            line = f"| {arm} | {means[0]:.3f} | {means[1]:.3f} |"
            for other in base:
                theirs = [found[given.table, other, clustering, seed].greedy for seed in given.seeds]
                line += "  |" if other == arm else f" {paired([one.greedy for one in own], theirs)} |"
            print(line + "".join(f" {value:.0f} |" for value in means[2:]))
        print()
        for arm, other in PAIRS[given.table]:
            both = ([found[given.table, name, clustering, seed].greedy for seed in given.seeds] for name in (arm, other))
            print(f"- {arm}, minus {other}: {paired(*both)}")


if __name__ == "__main__":
    main()
