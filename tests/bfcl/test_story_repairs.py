"""A story of several turns that is too hard becomes its first turns; one that is too easy goes on."""

import random
from itertools import islice
from typing import Any

from coevolve import TaskPool, Verdict
from coevolve.environments.bfcl.environment import Bfcl
from coevolve.plugins.validators.execution import Execution, ExecutionOptions
from coevolve.synthesizers.programmatic import Programmatic, ProgrammaticOptions
from coevolve.testing import make_feedback


def test_stories_are_repaired_by_turns(bfcl: Bfcl) -> None:
    tasks, execution = bfcl.tasks("train")[:20], Execution(ExecutionOptions(drop_all=True))
    maker = Programmatic(ProgrammaticOptions())
    environment: Any = bfcl
    candidates = list(islice(maker.synthesize(make_feedback(tasks), environment, random.Random(3)), 10))
    begun, longer = 0, 0
    for candidate in candidates:
        query, solution = candidate.task.query, candidate.task.solution
        further = maker.repair(candidate, Verdict(False, "too_easy"), environment, random.Random(1))
        if further is not None:
            longer += 1
            assert further.task.query.startswith(f"{query}\n\n") and further.task.solution[: len(solution)] == solution
            assert further.task.solution[len(solution)].turn == solution[-1].turn + 1
            assert execution.validate(further, environment, TaskPool(()), ()).accepted
        shorter = maker.repair(candidate, Verdict(False, "too_hard"), environment, random.Random(1))
        if shorter is not None:
            assert len(shorter.task.solution) < len(solution)
            begun += query.startswith(f"{shorter.task.query}\n\n")
            if query.startswith(shorter.task.query):
                assert shorter.task.solution == solution[: len(shorter.task.solution)]
                goal, kinds = shorter.task.origin.detail["goal"], candidate.task.origin.detail["goal"]
                assert kinds.startswith(goal) and shorter.task.query.count("\n\n") < query.count("\n\n")
    assert longer >= 5 and begun >= 3
