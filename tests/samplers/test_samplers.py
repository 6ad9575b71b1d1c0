import random
from collections import Counter

import pytest

from coevolve import Attempt, History, Sampler, TaskPool
from coevolve.plugins.samplers.learnability import Learnability, LearnabilityOptions
from coevolve.plugins.samplers.uniform import Uniform, UniformOptions
from coevolve.testing import check_sampler, make_group, make_task


def pool_of(count: int) -> TaskPool:
    return TaskPool(tuple(make_task(f"t{n}") for n in range(count)))


def train(
    sampler: Sampler, pool: TaskPool, iterations: int, batch: int, history: History | None = None, start: int = 0
) -> tuple[Counter[str], History]:
    """Visits of each task when every pick is attempted."""
    history = history or History()
    visits: Counter[str] = Counter()
    for iteration in range(start + 1, start + iterations + 1):
        picked = sampler.pick(pool, history, batch, random.Random(iteration))
        visits.update(task.id for task in picked)
        history = history.with_groups([make_group(task, (1.0, 0.0), iteration=iteration) for task in picked])
    return visits, history


@pytest.mark.parametrize("sampler", [Uniform(UniformOptions()), Learnability(LearnabilityOptions())])
def test_samplers_keep_their_contract(sampler: Sampler) -> None:
    check_sampler(sampler)
    assert sampler.pick(TaskPool(()), History(), 3, random.Random(0)) == []


@pytest.mark.parametrize(("size", "batch"), [(10, 4), (16, 16), (7, 3), (5, 8)])
def test_uniform_visits_every_task_equally_often(size: int, batch: int) -> None:
    visits, _ = train(Uniform(UniformOptions()), pool_of(size), 40, batch)
    assert len(visits) == size
    assert max(visits.values()) - min(visits.values()) <= 1


def test_uniform_passes_are_in_a_random_order() -> None:
    first = {tuple(t.id for t in Uniform(UniformOptions()).pick(pool_of(10), History(), 10, random.Random(n))) for n in range(5)}
    assert len(first) == 5


def test_uniform_does_not_starve_old_tasks_when_new_ones_come() -> None:
    _, history = train(Uniform(UniformOptions()), pool_of(16), 20, 8)
    visits, _ = train(Uniform(UniformOptions()), pool_of(24), 9, 8, history, start=20)
    assert set(visits.values()) == {3}


def test_uniform_limits_the_share_of_fresh_tasks() -> None:
    _, history = train(Uniform(UniformOptions()), pool_of(16), 20, 8)
    picked = Uniform(UniformOptions(fresh_share=0.25)).pick(pool_of(32), history, 8, random.Random(0))
    assert sum(task.id not in history.attempts for task in picked) == 2
    alone = Uniform(UniformOptions(fresh_share=0.25)).pick(pool_of(32), History(), 8, random.Random(0))
    assert len(alone) == 8


def test_learnability_weights_are_largest_where_half_succeed() -> None:
    history = History(
        {
            "solved": tuple(Attempt(i, 1.0) for i in range(9)),
            "half": tuple(Attempt(i, 0.5) for i in range(9)),
            "failed": tuple(Attempt(i, 0.0) for i in range(9)),
        }
    )
    sampler = Learnability(LearnabilityOptions(epsilon=0.02))
    weight = {name: sampler.weight(make_task(name), history) for name in ("solved", "half", "failed", "new")}
    assert weight["half"] == weight["new"] == pytest.approx(0.27)
    assert [weight["solved"], weight["failed"]] == pytest.approx([6 / 7 * 1 / 7 + 0.02] * 2)


def test_learnability_looks_at_the_last_attempts_only() -> None:
    history = History({"t": (*(Attempt(i, 0.0) for i in range(5)), *(Attempt(i, 1.0) for i in range(5, 10)))})
    mastered = History({"t": tuple(Attempt(i, 1.0) for i in range(5))})
    sampler = Learnability(LearnabilityOptions())
    assert sampler.weight(make_task("t"), history) == sampler.weight(make_task("t"), mastered)


def test_learnability_draws_in_proportion_to_its_weights() -> None:
    history = History({"solved": tuple(Attempt(i, 1.0) for i in range(5)), "half": tuple(Attempt(i, 0.5) for i in range(5))})
    pool = TaskPool((make_task("solved"), make_task("half")))
    sampler = Learnability(LearnabilityOptions())
    first, second = (sampler.weight(task, history) for task in pool)
    rng = random.Random(0)
    drawn = Counter(sampler.pick(pool, history, 1, rng)[0].id for _ in range(4000))
    assert drawn["half"] / 4000 == pytest.approx(second / (first + second), abs=0.03)


def test_a_task_that_is_forgotten_comes_back() -> None:
    """Mastered tasks are drawn less; after a regression they are drawn as often as others again."""
    sampler = Learnability(LearnabilityOptions())
    mastered = History({"t0": tuple(Attempt(i, 1.0) for i in range(5))})
    lapsed = History({"t0": (*mastered.attempts["t0"], Attempt(6, 0.0), Attempt(7, 0.0))})
    assert sampler.weight(make_task("t0"), mastered) < 0.6 * sampler.weight(make_task("t0"), lapsed)
