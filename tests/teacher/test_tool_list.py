"""Tools in prompts: the relevant ones first, and nothing cut inside of a sentence, an argument or a value."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coevolve import Tool
from coevolve.environments.bfcl.environment import Bfcl, BfclOptions
from coevolve.synthesizers.teacher.tool_list import relevant, tools

TOOLS = [
    Tool(
        f"{group}.{name}", f"{name} of {group}", {"type": "object", "properties": {"who": {"type": "string"}}, "required": []}, None, group
    )
    for group in ("mail", "files", "music")
    for name in ("find", "send", "drop")
]


def test_relevant_tools_come_first_then_their_groups() -> None:
    names = [tool.name for tool in relevant(TOOLS, ["files.send", "nothing", "files.send"], 5)]
    assert names == ["files.send", "files.find", "files.drop", "mail.find", "mail.send"]
    assert relevant(TOOLS, [], 100) == TOOLS
    assert relevant(TOOLS, ["mail.find"], 0) == []


def test_the_tools_that_do_not_fit_are_counted() -> None:
    shown = tools(TOOLS, ["music.drop"], 2, 1000).splitlines()
    assert shown == ["music.drop(who?: string): drop of music", "music.find(who?: string): find of music", "[7 of 9 tools are not shown]"]
    assert "not shown" not in tools(TOOLS, [], 9, 1000)


@settings(deadline=None)
@given(st.integers(0, 12), st.integers(40, 600))
def test_tools_keep_to_their_room_and_count(most: int, chars: int) -> None:
    shown = tools(TOOLS, ["music.drop"], most, chars)
    assert len(shown) <= chars
    lines = [line for line in shown.splitlines() if "(who?" in line]
    if len(lines) < len(TOOLS):
        assert f"[{len(TOOLS) - len(lines)} of {len(TOOLS)} tools are not shown]" in shown


CITIES = [f"City{n:02}" for n in range(90)]
FLIGHT = Tool(
    "book_flight",
    "Book a flight, e.g. London to Rome. Codes are in the IATA format! " + " ".join(f"Sentence {n} says more." for n in range(30)),
    {
        "type": "object",
        "properties": {"city": {"type": "string", "enum": CITIES}, "day": {"type": "string"}, "note": {"type": "string"}},
        "required": ["city", "day"],
    },
    {"type": "object", "properties": {f"field{n:02}": {"type": "number"} for n in range(40)}},
)


def test_a_long_tool_loses_whole_sentences_values_and_fields() -> None:
    shown = tools([FLIGHT], [], 1, 8000)
    found = re.fullmatch(r"book_flight\(city: (.*?), day: string, note\?: string\) -> {(.*)}: (.*)", shown)
    assert found is not None, shown
    *cities, rest = found[1].split("|")
    assert cities == CITIES[: len(cities)] and rest == f"... {90 - len(cities)} more" and len(cities) > 20
    *fields, rest = found[2].split(", ")
    assert fields == [f"field{n:02}: number" for n in range(len(fields))] and rest == f"... {40 - len(fields)} more"
    assert found[3].startswith("Book a flight, e.g. London to Rome. Codes are in the IATA format! Sentence 0 says more.")
    assert found[3].endswith(" says more.") and len(found[3]) <= 300


def test_a_tool_with_little_room_loses_result_document_and_values_before_arguments() -> None:
    assert tools([FLIGHT], [], 1, 1200).endswith(
        "... 83 more, day: string, note?: string): Book a flight, e.g. London to Rome. Codes are in the IATA format!"
    )
    assert tools([FLIGHT], [], 1, 440) == (
        "book_flight(city: City00|City01|City02|City03|City04|City05|City06|... 83 more, day: string, note?: string)"
    )
    assert tools([FLIGHT], [], 1, 240) == "book_flight(city, day, note?)"


@pytest.mark.parametrize("text", ["word " * 200, "A sentence without an end that goes on and on " * 20])
def test_a_first_sentence_that_is_too_long_ends_at_a_word(text: str) -> None:
    shown = tools([Tool("t", text, {"type": "object", "properties": {}})], [], 1, 8000)
    assert shown.endswith(" ...") and shown.removesuffix(" ...").rsplit(" ", 1)[1] in text.split() and len(shown) < 320


def test_nothing_of_the_benchmarks_tools_is_cut_inside() -> None:
    known = Bfcl(BfclOptions()).describe().tools
    shown = tools(known, [], len(known), 100_000)
    assert "left out" not in shown and shown.count("\n") == len(known) - 1
    assert "Rivermist|Stonebrook" in shown and "Hong Kong|Rome|Tokyo" in shown, "a list of cities fits whole"
