"""Rollouts: every error is put where it belongs, and one broken episode disturbs no other."""

import threading
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from coevolve import InfrastructureFault, Observation, Outcome, Policy, Sampling, StreamsCompletions, Task
from coevolve.core.record.timing import Clock
from coevolve.core.rollouts.runner import RolloutLimits, RolloutRunner
from coevolve.testing import ScriptedOptions, ScriptedPolicy, Stockroom, StockroomOptions

SAMPLING = Sampling()


class Faulty(Stockroom):
    """The stockroom, in which the task called `bad` fails at one point."""

    def __init__(self, bad: str, where: str, error: Exception | None) -> None:
        super().__init__(StockroomOptions())
        self.bad, self.where, self.error = bad, where, error
        self.never = threading.Event()
        self.closed: list[str] = []

    def _fail(self) -> None:
        if self.error is None:
            self.never.wait()
        else:
            raise self.error

    def open(self, task: Task) -> Any:
        if task.id == self.bad and self.where == "open":
            self._fail()
        episode = super().open(task)
        environment = self
        if task.id == self.bad:
            for name in {"step", "score"} & {self.where}:

                def failing(*_: Any) -> Any:
                    environment._fail()

                setattr(episode, name, failing)
        episode.close = lambda: environment.closed.append(task.id)  # type: ignore[method-assign]
        return episode


def solve(environment: Stockroom) -> ScriptedPolicy:
    return ScriptedPolicy(ScriptedOptions(lambda task, row: environment.script(task.solution)))


def runner(environment: Stockroom, timeout: float = 20.0, max_completions: int = 20, workers: int = 1) -> RolloutRunner:
    return RolloutRunner(environment, RolloutLimits(max_completions, timeout, workers), Clock())


@pytest.mark.parametrize("workers", [1, 4])
def test_solutions_score_one_and_groups_keep_the_order(workers: int) -> None:
    environment = Stockroom(StockroomOptions())
    tasks = environment.tasks("train")[:5]
    groups = runner(environment, workers=workers).run(solve(environment), tasks, 3, SAMPLING, 7)
    assert [group.task for group in groups] == list(tasks)
    for group in groups:
        assert group.scores == (1.0, 1.0, 1.0)
        assert [t.index for t in group.trajectories] == [0, 1, 2]
        assert {t.iteration for t in group.trajectories} == {7}
        for trajectory in group.trajectories:
            assert trajectory.outcome is Outcome.COMPLETED
            assert [s.action for s in trajectory.steps] == list(group.task.solution)
            assert trajectory.patterns == environment.patterns(trajectory)


@pytest.mark.parametrize("where", ["open", "step", "score"])
def test_an_environment_that_raises_is_an_infrastructure_fault_of_that_task_alone(where: str) -> None:
    tasks = Stockroom(StockroomOptions()).tasks("train")[:3]
    environment = Faulty(tasks[1].id, where, ValueError("burst pipe"))
    groups = runner(environment).run(solve(environment), tasks, 2, SAMPLING, 1)
    assert groups[0].scores == groups[2].scores == (1.0, 1.0)
    assert groups[1].scores == () and groups[1].mean is None
    for trajectory in groups[1].trajectories:
        assert trajectory.outcome is Outcome.INFRASTRUCTURE_FAULT
        assert trajectory.score is None
        assert trajectory.fault == f"{where}: ValueError: burst pipe"
    opened = 4 if where == "open" else 6
    assert len(environment.closed) == opened, "every episode that was opened is closed"


@pytest.mark.parametrize("where", ["open", "step", "score"])
def test_an_environment_that_never_answers_is_left_at_its_deadline(where: str) -> None:
    tasks = Stockroom(StockroomOptions()).tasks("train")[:2]
    environment = Faulty(tasks[0].id, where, None)
    groups = runner(environment, timeout=0.1).run(solve(environment), tasks, 1, SAMPLING, 1)
    environment.never.set()
    assert groups[1].scores == (1.0,)
    assert groups[0].trajectories[0].outcome is Outcome.INFRASTRUCTURE_FAULT
    assert "no answer within 0.1 s" in (groups[0].trajectories[0].fault or "")


def test_garbage_is_a_policy_fault_with_the_environments_score() -> None:
    environment = Stockroom(StockroomOptions())
    policy = ScriptedPolicy(ScriptedOptions(lambda task, row: ["__import__('os').system('true')"] * 50))
    (group,) = runner(environment, max_completions=5).run(policy, environment.tasks("train")[:1], 2, SAMPLING, 1)
    assert group.scores == (0.0, 0.0)
    for trajectory in group.trajectories:
        assert trajectory.outcome is Outcome.POLICY_FAULT
        assert trajectory.fault == "not done after 5 completions"


def test_a_full_context_is_a_policy_fault() -> None:
    environment = Stockroom(StockroomOptions())

    class Full(ScriptedPolicy):
        def complete(self, conversations: Sequence[Any], sampling: Sampling) -> list[str | None]:
            return [None for _ in conversations]

    (group,) = runner(environment).run(Full(ScriptedOptions()), environment.tasks("train")[:1], 1, SAMPLING, 1)
    assert group.trajectories[0].fault == "no room left in the context"
    assert group.trajectories[0].outcome is Outcome.POLICY_FAULT and group.scores == (0.0,)


def test_a_score_outside_the_unit_interval_is_a_fault_of_the_environment() -> None:
    class Odd(Stockroom):
        def open(self, task: Task) -> Any:
            episode = super().open(task)
            episode.score = lambda: 7.0  # type: ignore[method-assign]
            return episode

    environment = Odd(StockroomOptions())
    (group,) = runner(environment).run(solve(environment), environment.tasks("train")[:1], 1, SAMPLING, 1)
    assert group.trajectories[0].fault == "score: ValueError: 7.0 is not in [0, 1]"
    assert group.scores == ()


def test_an_engine_that_fails_ends_the_rollout_and_closes_the_episodes() -> None:
    tasks = Stockroom(StockroomOptions()).tasks("train")[:2]
    environment = Faulty("none", "open", ValueError())

    class Down(ScriptedPolicy):
        def complete(self, conversations: Sequence[Any], sampling: Sampling) -> list[str | None]:
            raise RuntimeError("engine is down")

    with pytest.raises(RuntimeError, match="engine is down"):
        runner(environment).run(Down(ScriptedOptions()), tasks, 2, SAMPLING, 1)
    assert len(environment.closed) == 4


@pytest.mark.parametrize("at_most", [1, 4, 100])
def test_a_bound_on_concurrent_rollouts_and_shares_change_no_group(at_most: int) -> None:
    """Whatever is rolled at once, and whoever rolls it: a row's number stays its own."""
    environment = Stockroom(StockroomOptions())
    tasks = environment.tasks("train")[:3]
    seen: set[int] = set()
    at_once: list[int] = []

    def script(task: Task, row: int) -> tuple[str, ...]:
        seen.add(row)
        return environment.script(task.solution) if row % 2 else ("nonsense",)

    class Counting(ScriptedPolicy):
        def complete(self, conversations: Sequence[Any], sampling: Sampling) -> list[str | None]:
            at_once.append(len(conversations))
            return super().complete(conversations, sampling)

    policy = Counting(ScriptedOptions(script))
    whole = runner(environment).run(policy, tasks, 3, SAMPLING, 7)
    at_once.clear()
    limited = RolloutRunner(environment, RolloutLimits(20, 20.0, 1, at_most), Clock())
    assert limited.run(policy, tasks, 3, SAMPLING, 7) == whole
    assert max(at_once) == min(at_most, 9)
    parts = [limited.part(policy, tasks, 3, SAMPLING, 7, numbers) for numbers in (range(0, 4), range(4, 4), range(4, 9))]
    assert limited.grouped(tasks, 3, 7, [t for part in parts for t in part]) == whole
    assert seen == set(range(9))


class Telling(ScriptedPolicy):
    """Tells each text before the next is written; `between` is called after each."""

    def __init__(self, options: ScriptedOptions, between: Callable[[int], None] = lambda n: None) -> None:
        super().__init__(options)
        self.between = between

    def complete_streaming(self, conversations: Sequence[Any], sampling: Sampling, on_completion: Callable[[int, str], None]) -> list[Any]:
        texts = []
        for n in reversed(range(len(conversations))):
            (text,) = self.complete([conversations[n]], sampling)
            assert text is not None
            on_completion(n, text)
            self.between(n)
            texts.append(text)
        return texts[::-1]


def test_a_text_is_carried_out_while_others_are_still_written() -> None:
    environment = Stockroom(StockroomOptions())
    tasks = environment.tasks("train")[:3]
    stepped = threading.Event()
    waited: list[bool] = []

    class Seen(Stockroom):
        def open(self, task: Task) -> Any:
            episode = super().open(task)
            step = episode.step

            def seen(text: str) -> Observation:
                try:
                    return step(text)
                finally:
                    stepped.set()

            episode.step = seen  # type: ignore[method-assign]
            return episode

    def between(n: int) -> None:
        waited.append(stepped.wait(20))

    options = ScriptedOptions(lambda task, row: environment.script(task.solution) if row % 4 else ("nonsense",))
    policy: Policy = Telling(options, between)
    assert isinstance(policy, StreamsCompletions) and not isinstance(ScriptedPolicy(options), StreamsCompletions)
    groups = runner(Seen(StockroomOptions()), workers=2).run(policy, tasks, 4, SAMPLING, 7)
    assert waited and all(waited), "a step is done before the completions are"
    assert groups == runner(environment).run(ScriptedPolicy(options), tasks, 4, SAMPLING, 7)


@pytest.mark.parametrize("error", [ValueError("burst pipe"), None])
def test_faults_of_told_texts_land_where_those_of_others_do(error: Exception | None) -> None:
    tasks = Stockroom(StockroomOptions()).tasks("train")[:3]
    made = []
    for kind in (ScriptedPolicy, Telling):
        environment = Faulty(tasks[1].id, "step", error)
        policy = kind(solve(environment).options)
        made.append(runner(environment, timeout=20.0 if error else 0.1).run(policy, tasks, 2, SAMPLING, 1))
        environment.never.set()
        assert sorted(environment.closed) == sorted(task.id for task in tasks for _ in range(2))
    assert made[0] == made[1]
    assert made[1][0].scores == (1.0, 1.0) and made[1][1].scores == ()
    assert {t.outcome for t in made[1][1].trajectories} == {Outcome.INFRASTRUCTURE_FAULT}


def test_what_a_telling_policy_does_not_tell_is_taken_from_its_answer() -> None:
    environment = Stockroom(StockroomOptions())
    task = environment.tasks("train")[0]

    class Mixed(ScriptedPolicy):
        def complete_streaming(
            self, conversations: Sequence[Any], sampling: Sampling, on_completion: Callable[[int, str], None]
        ) -> list[Any]:
            texts: list[Any] = list(self.complete(conversations, sampling))
            if len(texts) == 4:
                texts[0], texts[1] = None, InfrastructureFault("no answer")
            on_completion(len(texts) - 1, texts[-1])
            return texts

    (group,) = runner(environment).run(Mixed(ScriptedOptions(lambda t, row: environment.script(t.solution))), [task], 4, SAMPLING, 1)
    outcomes = [t.outcome for t in group.trajectories]
    assert outcomes == [Outcome.POLICY_FAULT, Outcome.INFRASTRUCTURE_FAULT, Outcome.COMPLETED, Outcome.COMPLETED]
    assert [t.score for t in group.trajectories[2:]] == [1.0, 1.0]


@pytest.mark.parametrize("stuck", [False, True])
def test_an_engine_that_fails_after_telling_leaves_nothing_under_way(stuck: bool) -> None:
    tasks = Stockroom(StockroomOptions()).tasks("train")[:3]
    environment = Faulty(tasks[2].id if stuck else "none", "step", None)

    def fail(n: int) -> None:
        if n == 0:
            raise RuntimeError("engine is down")

    policy = Telling(ScriptedOptions(lambda task, row: environment.script(task.solution)), fail)
    pool = runner(environment, timeout=0.1 if stuck else 20.0)
    with pytest.raises(RuntimeError, match="engine is down"):
        pool.run(policy, tasks, 1, SAMPLING, 1)
    assert len(environment.closed) == 3
    assert pool.run(solve(environment), tasks[:2], 1, SAMPLING, 1)[0].scores == (1.0,), "the runner goes on"
    environment.never.set()
