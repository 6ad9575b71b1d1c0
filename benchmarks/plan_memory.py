"""Compare the memory that `coevolve plan` estimates with the memory that training takes, on a CPU, each case in a fresh process.

    OMP_NUM_THREADS=1 python benchmarks/plan_memory.py [NAME ...]

Every row's conversation fills the context: a prompt, and up to 16 sampled tokens. There are two iterations, so that the optimiser has its
moments. The measured value is the peak of the resident memory without what is resident after the imports, which the plan does not count
either. glibc's allocator is set to return blocks of 128 KB and more at once; by default it keeps up to a third more memory.
"""

import json
import os
import random
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from coevolve import Outcome, RolloutGroup, Sampling, Task, Trajectory

NEW_TOKENS = 16
SMOL = "smollm2-135m-instruct"
DESK = "pkg:coevolve.environments.desk/policy"
CASES: dict[str, dict[str, Any]] = {
    "desk policy, full": {"model": DESK, "batch": 8, "context": 512},
    "desk policy, full, micro-batches of 16": {"model": DESK, "batch": 8, "context": 512, "micro_batch": 16},
    "desk policy, LoRA": {"model": DESK, "batch": 8, "context": 512, "lora_rank": 8},
    "SmolLM2-135M, full": {"model": SMOL, "batch": 1, "rollouts": 4, "context": 192},
    "SmolLM2-135M, LoRA": {"model": SMOL, "batch": 1, "rollouts": 4, "context": 192, "lora_rank": 16},
    "SmolLM2-135M, LoRA, checkpointing": {
        "model": SMOL, "batch": 1, "rollouts": 4, "context": 384, "lora_rank": 16, "gradient_checkpointing": True,
    },
}  # fmt: skip


class FullLoop:
    """A loop whose rollouts are one completion each, after a prompt that fills the rest of the context."""

    def __init__(self, policy: Any, batch: int, rollouts: int, context: int) -> None:
        self.batch, self.rollouts, self.steps, self.iteration = batch, rollouts, 2, 0
        words = policy.tokenizer.decode(list(range(300, 310)), skip_special_tokens=True)

        def length(times: int) -> int:
            return len(policy.chat.prompt([{"role": "user", "content": " ".join([words] * times)}], None))

        times = (context - NEW_TOKENS - length(1)) // (length(2) - length(1)) + 1
        text = " ".join([words] * times)
        self.start = [{"role": "user", "content": text}]

    def rollout(self, policy: Any, iteration: int) -> list[RolloutGroup]:
        tasks = [Task(f"t{slot}", "none", "q") for slot in range(self.batch)]
        talks = [policy.begin(t, self.start, None, n * self.rollouts + k) for n, t in enumerate(tasks) for k in range(self.rollouts)]
        policy.complete(talks, Sampling(1.0, NEW_TOKENS, iteration))
        print(max(len(talk.ids) for talk in talks), "tokens a row", file=sys.stderr)
        rng = random.Random(iteration)
        made = [
            Trajectory(f"t{n // self.rollouts}", iteration, n % self.rollouts, (), (), Outcome.COMPLETED, rng.random(), tokens=talk.tokens)
            for n, talk in enumerate(talks)
        ]
        return [RolloutGroup(t, iteration, tuple(made[n * self.rollouts : (n + 1) * self.rollouts])) for n, t in enumerate(tasks)]

    def finish_iteration(self, iteration: int, metrics: dict[str, float]) -> bool:
        self.iteration = iteration
        return False

    def commit(self, iteration: int, folder: Path) -> None:
        raise AssertionError("no checkpoint was due")


def resident() -> int:
    """Resident memory of this process in bytes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def measure(case: dict[str, Any]) -> None:
    """Train, and print the peak memory of this process without what the imports take."""
    import coevolve.plugins.policies.lockstep
    import coevolve.plugins.trainers.grpo.trl_trainer  # noqa: F401
    from coevolve.plugins.policies.transformers import TransformersOptions, TransformersPolicy
    from coevolve.plugins.trainers.grpo import Grpo, GrpoOptions

    case = dict(case)
    model, batch, rollouts, context = case.pop("model"), case.pop("batch"), case.pop("rollouts", 8), case.pop("context")
    import datasets  # noqa: F401
    import transformers.models.llama.modeling_llama  # noqa: F401
    from transformers import AutoModelForCausalLM  # noqa: F401

    before = resident()
    with tempfile.TemporaryDirectory() as folder:
        policy = TransformersPolicy(TransformersOptions(model=model, max_context=context, device="cpu"))
        trainer = Grpo(GrpoOptions(**case))
        run: Any = SimpleNamespace(seed=0, steps=2, batch=batch, rollouts=rollouts, temperature=1.0, folder=Path(folder), planned=False)
        trainer.setup(policy, run)
        trainer.train(FullLoop(policy, batch, rollouts, context), None)
    print(json.dumps({"before": before, "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - before}))


def expected(case: dict[str, Any]) -> Any:
    """The plan's Memory."""
    from coevolve import PlannedRun
    from coevolve.plugins.policies.transformers import TransformersOptions, TransformersPolicy
    from coevolve.plugins.trainers.grpo import GrpoOptions
    from coevolve.plugins.trainers.grpo.gpu_memory import estimate
    from coevolve.plugins.trainers.grpo.model_shapes import shape_of
    from coevolve.plugins.trainers.grpo.resource_estimate import machine, workload

    case = dict(case)
    model, batch, rollouts, context = case.pop("model"), case.pop("batch"), case.pop("rollouts", 8), case.pop("context")
    policy = TransformersPolicy(TransformersOptions(model=model, max_context=context, device="cpu"))
    shape = shape_of(model, policy.config_file())
    assert shape is not None
    plan = PlannedRun(2, batch, rollouts, 0, 0, 0, 0, policy)
    return estimate(shape, workload(GrpoOptions(**case), plan, shape, machine("cpu")))


def main() -> None:
    for name in sys.argv[1:] or CASES:
        command = [sys.executable, __file__, "--measure", json.dumps(CASES[name])]
        done = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"MALLOC_MMAP_THRESHOLD_": "131072"})
        if done.returncode:
            sys.exit(done.stderr)
        found, plan = json.loads(done.stdout.splitlines()[-1])["peak"], expected(CASES[name])
        print(f"{name}: measured {found / 1e6:,.0f} MB, planned {plan.needed / 1e6:,.0f} MB, planned / measured {plan.needed / found:.2f}")
        print(f"  {plan}", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        measure(json.loads(sys.argv[2]))
    else:
        main()
