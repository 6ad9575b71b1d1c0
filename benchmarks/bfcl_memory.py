"""Memory of the BFCL environment: how much parallel episodes need, and whether it stays constant.

    python benchmarks/bfcl_memory.py [EPISODES]

Opens 64 episodes with large initial states at once and plays them turn by turn. Then plays EPISODES (default 10,000) of all four categories
one after the other, and prints the resident memory from time to time. The first pass over the 800 tasks fills the bounded caches of initial
states, references and prompts; after it the memory must not grow.
"""

import sys
from itertools import cycle, islice
from pathlib import Path

from coevolve import Task
from coevolve.environments.bfcl.environment import Bfcl, BfclOptions

PARALLEL = 64


def resident() -> float:
    """This process's resident memory in MB."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS")) / 1024


def play(bfcl: Bfcl, task: Task) -> None:
    with bfcl.open(task) as episode:
        for answer in bfcl.script(task.solution):
            episode.step(answer)
        if episode.score() != 1.0:
            raise RuntimeError(task.id)


def parallel(bfcl: Bfcl) -> None:
    tasks = bfcl.tasks("all")[:: len(bfcl.tasks("all")) // PARALLEL][:PARALLEL]
    before = resident()
    episodes = [(bfcl.open(task), iter(bfcl.script(task.solution))) for task in tasks]
    while any([(answer := next(script, None)) is not None and episode.step(answer) is not None for episode, script in episodes]):
        pass
    print(f"{len(episodes)} episodes at once: {resident():.0f} MB resident, {resident() - before:.0f} MB of it for the episodes")


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    print(f"imported: {resident():.0f} MB")
    parallel(Bfcl(BfclOptions(category="long_context", doc_style="official")))
    bfcl = Bfcl(BfclOptions(category="all", doc_style="official"))
    for number, task in enumerate(islice(cycle(bfcl.tasks("all")), count), 1):
        play(bfcl, task)
        if number in (800, 1_600) or number % 2_000 == 0:
            print(f"{number:6} episodes: {resident():.1f} MB", flush=True)


if __name__ == "__main__":
    main()
