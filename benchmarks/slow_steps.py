"""Slow environment steps: executed as each completion ends, or after all have ended; same texts, in one run.

    OMP_NUM_THREADS=1 python benchmarks/slow_steps.py [ROUNDS]

The environment is the desk with delays: each step sleeps for 20 to 100 ms, as if another machine did the work. There are three policies:
the desk's own; SmolLM2-135M, which cannot solve the tasks but samples slowly; and an OpenAI-compatible endpoint on this machine that
answers after 0.2 to 1 s. Delays depend only on the episode and the turn. Seconds are wall seconds, rounds alternate, and both ways must
give the same groups. The first line is the desk without delays, whose steps take 0.1 ms: there is nothing to gain, and it must cost
nothing.
"""

import json
import random
import statistics
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from coevolve import Observation, Sampling, Task
from coevolve.core.record.timing import Clock
from coevolve.core.rollouts.runner import RolloutLimits, RolloutRunner
from coevolve.environments.desk import Desk
from coevolve.plugins.policies.openai import OpenAIOptions, OpenAIPolicy
from coevolve.plugins.policies.transformers import TransformersOptions, TransformersPolicy

STEP, ANSWER = (0.02, 0.1), (0.2, 1.0)
GROUP = 4


class SlowDesk(Desk):
    """The desk with steps that each take a random time within `STEP` (seconds)."""

    def open(self, task: Task) -> Any:
        episode = super().open(task)
        step, delays = episode.step, random.Random(task.id)

        def slow(text: str) -> Observation:
            time.sleep(delays.uniform(*STEP))
            return step(text)

        episode.step = slow  # type: ignore[method-assign]
        return episode


class AtTheEnd:
    """The policy without streaming: it returns all completions together, after the last has ended."""

    def __init__(self, policy: Any) -> None:
        self.name, self.begin, self.complete = policy.name, policy.begin, policy.complete


class Endpoint(BaseHTTPRequestHandler):
    """Answers every request with the same text, after a random time within `ANSWER` (seconds)."""

    def do_POST(self) -> None:
        request = self.rfile.read(int(self.headers["Content-Length"]))
        time.sleep(random.Random(request).uniform(*ANSWER))
        message = {"role": "assistant", "content": "calendar.list()"}
        body = json.dumps({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Log nothing."""


@contextmanager
def endpoint() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Endpoint)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()


def compare(
    policy: Any, tasks: Sequence[Task], limits: RolloutLimits, sampling: Sampling, rounds: int, desk: type[Desk] = SlowDesk
) -> None:
    ways = {"at the end": AtTheEnd(policy), "as they end": policy}
    seconds: dict[str, list[float]] = {way: [] for way in ways}
    waited: dict[str, list[float]] = {way: [] for way in ways}
    for turn in range(rounds + 1):  # the first one warms up
        groups = []
        for way, actor in ways.items():
            clock = Clock()
            runner = RolloutRunner(desk(Desk.Options()), limits, clock)
            began = time.perf_counter()
            groups.append(runner.run(actor, tasks, GROUP, sampling, 0))
            if turn:
                seconds[way].append(time.perf_counter() - began)
                waited[way].append(clock.seconds["environment"])
            runner.close()
        if groups[0] != groups[1]:
            raise RuntimeError("the two ways gave different groups")
    ratios = [b / a for a, b in zip(seconds["as they end"], seconds["at the end"], strict=True)]
    shown = "; ".join(
        f"{way} {statistics.median(seconds[way]):.2f} s, {statistics.median(waited[way]):.2f} of it waiting for the environment"
        for way in ways
    )
    print(f"{policy.name}, {len(tasks) * GROUP} episodes, {limits.workers} threads: {shown};", end=" ")
    print(f"ratio {statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})", flush=True)


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    tasks = list(Desk(Desk.Options()).tasks("train"))
    own = TransformersPolicy(TransformersOptions())
    compare(own, tasks[:16], RolloutLimits(), Sampling(1.0, 48, 0), 4 * rounds, Desk)
    compare(own, tasks[:8], RolloutLimits(workers=8), Sampling(1.0, 48, 0), rounds)
    compare(own, tasks[:8], RolloutLimits(workers=32), Sampling(1.0, 48, 0), rounds)
    with endpoint() as url:
        asked = OpenAIPolicy(OpenAIOptions(model="none", base_url=url, api_key_env="", concurrency=32, tools="text"))
        compare(asked, tasks[:8], RolloutLimits(4, workers=2), Sampling(1.0, 48, 0), rounds)
        compare(asked, tasks[:8], RolloutLimits(4, workers=8), Sampling(1.0, 48, 0), rounds)
    small = TransformersPolicy(TransformersOptions(model="smollm2-135m-instruct", max_context=1024))
    compare(small, tasks[:2], RolloutLimits(3, workers=1), Sampling(1.0, 24, 0), min(rounds, 3))


if __name__ == "__main__":
    main()
