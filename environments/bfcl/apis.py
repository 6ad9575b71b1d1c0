"""The benchmark's own simulator classes and function documents, loaded under a private package name.

The modules import a sibling through the public package's name; that one import is redirected as their source is compiled, so neither
`bfcl_eval` nor any module of it with side effects is ever imported. Two more changes make a result the same in every process
and thread: sets iterate in sorted order, and mpmath's precision belongs to the thread.
"""

import ast
import copy
import inspect
import json
import sys
import threading
import types
from collections.abc import Iterator, Mapping
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from attrs import define, frozen

from coevolve import UserError

from .assets import CONSTANTS, SOURCES
from .release import CLASSES, Release

_PUBLIC = "bfcl_eval.eval_checker.multi_turn_eval.func_source_code."
_loading = threading.RLock()


class StableSet(set[Any]):
    """A set whose order does not depend on the process's hash seed."""

    def __iter__(self) -> Iterator[Any]:
        return iter(sorted(super().__iter__(), key=repr))

    def __repr__(self) -> str:
        return "{" + ", ".join(map(repr, self)) + "}" if self else "set()"

    def __sub__(self, other: Any) -> "StableSet":
        return StableSet(set.__sub__(self, other))


class ThreadPrecision(threading.local):
    """The part of mpmath that the math service uses, with a context of its own in each thread."""

    def __init__(self) -> None:
        import mpmath  # type: ignore[import-untyped] # it ships none

        self.mp = mpmath.MPContext()

    def log(self, value: Any) -> Any:
        return self.mp.log(value)


class _Redirect(ast.NodeTransformer):
    def __init__(self, package: str) -> None:
        self.package = package

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.ImportFrom:
        if node.module and node.module.startswith(_PUBLIC):
            node.module = self.package + "." + node.module.removeprefix(_PUBLIC)
        return node

    def visit_Set(self, node: ast.Set) -> ast.Call:
        self.generic_visit(node)
        return ast.Call(ast.Name("set", ast.Load()), [ast.List(node.elts, ast.Load())], [])


@frozen
class Function:
    """A documented function: its class, its document, its parameters in order, and defaults that must be fresh for each call."""

    name: str
    owner: str
    document: Mapping[str, Any]
    parameters: tuple[str, ...]
    mutable: Mapping[str, Any]

    @property
    def sentence(self) -> str:
        """The first sentence of what it does, without the full stop."""
        text = self.description
        end = next((n for n, mark in enumerate(text) if mark == "." and text[n + 1 : n + 2] in ("", " ")), len(text))
        return text[:end].strip()

    @property
    def description(self) -> str:
        """What the function does, without the description of its service that every document repeats."""
        return str(self.document["description"]).partition("Tool description: ")[2].strip() or str(self.document["description"])


@define(slots=False, eq=False)
class Apis:
    """One release's simulators. Immutable once loaded; shared between episodes and threads."""

    release: Release
    folder: Path

    @cached_property
    def package(self) -> str:
        """Name of the private package that holds this release's modules."""
        return "_coevolve_bfcl_" + self.release.version.replace(".", "_")

    @cached_property
    def documents(self) -> dict[str, tuple[dict[str, Any], ...]]:
        """The function documents of each class, in the benchmark's order."""
        found = {}
        for owner, module in CLASSES.items():
            text = (self.folder / "data/multi_turn_func_doc" / f"{module}.json").read_text(encoding="utf-8")
            found[owner] = tuple(json.loads(line) for line in text.splitlines() if line.strip())
        return found

    @cached_property
    def functions(self) -> dict[str, Function]:
        """All documented functions; no name occurs in two classes."""
        return {document["name"]: self._function(owner, document) for owner, documents in self.documents.items() for document in documents}

    @cached_property
    def parameters(self) -> dict[str, tuple[str, ...]]:
        """Parameter names of each function in order, to bind positional arguments with."""
        return {name: function.parameters for name, function in self.functions.items()}

    @cached_property
    def constants(self) -> types.ModuleType:
        """The official prompts and the step limit."""
        return self._module("default_prompts", self.folder / CONSTANTS)

    def load(self, owner: str) -> type[Any]:
        """The class that simulates the service `owner`. Raises UserError when a package that it needs is not installed."""
        with _loading:
            self._module("long_context", self.folder / SOURCES / "long_context.py")
            module = self._module(CLASSES[owner], self.folder / SOURCES / f"{CLASSES[owner]}.py")
        loaded: type[Any] = getattr(module, owner)
        return loaded

    def _function(self, owner: str, document: dict[str, Any]) -> Function:
        signature = inspect.signature(getattr(self.load(owner), document["name"]))
        defaults = {name: parameter.default for name, parameter in signature.parameters.items()}
        mutable = {name: copy.deepcopy(value) for name, value in defaults.items() if isinstance(value, list | dict | set)}
        return Function(document["name"], owner, document, tuple(name for name in defaults if name != "self"), mutable)

    def _module(self, name: str, path: Path) -> types.ModuleType:
        """Execute one of the benchmark's files; it is registered, so that pickle finds its classes."""
        with _loading:
            full = f"{self.package}.{name}"
            if full in sys.modules:
                return sys.modules[full]
            if self.package not in sys.modules:
                sys.modules[self.package] = parent = types.ModuleType(self.package)
                parent.__path__ = []
            tree = ast.fix_missing_locations(_Redirect(self.package).visit(ast.parse(path.read_bytes(), str(path))))
            module = types.ModuleType(full)
            vars(module).update(__file__=str(path), set=StableSet)
            sys.modules[full] = module
            try:
                exec(compile(tree, str(path), "exec"), vars(module))  # noqa: S102 - the benchmark's own code, pinned by hash
            except ImportError as error:
                del sys.modules[full]
                raise UserError(f"BFCL's {name} needs {error.name}: pip install 'coevolve[bfcl]'") from error
            except BaseException:
                del sys.modules[full]
                raise
            if "mpmath" in vars(module):
                vars(module)["mpmath"] = ThreadPrecision()
            return module


@cache
def load(release: Release, folder: Path) -> Apis:
    """The simulators in `folder`; the same object for the same arguments."""
    return Apis(release, folder)
