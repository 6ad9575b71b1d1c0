"""How the package is laid out: sizes, imports, circles, and what the docs leave out, for one checkout or several side by side.

    python benchmarks/house_counts.py PATH [PATH ...]

Reads the sources with `ast` and imports nothing of the package, so that it also works on a checkout whose dependencies are not installed.
Every import counts, inside functions and under TYPE_CHECKING too. `from coevolve import Task` counts as an import of the module that
defines Task. A floor is a step of the longest chain of imports; a circle is a set of modules that all import each other.
"""

import ast
import re
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from itertools import zip_longest
from pathlib import Path

FOLDERS = ("core", "environments", "plugins", "signals", "synthesizers")
OWN = ("endpoint", "testing")
"""Folders that lie in src/coevolve itself, not behind a link."""
Graph = Mapping[str, frozenset[str]]


class Module:
    """One source file: its dotted name, its syntax tree, its lines."""

    def __init__(self, name: str, path: Path) -> None:
        self.name, self.path, self.is_package = name, path, path.name == "__init__.py"
        self.text = path.read_text("utf-8")
        self.lines = len(self.text.splitlines())
        self.tree = ast.parse(self.text)

    def imports(self) -> Iterator[tuple[str, str]]:
        """(module, name) of every import; the name is empty for `import module`."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                yield from ((alias.name, "") for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                base = self.name.split(".")
                base = base[: len(base) - node.level + self.is_package] if node.level else []
                module = ".".join([*base, *(node.module or "").split(".")]).strip(".")
                yield from ((module, alias.name) for alias in node.names)

    def exported(self) -> list[str]:
        """The names in `__all__`."""
        found = [n.value for n in self.tree.body if isinstance(n, ast.Assign) and getattr(n.targets[0], "id", "") == "__all__"]
        return list(ast.literal_eval(found[0])) if found else []

    def classes(self) -> Iterator[ast.ClassDef]:
        return (node for node in ast.walk(self.tree) if isinstance(node, ast.ClassDef))


class Tree:
    """The package of one checkout."""

    def __init__(self, root: Path) -> None:
        self.root = root
        source = root / "src" / "coevolve"
        top = [(path, "coevolve") for path in sorted(source.glob("*.py"))]
        below = [(p, f"coevolve.{n}") for n in FOLDERS for p in sorted((root / n).rglob("*.py"))]
        own = [(p, f"coevolve.{n}") for n in OWN for p in sorted((source / n).rglob("*.py"))]
        self.modules: dict[str, Module] = {}
        for path, start in [*top, *below, *own]:
            folder = source if start == "coevolve" else (root if path.is_relative_to(root / start[9:]) else source) / start[9:]
            parts = [start, *path.relative_to(folder).with_suffix("").parts]
            name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            self.modules[name] = Module(name, path)

    @cached_property
    def graph(self) -> Graph:
        return {name: frozenset(self._targets(module)) - {name} for name, module in self.modules.items()}

    def _targets(self, module: Module) -> Iterator[str]:
        for base, name in module.imports():
            found = self._defined(base, name)
            if found is not None:
                yield found

    def _defined(self, base: str, name: str) -> str | None:
        """The module that an imported name stands in: a module of that name, or the one that a package takes the name from."""
        if name and f"{base}.{name}" in self.modules:
            return f"{base}.{name}"
        if base not in self.modules:
            return None
        module = self.modules[base]
        if name and module.is_package:
            for node in module.tree.body:
                if isinstance(node, ast.ImportFrom) and any((alias.asname or alias.name) == name for alias in node.names):
                    origin = next(alias.name for alias in node.names if (alias.asname or alias.name) == name)
                    level = module.name.split(".")[: len(module.name.split(".")) - node.level + 1] if node.level else []
                    return self._defined(".".join([*level, *(node.module or "").split(".")]).strip("."), origin) or base
        return base

    @cached_property
    def core(self) -> Graph:
        """The modules of core, without packages that import nothing."""
        inside = {name for name in self.graph if name.startswith("coevolve.core.")}
        inside = {name for name in inside if self.graph[name] or not self.modules[name].is_package}
        return {name: self.graph[name] & inside for name in inside}

    @cached_property
    def rooms(self) -> Graph:
        """Core with each folder as one node."""
        merged: dict[str, set[str]] = defaultdict(set)
        for name, targets in self.core.items():
            room = _room(name)
            merged[room] |= {_room(target) for target in targets} - {room}
        return {name: frozenset(targets) for name, targets in merged.items()}

    @cached_property
    def docs(self) -> str:
        return "\n".join(path.read_text("utf-8") for path in [self.root / "README.md", *sorted((self.root / "docs").glob("*.md"))])

    @cached_property
    def code_in_docs(self) -> str:
        return "\n".join(re.findall(r"```.*?```|`[^`\n]+`", self.docs, re.DOTALL))

    def is_documented(self, name: str) -> bool:
        """Whether the docs hold the name; a name in small letters, which may be a plain word, only counts where it stands as code."""
        return re.search(rf"\b{re.escape(name)}\b", self.code_in_docs if name.islower() else self.docs) is not None


def _room(name: str) -> str:
    return ".".join(name.split(".")[:3])


def components(graph: Graph) -> list[list[str]]:
    """The strongly connected components (Tarjan), each after those that it imports."""
    order: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(node: str) -> None:
        order[node] = low[node] = len(order)
        stack.append(node)
        for target in sorted(graph[node]):
            if target not in order:
                visit(target)
                low[node] = min(low[node], low[target])
            elif target in stack:
                low[node] = min(low[node], order[target])
        if low[node] == order[node]:
            start = stack.index(node)
            found.append(sorted(stack[start:]))
            del stack[start:]

    for node in sorted(graph):
        if node not in order:
            visit(node)
    return found


def circles(graph: Graph) -> list[str]:
    return [" <-> ".join(name.removeprefix("coevolve.") for name in group) for group in components(graph) if len(group) > 1]


def floors(graph: Graph) -> int:
    """Nodes in the longest chain of imports, a circle counted as one node."""
    height: dict[str, int] = {}
    for group in components(graph):
        below = [height[target] for node in group for target in graph[node] if target not in group]
        height.update(dict.fromkeys(group, 1 + max(below, default=0)))
    return max(height.values(), default=0)


def upward(tree: Tree) -> list[str] | None:
    """The imports that point from a lower layer to a higher one; None without a layers contract."""
    project = tomllib.loads((tree.root / "pyproject.toml").read_text("utf-8"))
    contracts = [one for one in project["tool"].get("importlinter", {}).get("contracts", ()) if one["type"] == "layers"]
    found: set[str] = set()
    for contract in contracts:
        for container in contract.get("containers", [""]):
            depth: dict[str, int] = {}
            for number, layer in enumerate(contract["layers"]):
                for name in re.split(r"[|:]", layer):
                    depth[".".join(filter(None, (container, name.strip(" ()"))))] = number
            for source, targets in tree.graph.items():
                if (own := _depth(source, depth)) is not None:
                    found |= {f"{source} -> {target}" for target in targets if (other := _depth(target, depth)) is not None and other < own}
    return sorted(found) if contracts else None


def _depth(name: str, depth: Mapping[str, int]) -> int | None:
    """The number of the layer that a module belongs to, 0 for the highest."""
    return next((depth[known] for known in depth if name == known or name.startswith(f"{known}.")), None)


def optional_protocols(tree: Tree) -> list[str]:
    module = tree.modules.get("coevolve.core.optional")
    return [c.name for c in module.classes() if any(getattr(b, "id", "") == "Protocol" for b in c.bases)] if module else []


def unnamed_public(tree: Tree) -> list[str]:
    pairs = [(name, public) for name in ("coevolve", "coevolve.endpoint", "coevolve.testing") for public in tree.modules[name].exported()]
    return [f"{module}.{name}" for module, name in pairs if not tree.is_documented(name)]


def settings(tree: Tree) -> Iterator[tuple[str, str, bool]]:
    """(class, field, whether a docstring stands beneath the field) of Config, what it is made of, and every Options class."""
    known: dict[str, ast.ClassDef] = {}
    roots = {"Config"}
    for module in tree.modules.values():
        if module.name.startswith("coevolve.testing"):
            continue
        for one in module.classes():
            known.setdefault(one.name, one)
            roots |= {_options(node) for node in one.body} - {""}
    waiting, seen = sorted(roots & set(known)), set[str]()
    while waiting:
        name = waiting.pop()
        if name in seen or name == "Chosen":  # Chosen is a component's name with its Options, which are counted by themselves
            continue
        seen.add(name)
        one = known[name]
        parts: list[ast.expr] = list(one.bases)
        for statement, after in zip_longest(one.body, one.body[1:]):
            if isinstance(statement, ast.AnnAssign) and "ClassVar" not in ast.unparse(statement.annotation):
                parts.append(statement.annotation)
                described = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant) and isinstance(after.value.value, str)
                yield name, ast.unparse(statement.target), described
        waiting += sorted({n.id for part in parts for n in ast.walk(part) if isinstance(n, ast.Name)} & set(known))


def _options(node: ast.stmt) -> str:
    """The class that a component names as its `Options`."""
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and isinstance(node.value, ast.Name):
        return node.value.id if node.target.id == "Options" else ""
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and isinstance(node.value, ast.Name):
        return node.value.id if node.targets[0].id == "Options" else ""
    return ""


def repeated_names(tree: Tree) -> list[str]:
    folders: dict[str, list[str]] = defaultdict(list)
    for module in tree.modules.values():
        if not module.path.name.startswith("__"):
            parent = module.path.parent.relative_to(tree.root).as_posix()
            folders[module.path.name].append(parent.removeprefix("src/coevolve/"))
    return [f"{name}: {', '.join(sorted(where))}" for name, where in sorted(folders.items()) if len(where) > 1]


def sizes(tree: Tree) -> dict[str, tuple[int, int]]:
    """(files, lines) at core's top, in each of its rooms, and in each other folder of the package."""
    counted: dict[str, list[int]] = defaultdict(list)
    for module in tree.modules.values():
        inner = module.name.split(".")[1:]
        if inner[:1] == ["core"]:
            in_room = len(inner) > 2 or (len(inner) == 2 and module.is_package)
            counted[f"core/{inner[1]}/" if in_room else "core/ (top)"].append(module.lines)
            counted["core/ (all)"].append(module.lines)
        else:
            counted[f"{inner[0]}/" if inner and (len(inner) > 1 or module.is_package) else "coevolve (top)"].append(module.lines)
    return {name: (len(lines), sum(lines)) for name, lines in counted.items()}


def figures(tree: Tree) -> tuple[dict[str, str], dict[str, list[str]]]:
    """The rows of the table, and the lists beneath it."""
    known = list(settings(tree))
    silent = [f"{owner}.{name}" for owner, name, described in known if not described]
    lists = {
        "import circles": circles(tree.graph),
        "circles between core's rooms": circles(tree.rooms),
        "optional protocols": optional_protocols(tree),
        "public names that the docs do not hold": unnamed_public(tree),
        "settings without a docstring": silent,
        "settings without a docstring that the docs do not hold": [s for s in silent if not tree.is_documented(s.partition(".")[2])],
        "settings that the docs do not hold": [f"{owner}.{name}" for owner, name, _ in known if not tree.is_documented(name)],
        "file names in more than one folder": repeated_names(tree),
    }
    wrong = upward(tree)
    rows = {name: f"{files} files, {lines} lines" for name, (files, lines) in sorted(sizes(tree).items())}
    for title, graph in (("core, rooms as nodes", tree.rooms), ("core, modules as nodes", tree.core)):
        arrows = sum(len(targets) for targets in graph.values())
        rows[title] = f"{len(graph)} nodes, {arrows} imports, {floors(graph)} floors"
    rows["imports that point upwards"] = "no layers contract" if wrong is None else str(len(wrong))
    lists["imports that point upwards"] = wrong or []
    rows["settings"] = str(len(known))
    rows |= {name: str(len(found)) for name, found in lists.items() if name not in rows}
    return rows, lists


def table(columns: Iterable[tuple[str, Mapping[str, str]]]) -> Iterator[str]:
    named = list(columns)
    names = list(dict.fromkeys(name for _, rows in named for name in rows))
    cells = [["", *(title for title, _ in named)], *([name, *(rows.get(name, "-") for _, rows in named)] for name in names)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(cells[0]))]
    return ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells)


def main(paths: list[str]) -> None:
    if not paths:
        raise SystemExit(__doc__)
    found = [(path, *figures(Tree(Path(path).resolve()))) for path in paths]
    print("\n".join(table((path, rows) for path, rows, _ in found)))
    for path, _, lists in found:
        for title, lines in lists.items():
            print(f"\n{path}: {title} ({len(lines)})", *lines, sep="\n  ")


if __name__ == "__main__":
    main(sys.argv[1:])
