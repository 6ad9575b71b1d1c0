import json
import random
from collections.abc import Mapping
from typing import Any, cast

import attrs
import pytest
from shop import Shop, shop_task
from teacher_answers import Answers

from coevolve import REPAIRABLE, CandidateTask, Environment, HasReader, Origin, Reason, Repairs, Task, Tool, Verdict
from coevolve.synthesizers.teacher import Teacher, TeacherOptions
from coevolve.synthesizers.teacher.faults import TeacherFault
from coevolve.synthesizers.teacher.offered_tools import offered_tools
from coevolve.synthesizers.teacher.prompts import TURNS
from coevolve.synthesizers.teacher.request_repair import repair_request

SHOP = cast(Environment, Shop())
FOUND: tuple[str, dict[str, Any]] = ("list_lamps", {})
BOUGHT: tuple[str, dict[str, Any]] = ("buy_item", {"item_id": "LX72", "amount": 2})
TASK = attrs.evolve(
    shop_task(("Show me the lamps.", [FOUND]), ("Buy two of one of them.", [BOUGHT])), origin=Origin("teacher", 4, None, ("seed",))
)
CANDIDATE = CandidateTask(TASK, calls=("4/abstract/1",))
VERDICT = Verdict(False, Reason.AMBIGUOUS, "buy_item could as well take 'LX71'")


def test_the_teacher_words_the_same_solution_anew() -> None:
    client: Any = Answers(json.dumps({"requests": ["Which lamps are there?", "Buy two of\n\nthe floor lamp."]}))
    made = repair_request(client, CANDIDATE, VERDICT, SHOP)
    assert made is not None and made.task.solution == TASK.solution
    assert made.task.query == "Which lamps are there?\n\nBuy two of\nthe floor lamp.", "an empty line would begin another turn"
    assert (made.task.id, made.calls) == ("shop-task-r1", ("4/abstract/1", "4/repair/shop-task"))
    assert "repaired" not in made.task.origin.detail and made.task.origin.parents == ("seed",)
    ((key, iteration, purpose, messages, schema),) = client.asked
    text = messages[-1]["content"]
    assert (key, iteration, purpose, client.closed) == ("4/repair/shop-task", 4, "repair", 1)
    assert "buy_item could as well take 'LX71'" in text and '"item_id": "LX72"' in text and "2 texts" in text
    assert schema["properties"]["requests"]["minItems"] == 2


def test_a_turn_in_which_the_agent_asks_back_is_worded_too() -> None:
    class Asking(Shop):
        def compose(self, start: Task, steps: Any, task_id: str, query: str | None = None) -> Task | None:
            return attrs.evolve(start, id=task_id, query=query or "")

    later = tuple(attrs.evolve(action, turn=1) for action in TASK.solution)
    task = attrs.evolve(TASK, solution=later, query="Buy some lamps.\n\nTwo of the floor lamp.")
    client: Any = Answers(json.dumps({"requests": ["I want lamps.", "Two floor lamps."]}))
    made = repair_request(client, CandidateTask(task), VERDICT, cast(Environment, Asking()))
    assert made is not None and made.task.query == "I want lamps.\n\nTwo floor lamps." and made.task.solution == later
    text = client.asked[0][3][-1]["content"]
    assert "Turn 1:\n(no call: the user leaves out a value" in text and "Turn 2:\nlist_lamps" in text and TURNS in text


@pytest.mark.parametrize(
    "reply",
    [
        "no idea",
        '{"requests": ["only one"]}',
        '{"requests": ["one", ""]}',
        '{"requests": []}',
        json.dumps({"requests": TASK.query.split("\n\n")}),
        TeacherFault("it is down"),
    ],
)
def test_without_another_request_there_is_no_candidate(reply: Any) -> None:
    client: Any = Answers(reply)
    assert repair_request(client, CANDIDATE, VERDICT, SHOP) is None and client.closed == 1


def test_a_teacher_that_is_told_not_to_repairs_nothing() -> None:
    teacher = Teacher(TeacherOptions(repair=False))
    assert isinstance(teacher, Repairs) and teacher.repair(CANDIDATE, VERDICT, SHOP, random.Random(0)) is None
    assert Reason.MISUNDERSTOOD in REPAIRABLE and Reason.UNASKED not in REPAIRABLE, "another wording cannot repair a solution"


def test_the_teacher_reads_with_its_own_model_and_endpoint() -> None:
    teacher = Teacher(TeacherOptions(model="big", base_url="http://127.0.0.1:9/v1", api_key_env="", concurrency=2))
    assert isinstance(teacher, HasReader)
    name, settings = teacher.reader()
    assert (
        name == "openai" and settings["model"] == "big" and settings["base_url"] == "http://127.0.0.1:9/v1" and settings["concurrency"] == 2
    )
    assert "explorations" not in settings, "only what an endpoint has"
    assert Teacher(TeacherOptions(provider="policy")).reader() == ("", {})


class Described(Shop):
    """A shop whose first message describes some of its tools."""

    def __init__(self, text: str) -> None:
        self.text = text

    def open(self, task: Task) -> Any:
        episode = super().open(task)
        episode.messages = ({"role": "system", "content": self.text}, *episode.messages[1:])
        return episode


def offered(shop: Environment, task: Task, tools: Mapping[str, Tool]) -> list[str]:
    with shop.open(task) as episode:
        return list(offered_tools(episode, task, tools))


def test_only_tools_that_the_task_has_are_offered() -> None:
    tools = {tool.name: tool for tool in SHOP.describe().tools}
    garage = {name: attrs.evolve(tool, name=f"car_{name}", group="garage") for name, tool in tools.items()}
    known = tools | {tool.name: tool for tool in garage.values()}
    described = cast(Environment, Described("Tools: " + ", ".join(f"{name}()" for name in tools)))
    assert offered(described, TASK, known) == list(tools)
    silent = cast(Environment, Described("Look the tools up; list_lamps is one of them."))
    assert offered(silent, TASK, known) == list(known), "an agent that looks tools up has them all"
    assert offered(described, attrs.evolve(TASK, solution=()), known) == list(known)
