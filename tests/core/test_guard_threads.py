"""A plugin that explores in threads of its own: each call has its own deadline, and one that is stuck takes no other with it."""

import threading
from concurrent.futures import ThreadPoolExecutor

from coevolve import InfrastructureFault, Task
from coevolve.core.isolation.guard import Guard
from coevolve.testing import Stockroom


class Sticky(Stockroom):
    """Its `keys` of one task never return."""

    name = "sticky"
    never = threading.Event()

    def keys(self, task: Task):  # type: ignore[no-untyped-def]  # as the parent's
        if task.id == self.stuck:
            self.never.wait()
        return super().keys(task)

    stuck = ""


def test_one_stuck_thread_fails_alone() -> None:
    environment = Sticky(Sticky.Options())
    tasks = list(environment.tasks("train"))[:4]
    environment.stuck = tasks[1].id
    guard = Guard(environment, 0.3, workers=4)

    def outcome(task: Task) -> str:
        try:
            return guard.environment.keys(task).actions
        except InfrastructureFault as fault:
            return f"fault: {fault}"

    def explore() -> list[str]:
        with ThreadPoolExecutor(4) as threads:
            return list(threads.map(outcome, tasks))

    found = guard.run(explore)
    environment.never.set()
    assert "no answer within 0.3 s" in found[1]
    assert [found[n] for n in (0, 2, 3)] == [environment.keys(tasks[n]).actions for n in (0, 2, 3)]
    assert guard.run(lambda: outcome(tasks[0])) == found[0], "the guard goes on"
    guard.close()
