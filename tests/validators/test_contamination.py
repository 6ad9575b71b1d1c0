"""A teacher that only paraphrases one task grows the pool by one task at most; one that knows the held-out split does not grow it.

Both are tested on the desk and on BFCL, with the validators alone and in the loop. benchmarks/contamination.py measures more tasks.
"""

import importlib.util
import random
import sys
from collections import Counter
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar

import pytest
from attrs import frozen

from coevolve import Environment, Feedback, TaskPool, hookimpl
from coevolve.core.record.store import Store
from coevolve.core.record.timing import Clock
from coevolve.core.run.build import build, open_journal
from coevolve.core.workers.remote_environment import placed_environment
from coevolve.environments.bfcl import assets
from coevolve.environments.bfcl.environment import Bfcl, BfclOptions
from coevolve.environments.bfcl.release import DEFAULT, RELEASES
from coevolve.environments.desk import Desk, DeskOptions
from coevolve.plugins.validators.execution import Execution, ExecutionOptions
from coevolve.plugins.validators.minimal import Minimal, MinimalOptions
from coevolve.testing import SmallRuns, make_feedback


def _load() -> Any:
    """Import the module beside this file; the tests are not a package."""
    spec = importlib.util.spec_from_file_location("paraphrase", Path(__file__).with_name("paraphrase.py"))
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["paraphrase"] = module
    spec.loader.exec_module(module)
    return module


teachers = _load()


@pytest.fixture(scope="module", params=["desk", "bfcl"])
def environment(request: pytest.FixtureRequest) -> Any:
    if request.param == "bfcl":
        assets.ensure(RELEASES[DEFAULT])
        return Bfcl(BfclOptions())
    return Desk(DeskOptions(test=200))


def judges() -> list[Any]:
    return [Minimal(MinimalOptions()), Execution(ExecutionOptions())]


@pytest.mark.parametrize("known", [True, False], ids=["of the pool", "new"])
def test_paraphrases_of_one_task_grow_the_pool_by_one_task_at_most(environment: Any, known: bool) -> None:
    train, rng = environment.tasks("train"), random.Random(1)
    for task in rng.sample(list(train), 2):
        pool = TaskPool(tuple(other for other in train if known or other is not task))
        found = list(islice(teachers.AlwaysTheSame(task).synthesize(make_feedback(train), environment, rng), 24))
        assert len({candidate.task.query for candidate in found}) > 10
        assert len({repr(candidate.task.solution) for candidate in found}) > 3
        after, judged = teachers.tally(judges(), environment, iter(found), pool, environment.tasks("test"))
        assert len(after) - len(pool) == (0 if known else 1), (task.id, Counter(judged))


def test_chatter_and_extra_turns_do_not_make_a_second_task(environment: Any) -> None:
    train, rng = environment.tasks("train"), random.Random(3)
    task = rng.choice([one for one in train if len(one.solution) > 3])
    pool = TaskPool(tuple(other for other in train if other is not task))
    found = list(teachers.AlwaysTheSame(task, teachers.TALKATIVE, train, 24).synthesize(make_feedback(train), environment, rng))
    assert len({repr(candidate.task.solution) for candidate in found}) > 3
    after, judged = teachers.tally(judges(), environment, iter(found), pool, environment.tasks("test"))
    assert len(after) - len(pool) == 1, (task.id, Counter(judged))


def test_nothing_of_the_held_out_split_is_admitted(environment: Any) -> None:
    train, held_out, rng = environment.tasks("train"), environment.tasks("test"), random.Random(2)
    found = list(teachers.Leaking(rng.sample(list(held_out), 8), train).synthesize(make_feedback(train), environment, rng))
    _, judged = teachers.tally(judges(), environment, iter(found), TaskPool(tuple(train)), held_out)
    by_kind = Counter(judged)
    assert {kind for kind, _ in by_kind} == set(teachers.LEAKS)
    assert {reason.rpartition("_")[0] for _, reason in by_kind} == {"held_out"}, by_kind
    assert {reason for kind, reason in by_kind if kind == "verbatim"} == {"held_out_text"}


def test_the_same_candidates_are_admitted_when_nothing_is_known(environment: Any) -> None:
    """With an empty pool and without the held-out split, most of the leaking teacher's candidates are admitted."""
    train, rng = environment.tasks("train"), random.Random(2)
    fed = rng.sample(list(environment.tasks("test")), 8)
    found = teachers.Leaking(fed, train).synthesize(make_feedback(train), environment, rng)
    _, judged = teachers.tally(judges(), environment, found, TaskPool(()), ())
    assert sum(reason == "accepted" for _, reason in judged) >= len(fed) - 2


@frozen
class LazyOptions:
    """The lazy teacher has no options."""


class Lazy:
    """Only paraphrases the pool's first task."""

    name: ClassVar[str] = "lazy"
    Options: ClassVar[type] = LazyOptions

    def __init__(self, options: LazyOptions) -> None:
        self.options = options

    def synthesize(self, feedback: Feedback, environment: Environment, rng: random.Random) -> Any:
        return teachers.AlwaysTheSame(feedback.pool.tasks[0]).synthesize(feedback, environment, rng)


class Leaky(Lazy):
    """Proposes five held-out tasks."""

    name: ClassVar[str] = "leaky"

    def synthesize(self, feedback: Feedback, environment: Environment, rng: random.Random) -> Any:
        return teachers.Leaking(environment.tasks("test")[:5], feedback.pool.tasks).synthesize(feedback, environment, rng)


class Offers:
    @hookimpl
    def coevolve_synthesizers(self) -> list[Any]:
        return [Lazy, Leaky]


@pytest.mark.parametrize("name", ["lazy", "leaky"])
def test_the_loop_admits_nothing_of_either_teacher(name: str, tmp_path: Path) -> None:
    runs = SmallRuns(Offers())
    registry = runs.registry()
    chosen = ["environment.name=desk", f"synthesizer.name={name}", "tasks_per_evolution=16"]
    config = runs.config(registry, *chosen, 'validators.names=["minimal","execution"]')
    store = Store(tmp_path / "run.sqlite", create=True)
    with placed_environment(config, registry) as environment:
        loop = build(config, registry, tmp_path, Clock(), environment)(store=store)
    try:
        open_journal(loop)
        loop.pool = TaskPool(tuple(loop.guard.environment.tasks("train")))
        store.add_pool(0, loop.pool, loop.pool.tasks)
        assert [loop.evolve(iteration)["admitted"] for iteration in (10, 20)] == [0, 0]
        assert len(loop.pool) == len(loop.guard.environment.tasks("train"))
        refused = [reason for (reason,) in store.rows("SELECT reason FROM verdicts")]
    finally:
        loop.runner.close()
        loop.evaluator.close()
        loop.guard.close()
        store.close()
    assert refused and all(reason.startswith("duplicate" if name == "lazy" else "held_out") for reason in refused), refused
