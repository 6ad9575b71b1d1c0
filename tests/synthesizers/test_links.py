from typing import Any

import pytest

from coevolve import Action, Description, Step, Tool
from coevolve.synthesizers.argument_values import request_literals
from coevolve.synthesizers.catalog import Argument, catalog_of, distinctive, json_equal
from coevolve.synthesizers.links import Survey, link_uses
from coevolve.testing import Stockroom, StockroomOptions

ROOM = Stockroom(StockroomOptions())
CATALOG = catalog_of(ROOM.describe())


def bare(name: str, *arguments: str, **schemas: dict[str, Any]) -> Tool:
    """A tool without formats."""
    return Tool(name, "", {"type": "object", "properties": {**{a: {} for a in arguments}, **schemas}, "required": list(arguments)})


def step(name: str, arguments: dict[str, Any], result: Any, error: str | None = None) -> Step:
    return Step(Action(name, arguments), str(result), result, error)


def texts(steps: list[Step], *tools: Tool) -> list[str]:
    return [str(handing.link) for handing in link_uses(steps, catalog_of(Description(tools)))]


def test_the_links_of_a_stockroom_solution_are_found() -> None:
    task = next(t for t in ROOM.tasks("train") if [a.name for a in t.solution] == ["catalog.find", "stock.count", "stock.add"])
    (solved,) = Survey().solved([task], ROOM, CATALOG, 10)
    assert [(str(h.link), h.source, h.target) for h in solved.link_uses] == [
        ("catalog.find[as=code] -> stock.count.code", 0, 1),
        ("catalog.find[as=code] -> stock.add.code", 0, 2),
        ("stock.count -> stock.add.amount", 1, 2),
    ]
    assert [solved.depends(index) for index in range(3)] == [False, True, True]


def test_equality_is_enough_without_formats() -> None:
    tools = bare("book"), bare("cancel", "id")
    steps = [step("book", {}, {"booking": {"ids": [7, 70001]}}), step("cancel", {"id": 70001}, None)]
    assert texts(steps, *tools) == ["book -> cancel.id"]


@pytest.mark.parametrize("value", [3, True, "a", "", None, ["x"], {"a": 1}])
def test_values_that_may_be_equal_by_chance_are_not_links(value: Any) -> None:
    tools = bare("give"), bare("take", "it")
    assert texts([step("give", {}, {"it": value}), step("take", {"it": value}, None)], *tools) == []


def test_formats_rule_chance_out_both_ways() -> None:
    number = {"type": "integer", "format": "count"}
    give = Tool("give", "", {"type": "object", "properties": {}}, {"type": "object", "properties": {"n": number}})
    other = Tool("other", "", {"type": "object", "properties": {}}, {"type": "object", "properties": {"n": {**number, "format": "id"}}})
    take = bare("take", n=number)
    assert texts([step("give", {}, {"n": 3}), step("take", {"n": 3}, None)], give, take) == ["give -> take.n"]
    assert texts([step("other", {}, {"n": 3000}), step("take", {"n": 3000}, None)], other, take) == []


def test_the_latest_call_that_succeeded_is_the_source() -> None:
    tools = bare("one"), bare("two"), bare("take", "it")
    steps = [step("one", {}, "value"), step("two", {}, "value"), step("one", {}, "value", "failed"), step("take", {"it": "value"}, None)]
    assert texts(steps, *tools) == ["two -> take.it"]


def test_modes_are_part_of_a_link_and_entities_are_not() -> None:
    mode, thing = {"type": "string", "enum": ["iso", "us"]}, {"type": "string", "enum": ["a", "b"], "format": "meeting"}
    tools = bare("when", **{"as": mode, "what": thing}), bare("take", "day")
    steps = [step("when", {"what": "a", "as": "iso"}, "2027-03-04"), step("take", {"day": "2027-03-04"}, None)]
    assert texts(steps, *tools) == ["when[as=iso] -> take.day"]


def test_unknown_tools_and_modes_are_not_consumers() -> None:
    tools = bare("give"), bare("take", **{"as": {"type": "string", "enum": ["iso"]}})
    assert texts([step("give", {}, "iso"), step("take", {"as": "iso"}, None), step("strange", {"x": "iso"}, None)], *tools) == []


def test_an_argument_accepts_values_of_its_type_format_and_choices() -> None:
    count = Argument("n", (int,), "count")
    assert count.accepts(3, "count") and count.accepts(3, None)
    assert not count.accepts(3, "id") and not count.accepts("3", None) and not count.accepts(True, None)
    assert Argument("m", (), None, ("a",)).accepts("a", "anything") and not Argument("m", (), None, ("a",)).accepts("b", None)


def test_json_values_are_compared_without_mixing_flags_and_numbers() -> None:
    assert json_equal(65, 65.0) and json_equal("a", "a")
    assert not json_equal(1, True) and not json_equal(0, False) and not json_equal("1", 1)
    assert distinctive("ab") and distinctive(10) and distinctive(-12.5)
    assert not distinctive("a") and not distinctive(9) and not distinctive(True) and not distinctive(None)


def test_literals_of_a_request_are_found() -> None:
    assert request_literals("Copy 'my draft' to a.txt, it's 12 of 4.5 for user_7") == ["my draft", "a.txt", 12, 4.5, "user_7"]
    assert request_literals("don't say what isn't there") == []
