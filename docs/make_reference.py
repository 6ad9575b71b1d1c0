"""Writes docs/reference.md and docs/settings.md from the sources: python docs/make_reference.py.

The reference is read from the syntax trees, so that it is the same on every version of Python.
"""

import ast
import inspect
import json
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import zip_longest
from pathlib import Path

from attrs import frozen

from coevolve.core.cli.option_list import table_of
from coevolve.core.contracts import KINDS
from coevolve.core.registry import DEFAULT_PLUGINS, load_plugins
from coevolve.core.settings.option_texts import OptionText, core_option_texts, option_texts

REFERENCE, SETTINGS = (Path(__file__).with_name(name) for name in ("reference.md", "settings.md"))
SOURCE = Path(__file__).parents[1] / "src"
CORE = "coevolve.core."
GROUPS = {
    "Domain": ((f"{CORE}model",), "Tasks, rollouts and what is made of them. All classes are frozen: a change makes a new object."),
    "Contracts": ((f"{CORE}contracts", f"{CORE}loop"), "What each kind of component must offer, and the objects that it works with."),
    "Optional contracts": ((f"{CORE}optional",), "What a component may offer beside its contract. Core detects each one by its methods."),
    "Services": ((f"{CORE}services",), "What core hands to a synthesizer or a validator that has `bind_services`."),
    "Commands of plugins": ((f"{CORE}run.trained_run",), "What a command that a plugin adds can open."),
    "Refusals and replay": ((f"{CORE}refusals", f"{CORE}replay"), "Why a candidate is refused, and how to play texts in an episode."),
    "Errors and texts": ((f"{CORE}errors", f"{CORE}text"), "What to raise, and how to put it on one line."),
    "Hooks and version": (
        (f"{CORE}hookspecs", f"{CORE}version"),
        "[plugins.md](plugins.md) documents the hooks.",
    ),
    "Endpoint": (("coevolve.endpoint",), "For plugins that ask an OpenAI-compatible endpoint. Import them from `coevolve.endpoint`."),
    "Testing": (("coevolve.testing",), "For the tests of plugins. Import them from `coevolve.testing`."),
}
"""Title -> modules, or packages with all their modules, and a sentence about them."""
CONSTANTS = {
    "hookimpl": "Marks a function or a method as the implementation of the hook of its name: `@hookimpl`.",
    "Message": "A chat message: at least `role` and `content`.",
    "__version__": "The version of this package.",
}
"""Texts of names that have no docstring in the sources."""
SPECIAL = ("__call__", "__iter__", "__len__")
"""Special methods that are part of what a class offers."""
REFERENCE_HEAD = """# Reference

Every public name, with the text of its docstring. Import those of the first eight groups from `coevolve`. Anything else in the package may
change at any time. [plugins.md](plugins.md) explains how the contracts work together.

This page is written by `python docs/make_reference.py`.
"""
SETTINGS_HEAD = """# Settings

Every setting of core and every option of the components that ship with the package. The default is what holds where no recipe, no file and
no `--set` gives a value; `coevolve config` prints the values of a run, with those of its recipe.

Write a key as it stands here: `--set evolve_every=5`, `--set signals.rare.theta=1.0`, or as tables in a file for `--config`. The options of
a component hold only while it is chosen. `coevolve options` prints the same texts, also for components of other packages.

This page is written by `python docs/make_reference.py`.
"""
Definition = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef | ast.Assign | ast.AnnAssign | ast.Module


@frozen
class Public:
    """A public name: the module that defines it, the definition (of a module: all of it), its docstring."""

    name: str
    module: str
    node: Definition
    text: str


@cache
def tree_of(module: str) -> ast.Module:
    """The syntax tree of a module of this package; FileNotFoundError when there is none."""
    path = SOURCE.joinpath(*module.split("."))
    return ast.parse((path / "__init__.py" if path.is_dir() else path.with_suffix(".py")).read_text("utf-8"))


def public_names(package: str) -> Iterator[Public]:
    """The names of a package's `__all__`, in the order of the imports of its modules and of the lines in them."""
    tree = tree_of(package)
    origins = {package: set(ast.literal_eval(next(n.value for n in tree.body if isinstance(n, ast.Assign) and "__all__" in names_of(n))))}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            module = f"{package}.{node.module}" if node.module and node.level else node.module or package
            imported = {alias.name for alias in node.names} & origins[package]
            origins.setdefault(module, set()).update(imported)
            if module != package:
                origins[package] -= imported
    for module, names in origins.items():
        yield from sorted(_found(module, names), key=lambda public: getattr(public.node, "lineno", 0))


def _found(module: str, names: Iterable[str]) -> Iterator[Public]:
    body = tree_of(module).body
    for name in names:
        for node, below in zip_longest(body, body[1:]):
            if isinstance(node, Definition) and name in names_of(node):
                yield Public(name, module, node, docstring(node, below) or CONSTANTS.get(name, ""))
                break
        else:
            submodule = tree_of(f"{module}.{name}")
            yield Public(name, f"{module}.{name}", submodule, docstring(submodule, None))


def names_of(node: ast.AST) -> list[str]:
    """The names that a statement defines."""
    match node:
        case ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef():
            return [node.name]
        case ast.Assign():
            return [target.id for target in node.targets if isinstance(target, ast.Name)]
        case ast.AnnAssign(target=ast.Name(id=name)):
            return [name]
    return []


def docstring(node: ast.AST, below: ast.AST | None) -> str:
    """The docstring of a definition: inside of a class, a function or a module, in the statement `below` for a variable."""
    if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef | ast.Module):
        return ast.get_docstring(node) or ""
    match below:
        case ast.Expr(value=ast.Constant(value=str(text))):
            return inspect.cleandoc(text)
    return ""


def code(node: ast.expr) -> str:
    """An annotation or a value as source text: annotations without quotes, texts in double quotes, the default of an attrs field alone."""
    match node:
        case ast.Call(func=ast.Name(id="field"), keywords=keywords):
            given = {keyword.arg: keyword.value for keyword in keywords}
            if "factory" in given:
                made = ast.unparse(given["factory"])
                return {"dict": "{}", "list": "[]", "tuple": "()"}.get(made, f"{made}()")
            return code(given["default"])
        case ast.Constant(value=str(text)):
            return json.dumps(text, ensure_ascii=False)
    return ast.unparse(node)


def annotation(node: ast.expr | None) -> str:
    """A type as source text, without the quotes of a forward reference."""
    match node:
        case None:
            return ""
        case ast.Constant(value=str(text)):
            return text
    return ast.unparse(node).replace("'", '"')


def signature(function: ast.FunctionDef | ast.AsyncFunctionDef, of: str | None = None) -> str:
    """`name(arguments) -> type`, without `self`; with `of`, the name of a class, how an object of that class is made."""
    arguments = function.args
    positional = [*arguments.posonlyargs, *arguments.args]
    defaults = [None] * (len(positional) - len(arguments.defaults)) + list(arguments.defaults)
    parts = [_parameter(p, d) for p, d in zip(positional, defaults, strict=True) if p.arg not in ("self", "cls")]
    if arguments.vararg:
        parts.append(f"*{_parameter(arguments.vararg, None)}")
    elif arguments.kwonlyargs:
        parts.append("*")
    parts += [_parameter(p, d) for p, d in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)]
    if arguments.kwarg:
        parts.append(f"**{_parameter(arguments.kwarg, None)}")
    returned = f" -> {annotation(function.returns)}" if function.returns and of is None else ""
    return f"{'async ' * isinstance(function, ast.AsyncFunctionDef)}{of or function.name}({', '.join(parts)}){returned}"


def _parameter(parameter: ast.arg, default: ast.expr | None) -> str:
    text = f"{parameter.arg}: {annotation(parameter.annotation)}" if parameter.annotation else parameter.arg
    return text if default is None else f"{text} = {code(default)}"


def members(cls: ast.ClassDef) -> Iterator[str]:
    """A line for each public field, property and method of a class, with its text."""
    for node, below in zip_longest(cls.body, cls.body[1:]):
        match node:
            case ast.AnnAssign(target=ast.Name(id=name)) if not name.startswith("_"):
                given = f" = {code(node.value)}" if node.value is not None else ""
                yield _bullet(f"{name}: {annotation(node.annotation)}{given}", docstring(node, below))
            case ast.Assign(targets=[ast.Name(id=name)]) if name.isupper():
                yield _bullet(f"{name} = {code(node.value)}", docstring(node, below))
            case ast.FunctionDef() | ast.AsyncFunctionDef() if not node.name.startswith("_") or node.name in SPECIAL:
                marks = [ast.unparse(mark) for mark in node.decorator_list]
                text = docstring(node, None)
                if "property" in marks:
                    yield _bullet(f"{node.name}: {annotation(node.returns)}", f"(property) {text}")
                else:
                    yield _bullet(signature(node), f"(class method) {text}" if "classmethod" in marks else text)


def _bullet(what: str, text: str) -> str:
    indented = text.strip().replace("\n", "\n  ").replace("\n  \n", "\n\n")
    return f"- `{what}`: {indented}" if indented else f"- `{what}`"


def entry(public: Public, known: Iterable[str]) -> Iterator[str]:
    """The paragraphs about one public name; `known` are those that a base class is named by."""
    node = public.node
    yield f"### `{public.name}`"
    match node:
        case ast.ClassDef():
            for made in node.body:
                if isinstance(made, ast.FunctionDef) and made.name == "__init__":
                    yield _block(signature(made, node.name))
            if bases := [f"`{name}`" for name in map(ast.unparse, node.bases) if name in known]:
                yield f"Extends {', '.join(bases)}."
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            yield _block(signature(node))
        case ast.Assign(value=ast.Constant()) | ast.Assign(value=ast.Subscript()):
            yield _block(f"{public.name} = {code(node.value)}")
    yield prose(public.text)
    if isinstance(node, ast.ClassDef) and (lines := list(members(node))):
        yield "\n".join(lines)


def _block(text: str) -> str:
    return f"```python\n{text}\n```"


def prose(text: str) -> str:
    """A docstring as Markdown: its interpreter sessions become blocks of code."""
    paragraphs = (f"```pycon\n{p}\n```" if p.startswith(">>> ") else p for p in text.split("\n\n"))
    return "\n\n".join(paragraphs)


class Anchors:
    """The link targets of a page's headings, in their order: a repeated one gets a number, as Markdown renderers do."""

    def __init__(self) -> None:
        self._seen: dict[str, int] = {}

    def next(self, heading: str) -> str:
        anchor = heading.lower().replace(",", "").replace(" ", "-")
        count = self._seen[anchor] = self._seen.get(anchor, -1) + 1
        return f"{anchor}-{count}" if count else anchor


def reference_page() -> str:
    """docs/reference.md."""
    found = [public for package in ("coevolve", "coevolve.endpoint", "coevolve.testing") for public in public_names(package)]
    known = {public.name for public in found}
    anchors = Anchors()
    contents, parts = [], []
    for title, (modules, about) in GROUPS.items():
        inside = [one for one in found if any(one.module == m or (m != "coevolve" and one.module.startswith(f"{m}.")) for m in modules)]
        found = [one for one in found if one not in inside]
        heading = f"- [{title}](#{anchors.next(title)}): "
        contents.append(heading + ", ".join(f"[{one.name}](#{anchors.next(one.name)})" for one in inside))
        parts += [f"## {title}", about, *(text for one in inside for text in entry(one, known) if text)]
    assert not found, f"no group holds {[one.name for one in found]}"
    return "\n\n".join([REFERENCE_HEAD.strip(), "\n".join(contents), *parts]) + "\n"


def settings_page() -> str:
    """docs/settings.md."""
    registry = load_plugins(only=[path.partition(":")[0] for path in DEFAULT_PLUGINS])
    parts = [SETTINGS_HEAD.strip(), "## Core", _table(core_option_texts())]
    for kind in KINDS:
        parts.append(f"## {kind.capitalize()}s" if kind != "policy" else "## Policies")
        for name in registry.names(kind):
            options = list(option_texts(registry.component(kind, name).Options, table_of(kind, name)))
            parts += [f"### {kind}:{name}", _table(options) if options else "No options."]
    return "\n\n".join(parts) + "\n"


def _table(options: Iterable[OptionText]) -> str:
    rows = ["| key | default | meaning |", "|---|---|---|"]
    for option in options:
        default = "must be given" if option.default is None else f"`{option.default}`"
        rows.append("| " + " | ".join(cell.replace("|", "\\|") for cell in (f"`{option.key}`", default, option.text)) + " |")
    return "\n".join(rows)


if __name__ == "__main__":
    REFERENCE.write_text(reference_page(), "utf-8")
    SETTINGS.write_text(settings_page(), "utf-8")
