"""Every text is read as the official decoder of the same release reads it, and nothing of it is evaluated."""

import ast
import json
import random
from collections.abc import Callable
from typing import Any

import pytest

from coevolve.environments.bfcl import function_call
from coevolve.environments.bfcl.decode import Call, Undecodable, decode, ground_truth
from coevolve.environments.bfcl.environment import Bfcl
from coevolve.environments.bfcl.release import RELEASES

Official = Callable[..., dict[str, Any]]
Make = Callable[..., Bfcl]
FUZZED = 5_000
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
    "[a(b=c), d(e=f.g)]",
    "[a(**{'b': 1})]",
    "[a(*b, c=1)]",
    "[a(b={'c': {'d': 1}})]",
    "[a(b={'c': {'d': 1}, 'e': 2})]",
    "[a(b=[{1: 2}, {}])]",
    '[a(b={"it\'s": 1})]',
    "[a(b=c(d=[e(f=1)]))]",
    "[a(b=-1.5), c(d=-True)]",
    "[a(b=1e999, c=[-1e999])]",
    "[a(b=[1 - 1e999], c=1e999 - 1e999)]",
    "{a(), b()}",
    "(a(), b())",
    "[ a()]",
    "a(b='c']'",
    "['a()']",
    "[[a()], [b()]]",
    "[a(b=[1, 2], c='[x]')]",
]
"""Each with a peculiarity of the decoders."""
TAGGED = [
    '<tool_call>\n{"name": "a", "arguments": {"b": 1}}\n</tool_call>',
    '<tool_call>{"name": "a", "arguments": {"b": 1}}</tool_call>',
    '<tool_call>\n{"name": "a", "arguments": {"b": 1}}</tool_call>',
    "<tool_call>\n{'name': 'a', 'arguments': {}}\n</tool_call>",
    '<tool_call>\n{"name": "a", "arguments": "{\\"b\\": 1}"}\n</tool_call>',
    '<tool_call>\n{"name": "a", "arguments": "b"}\n</tool_call>',
    '<tool_call>\n{"name": "a", "arguments": [1]}\n</tool_call>',
    '<tool_call>\n{"name": "a", "arguments": null}\n</tool_call>',
    '<tool_call>\n{"name": [1], "arguments": {}}\n</tool_call>',
    '<tool_call>\n{"name": 5, "arguments": {"x y": 1}}\n</tool_call>',
    '<tool_call>\n{"name": "a", "parameters": {"b": 1}}\n</tool_call>',
    "<tool_call>\n[1]\n</tool_call>",
    '<tool_call>\n3\n</tool_call>\n<tool_call>\n{"name": "a", "arguments": {}}\n</tool_call>',
    '<tool_call>\nno\n</tool_call>\n<tool_call>\n{"name": "a", "arguments": {}}\n</tool_call>',
    '<tool_call>\n{"name": "a", "arguments": {"b": NaN, "c": [-Infinity], "d": {"e": 1e999}}}\n</tool_call>',
    '<tool_call>\n<tool_call>\n{"name": "a", "arguments": {}}\n</tool_call>\n</tool_call>',
    'I will look. <tool_call>\n\n{"name": "a", "arguments": {}}\n\n</tool_call> Done',
    "",
    "Nothing to do.",
]
PIECES = [
    *"[](){}'\",=.-+*:` \n1a",
    "True",
    "None",
    "a=",
    "b(",
    "c(d=1)",
    "{'e': 1}",
    "[1, 2]",
    "**",
    "...",
    "not ",
    "1e3",
    "'it'",
    "\\",
    "é",
    "0x1F",
]
TAGS = [
    "<tool_call>\n",
    "\n</tool_call>",
    "<tool_call>",
    '{"name": "a", "arguments": {}}',
    "null",
    '\\"',
    "NaN",
    "\\u00e9",
    "[]",
    '"',
    ":",
    "{",
    "}",
]


def fuzz(rng: random.Random, texts: list[str], pieces: list[str]) -> str:
    """A text with up to four places cut out, doubled, replaced, inserted or swapped."""
    text = rng.choice(texts)
    for _ in range(rng.randint(1, 4)):
        at, end = sorted(rng.randrange(len(text) + 1) for _ in range(2))
        end = min(end, at + rng.choice([1, 1, 2, 5, 30]))
        other = rng.choice(texts)
        cut = rng.randrange(len(other) + 1)
        text = rng.choice(
            [
                text[:at] + text[end:],
                text[:at] + rng.choice(pieces) + text[at:],
                text[:at] + rng.choice(pieces) + text[end:],
                text[:end] + text[at:],
                text[:at] + other[cut : cut + 20] + text[at:],
                text[end:] + text[:end],
            ]
        )
    return text


def expression(rng: random.Random, depth: int = 0) -> str:
    """An argument of any kind that the decoders know, and of some that they do not."""
    inner = [expression(rng, depth + 1) for _ in range(rng.choice([0, 1, 1, 2]))] if depth < 3 else []
    leaves = ["1", "-2.5", "'x'", '"it\'s"', "True", "None", "name", "...", "1e999", "-x", "not 1", "2 * 3 + 1", "7 // 2 ** 2"]
    pairs = ", ".join(f"{rng.choice(['1', 'None', repr('k'), repr(chr(39)), 'k'])}: {value}" for value in inner)
    wholes = [
        f"[{', '.join(inner)}]",
        f"({', '.join(inner)})",
        f"{{{pairs}}}",
        f"f({', '.join(inner)})",
        f"g({', '.join(f'a{n}={v}' for n, v in enumerate(inner))})",
    ]
    return rng.choice(
        [*rng.sample(leaves, 4), *wholes, rng.choice(["x.y", "x[1]", "x[1:2]", "lambda: 1", "{1, 2}", "f'{x}'", "1 if x else 2"])]
    )


def written(rng: random.Random) -> str:
    """Calls with such arguments."""
    calls = []
    for _ in range(rng.randint(1, 3)):
        given = [f"{rng.choice('abcd')}={expression(rng)}" for _ in range(rng.randint(0, 3))]
        given += [f"**{expression(rng)}"] if rng.random() < 0.05 else []
        calls.append(f"{rng.choice(['ls', 'a.b', 'cd', 'x.y.z'])}({', '.join([expression(rng)] * (rng.random() < 0.1) + given)})")
    return rng.choice(["[{}]", "[{}]", "{}", "({})", "```[{}]```", " [ {} ]\n", "'[{}]'"]).format(", ".join(calls))


def evaluates(text: str, early: bool) -> bool:
    """Whether the official decoder would evaluate more than numbers, or hand on bytes or a complex number: not done here."""
    text = text.strip("`\n ")
    text = f"{'' if text.startswith('[') else '['}{text}{'' if text.endswith(']') else ']'}"
    try:
        nodes = list(ast.walk(ast.parse(text.strip("[]'") if early else text.strip().strip("'"), mode="eval")))
    except (SyntaxError, ValueError):
        nodes = []
    odd = any(isinstance(node, ast.Constant) and isinstance(node.value, bytes | complex) for node in nodes)
    inner = [part for node in nodes if isinstance(node, ast.BinOp) for part in ast.walk(node)]
    plain = (ast.BinOp, ast.UnaryOp, ast.Constant, ast.operator, ast.unaryop)
    words = any(isinstance(part, ast.Constant) and not isinstance(part.value, int | float) for part in inner)
    return odd or words or any(not isinstance(part, plain) for part in inner)


def prompt_mode(text: str, bfcl: Bfcl) -> list[str] | None:
    try:
        return [str(call) for call in decode(text, bfcl.apis.parameters, "drop", bfcl.apis.release.early)]
    except Undecodable:
        return None


def function_calls(text: str, bfcl: Bfcl) -> list[str] | None:
    try:
        return [call.as_code(",") for call in function_call.decode(text, bfcl.apis.release.early)]
    except Undecodable:
        return None


def solutions(bfcl: Bfcl) -> list[list[Call]]:
    return [
        [ground_truth(text, bfcl.apis.parameters) for text in calls] for task in bfcl.tasks("all") for calls in task.payload["ground_truth"]
    ]


@pytest.mark.parametrize("release", RELEASES)
def test_prompt_mode_answers_decode_as_officially(release: str, make: Make, official: Official) -> None:
    bfcl, rng = make(release=release, category="all"), random.Random(release)
    solved = ["[" + ", ".join(map(str, calls)) + "]" for calls in solutions(bfcl)]
    texts = DECODED + solved + [fuzz(rng, DECODED * 20 + solved, PIECES) if n % 2 else written(rng) for n in range(FUZZED)]
    theirs = official({"decode": texts}, release)["decode"]
    same = [(text, prompt_mode(text, bfcl), other) for text, other in zip(texts, theirs, strict=True)]
    different = [entry for entry in same if entry[1] != entry[2]]
    assert [entry for entry in different if not evaluates(entry[0], RELEASES[release].early)] == []
    assert len(different) < FUZZED / 100
    assert sum(bool(other) for other in theirs[len(DECODED) + len(solved) :]) > FUZZED / 5


@pytest.mark.parametrize("release", RELEASES)
def test_function_call_answers_decode_as_officially(release: str, make: Make, official: Official) -> None:
    bfcl, rng = make(release=release, category="all"), random.Random(release)
    solved = [function_call.write(calls) for calls in solutions(bfcl)]
    texts = TAGGED + solved + [fuzz(rng, TAGGED * 40 + solved, TAGS) for _ in range(FUZZED)]
    theirs = official({"decode_fc": texts}, release)["decode_fc"]
    assert [
        entry for entry in zip(texts, (function_calls(text, bfcl) for text in texts), theirs, strict=True) if entry[1] != entry[2]
    ] == []
    assert sum(bool(other) for other in theirs[len(TAGGED) + len(solved) :]) > FUZZED / 10
    assert json.loads(json.dumps(theirs)) == theirs
