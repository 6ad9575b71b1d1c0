"""The loop gives refused candidates back to their synthesizer, and judges what comes of them like any candidate."""

import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

import attrs
import pytest

from coevolve import (
    REPAIRABLE,
    WORDING,
    CandidateTask,
    Environment,
    Feedback,
    InfrastructureFault,
    Origin,
    Reason,
    Task,
    TaskPool,
    Verdict,
    hookimpl,
)
from coevolve.core.record.store import Store


@attrs.frozen
class NoOptions:
    """No options."""


class Repairer:
    """Offers two candidates of a pool task, and words each of them anew when it is asked to, unless it is "hopeless"."""

    name: ClassVar[str] = "repairer"
    Options: ClassVar[type] = NoOptions
    asked: ClassVar[list[str]] = []
    worded: ClassVar[str] = "good"

    def __init__(self, options: NoOptions) -> None:
        pass

    def synthesize(self, feedback: Feedback, environment: Environment, rng: random.Random) -> Iterator[CandidateTask]:
        for word in ("vague", "harmful"):
            origin = Origin("repairer", feedback.iteration)
            yield CandidateTask(attrs.evolve(feedback.pool.tasks[0], id=f"{word}-{feedback.iteration}", query=word, origin=origin))

    def repair(self, candidate: CandidateTask, verdict: Verdict, environment: Environment, rng: random.Random) -> CandidateTask | None:
        self.asked.append(f"{candidate.task.id}: {verdict.reason}")
        if self.worded == "broken":
            raise InfrastructureFault("the teacher fell over")
        if self.worded == "hopeless":
            return None
        return attrs.evolve(candidate, task=attrs.evolve(candidate.task, id=f"{candidate.task.id}-repaired", query=self.worded))


class Picky:
    """Refuses by the request's words."""

    name: ClassVar[str] = "picky"
    Options: ClassVar[type] = NoOptions

    def __init__(self, options: NoOptions) -> None:
        pass

    def validate(self, candidate: CandidateTask, environment: Environment, pool: TaskPool, held_out: Sequence[Task]) -> Verdict:
        reasons = {"vague": Reason.AMBIGUOUS, "harmful": Reason.HARMFUL}
        reason = reasons.get(candidate.task.query)
        return Verdict(True, "accepted") if reason is None else Verdict(False, reason, "so it is")


class Parts:
    @hookimpl
    def coevolve_synthesizers(self) -> list[type]:
        return [Repairer]

    @hookimpl
    def coevolve_validators(self) -> list[type]:
        return [Picky]


SETS = ("synthesizer.name=repairer", 'validators.names=["picky"]', "steps=4", "evolve_every=2", "tasks_per_evolution=5")


def judged(folder: Path) -> list[tuple[str, str]]:
    store = Store(folder / "run.sqlite")
    rows = store.rows("SELECT c.task_id, v.reason FROM candidates c JOIN verdicts v ON v.candidate_number = c.number ORDER BY c.number")
    store.close()
    return [(row[0], row[1]) for row in rows]


@pytest.fixture
def repairer(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    monkeypatch.setattr(Repairer, "asked", [])
    return monkeypatch


@pytest.mark.parametrize(("worded", "then"), [("good", ["accepted"]), ("vague", ["ambiguous"]), ("broken", []), ("hopeless", [])])
def test_a_refused_candidate_is_repaired_once(runs: Any, folder: Path, repairer: pytest.MonkeyPatch, worded: str, then: list[str]) -> None:
    repairer.setattr(Repairer, "worded", worded)
    summary = runs.run(folder, *SETS, plugins=(Parts(),))
    after = [("vague-2-repaired", reason) for reason in then]
    assert judged(folder) == [("vague-2", "ambiguous"), ("harmful-2", "harmful"), *after], "in the order in which they were made"
    assert Repairer.asked == ["vague-2: ambiguous"], "harm cannot be repaired, and what was repaired is not repaired again"
    admitted = then.count("accepted")
    assert summary["repaired"] == ({} if not then else {"tried": 1} | ({"admitted": 1} if admitted else {}))
    store = Store(folder / "run.sqlite")
    assert store.door_counts(2) == {"attempts": 0.0, "repairs": float(len(then)), "repaired": float(admitted)}
    repaired = [task.origin.detail["repaired"] for task in store.pool() if task.origin.kind == "repairer"]
    assert repaired == ["vague-2"] * admitted
    store.close()


@pytest.mark.parametrize("repairs", [0, 1, 3])
def test_a_setting_says_how_often(runs: Any, folder: Path, repairer: pytest.MonkeyPatch, repairs: int) -> None:
    repairer.setattr(Repairer, "worded", "vague")
    runs.run(folder, *SETS, f"repairs={repairs}", plugins=(Parts(),))
    ids = [f"vague-2{'-repaired' * n}" for n in range(repairs)]
    assert Repairer.asked == [f"{task_id}: ambiguous" for task_id in ids]


def test_repaired_candidates_take_no_more_places_than_are_wanted(runs: Any, folder: Path, repairer: pytest.MonkeyPatch) -> None:
    repairer.setattr(Repairer, "worded", "good")
    runs.run(folder, *SETS[:-1], "tasks_per_evolution=1", plugins=(Parts(),))
    assert judged(folder) == [("vague-2", "ambiguous"), ("vague-2-repaired", "accepted")]


def test_a_wording_is_one_of_the_things_that_can_be_repaired() -> None:
    assert WORDING < REPAIRABLE and {Reason.TOO_EASY, Reason.TOO_HARD} <= REPAIRABLE - WORDING
    assert not REPAIRABLE & {Reason.HARMFUL, Reason.ENVIRONMENT_ERROR, Reason.HELD_OUT_TEXT}
