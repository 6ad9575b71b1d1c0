"""docs/bfcl.md: its transcript is what happens, and its table names every option with its default."""

import doctest
import json
import re
from pathlib import Path

import attrs

from coevolve.environments.bfcl.environment import Bfcl, BfclOptions

PAGE = Path(__file__).parents[2] / "docs" / "bfcl.md"


def test_the_transcript_is_what_happens(bfcl: Bfcl) -> None:
    assert bfcl.tasks("all")
    failures, tried = doctest.testfile(str(PAGE), module_relative=False)
    assert failures == 0 and tried > 8


def test_every_option_is_named_with_its_default() -> None:
    named = dict(re.findall(r"^\| `(\w+)` \| `([^`]+)` \|", PAGE.read_text("utf-8"), re.MULTILINE))
    assert named == {field.name: json.dumps(field.default) for field in attrs.fields(BfclOptions)}
