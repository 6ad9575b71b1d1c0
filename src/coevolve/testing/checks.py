"""Checks of a component against its contract. Each raises an AssertionError that says what is wrong in one sentence."""

import copy
import json
import random
from collections.abc import Sequence
from itertools import islice
from typing import Any, cast

from coevolve import (
    SUCCESS,
    CandidateTask,
    Environment,
    Episode,
    Feedback,
    History,
    LightEnvironment,
    Observation,
    Outcome,
    Sampler,
    SignalDetector,
    Step,
    Synthesizer,
    Task,
    TaskPool,
    Trajectory,
    Validator,
    Verdict,
)
from coevolve.core.environment_defaults import SPLITS, complete, complete_episode, has
from coevolve.core.isolation.checked_environment import checked

from .builders import make_group, make_task

NONSENSE = ("", "nonsense", "{", "[]", "null", "\x00", "f(" * 2000, '{"tool": 3}', "__import__('os').getpid()")
LIMIT = 200
"""Completions after which an episode that is still not over counts as endless."""


def _open(environment: LightEnvironment, task: Task) -> Episode:
    return complete_episode(environment, task, environment.open(task))


def replay(environment: LightEnvironment, task: Task, texts: Sequence[str] | None = None) -> tuple[list[Observation], float, str]:
    """Play `texts` (by default the script of the solution) in a fresh episode; observations, score and end state."""
    environment = checked(environment)
    seen = []
    with environment.open(task) as episode:
        for text in environment.script(task.solution) if texts is None else texts:
            seen.append(episode.step(text))
            if seen[-1].done:
                break
        return seen, episode.score(), episode.state()


def _json(value: Any, what: str) -> None:
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise AssertionError(f"{what} is not made of JSON values: {error}") from None


def check_environment(environment: LightEnvironment, *, sample: int = 10, splits: Sequence[str] = SPLITS) -> None:
    """Splits, tools, episodes, snapshots, scores, keys and composition, tried on the first `sample` tasks of each split.

    An environment may lack the methods that have a default (contracts.Environment): only its own are checked against its tasks. `splits`
    are looked at where it has no `splits()`.
    """
    if has(environment, "describe", Environment):
        _check_tools(cast(Environment, environment))
    scripts, composes = (has(environment, name, Environment) for name in ("script", "compose"))
    environment = complete(environment, splits)
    splits = environment.splits()
    assert "train" in splits, f"splits() must name 'train', it names {splits}"
    families: dict[str, set[str]] = {}
    names: dict[str, set[str]] = {}
    for split in splits:
        tasks = environment.tasks(split)
        assert tasks, f"the split {split!r} has no task"
        ids = [task.id for task in tasks]
        assert len(set(ids)) == len(ids), f"a task id occurs twice in the split {split!r}"
        names[split] = set(ids)
        assert list(tasks[:3]) == list(environment.tasks(split)[:3]), "tasks() must give the same tasks each time"
        for task in tasks[:sample]:
            _check_task(environment, task, scripts, composes)
        families[split] = {family for task in tasks[:sample] if (family := environment.keys(task).family) is not None}
    if "test" in splits:
        both = families["test"] & families["train"]
        assert not both, f"the splits 'test' and 'train' share the families {sorted(both)[:3]}"
        both = names["test"] & names["train"]
        assert not both, f"the splits 'test' and 'train' share the tasks {sorted(both)[:3]}"


def _check_tools(environment: Environment) -> None:
    tools = environment.describe().tools
    assert tools, "describe() names no tool"
    for tool in tools:
        assert tool.parameters.get("type") == "object", f"the parameters of {tool.name} must be a JSON schema of type 'object'"
        unknown = set(tool.parameters.get("required", ())) - set(tool.parameters.get("properties", {}))
        assert not unknown, f"{tool.name} requires {sorted(unknown)}, which it does not describe"
        _json([tool.parameters, tool.returns], f"the schema of {tool.name}")
    twice = [tool.name for tool in tools if sum(other.name == tool.name for other in tools) > 1]
    assert not twice, f"the tool name {twice[0]!r} occurs twice" if twice else ""


def _check_task(environment: Environment, task: Task, scripts: bool, composes: bool) -> None:
    where = f"task {task.id}"
    assert task.environment == environment.name, f"{where} names the environment {task.environment!r}, not {environment.name!r}"
    assert task.query.strip(), f"{where} has no query"
    _json([dict(task.payload), [dict(action.arguments) for action in task.solution]], where)
    with _open(environment, task) as episode:
        assert episode.messages and all({"role", "content"} <= set(m) for m in episode.messages), f"{where}: bad first messages"
        start = episode.state()
        idle = _idle(episode)
        assert not task.solution or idle < SUCCESS, f"{where}: doing nothing solves it"
    if task.solution and scripts:
        _check_solution(environment, task, start, composes)
    for text in NONSENSE:
        _check_nonsense(environment, task, text)
    assert environment.keys(task) == environment.keys(task), f"{where}: keys() must give the same keys each time"


def _check_solution(environment: Environment, task: Task, start: str, composes: bool) -> None:
    where = f"task {task.id}"
    first, second = replay(environment, task), replay(environment, task)
    assert first == second, f"{where}: two replays of the solution differ"
    seen, score, _ = first
    steps = [step for observation in seen for step in observation.steps]
    assert score >= SUCCESS, f"{where}: its own solution scores {score}"
    taken = [step.action.name for step in steps if not step.inner]
    assert taken == [action.name for action in task.solution], f"{where}: script() does other calls"
    loose = [observation for observation in seen if observation.steps and observation.steps[0].inner]
    assert not loose, f"{where}: an inner step must follow the step that it was done by"
    _json([step.result for step in steps], f"{where}: a result")
    with _open(environment, task) as episode:
        assert episode.state() == start, f"{where}: an episode's end changed the next one's start"
    _check_snapshot(environment, task)
    trajectory = Trajectory(task.id, 1, 0, (), tuple(steps), Outcome.COMPLETED, score)
    patterns = environment.patterns(trajectory)
    assert isinstance(patterns, tuple) and all(isinstance(p, str) for p in patterns), f"{where}: patterns() must be a tuple of names"
    again = environment.compose(task, steps, f"{task.id}-again") if composes else None
    if again is not None:
        assert again.id == f"{task.id}-again", f"{where}: compose() must use the id that it is given"
        assert replay(environment, again)[1] >= SUCCESS, f"{where}: a task composed from its steps is not solved by them"


def _idle(episode: Episode) -> float:
    for _ in range(LIMIT):
        if episode.step("").done:
            return episode.score()
    raise AssertionError(f"an episode of empty completions was not done after {LIMIT}")


def _check_snapshot(environment: Environment, task: Task) -> None:
    where = f"task {task.id}"
    with _open(environment, task) as episode:
        before, start = episode.snapshot(), episode.state()
        ends = []
        for _ in range(2):
            seen = [episode.step(text) for text in environment.script(task.solution)]
            ends.append((seen, episode.state()))
            episode.restore(before)
            assert episode.state() == start, f"{where}: restore() does not bring the state back"
        assert ends[0] == ends[1], f"{where}: what follows restore() differs from what followed the snapshot"


def _check_nonsense(environment: Environment, task: Task, text: str) -> None:
    with _open(environment, task) as episode:
        try:
            seen = episode.step(text)
        except Exception as error:
            raise AssertionError(f"task {task.id}: step({text[:20]!r}) raised {type(error).__name__}; nonsense must be observed") from error
        assert isinstance(seen, Observation), f"task {task.id}: step() must return an Observation"


def check_signal(detector: SignalDetector) -> None:
    """Purity, JSON evidence, strength, names, and that infrastructure faults take no part; over groups of every kind."""
    assert detector.detect([], History()) == [], "without rollouts there is no signal"
    broken = [make_group("broken", (None, None), iteration=i, patterns=("p",), progress=(0.5, 0.2)) for i in (1, 2)]
    assert detector.detect(broken, History().with_groups(broken)) == [], "rollouts that are infrastructure faults must give no signal"
    draw = random.Random(0)
    for _ in range(30):
        groups = [
            make_group(
                f"t{draw.randrange(4)}",
                scores := draw.choices((0.0, 0.4, 0.5, 1.0, None), k=4),
                iteration=i,
                patterns=(f"p{i % 5}",),
                progress=[1.0 if (score or 0.0) >= SUCCESS else draw.choice((None, 0.0, 0.25, 0.75)) for score in scores],
            )
            for i in range(1, 20)
        ]
        history = History().with_groups(groups)
        before = copy.deepcopy((groups, history))
        signals = detector.detect(groups, history)
        assert detector.detect(groups, history) == signals, "detect() must be pure: a second call gave other signals"
        assert (groups, history) == before, "detect() must leave its arguments alone"
        assert len({signal.id for signal in signals}) == len(signals), "two signals of one task and iteration have the same id"
        shown = {(group.task.id, group.iteration) for group in groups}
        for signal in signals:
            assert signal.kind == detector.name, f"a signal's kind is {signal.kind!r}, not the detector's name {detector.name!r}"
            assert 0 <= signal.strength <= 1, f"the strength {signal.strength} of {signal.id} is not in [0, 1]"
            assert (signal.task_id, signal.iteration) in shown, f"{signal.id} is about a rollout group that was not given"
            _json(dict(signal.evidence), f"the evidence of {signal.id}")


def check_sampler(sampler: Sampler) -> None:
    """Purity, and distinct tasks while the pool has enough."""
    pool = TaskPool(tuple(make_task(f"t{n}") for n in range(10)))
    history = History().with_groups([make_group(f"t{n}", (1.0, 0.0), iteration=n + 1) for n in range(5)])
    for count in (1, 4, 10, 25):
        picked = sampler.pick(pool, history, count, random.Random(count))
        assert picked == sampler.pick(pool, history, count, random.Random(count)), "pick() must be a function of its arguments"
        assert len(picked) == count, f"pick() gave {len(picked)} tasks, not {count}"
        distinct = len({task.id for task in picked})
        assert distinct == min(count, len(pool)), f"pick() gave {distinct} distinct tasks of {len(pool)} for {count}"
        assert all(task in pool.tasks for task in picked), "pick() gave a task that is not in the pool"


def check_synthesizer(
    synthesizer: Synthesizer, environment: LightEnvironment, feedback: Feedback, *, most: int = 1000
) -> list[CandidateTask]:
    """Ends, repeats itself for one seed, and yields tasks with lineage whose solutions replay; returns the candidates."""
    environment = checked(environment)
    found = list(islice(synthesizer.synthesize(feedback, environment, random.Random(1)), most))
    assert len(found) < most, f"synthesize() yielded {most} candidates and did not end"
    again = list(synthesizer.synthesize(feedback, environment, random.Random(1)))
    assert found == again, "synthesize() must depend on its arguments and the random generator alone"
    taken = {task.id for task in feedback.pool}
    for candidate in found:
        task = candidate.task
        assert task.id not in taken, f"the task id {task.id} is taken"
        taken.add(task.id)
        assert task.environment == environment.name, f"{task.id} names the environment {task.environment!r}"
        assert task.origin.kind == synthesizer.name, f"the origin of {task.id} is {task.origin.kind!r}, not {synthesizer.name!r}"
        assert task.origin.iteration == feedback.iteration, f"the origin of {task.id} names another iteration"
        _json([dict(task.payload), dict(task.origin.detail)], task.id)
        assert all(isinstance(step, Step) for step in candidate.exploration), f"the exploration of {task.id} must be steps"
    return found


def check_validator(validator: Validator, environment: LightEnvironment, *, sample: int = 10) -> None:
    """Accepts a training task as new to an empty pool, refuses it as known, and refuses one that nobody can solve."""
    environment = checked(environment)
    tasks = [task for task in environment.tasks("train")[:sample] if task.solution]
    assert tasks, "the environment has no training task with a solution"
    for task in tasks:
        verdict = validator.validate(CandidateTask(task), environment, TaskPool(()), ())
        assert isinstance(verdict, Verdict) and verdict.accepted == (verdict.reason == "accepted"), "a verdict must name its reason"
        again = validator.validate(CandidateTask(task), environment, TaskPool(()), ())
        assert verdict == again, f"two verdicts on {task.id} differ"
        if verdict.accepted:
            known = validator.validate(CandidateTask(make_again(task)), environment, TaskPool((task,)), ())
            assert not known.accepted, f"{task.id} was accepted although the pool holds it"


def make_again(task: Task) -> Task:
    """The same task under another id."""
    return Task(f"{task.id}-again", task.environment, task.query, task.intent, task.solution, task.payload, task.origin)
