import random
from collections.abc import Callable

import pytest

from coevolve.environments.desk import Desk, DeskOptions
from coevolve.environments.desk.tools import LINKS, TOOLS
from coevolve.synthesizers.catalog import catalog_of
from coevolve.synthesizers.links import Link
from coevolve.synthesizers.random_effects import UNKNOWN, ScoredTask, fit

CATALOG = catalog_of(Desk(DeskOptions()).describe())
ALL = [Link(producer, (), consumer, TOOLS[consumer].takes or "") for producer, consumer in LINKS]
SHARES: dict[str, Callable[[Link], str]] = {
    "calls from": lambda link: TOOLS[link.producer].app,
    "calls to": lambda link: TOOLS[link.consumer].app,
    "values of the kind": lambda link: str(TOOLS[link.producer].gives),
}


def scored(weak: Callable[[Link], bool], rng: random.Random, tasks: int = 120) -> list[ScoredTask]:
    """Tasks of one or two links, solved in 8 rollouts as often as their links allow: weak ones in .3, others in .98 of the cases."""
    found = []
    for _ in range(tasks):
        links = tuple(rng.sample(ALL, rng.choice((1, 2))))
        chance = 1.0
        for link in links:
            chance *= 0.3 if weak(link) else 0.98
        found.append(ScoredTask(links, sum(rng.random() < chance for _ in range(8)) / 8))
    return found


def rank(rows: list[ScoredTask], weak: Callable[[Link], bool]) -> float:
    """How often a weak link that no task uses is estimated above another one that no task uses (.5: by chance)."""
    model, tried = fit(rows, CATALOG), {link for one in rows for link in one.links}
    rates = [(model.failure_rate(link), weak(link)) for link in ALL if link not in tried]
    pairs = [(a > b) + 0.5 * (a == b) for a, of_a in rates for b, of_b in rates if of_a and not of_b]
    return sum(pairs) / len(pairs)


@pytest.mark.parametrize("grouping", SHARES)
@pytest.mark.parametrize("seed", range(3))
def test_untried_links_are_ranked_by_whatever_the_failing_ones_share(grouping: str, seed: int) -> None:
    rng, key = random.Random(f"{grouping} {seed}"), SHARES[grouping]
    groups = sorted({key(link) for link in ALL})
    chosen = set(rng.sample(groups, max(2, round(len(groups) * 0.3))))
    rows = scored(lambda link: key(link) in chosen, rng)
    model = fit(rows, CATALOG)
    assert max(model.variances, key=lambda name: model.variances[name]) == grouping
    assert rank(rows, lambda link: key(link) in chosen) > 0.85


@pytest.mark.parametrize("seed", range(3))
def test_scores_of_other_tasks_say_nothing(seed: int) -> None:
    rng = random.Random(f"permuted {seed}")
    apps = sorted({TOOLS[link.producer].app for link in ALL})
    chosen = set(rng.sample(apps, 5))
    rows = scored(lambda link: TOOLS[link.producer].app in chosen, rng)
    scores = [one.score for one in rows]
    rng.shuffle(scores)
    permuted = [ScoredTask(one.links, score) for one, score in zip(rows, scores, strict=True)]
    assert 0.2 < rank(permuted, lambda link: TOOLS[link.producer].app in chosen) < 0.8


def test_a_link_that_fails_alone_is_estimated_above_its_kin() -> None:
    bad = ALL[40]
    rows = [ScoredTask((link,), 0.1 if link == bad else 1.0) for link in ALL[::2] for _ in range(2)]
    model = fit(rows, CATALOG)
    assert model.failure_rate(bad) > 0.5 > max(model.failure_rate(link) for link in ALL if link != bad)


def test_without_evidence_every_link_has_the_same_rate() -> None:
    for rows in ([], [ScoredTask((), 0.0)]):
        model = fit(rows, CATALOG)
        assert {round(model.failure_rate(link), 4) for link in ALL} == {0.3935}
        assert (model.mean, model.variances, model.strongest(ALL[0])) == (UNKNOWN, {}, None)


def test_scores_of_zero_and_of_one_alone_give_rates_within_bounds() -> None:
    for score in (0.0, 1.0):
        model = fit([ScoredTask((link,), score) for link in ALL[:20]], CATALOG)
        assert all(0 < model.failure_rate(link) < 1 for link in ALL)
    assert fit([ScoredTask((link,), 0.0) for link in ALL[:20]], CATALOG).failure_rate(ALL[100]) > 0.8
