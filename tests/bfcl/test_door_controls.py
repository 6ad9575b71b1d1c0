"""The door on candidates that were written by hand: all of them can be carried out, and each kind of fault has a check."""

import importlib
import sys
from pathlib import Path
from typing import Any

import pytest

from coevolve import CandidateTask, Reason, TaskPool
from coevolve.environments.bfcl.environment import Bfcl
from coevolve.plugins.validators.request import Request, RequestOptions


@pytest.fixture(scope="module")
def benchmark() -> Any:
    sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
    return importlib.import_module("door_controls")


EXPECTED = {
    "missing": {Reason.UNGROUNDED},
    "ambiguous": {Reason.AMBIGUOUS, Reason.UNGROUNDED},
    "unasked": {Reason.UNASKED, Reason.UNGROUNDED},
    "leaked": {Reason.LEAKED, Reason.TOOL_NAMED},
}


@pytest.mark.parametrize("kind", [*EXPECTED, "good"])
def test_each_kind_is_told_by_its_own_checks(bfcl: Bfcl, benchmark: Any, kind: str) -> None:
    request = Request(RequestOptions())
    found = list(benchmark.controls(bfcl, (kind,)))
    verdicts = [request.validate(CandidateTask(control.task), bfcl, TaskPool(()), ()) for control in found]
    accepted = sum(verdict.accepted for verdict in verdicts)
    assert {verdict.reason for verdict in verdicts if not verdict.accepted} <= EXPECTED.get(kind, {Reason.UNGROUNDED})
    assert accepted >= 95 if kind == "good" else accepted <= 1


def test_the_fresh_set_can_be_carried_out(bfcl: Bfcl, benchmark: Any) -> None:
    counts = {kind: len(list(benchmark.controls(bfcl, (kind,), "fresh"))) for kind in benchmark.KINDS}
    assert counts == {kind: 100 if kind == "good" else 20 for kind in benchmark.KINDS}


def test_few_official_requests_are_refused_for_their_words(bfcl: Bfcl) -> None:
    request = Request(RequestOptions(grounding=False, leaks=False, unasked=False, ambiguity=False, guesses=0))
    refused = [task.id for task in bfcl.tasks("all") if not request.validate(CandidateTask(task), bfcl, TaskPool(()), ()).accepted]
    assert len(refused) <= 6, refused
