"""The same messages, results, states and verdicts as the official inference loop, executor and checker, run in a process of their own.

The default line compares the current release: every ground truth, every solution in prompt mode and a quarter of them in function-call
mode, and a round of perturbed trajectories. The older release, more solutions and more perturbed trajectories are nightly.
"""

import hashlib
import json
import random
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from coevolve import Message, Sampling, Task, TaskPool
from coevolve.core.record.store import Store
from coevolve.core.record.timing import Clock
from coevolve.core.rollouts.runner import RolloutLimits, RolloutRunner
from coevolve.environments.bfcl.decode import Call, ground_truth
from coevolve.environments.bfcl.environment import Bfcl
from coevolve.environments.bfcl.release import DEFAULT, RELEASES
from coevolve.environments.bfcl.simulated_apis import Start, fresh
from coevolve.testing import ScriptedOptions, ScriptedPolicy

Official = Callable[..., dict[str, Any]]
Make = Callable[..., Bfcl]
Turns = list[list[Call]]
MODES = ("prompt", "fc")
RELEASES_BY_COST = [pytest.param(release, marks=() if release == DEFAULT else pytest.mark.nightly) for release in RELEASES]


def entry(task: Task) -> dict[str, Any]:
    names = ("id", "initial_config", "involved_classes", "ground_truth", "question", "missed_function")
    return {key: task.payload[key] for key in names if key in task.payload}


def gold(bfcl: Bfcl, task: Task) -> Turns:
    return [[ground_truth(text, bfcl.apis.parameters) for text in calls] for calls in task.payload["ground_truth"]]


def fingerprint(value: Any) -> str:
    """As in official_worker.py."""
    return hashlib.sha256(unordered(json.dumps(value, sort_keys=True)).encode()).hexdigest()[:16]


def plain(value: Any) -> str:
    """A state as text; sets are in no order."""
    if isinstance(value, dict):
        return "{" + ", ".join(sorted(f"{key!r}: {plain(inner)}" for key, inner in value.items())) + "}"
    if isinstance(value, list | tuple):
        return f"{'[' if isinstance(value, list) else '('}{', '.join(map(plain, value))}]"
    if isinstance(value, set):
        return f"set {sorted(map(plain, value))}"
    if hasattr(value, "contents"):
        return f"directory {value.name} {plain(value.contents)}"
    if hasattr(value, "content"):
        return f"file {value.name} {value.content!r}"
    return repr(value)


def unordered(text: str) -> str:
    """One official message writes out a set of words, whose order changes from process to process."""
    return re.sub(r"(?<=Must be one of )\{[^{}]*\}", lambda match: str(sorted(match[0].strip("{}").split(", "))), text)


@pytest.mark.slow
@pytest.mark.parametrize("release", RELEASES_BY_COST)
def test_all_ground_truth_calls_give_the_official_results_and_states(release: str, make: Make, official: Official) -> None:
    bfcl = make(release=release, category="all")
    tasks = bfcl.tasks("all")
    calls = [[call for turn in gold(bfcl, task) for call in turn] for task in tasks]
    jobs = [{**entry(task), "calls": [text for turn in task.payload["ground_truth"] for text in turn]} for task in tasks]
    answers = official({"execute": jobs, "states": jobs}, release)
    seen, left = list[list[str]](), list[list[str]]()
    for task, made in zip(tasks, calls, strict=True):
        world = fresh(bfcl.apis, Start.of(task.payload))
        seen.append([])
        left.append([])
        for call in made:
            seen[-1].append(world.execute(call).text)
            left[-1].append(fingerprint(plain(world.public())))
    assert sum(len(texts) for texts in seen) > 4_600
    assert seen == answers["execute"]
    assert left == answers["states"]


def write(bfcl: Bfcl, calls: Sequence[Call]) -> str:
    return bfcl._answer(list(calls))


def play(bfcl: Bfcl, task: Task, answers: Sequence[str]) -> tuple[list[Message], list[dict[str, Any]] | None, float]:
    """All messages that are not the model's, the tools, and the score; silent when the answers are used up."""
    with bfcl.open(task) as episode:
        messages, given, done = list(episode.messages), iter(answers), False
        while not done:
            seen = episode.step(next(given, ""))
            messages += seen.messages
            done = seen.done
        return messages, None if episode.tools is None else list(episode.tools), episode.score()


def compare(bfcl: Bfcl, played: Sequence[tuple[Task, Sequence[str]]], official: Official) -> list[bool]:
    """Plays the answers in both; the verdicts, after everything was found equal."""
    mode, release = bfcl.options.mode, bfcl.options.release
    jobs = [{**entry(task), "mode": mode, "answers": answers} for task, answers in played]
    theirs = official({"rollout": jobs}, release)["rollout"]
    verdicts = []
    for (task, answers), expected in zip(played, theirs, strict=True):
        messages, tools, score = play(bfcl, task, answers)
        mine = {
            "messages": [fingerprint(dict(message)) for message in messages],
            "tools": None if tools is None else fingerprint(tools),
            "valid": score == 1.0,
        }
        assert mine == expected, (task.id, answers)
        verdicts.append(score == 1.0)
    return verdicts


@pytest.mark.slow
@pytest.mark.parametrize(
    ("release", "mode", "share"),
    [
        (DEFAULT, "prompt", 2),
        (DEFAULT, "fc", 8),
        pytest.param(DEFAULT, "prompt", 1, marks=pytest.mark.nightly),
        pytest.param(DEFAULT, "fc", 1, marks=pytest.mark.nightly),
        pytest.param("2025.7.17", "prompt", 1, marks=pytest.mark.nightly),
        pytest.param("2025.7.17", "fc", 4, marks=pytest.mark.nightly),  # it differs from the others in its way of reading answers only
    ],
)
def test_solutions_meet_the_official_prompts_tools_late_documents_and_verdicts(
    release: str, mode: str, share: int, make: Make, official: Official
) -> None:
    bfcl = make(release=release, category="all", mode=mode, doc_style="official", positional="drop")
    tasks = bfcl.tasks("all")
    assert len(tasks) == 800
    tasks = tasks[::share]
    verdicts = compare(bfcl, [(task, bfcl.script(task.solution)) for task in tasks], official)
    broken = {"multi_turn_base_154"} if (release, mode) == ("2025.7.17", "prompt") else set[str]()  # a turn too few in its request
    assert {task.id for task, valid in zip(tasks, verdicts, strict=True) if not valid} == broken
    assert sum("missed_function" in task.payload for task in tasks) == len(tasks) / 4


def alter(rng: random.Random, value: Any) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return rng.choice([value + 1, -value, float(value), str(value), 0])
    if isinstance(value, str):
        return rng.choice([value + "x", value.upper(), "", value[:-1], 7])
    if isinstance(value, list):
        return rng.choice([value[:-1], [*value, "x"], value * 2])
    return None


def perturb(rng: random.Random, turns: Turns, others: Sequence[Call]) -> Turns:
    """Drop, duplicate, swap, alter, insert, or shuffle calls in one turn; the rest stays."""
    made = [list(calls) for calls in turns]
    filled = [n for n, calls in enumerate(made) if calls]
    if not filled:
        return made
    calls = made[rng.choice(filled)]
    place = rng.randrange(len(calls))
    match rng.randrange(8):
        case 0:
            del calls[place]
        case 1:
            calls.insert(rng.randrange(len(calls) + 1), calls[place])
        case 2:
            other = rng.choice([turn for turn in made if turn])
            at = rng.randrange(len(other))
            calls[place], other[at] = other[at], calls[place]
        case 3 | 4 if calls[place].arguments:
            name = rng.choice(sorted(calls[place].arguments))
            arguments = dict(calls[place].arguments)
            arguments[name] = alter(rng, arguments[name])
            calls[place] = Call(calls[place].name, arguments)
        case 5:
            rng.shuffle(calls)
        case 6:
            rng.choice(made).append(rng.choice(others))
        case _:
            calls.insert(place, rng.choice(others))
    return made


def answers(rng: random.Random, bfcl: Bfcl, turns: Turns) -> Iterator[str]:
    """The calls of each turn as answers: at once, one by one, or with chatter, thoughts, and now and then far too many answers."""
    for calls in turns:
        apart = rng.random() < 0.2
        for part in [[call] for call in calls] if apart else [calls] if calls else []:
            yield ("<think>Which one?</think>\n\n" if rng.random() < 0.1 else "") + write(bfcl, part)
        if calls and rng.random() < 0.01:
            yield from [write(bfcl, calls[:1])] * 21
        yield rng.choice(["[]", "", "Done.", "I am done, anything else?", "<think>So it is done.</think>"])


def trajectories(bfcl: Bfcl, rng: random.Random, rounds: int) -> list[tuple[Task, list[str]]]:
    tasks = bfcl.tasks("all")
    by_class: dict[str, list[Call]] = {}
    for task in tasks:
        for calls in gold(bfcl, task):
            for call in calls:
                by_class.setdefault(bfcl.apis.functions[call.name].owner, []).append(call)
    made = []
    for task in [*tasks] * rounds:
        turns = gold(bfcl, task)
        for _ in range(rng.choice([1, 1, 1, 2])):
            turns = perturb(rng, turns, by_class[rng.choice(task.payload["involved_classes"])])
        made.append((task, list(answers(rng, bfcl, turns))))
    return made


def perturbed(release: str, mode: str, category: str, rounds: int, make: Make, official: Official, share: int = 1) -> None:
    """Compare `rounds` perturbed trajectories of every `share`-th task with the official code's."""
    bfcl = make(release=release, category=category, mode=mode, doc_style="official", positional="drop")
    played = trajectories(bfcl, random.Random(f"{release} {mode} {category}"), rounds)[::share]
    verdicts = compare(bfcl, played, official)
    assert 0.2 < sum(verdicts) / len(verdicts) < 0.8


@pytest.mark.slow
@pytest.mark.parametrize(("mode", "share"), [("prompt", 2), ("fc", 6), pytest.param("prompt", 1, marks=pytest.mark.nightly)])
def test_perturbed_trajectories_get_the_official_messages_and_verdicts(mode: str, share: int, make: Make, official: Official) -> None:
    perturbed(DEFAULT, mode, "all", 1, make, official, share)


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("release", "mode", "category", "rounds"),
    [
        ("2026.3.23", "prompt", "base", 4),
        ("2026.3.23", "prompt", "miss_func", 3),
        ("2026.3.23", "prompt", "miss_param", 3),
        ("2026.3.23", "prompt", "long_context", 2),
        ("2026.3.23", "fc", "all", 1),
        ("2025.7.17", "prompt", "all", 1),
    ],
)
def test_more_perturbed_trajectories_get_the_official_messages_and_verdicts(
    release: str, mode: str, category: str, rounds: int, make: Make, official: Official
) -> None:
    perturbed(release, mode, category, rounds, make, official)


@pytest.mark.parametrize("mode", MODES)
def test_stored_trajectories_get_the_official_verdicts(mode: str, make: Make, official: Official, tmp_path: Path) -> None:
    """Rolled out by the loop's own code, written to a run's file, read back, and given to the official decoder and checker as texts."""
    bfcl = make(category="all", mode=mode, positional="drop")
    scripts = {task.id: [*texts, *[""] * 20] for task, texts in trajectories(bfcl, random.Random(mode), 1)}
    tasks = bfcl.tasks("all")[::6]
    runner = RolloutRunner(bfcl, RolloutLimits(), Clock())
    store = Store(tmp_path / "run.sqlite", create=True)
    try:
        policy = ScriptedPolicy(ScriptedOptions(lambda task, row: scripts[task.id]))
        store.add_pool(0, TaskPool(tuple(tasks)), tasks)
        store.add_groups(runner.run(policy, tasks, 1, Sampling(), 1))
        stored = {trajectory.task_id: trajectory for group in store.groups() for trajectory in group.trajectories}
    finally:
        store.close()
        runner.close()
    jobs = []
    for task in tasks:
        texts = [message["content"] for message in stored[task.id].messages if message["role"] == "assistant"]
        jobs.append({**entry(task), "mode": mode, "answers": texts})
    theirs = [found["valid"] for found in official({"rollout": jobs})["rollout"]]
    assert [stored[task.id].score == 1.0 for task in tasks] == theirs
    assert 0.2 < sum(theirs) / len(theirs) < 0.8
