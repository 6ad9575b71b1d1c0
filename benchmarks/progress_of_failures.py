"""How well progress tells rollouts apart that all failed: eight rollouts of the desk's shipped policy for each of its held-out tasks.

    OMP_NUM_THREADS=1 python benchmarks/progress_of_failures.py [TASKS]

Of the groups without a success it prints the share whose rollouts differ in progress, once by the episode's own progress and once by the
calls of the task's solution (what core/rollouts/progress.py does where the episode does not know), and the share whose rollouts made
different calls at all, more than which no progress can tell apart. The last line is the time that the executed solutions took, beside that
of the rollouts.
"""

import sys
import time
from collections.abc import Callable

from coevolve import RolloutGroup, Sampling, Trajectory
from coevolve.core.isolation.checked_environment import checked
from coevolve.core.record.timing import Clock
from coevolve.core.rollouts.progress import executed, share
from coevolve.core.rollouts.runner import RolloutLimits, RolloutRunner
from coevolve.environments.desk import Desk, DeskOptions
from coevolve.plugins.policies.transformers import TransformersOptions, TransformersPolicy


def told_apart(groups: list[RolloutGroup], of: Callable[[Trajectory], object]) -> str:
    """Share of the groups whose rollouts differ, and the mean number of different values of a group."""
    values = [{of(t) for t in group.trajectories} for group in groups]
    differ = sum(len(found) > 1 for found in values)
    return (
        f"{differ} of {len(groups)} ({differ / max(1, len(groups)):.2f}), {sum(map(len, values)) / max(1, len(values)):.2f} values a group"
    )


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    desk = Desk(DeskOptions())
    tasks = list(desk.tasks("test"))[:count]
    runner = RolloutRunner(desk, RolloutLimits(), Clock())
    began = time.perf_counter()
    groups = runner.run(TransformersPolicy(TransformersOptions()), tasks, 8, Sampling(1.0, 48, 1), 1)
    rolled = time.perf_counter() - began
    failed = [group for group in groups if not any(t.success for t in group.trajectories)]
    print(f"{len(groups)} tasks, 8 rollouts each; {len(failed)} groups without a success")
    began = time.perf_counter()
    references = {task.id: executed(checked(desk), task) for task in tasks}
    seconds = time.perf_counter() - began
    print(f"by the episode's progress: {told_apart(failed, lambda t: t.progress)}")
    print(f"by their calls at all:     {told_apart(failed, lambda t: str([step.action for step in t.steps]))}")
    print(f"by the solution's calls:   {told_apart(failed, lambda t: share(references[t.task_id], t.steps, None))}")
    print(f"executed solutions: {seconds:.2f} s for {len(tasks)} tasks; rollouts: {rolled:.1f} s")


if __name__ == "__main__":
    main()
