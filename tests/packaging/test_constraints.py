"""constraints.txt pins the whole closure of what the documented installation brings."""

import re
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
LINES = (ROOT / "constraints.txt").read_text("utf-8").splitlines()
PINS: dict[str, str] = {
    canonicalize_name(name): version for name, version in (line.split("==") for line in LINES if not line.startswith("#"))
}


def closure(name: str, extras: frozenset[str], seen: set[tuple[str, str]]) -> Iterator[tuple[str, Requirement]]:
    """Every requirement that installing `name[extras]` brings on this machine, with the one that asked for it."""
    for text in metadata.requires(name) or ():
        requirement = Requirement(text)
        wanted = [extra for extra in ("", *extras) if requirement.marker is None or requirement.marker.evaluate({"extra": extra})]
        key = (canonicalize_name(requirement.name), ",".join(sorted(requirement.extras)))
        if wanted and key not in seen:
            seen.add(key)
            yield name, requirement
            if requirement.name == "torch":
                continue  # what torch itself brings depends on the accelerator that it was built for
            yield from closure(requirement.name, frozenset(requirement.extras), seen)


def test_everything_that_the_test_installation_brings_is_pinned() -> None:
    found = {canonicalize_name(r.name) for _, r in closure("coevolve", frozenset({"test"}), set())} - {"coevolve"}
    assert {"torch", "attrs", "pytest", "hatchling", "tomli-w"} <= found
    assert found - set(PINS) == set(), "not pinned in constraints.txt"


def test_every_pin_satisfies_what_asks_for_it() -> None:
    asked = [(by, r) for by, r in closure("coevolve", frozenset({"test"}), set()) if canonicalize_name(r.name) in PINS]
    assert len(asked) > 30
    wrong = [f"{by} asks for {r}" for by, r in asked if not r.specifier.contains(PINS[canonicalize_name(r.name)], prereleases=True)]
    assert wrong == []


def test_the_pins_are_plain() -> None:
    assert PINS["torch"] == "2.13.0"
    assert [line for line in LINES if not re.fullmatch(r"#.*|[A-Za-z0-9._-]+==[0-9][A-Za-z0-9.]*", line)] == []
    pins = [line for line in LINES if not line.startswith("#")]
    assert pins == sorted(pins, key=lambda line: line.partition("==")[0].lower())
