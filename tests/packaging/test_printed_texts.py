"""Nothing that is printed acts on the terminal: each text goes through `printable` or `terminal_text`."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
APART = {
    "environments/appworld/engine": "worlds write into pipes",
    "environments/desk/train_policy.py": "a script that prints its own figures",
}
"""Files that print no text of others, each with the reason."""
FILES = [
    file
    for folder in ("core", "plugins", "environments", "signals", "synthesizers", "src")
    for file in sorted((ROOT / folder).rglob("*.py"))
    if not any(str(file.relative_to(ROOT)).startswith(name) for name in APART)
]
SAFE = ("printable", "terminal_text", "final_table")
"""Functions whose result may be printed; a Table is built of `terminal_text`."""


def raw(tree: ast.AST) -> Iterator[int]:
    """Lines of calls that print a text as it is."""
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call) and node.args):
        name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
        first = call.args[0]
        made = getattr(first.func, "id", "") if isinstance(first, ast.Call) else ""
        whole = made in SAFE or (isinstance(first, ast.Name) and first.id == "table")
        cells = name == "add_row" and any(isinstance(cell, ast.JoinedStr | ast.Constant) for cell in call.args)
        if cells or (name == "print" and not whole):
            yield call.lineno


@pytest.mark.parametrize("folder", sorted({file.relative_to(ROOT).parts[0] for file in FILES}))
def test_no_text_is_printed_as_it_is(folder: str) -> None:
    files = [file for file in FILES if file.relative_to(ROOT).parts[0] == folder]
    assert [f"{file.relative_to(ROOT)}:{line}" for file in files for line in raw(ast.parse(file.read_text("utf-8")))] == []


@pytest.mark.parametrize("code", ["print(task.query)", "console.print(f'{a}')", "console.print(a, markup=False)", "table.add_row(f'{a}')"])
def test_the_check_sees_them(code: str) -> None:
    assert list(raw(ast.parse(code))) == [1]
