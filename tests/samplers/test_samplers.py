import random
from collections import Counter
from collections.abc import Sequence

import pytest

from coevolve import Attempt, History, Sampler, TaskPool, UserError
from coevolve.core.registry import load_plugins
from coevolve.plugins.samplers.draws import next_iteration
from coevolve.plugins.samplers.learnability import Learnability, LearnabilityOptions
from coevolve.plugins.samplers.uniform import Uniform, UniformOptions
from coevolve.testing import check_sampler, make_group, make_task

PLUGINS = load_plugins(only=["coevolve.*"])
NAMES = PLUGINS.names("sampler")


def sampler_of(name: str) -> Sampler:
    component = PLUGINS.component("sampler", name)
    return component(component.Options())  # type: ignore[no-any-return]


def scored(**scores: Sequence[float]) -> History:
    """Scores of each task at iterations 1, 2, ..."""
    return History({name: tuple(Attempt(n, score, 8) for n, score in enumerate(found, 1)) for name, found in scores.items()})


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


@pytest.mark.parametrize("name", NAMES)
def test_samplers_keep_their_contract(name: str) -> None:
    sampler = sampler_of(name)
    check_sampler(sampler)
    assert sampler.pick(TaskPool(()), History(), 3, random.Random(0)) == []
    assert len(sampler.pick(pool_of(6), History(), 4, random.Random(0))) == 4


@pytest.mark.parametrize("name", NAMES)
def test_samplers_take_every_history_that_a_run_can_have(name: str) -> None:
    """Tasks without attempts, with rollouts that nobody counted, with equal scores throughout; attempts at tasks that left the pool."""
    for score in (0.0, 0.5, 1.0):
        history = History(
            {"t0": (Attempt(3, score),), "t1": (Attempt(4, score, 8), Attempt(9, score, 8)), "gone": (Attempt(9, 1.0),), "t2": ()}
        )
        for count in (1, 4, 6, 9):
            picked = sampler_of(name).pick(pool_of(6), history, count, random.Random(count))
            assert len(picked) == count
            assert len({task.id for task in picked}) == min(count, 6)


@pytest.mark.parametrize("name", NAMES)
def test_the_order_of_the_history_does_not_matter(name: str) -> None:
    _, history = train(Uniform(UniformOptions()), pool_of(12), 9, 4)
    turned = History(dict(reversed([*history.attempts.items()])))
    first, second = (sampler_of(name).pick(pool_of(12), one, 5, random.Random(3)) for one in (history, turned))
    assert first == second


@pytest.mark.parametrize("name", sorted({*NAMES} - {"uniform"}))
def test_the_samplers_prefer_the_task_that_teaches_most(name: str) -> None:
    """One task is on its way from failed to solved, among seven that are always solved or always failed, tried as often and as lately."""
    planted = {f"t{n}": (float(n % 2),) * 6 for n in range(8)} | {"t3": (0.0, 0.0, 0.0, 0.25, 0.5, 0.75)}
    drawn = Counter(sampler_of(name).pick(pool_of(8), scored(**planted), 1, random.Random(n))[0].id for n in range(800))
    assert drawn["t3"] > 0.17 * 800  # 1/8 by chance
    assert drawn["t3"] > 1.25 * max((n for name, n in drawn.items() if name != "t3"), default=0)


def picks(name: str, history: History, pool: TaskPool, count: int, seeds: int = 40, **options: float) -> Counter[str]:
    component = PLUGINS.component("sampler", name)
    sampler = component(component.Options(**options))
    return Counter(task.id for n in range(seeds) for task in sampler.pick(pool, history, count, random.Random(n)))


def test_the_next_iteration_is_after_the_latest_attempt_of_any_task() -> None:
    assert next_iteration(History()) == 1
    assert next_iteration(History({"a": (Attempt(2, 1.0), Attempt(7, 0.0)), "b": (Attempt(4, 1.0),), "c": ()})) == 8


def test_mixed_takes_untried_and_mixed_tasks_before_the_others_which_come_back_after_their_wait() -> None:
    history = History({"t0": (Attempt(20, 1.0),), "t1": (Attempt(20, 0.0),), "t2": (Attempt(20, 0.5),), "t3": (Attempt(6, 1.0),)})
    pool = pool_of(5)
    assert set(picks("mixed", history, pool, 3)) == {"t2", "t3", "t4"}  # the batch is for iteration 21: t3 has waited 15
    assert set(picks("mixed", history, pool, 2, retry=16)) == {"t2", "t4"}
    assert set(picks("mixed", history, pool, 1)) == {"t2", "t3", "t4"}


def test_mixed_fills_up_with_the_tasks_that_have_waited_longest() -> None:
    history = History({"t0": (Attempt(20, 1.0),), "t1": (Attempt(17, 0.0),), "t2": (Attempt(18, 1.0),), "t3": (Attempt(20, 0.5),)})
    assert set(picks("mixed", history, pool_of(4), 3)) == {"t1", "t2", "t3"}


def test_plr_draws_by_rank_by_staleness_and_gives_untried_tasks_their_share() -> None:
    history = scored(t0=[0.5] * 5, t1=[1.0], t2=[0.9] * 5, t3=[0.0] * 5)
    assert picks("plr", history, pool_of(4), 1, staleness=0.0, temperature=0.01) == {"t0": 40}
    assert picks("plr", history, pool_of(4), 2, staleness=0.0, temperature=0.01) == {"t0": 40, "t2": 40}
    stale = picks("plr", history, pool_of(4), 1, seeds=800, staleness=1.0)
    assert stale["t1"] / 800 == pytest.approx(5 / 8, abs=0.06)  # 5 iterations since its attempt, the others 1
    assert picks("plr", history, pool_of(8), 1, seeds=800)["t0"] / 800 < 0.55  # half of the pool is untried


def test_learning_progress_sees_tasks_that_get_better_or_worse_and_not_those_that_stay() -> None:
    history = scored(t0=[0, 0, 0.5, 1], t1=[1, 1, 0.5, 0], t2=[0.5] * 4, t3=[1] * 4)
    drawn = picks("learning_progress", history, pool_of(4), 1, seeds=800, uniform=0.1)
    assert drawn["t0"] == pytest.approx(drawn["t1"], rel=0.2)
    assert drawn["t2"] + drawn["t3"] < 0.1 * 800
    flat = picks("learning_progress", scored(t0=[1] * 4, t1=[0] * 4), pool_of(4), 1, seeds=800)
    assert flat["t2"] > 5 * flat["t0"]  # untried tasks count as the task of the greatest progress


@pytest.mark.parametrize("rates", [{"fast": 0.2}, {"slow": 0.5}, {"slow": 0.9, "fast": 0.1}])
def test_learning_progress_needs_a_slow_average_that_is_slower_than_the_fast_one(rates: dict[str, float]) -> None:
    component = PLUGINS.component("sampler", "learning_progress")
    with pytest.raises(UserError, match=r"^sampler\.slow is [\d.]+, which must be below sampler\.fast, [\d.]+$"):
        component(component.Options(**rates))


def test_thompson_forgets_old_rollouts() -> None:
    history = History({"t0": tuple(Attempt(n, 1.0, 8) for n in (1, 2, 3)), "t1": tuple(Attempt(n, 1.0, 8) for n in (60, 61, 62))})
    drawn = picks("thompson", history, pool_of(2), 1, seeds=200)
    assert drawn["t0"] > 150
    even = picks("thompson", history, pool_of(2), 1, seeds=400, discount=1.0)
    assert even["t0"] / 400 == pytest.approx(0.5, abs=0.1)


def test_learnability_with_decay_draws_tasks_that_have_waited_as_uncertain_ones() -> None:
    old, new = tuple(Attempt(n, 1.0) for n in range(1, 6)), tuple(Attempt(n, 1.0) for n in range(36, 41))
    plain, decayed = Learnability(LearnabilityOptions()), Learnability(LearnabilityOptions(decay=0.9))
    assert plain.weight(old, 41) == plain.weight(new, 41)
    assert decayed.weight(old, 41) > 1.5 * decayed.weight(new, 41)


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
    weight = {name: sampler.weight(history.attempts.get(name, ()), 9) for name in ("solved", "half", "failed", "new")}
    assert weight["half"] == weight["new"] == pytest.approx(0.27)
    assert [weight["solved"], weight["failed"]] == pytest.approx([6 / 7 * 1 / 7 + 0.02] * 2)


def test_learnability_looks_at_the_last_attempts_only() -> None:
    mastered = tuple(Attempt(i, 1.0) for i in range(5, 10))
    sampler = Learnability(LearnabilityOptions())
    assert sampler.weight((*(Attempt(i, 0.0) for i in range(5)), *mastered), 10) == sampler.weight(mastered, 10)


def test_learnability_draws_in_proportion_to_its_weights() -> None:
    history = History({"solved": tuple(Attempt(i, 1.0) for i in range(5)), "half": tuple(Attempt(i, 0.5) for i in range(5))})
    pool = TaskPool((make_task("solved"), make_task("half")))
    sampler = Learnability(LearnabilityOptions())
    first, second = (sampler.weight(history.attempts[task.id], 5) for task in pool)
    rng = random.Random(0)
    drawn = Counter(sampler.pick(pool, history, 1, rng)[0].id for _ in range(4000))
    assert drawn["half"] / 4000 == pytest.approx(second / (first + second), abs=0.03)


def test_a_task_that_is_forgotten_comes_back() -> None:
    """Mastered tasks are drawn less; after a regression they are drawn as often as others again."""
    sampler = Learnability(LearnabilityOptions())
    mastered = tuple(Attempt(i, 1.0) for i in range(5))
    lapsed = (*mastered, Attempt(6, 0.0), Attempt(7, 0.0))
    assert sampler.weight(mastered, 8) < 0.6 * sampler.weight(lapsed, 8)
