"""The decoder alone: what it gives back, and that nothing makes it raise anything but Undecodable."""

import warnings
from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coevolve.environments.bfcl.decode import MAX_CALLS, Call, Undecodable, decode, ground_truth

PARAMETERS = {"f": ("a", "b", "c"), "g": ()}
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
FLAT = SCALARS | st.lists(SCALARS, max_size=4)
VALUES = FLAT | st.dictionaries(st.text(alphabet="abc", min_size=1), FLAT, min_size=1, max_size=3)
ARGUMENTS = st.dictionaries(st.sampled_from(["a", "b", "c", "d_e"]), VALUES, max_size=4)
MODES: tuple[Literal["error", "ignore"], ...] = ("error", "ignore")
CALLS = st.builds(Call, st.sampled_from(["f", "g", "unknown"]), ARGUMENTS)


@settings(deadline=None)
@given(st.lists(CALLS, max_size=5))
def test_what_a_call_writes_is_read_back(calls: list[Call]) -> None:
    assert decode(f"[{', '.join(map(str, calls))}]", PARAMETERS) == calls


@settings(deadline=None)
@given(CALLS)
def test_ground_truths_are_read_back(call: Call) -> None:
    assert ground_truth(str(call), PARAMETERS) == call


@settings(max_examples=300, deadline=None)
@given(st.text() | st.text(alphabet="[](){}'\"=,fgab1.-+*\\ \n", max_size=60))
def test_any_text_is_calls_or_undecodable(text: str) -> None:
    try:
        calls = decode(text, PARAMETERS)
    except Undecodable:
        return
    assert all(isinstance(call, Call) for call in calls)


@pytest.mark.parametrize(
    ("text", "arguments", "refused"),
    [
        ("f(1, 2)", {"a": 1, "b": 2}, None),
        ("f(1, c=3)", {"a": 1, "c": 3}, None),
        ("f(1, a=3)", {"a": 3}, "multiple values"),
        ("f(1, 2, 3, 4)", {}, "takes 3 arguments"),
        ("f(a=g(b=1))", {"a": "g(b=1)"}, "cannot be an argument"),
        ("f(a=h(b=1))", {"a": "h(b=1)"}, "name 'h' is not defined"),
        ('f(a={"it\'s": 1})', {"a": "{'it's': 1}"}, "is not defined"),
        ("f(a=1e999)", {"a": "inf"}, "name 'inf' is not defined"),
        ("f(g(b=1))", {}, "cannot be an argument"),
        ("f(a=b'x')", {"a": "b'x'"}, "bytes cannot be an argument"),
        ("f(b'x')", {}, "bytes cannot be an argument"),
        ("f(a=[1, b'x'])", {"a": "[1, b'x']"}, "bytes cannot be an argument"),
        ("f(a={'k': b'x'})", {"a": "{'k': b'x'}"}, "bytes cannot be an argument"),
        ("f(a=2j)", {"a": "2j"}, "complex cannot be an argument"),
        ("f(**{'a': 1})", {"None": {"a": 1}}, None),
        ("f(a=g())", {"a": "g()"}, None),
        ("f(a=(1, [2, (3,)]))", {"a": (1, [2, (3,)])}, None),
    ],
)
def test_arguments(text: str, arguments: dict[str, Any], refused: str | None) -> None:
    (call,) = decode(text, PARAMETERS)
    assert call.arguments == arguments
    assert (call.refusal is None) if refused is None else (call.refusal is not None and refused in call.refusal)


def test_bounds() -> None:
    assert len(decode("[" + "g()," * MAX_CALLS + "]", PARAMETERS)) == MAX_CALLS
    for text in ("[" + "g()," * (MAX_CALLS + 1) + "]", "[f(a='" + "x" * 20_000 + "')]", "[f(a=" + "9" * 4_299 + "*" + "9" * 4_299 + ")]"):
        with pytest.raises(Undecodable):
            decode(text, PARAMETERS)


def test_the_parsers_warnings_change_nothing() -> None:
    for action in MODES:
        with warnings.catch_warnings():
            warnings.simplefilter(action)
            assert decode("[f(a='\\d')]", PARAMETERS) == [Call("f", {"a": "\\d"})]
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        decode("[f(a='\\d')]", PARAMETERS)
    assert seen == []
