"""docs/reference.md and docs/settings.md are what the sources say, and complete."""

import importlib
import importlib.util
import re
from pathlib import Path

import pytest

FILE = Path(__file__).parents[2] / "docs" / "make_reference.py"
SPEC = importlib.util.spec_from_file_location("make_reference", FILE)
assert SPEC is not None and SPEC.loader is not None
MAKE = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(MAKE)
REFERENCE, SETTINGS = (page.read_text("utf-8") for page in (MAKE.REFERENCE, MAKE.SETTINGS))


def test_the_reference_is_current() -> None:
    assert MAKE.reference_page() == REFERENCE, "run: python docs/make_reference.py"


def test_the_settings_are_current() -> None:
    assert MAKE.settings_page() == SETTINGS, "run: python docs/make_reference.py"


@pytest.mark.parametrize("package", ["coevolve", "coevolve.endpoint", "coevolve.testing"])
def test_every_public_name_is_in_the_reference(package: str) -> None:
    names = importlib.import_module(package).__all__
    assert [name for name in names if f"\n### `{name}`\n" not in REFERENCE] == []


def test_every_public_name_has_a_text() -> None:
    entries = re.split(r"\n### `", REFERENCE)[1:]
    assert [entry.partition("`")[0] for entry in entries if not re.sub(r"```python\n.*?```|^\S+`|Extends .*", "", entry).strip()] == []


def test_every_link_of_the_contents_has_a_heading() -> None:
    anchors = MAKE.Anchors()
    headings = {anchors.next(heading.strip("`")) for heading in re.findall(r"^###? (.+)$", REFERENCE, re.MULTILINE)}
    links = re.findall(r"\]\(#(\S+)\)", REFERENCE)
    assert len(links) == len(set(links))
    assert set(links) == headings


def test_every_setting_has_a_text() -> None:
    rows = re.findall(r"^\| (`.*?`) \| (.*?) \| (.*) \|$", SETTINGS, re.MULTILINE)
    assert len(rows) > 150
    assert [key for key, default, text in rows if not default or not text.strip()] == []
