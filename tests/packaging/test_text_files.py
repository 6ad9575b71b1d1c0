"""Texts have one encoding, UTF-8, whatever the locale: every reader and writer names it."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILES = sorted(
    file for folder in ("core", "plugins", "environments", "signals", "synthesizers", "src", "docs", "examples")
    for file in (ROOT / folder).rglob("*.py") if not any(part.startswith(".") for part in file.parts)
)  # fmt: skip
ENCODING_AT = {"read_text": 0, "write_text": 1, "fdopen": 3}
"""Functions that open a text, with the position of the encoding."""


def unnamed(tree: ast.AST) -> Iterator[int]:
    """Lines of calls that would take the encoding of the locale."""
    yield from (node.lineno for node in ast.walk(tree) if isinstance(node, ast.Call) and _takes_the_locale(node))


def _takes_the_locale(call: ast.Call) -> bool:
    given = {word.arg: word.value for word in call.keywords}
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    if "encoding" in given or (name == "read_text" and isinstance(call.func, ast.Name)):  # coevolve's own is always UTF-8
        return False
    if name in ENCODING_AT:
        return len(call.args) <= ENCODING_AT[name]
    if name in ("run", "Popen", "check_output"):
        return "text" in given or "universal_newlines" in given
    return name == "open" and _text_mode(call, given)


def _text_mode(call: ast.Call, given: dict[str | None, ast.expr]) -> bool:
    """Whether a call named `open` opens a text: open(file, "r"), path.open("w"); not episode or os functions of that name."""
    method = isinstance(call.func, ast.Attribute)
    modes = [given.get("mode"), *call.args[0 if method else 1 :][:1]]
    found = [mode.value for mode in modes if isinstance(mode, ast.Constant) and isinstance(mode.value, str)]
    if method and not found:
        return False
    return not any("b" in mode for mode in found) and not (method and not set(found[0]) <= set("rwaxt+"))


@pytest.mark.parametrize("folder", sorted({file.relative_to(ROOT).parts[0] for file in FILES}))
def test_every_text_names_its_encoding(folder: str) -> None:
    files = [file for file in FILES if file.relative_to(ROOT).parts[0] == folder]
    found = [f"{file.relative_to(ROOT)}:{line}" for file in files for line in unnamed(ast.parse(file.read_text("utf-8")))]
    assert found == []


@pytest.mark.parametrize("code", ["p.read_text()", "p.write_text(t)", "open(f)", "p.open('w')", "open(f, 'a')", "run(c, text=True)"])
def test_the_check_sees_them(code: str) -> None:
    assert list(unnamed(ast.parse(code))) == [1]
    start = code[:-1] if code.endswith("()") else f"{code[:-1]}, "
    assert not list(unnamed(ast.parse(start + "encoding='utf-8')")))
