"""The rubric that judges read (rubric.md), and the codes that it defines: the file is their only source."""

import re
from functools import cache
from pathlib import Path
from typing import Literal, get_args

Grade = Literal["good", "usable", "bad"]
GRADES: tuple[Grade, ...] = get_args(Grade)


@cache
def rubric() -> str:
    """The rubric in Markdown, worded for people and for models."""
    return Path(__file__).with_name("rubric.md").read_text("utf-8")


@cache
def reasons() -> dict[str, str]:
    """The reason codes in the rubric's order, each with its meaning."""
    return dict(re.findall(r"^- `(\w+)`: (.+)$", rubric(), re.MULTILINE))
