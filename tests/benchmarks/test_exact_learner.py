"""The exact learner, its runs, the controls of the study and its intervals: what every figure of the study rests on."""

import importlib
import random
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest

from coevolve import CandidateTask, Environment, Feedback, Task, Verdict
from coevolve.plugins.validators.frontier import FrontierOptions
from coevolve.synthesizers.links import Link

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
learning: Any = importlib.import_module("exact_learner")
running: Any = importlib.import_module("exact_run")
study: Any = importlib.import_module("exact_study")
intervals: Any = importlib.import_module("intervals")

ITERATION = running.BATCH * learning.ROLLOUTS
FIRST = running.EVERY * ITERATION
"""Rollouts of training before the first evolution."""


def world(seed: int = 3) -> Any:
    return learning.World.draw(seed, "producing app")


def run(arm: Any, budget: int, seed: int = 3) -> Any:
    return running.Run(world(seed), arm, budget=budget)


def sigmoid(value: float) -> float:
    return float(1 / (1 + np.exp(-value)))


def test_the_same_seed_gives_the_same_run_and_another_seed_another() -> None:
    first, again, other = (run(study.NEW, FIRST + 400, seed) for seed in (3, 3, 4))
    ended = first()
    assert again() == ended != other()
    assert np.array_equal(first.learner.theta, again.learner.theta) and first.pool.tasks == again.pool.tasks
    assert ended.admitted > 0 < ended.attempts < ended.rollouts


def test_attempts_at_candidates_count_to_the_budget() -> None:
    tried, untried = run(study.NEW, FIRST + 10)(), run(study.UNTRIED, FIRST + 10)()
    assert tried.attempts >= 10 and tried.rollouts == FIRST + tried.attempts, "the attempts of the evolution used the budget up"
    assert (untried.attempts, untried.rollouts) == (0, FIRST + ITERATION)
    assert tried.attempts <= study.NEW.candidates * study.NEW.frontier.attempts
    assert tried.candidates + tried.repairs <= study.NEW.candidates


@pytest.mark.parametrize("candidates", [1, 12])
def test_arms_of_equal_candidates_make_equally_many(candidates: int) -> None:
    for arm in (study.NEW, study.BEFORE):
        ended = run(study.equal(arm, candidates), FIRST)()
        assert ended.candidates + ended.repairs in (candidates, candidates + 1), "a repair may follow the last candidate"


def test_success_rises_on_a_static_pool() -> None:
    static = run(running.Arm(), 30 * ITERATION)
    before = static.learner.success(), static.learner.success(3.0)
    ended = static()
    assert ended.sampled > before[0] + 0.03 and ended.greedy > before[1] + 0.03
    assert (ended.rollouts, ended.candidates, len(static.pool)) == (30 * ITERATION, 0, running.INITIAL)


@pytest.mark.parametrize("count", [1, 2])
def test_success_is_the_product_over_the_links_of_a_task(count: int) -> None:
    learner = learning.Learner(world(), "rollouts")
    task = next(task for task in world().desk.tasks("test") if len(learner.links(task)) == count)

    class OneTest:
        def tasks(self, split: str) -> list[Task]:
            return [task]

    right = [float(learner.theta[place]) for place in learner.links(task)]
    expected = [float(np.prod([sigmoid(sharp * one) for one in right])) for sharp in (1.0, 3.0)]
    scores = learner.group(task, 1000, 1).scores
    assert sum(scores) / 1000 == pytest.approx(expected[0], abs=0.05), "rollouts are drawn by it"
    learner.world = attrs.evolve(world(), desk=OneTest())
    assert [learner.success(), learner.success(3.0)] == pytest.approx(expected)


def test_an_update_follows_the_rollouts() -> None:
    learner = learning.Learner(world(), "rollouts")
    found = ((learner.links(task), task) for task in world().desk.tasks("train"))
    place, task = next((links[0], task) for links, task in found if len(links) == 1 and links[0] in world().weak)
    group = learner.group(task, learning.ROLLOUTS, 1)
    assert 0 < sum(group.scores) < learning.ROLLOUTS
    before = learner.theta.copy()
    learner.update([group])
    moved = learner.theta - before
    assert moved[place] == max(moved) > 0.1 and (moved >= 0).all(), "links that share something move too, and less"
    learner.update([attrs.evolve(group, trajectories=tuple(one for one in group.trajectories if one.success))])
    assert (learner.theta <= before + moved).all(), "a group without variance moves nothing; all are pulled back to where they began"


def candidates(count: int) -> list[CandidateTask]:
    found = world().desk.tasks("train")[:count]
    return [CandidateTask(attrs.evolve(task, id=f"made-{number}")) for number, task in enumerate(found)]


class Again:
    """Yields candidates, and gives a refused one back under another id."""

    seen: Feedback | None = None

    def synthesize(self, feedback: Feedback, environment: Environment, rng: random.Random) -> Iterator[CandidateTask]:
        self.seen = feedback
        return iter(())

    def repair(self, candidate: CandidateTask, verdict: Verdict, environment: Environment, rng: random.Random) -> CandidateTask:
        return attrs.evolve(candidate, task=attrs.evolve(candidate.task, id=f"{candidate.task.id}-r1"))


def test_a_broken_candidate_is_never_solved_and_a_repaired_one_is_drawn_anew() -> None:
    arm = running.Arm(broken=0.5, repairs=1, execution=False, frontier=FrontierOptions(2, 1, 2))
    one = run(arm, 0)
    one.learner.theta[:] = 50.0  # whatever can be solved is solved
    fates = Counter[str]()
    for candidate in candidates(60):
        task, first, second = one.judged(candidate, [], Again()), candidate.task.id, f"{candidate.task.id}-r1"
        broken = one.learner.broken
        if first not in broken:
            assert task is not None and task.id == first
        elif second not in broken:
            assert task is not None and task.id == second
        else:
            assert task is None
        fates["whole" if first not in broken else "repaired" if second not in broken else "lost"] += 1
    assert 20 <= fates["whole"] <= 40 and fates["repaired"] >= 8 <= fates["lost"]
    broken_task = attrs.evolve(candidates(1)[0].task, id=min(one.learner.broken))
    assert set(one.learner.group(broken_task, 50, 1).scores) == {0.0}
    assert set(one.learner.group(attrs.evolve(broken_task, id="whole"), 50, 1).scores) == {1.0}


def scrambled(scramble: str) -> tuple[Any, Sequence[Any], Feedback]:
    """A run after six iterations, its signals, and what a synthesizer is given in the arm with this control."""
    one, maker = run(attrs.evolve(study.NEW, scramble=scramble), 0), Again()
    for iteration in range(1, 7):
        one.learner.update(one.rollout(study.SAMPLERS["uniform"](), iteration))
    signals = [signal for make in running.SIGNALS.values() for signal in make().detect(one.recent, one.history)]
    assert one.explore(maker, 6, signals) == [] and maker.seen is not None
    return one, signals, maker.seen


def test_without_a_control_the_synthesizer_is_given_what_was_found() -> None:
    one, signals, seen = scrambled("")
    assert seen.signals == tuple(signals) and len(signals) > 10 and seen.history == one.history


def test_the_control_tags_moves_the_signals_of_each_task_to_one_task() -> None:
    one, signals, seen = scrambled("tags")
    assert [attrs.evolve(new, task_id=old.task_id) for new, old in zip(seen.signals, signals, strict=True)] == list(signals)
    pairs = {(old.task_id, new.task_id) for old, new in zip(signals, seen.signals, strict=True)}
    tagged = {signal.task_id for signal in signals}
    assert len(pairs) == len({new for _, new in pairs}) == len(tagged), "as many tasks are tagged as before"
    assert {new for _, new in pairs} != tagged and {new for _, new in pairs} <= {group.task.id for group in one.recent}
    assert seen.history == one.history


def test_the_control_scores_permutes_the_scores_among_tasks() -> None:
    one, signals, seen = scrambled("scores")
    own, given = one.history.attempts, seen.history.attempts
    assert seen.signals == tuple(signals) and given.keys() == own.keys()
    assert Counter(given.values()) == Counter(own.values()), "each task has the scores of one task"
    assert sum(given[task] != own[task] for task in own) > len(own) / 4
    assert seen.history is not one.history and one.history == scrambled("")[0].history, "the run's own history stays"


def test_the_oracle_weighs_links_by_their_true_failure_rates() -> None:
    one, signals, seen = scrambled("")
    learner, maker = one.learner, study.oracle(one.learner)
    solved = [learner.solved(task) for task in one.pool]
    weights = maker.weights(seen, signals, solved, learner.catalog)
    plain = study.Programmatic(study.ProgrammaticOptions()).weights(seen, signals, solved, learner.catalog)
    links = {use.link for one in solved for use in one.link_uses}
    known = [link for link in links if (link.producer, link.consumer) in learning.PLACE]
    assert len(known) > 30
    for link in known:
        rate = 1 - sigmoid(learner.theta[learning.PLACE[link.producer, link.consumer]])
        assert weights.estimate(link) == pytest.approx(rate)
        assert weights(link) / plain(link) == pytest.approx((rate / plain.estimate(link)) ** 3), "all else is as in the default"
    assert weights.estimate(Link("no.tool", (), "another.tool", "x")) == 1e-3


def test_intervals_are_students() -> None:
    # mean 2.5, standard deviation sqrt(5 / 3), standard error .6455; t(.975, 3 degrees of freedom) is 3.182
    assert intervals.interval([1.0, 2.0, 3.0, 4.0]) == "+2.500 [+0.446, +4.554], 4 of 4"
    assert intervals.paired([1.5, 0.0], [1.0, 0.5]) == "+0.000 [-6.353, +6.353], 1 of 2"
    assert intervals.interval([-0.25]) == "-0.250, 0 of 1"
    assert intervals.interval([0.0, 1.0] * 20) == "+0.500 [+0.332, +0.668], 20 of 40"
    with pytest.raises(ValueError, match="shorter"):
        intervals.paired([1.0, 2.0], [1.0])


def test_seeds_are_read_from_lists_and_ranges() -> None:
    assert study.seeds("1,2,101-103") == [1, 2, 101, 102, 103]


def test_the_pairs_of_each_table_are_arms_of_it() -> None:
    assert study.PAIRS.keys() == study.TABLES.keys()
    for table, pairs in study.PAIRS.items():
        assert {name for pair in pairs for name in pair} <= study.TABLES[table].keys()
