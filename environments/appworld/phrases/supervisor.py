"""Phrases of the supervisor's APIs; see the package's docstring for the format."""

from collections.abc import Mapping

WISHES: Mapping[str, tuple[str, ...]] = {}
QUESTIONS: Mapping[str, Mapping[str, tuple[str, ...]]] = {}
REFUSED: tuple[str, ...] = ("complete_task",)
