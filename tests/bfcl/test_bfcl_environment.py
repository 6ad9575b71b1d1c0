"""Splits, description, patterns, scripts, composed tasks and keys."""

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import attrs
import pytest

from coevolve import Action, Environment, Outcome, Step, Task, Trajectory, UserError
from coevolve.environments.bfcl.apis import Apis
from coevolve.environments.bfcl.assets import SOURCES
from coevolve.environments.bfcl.environment import Bfcl, BfclOptions
from coevolve.environments.bfcl.release import CLASSES, DEFAULT, RELEASES
from coevolve.testing import check_environment


def steps(bfcl: Bfcl, task: Task, actions: tuple[Action, ...]) -> list[Step]:
    with bfcl.open(task) as episode:
        return [step for answer in bfcl.script(actions) for step in episode.step(answer).steps]


def score(bfcl: Bfcl, task: Task, actions: tuple[Action, ...]) -> float:
    with bfcl.open(task) as episode:
        for answer in bfcl.script(actions):
            if episode.step(answer).done:
                break
        return episode.score()


class Partition(Bfcl):
    """Only the splits that do not overlap."""

    def splits(self) -> tuple[str, ...]:
        return ("train", "dev", "test")


def test_it_keeps_the_contract(bfcl: Bfcl) -> None:
    assert isinstance(bfcl, Environment)
    check_environment(Partition(bfcl.options), sample=6)


def test_splits_are_by_scenario_stratified_and_seeded(bfcl: Bfcl) -> None:
    ids = {split: [task.id for task in bfcl.tasks(split)] for split in bfcl.splits()}
    assert {split: len(names) for split, names in ids.items()} == {
        "train": 100,
        "dev": 20,
        "test": 80,
        "all": 200,
        "first_half": 100,
        "second_half": 100,
    }
    assert sorted(ids["train"] + ids["dev"] + ids["test"]) == sorted(ids["all"]) == sorted(ids["first_half"] + ids["second_half"])
    assert ids["first_half"][-1] == "multi_turn_base_99"
    kinds = {split: Counter(tuple(sorted(task.payload["involved_classes"])) for task in bfcl.tasks(split)) for split in ids}
    assert all(abs(kinds["train"][kind] - count / 2) <= 1.5 for kind, count in kinds["all"].items())
    assert all(abs(kinds["test"][kind] - count * 0.4) <= 1.5 for kind, count in kinds["all"].items())
    again, other = Bfcl(BfclOptions()), Bfcl(BfclOptions(split_seed=1))
    assert [task.id for task in again.tasks("train")] == ids["train"]
    assert [task.id for task in other.tasks("train")] != ids["train"]
    for environment in (bfcl, other):
        solutions = {split: {environment.keys(task).actions for task in environment.tasks(split)} for split in ("train", "dev", "test")}
        assert not solutions["train"] & solutions["test"] and not solutions["train"] & solutions["dev"]


def test_wrong_names_are_user_errors(bfcl: Bfcl) -> None:
    with pytest.raises(UserError, match="did you mean 'train'"):
        bfcl.tasks("trian")
    for options in (BfclOptions(release="1"), BfclOptions(doc_style="full"), BfclOptions(category="bse"), BfclOptions(step_limit=0)):
        with pytest.raises(UserError, match="bfcl"):
            Bfcl(options)


def test_tools_are_the_documented_functions(bfcl: Bfcl) -> None:
    tools = bfcl.describe().tools
    assert len(tools) == len({tool.name for tool in tools}) == 128
    assert len({tool.group for tool in tools}) == 8
    kinds = {detail["type"] for tool in tools for detail in tool.parameters["properties"].values()}
    assert kinds == {"string", "integer", "number", "boolean", "array", "object"}
    booking = next(tool for tool in tools if tool.name == "cancel_booking")
    assert booking.parameters["properties"]["booking_id"]["format"] == "booking_id"
    status = next(tool for tool in tools if tool.name == "displayCarStatus").parameters["properties"]["option"]
    assert status["enum"] == ["fuel", "battery", "doors", "climate", "headlights", "parkingBrake", "brakePedal", "engine"]
    flight = next(tool for tool in tools if tool.name == "get_flight_cost").parameters["properties"]["travel_class"]
    assert flight["enum"] == ["economy", "business", "first"]
    assert bfcl.options.release in bfcl.describe().notes


def test_listed_values_hold_for_the_solutions(bfcl: Bfcl) -> None:
    schemas = {tool.name: tool.parameters["properties"] for tool in bfcl.describe().tools}
    used, outside = 0, []
    for task in bfcl.tasks("all"):
        for action in task.solution:
            for name, value in action.arguments.items():
                detail = schemas[action.name][name]
                choices = detail.get("enum") or detail.get("items", {}).get("enum")
                for item in (value if isinstance(value, list) else [value]) if choices else ():
                    used += 1
                    if item not in choices:
                        outside.append((task.id, action.name, item))
    assert used > 100
    assert outside == []


def test_patterns_name_function_and_outcome_once(bfcl: Bfcl) -> None:
    task = bfcl.tasks("all")[0]
    with bfcl.open(task) as episode:
        seen = episode.step("[ls(), ls(), cd(folder='nowhere'), cd(folder='document'), fly(), ls(x=1)]").steps
    trajectory = Trajectory(task.id, 1, 0, (), seen, Outcome.COMPLETED, 0.0)
    names = ("GorillaFileSystem.ls:ok", "GorillaFileSystem.cd:err", "GorillaFileSystem.cd:ok", "unknown:err", "GorillaFileSystem.ls:err")
    assert bfcl.patterns(trajectory) == names


def test_a_script_ends_every_turn(bfcl: Bfcl) -> None:
    a, b = Action("ls", {"a": True}), Action("pwd")
    at = [attrs.evolve(a, turn=1), attrs.evolve(b, turn=1), attrs.evolve(a, turn=4)]
    assert bfcl.script(at) == ("[]", "[ls(a=True), pwd()]", "[]", "[]", "[]", "[ls(a=True)]", "[]")
    assert bfcl.script([a])[0] == "[ls(a=True)]"
    assert bfcl.script([attrs.evolve(a, turn=3)]) == ("[]", "[]", "[]", "[ls(a=True)]", "[]")
    assert bfcl.script([]) == ()


def test_a_prefix_keeps_the_users_words_and_added_calls_get_some(bfcl: Bfcl) -> None:
    start = next(task for task in bfcl.tasks("train") if task.payload["involved_classes"] == ["TradingBot"])
    prefix = tuple(action for action in start.solution if action.turn == start.solution[0].turn)
    added = Action("fund_account", {"amount": 2500.0}, prefix[0].turn + 1)
    made = bfcl.compose(start, steps(bfcl, start, (*prefix, added)), "new")
    assert made is not None and made.id == "new"
    assert made.payload["question"][0] == start.payload["question"][0]
    last = made.query.split("\n\n")[-1]
    assert "$2,500" in last and "fund_account" not in last and "amount" not in last
    assert [action.turn for action in made.solution] == [*([0] * len(prefix)), 1]
    assert set(made.payload) == set(start.payload)
    assert made.payload["ground_truth"][1] == ["fund_account(amount=2500.0)"]
    assert score(bfcl, made, made.solution) == 1.0
    assert score(bfcl, made, start.solution) == 0.0
    assert score(bfcl, made, made.solution[:-1]) == 0.0
    assert bfcl.keys(made).family == bfcl.keys(start).family
    assert made.origin.parents == (start.id,)
    json.dumps(dict(made.payload), allow_nan=False)


def test_added_calls_are_divided_by_their_turns_and_refer_to_results(bfcl: Bfcl) -> None:
    start = next(task for task in bfcl.tasks("train") if task.id == "multi_turn_base_118")
    look = Action("get_stock_info", {"symbol": "AAPL"}, 0)
    buy = Action("place_order", {"order_type": "Buy", "symbol": "AAPL", "price": 227.16, "amount": 20}, 0)
    show = Action("get_order_details", {"order_id": 12446}, 1)
    made = bfcl.compose(start, steps(bfcl, start, (look, buy, show)), "two")
    assert made is not None and [action.turn for action in made.solution] == [0, 0, 1]
    first, second = made.query.split("\n\n")
    assert "20" in first and "AAPL" in first and "227.16" not in first, "the price is there to be found out"
    assert "that order" in second and "12446" not in second
    assert score(bfcl, made, made.solution) == 1.0


def test_composing_works_from_every_train_task(bfcl: Bfcl) -> None:
    for start in bfcl.tasks("train"):
        first = start.solution[0].turn
        part = tuple(action for action in start.solution if action.turn == first)
        made = bfcl.compose(start, steps(bfcl, start, part), f"{start.id}-prefix")
        assert made is not None
        assert made.payload["question"] == start.payload["question"][:1]
        assert score(bfcl, made, made.solution) == 1.0
        whole = bfcl.compose(start, steps(bfcl, start, start.solution), f"{start.id}-whole")
        assert whole is not None and score(bfcl, whole, whole.solution) == 1.0


def test_a_query_is_divided_by_its_paragraphs(bfcl: Bfcl) -> None:
    start = bfcl.tasks("all")[0]
    played = steps(bfcl, start, start.solution[:4])
    two = bfcl.compose(start, played, "two", "Tidy up the report.\n\nThen go there.")
    one = bfcl.compose(start, played, "one", "Tidy up the report and go there.")
    assert two is not None and one is not None
    assert [len(calls) for calls in two.payload["ground_truth"]] == [3, 1]
    assert [len(calls) for calls in one.payload["ground_truth"]] == [4]
    assert two.query == "Tidy up the report.\n\nThen go there."
    assert all(score(bfcl, made, made.solution) == 1.0 for made in (one, two))


def test_what_cannot_be_composed(bfcl: Bfcl) -> None:
    start = bfcl.tasks("all")[0]
    many = [Step(Action("ls"), "")] * 21
    assert bfcl.compose(start, [], "none") is None
    assert bfcl.compose(start, many, "many") is None
    assert bfcl.compose(start, [Step(Action("fly"), "")], "unknown") is None
    assert bfcl.compose(start, [Step(Action("ls"), "")], "mute", "  ") is None
    odd = Action("place_order", {"order_type": "Short", "symbol": "AAPL", "price": 1.0, "amount": 1})
    assert bfcl.compose(start, [Step(odd, "")], "no words for that value") is None


def test_keys_are_the_same_for_the_same_and_differ_for_the_different(bfcl: Bfcl) -> None:
    task = next(task for task in bfcl.tasks("all") if any(len(action.arguments) > 1 for action in task.solution))
    turned = tuple(attrs.evolve(action, arguments=dict(reversed(list(action.arguments.items())))) for action in task.solution)
    assert bfcl.keys(attrs.evolve(task, solution=turned)) == bfcl.keys(task)
    shorter = bfcl.keys(attrs.evolve(task, solution=task.solution[:-1]))
    assert shorter.actions != bfcl.keys(task).actions and shorter.end_state != bfcl.keys(task).end_state
    assert len({bfcl.keys(task).end_state for task in bfcl.tasks("all")}) == 200


def test_keys_and_results_do_not_depend_on_the_hash_seed(bfcl: Bfcl) -> None:
    program = """
from coevolve.environments.bfcl.environment import Bfcl, BfclOptions
bfcl = Bfcl(BfclOptions())
task = next(task for task in bfcl.tasks("all") if "TravelAPI" in task.payload["involved_classes"])
travel = task.payload["initial_config"]["TravelAPI"]
with bfcl.open(task) as episode:
    card = sorted(travel["credit_card_list"])[0]
    seen = episode.step(f"[book_flight(access_token={travel['access_token']!r}, card_id={card!r}, travel_date='2026-01-01',"
                        " travel_from='SFO', travel_to='LAX', travel_class='coach')]")
    print(seen.steps[0].observation, episode.state(), *(bfcl.keys(task) for task in bfcl.tasks("all")[::25]))
"""
    outputs = set()
    for seed in ("1", "2"):
        environ = {**os.environ, "PYTHONHASHSEED": seed}
        outputs.add(subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environ).stdout)
    assert len(outputs) == 1
    assert "Must be one of" in outputs.pop()


def test_prompts(bfcl: Bfcl) -> None:
    task = bfcl.tasks("all")[0]
    compact = bfcl.open(task).messages[0]["content"]
    full = Bfcl(BfclOptions(doc_style="official")).open(task).messages[0]["content"]
    assert "mkdir(dir_name: str): Create a new directory in the current directory" in compact
    assert "tail(file_name: str, lines: int = 10): " in compact
    assert all(
        tool.name in full and tool.name in compact for tool in bfcl.describe().tools if tool.group in task.payload["involved_classes"]
    )
    assert len(full) > 8 * len(compact) / 2


@pytest.mark.parametrize(
    ("length", "why"), [(0, "it contains no tasks"), (20_000, "JSONDecodeError: Unterminated string")], ids=["emptied", "cut off"]
)
def test_a_damaged_copy_is_one_line_with_the_fix(bfcl: Bfcl, tmp_path: Path, length: int, why: str) -> None:
    release = RELEASES[DEFAULT]
    copied = tmp_path / "bfcl_eval"
    for path in [*CLASSES.values(), "long_context"]:
        for file in (f"{SOURCES}/{path}.py", f"data/multi_turn_func_doc/{path}.json"):
            if (bfcl.apis.folder / file).is_file():
                (copied / file).parent.mkdir(parents=True, exist_ok=True)
                (copied / file).write_bytes((bfcl.apis.folder / file).read_bytes())
    for file in (release.entries("base"), release.answers("base")):
        (copied / file).parent.mkdir(parents=True, exist_ok=True)
        (copied / file).write_bytes((bfcl.apis.folder / file).read_bytes())
    entries = copied / release.entries("base")
    entries.write_bytes(entries.read_bytes()[:length])
    damaged = Bfcl(bfcl.options)
    vars(damaged)["apis"] = Apis(release, copied)
    with pytest.raises(UserError) as caught:
        damaged.tasks("test")
    text = str(caught.value)
    assert text.startswith(f"the copy of BFCL in {copied} is damaged ({why}") and "\n" not in text
    assert text.endswith("delete that folder, then run: coevolve env setup bfcl")
