"""The loop asks a synthesizer once to word a refused candidate anew, and judges what comes of it like any candidate."""

import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

import attrs
import pytest

from coevolve import CandidateTask, Environment, Feedback, InfrastructureFault, Origin, Reason, Task, TaskPool, Verdict, hookimpl
from coevolve.core.record.store import Store


@attrs.frozen
class NoOptions:
    """No options."""


class Mender:
    """Offers two candidates of a pool task, and words each of them anew when it is asked to."""

    name: ClassVar[str] = "mender"
    Options: ClassVar[type] = NoOptions
    asked: ClassVar[list[str]] = []
    worded: ClassVar[str] = "good"

    def __init__(self, options: NoOptions) -> None:
        pass

    def synthesize(self, feedback: Feedback, environment: Environment, rng: random.Random) -> Iterator[CandidateTask]:
        for word in ("vague", "harmful"):
            origin = Origin("mender", feedback.iteration)
            yield CandidateTask(attrs.evolve(feedback.pool.tasks[0], id=f"{word}-{feedback.iteration}", query=word, origin=origin))

    def repair(self, candidate: CandidateTask, verdict: Verdict, environment: Environment, rng: random.Random) -> CandidateTask | None:
        self.asked.append(f"{candidate.task.id}: {verdict.reason}")
        if self.worded == "broken":
            raise InfrastructureFault("the teacher fell over")
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
        return [Mender]

    @hookimpl
    def coevolve_validators(self) -> list[type]:
        return [Picky]


SETS = ("synthesizer.name=mender", 'validators.names=["picky"]', "steps=4", "evolve_every=2", "tasks_per_evolution=5")


def judged(folder: Path) -> list[tuple[str, str]]:
    store = Store(folder / "run.sqlite")
    rows = store.rows("SELECT c.task_id, v.reason FROM candidates c JOIN verdicts v ON v.candidate_number = c.number ORDER BY c.number")
    store.close()
    return [(row[0], row[1]) for row in rows]


@pytest.mark.parametrize(("worded", "then"), [("good", ["accepted"]), ("vague", ["ambiguous"]), ("broken", [])])
def test_a_refused_wording_is_mended_once(runs: Any, folder: Path, monkeypatch: pytest.MonkeyPatch, worded: str, then: list[str]) -> None:
    monkeypatch.setattr(Mender, "asked", [])
    monkeypatch.setattr(Mender, "worded", worded)
    runs.run(folder, *SETS, plugins=(Parts(),))
    mended = [("vague-2-repaired", reason) for reason in then]
    assert judged(folder) == [("vague-2", "ambiguous"), *mended, ("harmful-2", "harmful")]
    assert Mender.asked == ["vague-2: ambiguous"], "harm is no matter of words, and what was mended is not mended again"
