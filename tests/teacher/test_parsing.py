"""Reading replies: every good candidate is kept, every bad one is refused, nothing raises, and nothing is invented."""

import importlib.util
import json
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coevolve.synthesizers.teacher.parsing import MAX_CANDIDATES, read_candidates, read_reflection, read_step
from coevolve.synthesizers.teacher.replies import Call, Candidate, CandidateTurn, NextStep, Reflection
from coevolve.synthesizers.teacher.salvage import MAX_CHARS, decoded, within


def _malformed() -> Any:
    spec = importlib.util.spec_from_file_location("malformed", Path(__file__).with_name("malformed.py"))
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["malformed"] = module
    spec.loader.exec_module(module)
    return module


malformed = _malformed()
FAMILIES = malformed.families()
REPLIES = malformed.replies()


def test_there_are_many_kinds_and_all_differ() -> None:
    assert len(REPLIES) >= 300
    assert len({reply.name for reply in REPLIES}) == len({reply.text for reply in REPLIES}) == len(REPLIES)


def misread(reply: Any) -> str | None:
    """The error in what was read from a reply; None where all is right."""
    good, bad = read_candidates(reply.text)
    reasons = tuple(refusal.reason for refusal in bad)
    if tuple(good) == reply.good and reasons == reply.bad:
        return None
    return f"{reply.name}: {len(good)} of {len(reply.good)} candidates, refused {reasons}, not {reply.bad}"


@pytest.mark.parametrize("family", FAMILIES)
def test_every_good_candidate_is_kept_and_no_bad_one_passes(family: str) -> None:
    assert list(filter(None, map(misread, FAMILIES[family]))) == []


READING = {"unreadable", "none", "cut_off", "broken_json", "not_an_object", "no_query", "bad_text", "no_solution", "bad_solution"}
READING |= {"repeated", "too_many"}


def test_every_reason_of_reading_occurs() -> None:
    assert {code for reply in REPLIES for code in reply.bad} == READING - {"too_many"}


def test_a_candidate_is_whole_at_no_place_that_a_reply_can_be_cut_at() -> None:
    """A reply that is cut anywhere gives its whole candidates and no others."""
    ends = [malformed.WHOLE.index(text) + len(text) for text in malformed.TEXTS]
    for at in range(len(malformed.WHOLE)):
        good, bad = read_candidates(malformed.WHOLE[:at])
        assert good == list(malformed.WANTED[: sum(end <= at for end in ends)])
        assert {refusal.reason for refusal in bad} <= {"cut_off", "unreadable"}


def test_more_candidates_than_are_taken_are_counted() -> None:
    many = [{"query": f"Task {number}?", "solution": [1]} for number in range(MAX_CANDIDATES + 3)]
    good, bad = read_candidates(json.dumps(many))
    assert len(good) == MAX_CANDIDATES
    assert [refusal.reason for refusal in bad] == ["too_many"] * 3


def test_many_bad_ones_are_counted_in_one_line() -> None:
    good, bad = read_candidates(json.dumps([{"query": f"{number}"} for number in range(1000)]))
    assert good == []
    assert len(bad) == MAX_CANDIDATES + 1
    assert str(bad[-1]) == f"too_many: {1000 - MAX_CANDIDATES} more refused candidates"


def test_a_giant_reply_is_read_up_to_a_bound() -> None:
    first, last = json.dumps({"query": "first", "solution": [1]}), json.dumps({"query": "last", "solution": [1]})
    good, _ = read_candidates(first + " " * MAX_CHARS + last)
    assert [one.query for one in good] == ["first"]


@pytest.mark.parametrize(
    "part",
    ['{"a":', "[", '{"query": "x", "solution": ', "{'a': '", '{"a": "b", ', '"x"', "<think>", '{"a":1}', "{a:1,", '{"a ', "{/*", " "],
)
def test_replies_made_to_waste_time_take_a_bounded_time(part: str) -> None:
    before = time.process_time()
    read_candidates(part * (MAX_CHARS // len(part)))
    # The limit is a hundred times the usual time; without a bound on the work these replies take minutes.
    assert time.process_time() - before < 30


def test_where_the_environment_writes_the_request_none_is_needed() -> None:
    text = '{"candidates": [{"intent": "a", "solution": [1]}, {"solution": [2]}, {"query": "b", "solution": [3]}]}'
    good, bad = read_candidates(text, "environment")
    assert good == [Candidate("a", "", (1,)), Candidate("", "b", (3,))]
    assert list(map(str, bad)) == ["no_query"]
    good, bad = read_candidates('{"intent": "a", "turns": [{"request": "b", "solution": [1]}, {"solution": [2]', "environment")
    assert (good, [refusal.reason for refusal in bad]) == ([], ["cut_off"])


def test_one_request_is_one_paragraph() -> None:
    good, _ = read_candidates(json.dumps({"turns": [{"request": "a\n\n \nb", "solution": [1]}, {"request": "c", "solution": [2]}]}))
    assert good == [Candidate("", "a\nb\n\nc", (1, 2), (CandidateTurn("a\nb", (1,)), CandidateTurn("c", (2,))))]


_WORDS = st.text("aX ä数🙂,.?'-", max_size=12).map(lambda text: f"q{text}z")
_NAMES = st.sampled_from(["a", "key", "b_2"])
_VALUES: st.SearchStrategy[Any] = st.sampled_from([None, True, 0, -7, 2.5, [1, [2]], {"key": {}}, []]) | _WORDS
_PARTS = st.integers(1, 9) | st.fixed_dictionaries({"tool": _WORDS, "arguments": st.dictionaries(_NAMES, _VALUES, max_size=2)})
_SOLUTIONS = st.lists(_PARTS, min_size=1, max_size=3)
_CANDIDATES = st.lists(
    st.fixed_dictionaries({"intent": _WORDS, "query": _WORDS, "solution": _SOLUTIONS})
    | st.fixed_dictionaries(
        {"turns": st.lists(st.fixed_dictionaries({"request": _WORDS, "solution": _SOLUTIONS}), min_size=1, max_size=2)}
    ),
    min_size=1,
    max_size=3,
    unique_by=lambda raw: json.dumps(raw, sort_keys=True),
)
_EDITS = st.lists(
    st.tuples(st.sampled_from(["delete", "insert"]), st.integers(0, 2000), st.sampled_from(list("{}[],:\"' \n"))), min_size=1, max_size=4
)


def _wanted(raw: dict[str, Any]) -> Candidate:
    def parts(items: list[Any]) -> tuple[int | Call, ...]:
        return tuple(item if isinstance(item, int) else Call(item["tool"].strip(), item["arguments"]) for item in items)

    if "turns" in raw:
        turns = tuple(CandidateTurn(turn["request"].strip(), parts(turn["solution"])) for turn in raw["turns"])
        return Candidate("", "\n\n".join(t.request for t in turns), tuple(part for turn in turns for part in turn.solution), turns)
    return Candidate(raw["intent"].strip(), raw["query"].strip(), parts(raw["solution"]))


def _bones(wanted: Candidate) -> Any:
    """A candidate without the characters that a mutation adds or removes: in a string they look like its own."""

    def plain(value: Any) -> Any:
        if isinstance(value, str):
            return "".join(sign for sign in value if sign.isalnum())
        if isinstance(value, dict):
            return sorted((repr((plain(key), plain(inner))) for key, inner in value.items()))
        return [plain(inner) for inner in value] if isinstance(value, list) else repr(value)

    def part(one: int | Call) -> Any:
        return one if isinstance(one, int) else (plain(one.tool), plain(dict(one.arguments)))

    # The intent is left out of the comparison, because it is optional: damage to its key loses only the intent.
    return plain(wanted.query), [part(one) for one in wanted.solution], len(wanted.turns)


@settings(max_examples=100, deadline=None)
@given(_CANDIDATES)
def test_a_well_formed_reply_is_read_as_it_is(raws: list[dict[str, Any]]) -> None:
    for text in (json.dumps({"candidates": raws}), repr(raws), "\n".join(json.dumps(raw, ensure_ascii=False) for raw in raws)):
        good, bad = read_candidates(text)
        assert good == [_wanted(raw) for raw in raws]
        assert bad == []


@settings(max_examples=200, deadline=None)
@given(_CANDIDATES, _EDITS, st.integers(0, 3000))
def test_a_damaged_reply_yields_no_candidate_that_was_not_written(raws: list[dict[str, Any]], edits: list[Any], end: int) -> None:
    text = json.dumps({"candidates": raws}, ensure_ascii=False)
    for kind, at, sign in edits:
        # Mutations add or remove only structural characters: a changed letter, or two joined numbers, would be valid content.
        at %= len(text) + 1
        if kind == "insert":
            text = text[:at] + sign + text[at:]
        elif at < len(text) and text[at] in "{}[],:\"' " and not (text[at - 1 : at] + text[at + 1 : at + 2]).isdigit():
            text = text[:at] + text[at + 1 :]
    good, bad = read_candidates(text[:end] if end < len(text) else text)
    written = [_bones(_wanted(raw)) for raw in raws]
    assert [one for one in good if _bones(one) not in written] == [], text
    assert all(refusal.reason in READING for refusal in bad)


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=200) | st.text("{}[]()\":,'\\/*“” queryintsolu1-.eNaN\n", max_size=120))
def test_no_text_raises(text: str) -> None:
    for queries in ("teacher", "environment"):
        good, bad = read_candidates(text, queries)
        assert good or bad
    step, reflection = read_step(text), read_reflection(text)
    assert step is None or isinstance(step, NextStep)
    assert reflection is None or isinstance(reflection, Reflection)


STEP = NextStep("look first", "mail.find", {"thread": "outage"})
ACTION = '{"tool": "mail.find", "arguments": {"thread": "outage"}}'


@pytest.mark.parametrize(
    "text",
    [
        f'{{"thought": "look first", "action": {ACTION}}}',
        '{"thought": "look first", "tool": "mail.find", "arguments": {"thread": "outage"}}',
        '{"thought": "look first", "action": "mail.find", "arguments": {"thread": "outage"}}',
        '{"thought": "look first", "name": "mail.find", "arguments": "{\\"thread\\": \\"outage\\"}"}',
        f'Well.\n```json\n{{"thought": "look first", "action": {ACTION}}}\n```\nThat is it.',
        f'<think>{{"tool": "x", "arguments": {{}}}}</think>{{"thought": "look first", "action": {ACTION},}}',
        "{'thought': 'look first', 'action': {'tool': 'mail.find', 'arguments': {'thread': 'outage'}}}",
        f'[{{"thought": "look first", "action": {ACTION}}}, {{"thought": "then", "action": "stop"}}]',
        f'{{"thought": "look first", "action": {ACTION}}} {{"thought": "then", "action": "stop"}}',
    ],
)
def test_a_step_is_read_in_many_shapes(text: str) -> None:
    assert read_step(text) == STEP


@pytest.mark.parametrize(
    "text", ["stop", " STOP. ", "```\nstop\n```", '{"action": "stop"}', '{"tool": "Stop"}', '{"tool": null}', '{"stop": true}',
             '{"thought": "", "action": {"tool": "stop", "arguments": {}}}']
)  # fmt: skip
def test_the_end_of_a_round_is_read_in_many_shapes(text: str) -> None:
    assert read_step(text) == NextStep("", None, {})


@pytest.mark.parametrize(
    "text",
    [
        "", "I stop here.", "{}", '{"thought": "x"}', '{"thought": "x", "tool": "mail.find", "arguments": {"name": "outage"}',
        '{"tool": 5, "arguments": {"name": "ana"}}', '{"tool": "a", "arguments": ["x"]}', '{"tool": "a", "arguments": {"x": NaN}}',
        '{"action": {"tool": "a", "arguments": {"x": 1', '{"tool": "a", "payload": {"x": 1}}',
    ],
)  # fmt: skip
def test_a_reply_without_a_step_is_none(text: str) -> None:
    assert read_step(text) is None


def test_a_reflection_is_read_whole_or_not_at_all() -> None:
    full = {"weakness": "dates", "why": "wrong form", "tries": ["calendar first", "then mail"], "variant": "another form"}
    read = Reflection("dates", "wrong form", ("calendar first", "then mail"), "another form")
    assert read_reflection(json.dumps(full)) == read
    assert read_reflection(f"So: {{'reflection': {full!r}}}") == read
    loose = {"Weakness": ["dates", "and times"], "tries": "calendar"}
    assert read_reflection(json.dumps(loose)) == Reflection("dates and times", "", ("calendar",), "")
    assert read_reflection(json.dumps(full)[:-1]) is None
    assert read_reflection(json.dumps({**full, "tries": []})) is None
    assert read_reflection(json.dumps({**full, "weakness": " "})) is None
    half = read_reflection(json.dumps({**full, "why": "half \ud83d of one"}))
    assert half is not None and half.why == "half \ufffd of one"


def test_decoded_takes_json_and_nothing_else() -> None:
    assert decoded(' {"a": [1, null]} ') == {"a": [1, None]}
    for text in ("", "{}{}", '{"a": NaN}', '{"a": 1, "a": 2}', "[" * 5000 + "]" * 5000, "[" * 40 + "]" * 40, "{'a': 1}"):
        with pytest.raises(ValueError):
            decoded(text)


def test_within_counts_depth_and_characters() -> None:
    assert within({"a": [[1]]}, depth=3) and not within({"a": [[1]]}, depth=2)
    assert within("x" * 50, size=50) and not within("x" * 51, size=50)
    assert within("x") and within([]) and within({})


@pytest.mark.parametrize(
    ("solutions", "reason"),
    [
        ([[], [1]], None),
        ([[1], [], [2]], None),
        ([[], [1], [], [2]], None),
        ([[1], []], "no_solution"),
        ([[], [], [1]], "no_solution"),
        ([[]], "no_solution"),
        ([None, [1]], "no_solution"),
        (["", [1]], "no_solution"),
    ],
)
def test_only_a_turn_whose_value_comes_in_the_next_may_have_no_calls(solutions: list[Any], reason: str | None) -> None:
    turns = [{"request": f"r{number}", "solution": solution} for number, solution in enumerate(solutions)]
    good, bad = read_candidates(json.dumps({"candidates": [{"intent": "i", "turns": turns}]}))
    assert [refusal.reason for refusal in bad] == ([reason] if reason else []) and len(good) == (reason is None)
    if good:
        assert [list(turn.solution) for turn in good[0].turns] == solutions
