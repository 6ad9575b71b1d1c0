"""The same results and verdicts as the official executor and checker, run side by side."""

import json
import random
import re
from collections.abc import Callable, Sequence
from typing import Any

from coevolve import Task
from coevolve.environments.bfcl.decode import Call, Undecodable, decode, ground_truth
from coevolve.environments.bfcl.environment import Bfcl, BfclOptions
from coevolve.environments.bfcl.world import fresh

Official = Callable[[dict[str, Any]], dict[str, Any]]
Turns = list[list[Call]]


def entry(task: Task) -> dict[str, Any]:
    return {key: task.payload[key] for key in ("id", "initial_config", "involved_classes", "ground_truth", "question")}


def gold(bfcl: Bfcl, task: Task) -> Turns:
    return [[ground_truth(text, bfcl.apis.parameters) for text in calls] for calls in task.payload["ground_truth"]]


def observe(bfcl: Bfcl, task: Task, calls: Sequence[Call]) -> list[str]:
    world = fresh(bfcl.apis, tuple(task.payload["involved_classes"]), json.dumps(task.payload["initial_config"]))
    return [world.execute(call).text for call in calls]


def unordered(text: str) -> str:
    """One official message writes out a set of words, whose order changes from process to process."""
    return re.sub(r"\{'[^{}]*'\}", lambda match: str(sorted(match[0].strip("{}").split(", "))), text)


def play(bfcl: Bfcl, task: Task, turns: Turns) -> float:
    with bfcl.open(task) as episode:
        for calls in turns:
            if calls:
                episode.step("[" + ", ".join(map(str, calls)) + "]")
            episode.step("[]")
        return episode.score()


def test_all_ground_truth_calls_give_the_official_results(bfcl: Bfcl, official: Official) -> None:
    tasks = bfcl.tasks("all")
    jobs = [{**entry(task), "calls": [text for calls in task.payload["ground_truth"] for text in calls]} for task in tasks]
    answers = official({"execute": jobs, "prompt": [entry(task) for task in tasks]})
    ours = [observe(bfcl, task, [call for calls in gold(bfcl, task) for call in calls]) for task in tasks]
    assert sum(map(len, ours)) == 1142
    assert ours == answers["execute"]
    shown = Bfcl(BfclOptions(doc_style="official"))
    assert [shown.open(task).messages[0]["content"] for task in tasks] == answers["prompt"]


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
    calls = made[rng.choice([n for n, calls in enumerate(made) if calls])]
    place = rng.randrange(len(calls))
    match rng.randrange(7):
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
        case _:
            calls.insert(place, rng.choice(others))
    return made


def test_perturbed_trajectories_get_the_official_results_and_verdicts(bfcl: Bfcl, official: Official) -> None:
    rng = random.Random(4)
    tasks = bfcl.tasks("all")
    by_class: dict[str, list[Call]] = {}
    for task in tasks:
        for calls in gold(bfcl, task):
            for call in calls:
                by_class.setdefault(bfcl.apis.functions[call.name].owner, []).append(call)
    played = []
    for task in [*tasks, *tasks, *tasks]:
        turns = gold(bfcl, task)
        for _ in range(rng.choice([0, 1, 1, 2])):
            turns = perturb(rng, turns, by_class[rng.choice(task.payload["involved_classes"])])
        played.append((task, turns))
    jobs = [{**entry(task), "calls": [str(call) for calls in turns for call in calls]} for task, turns in played]
    checks = [{**entry(task), "turns": [[[str(call) for call in calls]] if calls else [] for calls in turns]} for task, turns in played]
    answers = official({"execute": jobs, "check": checks})
    ours = [observe(bfcl, task, [call for calls in turns for call in calls]) for task, turns in played]
    differences = [
        (job["calls"][n], mine, theirs)
        for job, results, expected in zip(jobs, ours, answers["execute"], strict=True)
        for n, (mine, theirs) in enumerate(zip(results, expected, strict=True))
        if unordered(mine) != unordered(theirs)
    ]
    assert differences == []
    verdicts = [play(bfcl, task, turns) == 1.0 for task, turns in played]
    assert verdicts == answers["check"]
    assert 150 < sum(verdicts) < 450


DECODED = [
    "[ls(a=True)]",
    "ls(a=True), pwd()",
    "```\n[cd(folder='x')]\n```",
    "'[pwd()]'",
    "[]",
    "",
    "   ",
    "Done, nothing is left to do.",
    "[ls(a=true)]",
    "[tail(file_name='a', lines=-3)]",
    "[tail(file_name='a', lines=+3)]",
    "[tail(file_name='a', lines=2*3+1)]",
    "[add(a=2**10, b=7/2)]",
    "[post_tweet(content='x', tags=['#a', '#b'], mentions=[])]",
    "[post_tweet(content='it\\'s', tags=('a',))]",
    "[edit_ticket(ticket_id=1, updates={'priority': 2, 'title': 'x'})]",
    "[edit_ticket(ticket_id=1, updates={1: 'x'})]",
    "[edit_ticket(ticket_id=1, updates={})]",
    "[echo(content=pwd())]",
    "[echo(content=x[0])]",
    "[echo(content=...)]",
    "[echo(content=None)]",
    "[echo(content='a' + 'b')]",
    "[a.b.ls(a=1)]",
    "[ls(a=1, a=2)]",
    "[ls(a=lambda: 1)]",
    "[ls(a=not True)]",
    "[ls(a=x.y)]",
    "[ls(a={1, 2})]",
    "[ls(a=f'{1}')]",
    "[ls(a=[1 for _ in 'ab'])]",
    "[ls(a=1 if 2 else 3)]",
    "[ls(a=1 < 2)]",
    "[ls(a=(1, 2))]",
    "[ls, pwd]",
    "[1, 2]",
    "[ls()] [pwd()]",
    "[ls()], [pwd()]",
    "[ls()] and more",
    "{'name': 'ls'}",
    "[ls(a='\\d')]",
    "[echo(content='日本語 ñ')]",
    "[ls(a=1/0)]",
    "[ls(a='x' * 3)]",
    "<tool_call>ls()</tool_call>",
    "ls(",
    "[ls(a=)]",
    "[pwd(), ]",
    "[[pwd()]]",
    "[mean(numbers=[1, 2.5, -3])]",
    "[add(a=1e3, b=0x10)]",
]


def test_answers_decode_as_the_official_decoder_decodes_them(bfcl: Bfcl, official: Official) -> None:
    texts = DECODED + ["[" + ", ".join(map(str, calls)) + "]" for task in bfcl.tasks("all") for calls in gold(bfcl, task)]

    def ours(text: str) -> list[str] | None:
        try:
            return [str(call) for call in decode(text, bfcl.apis.parameters, "drop")]
        except Undecodable:
            return None

    theirs = official({"decode": texts})["decode"]
    different = [(text, ours(text), other) for text, other in zip(texts, theirs, strict=True) if ours(text) != other]
    assert different == [("[ls(a='x' * 3)]", None, ["ls(a='xxx')"])]
