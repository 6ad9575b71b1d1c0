"""Train the tiny model; as a program, `equal_in_theory.py FOLDER JSON`, in each of several processes, with a list of options.

The first process saves the metrics and the policies in FOLDER.
Beside the trainer's options there are `model` (a folder in FOLDER) and `dtype` (the policy's).
"""

import importlib.util
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from coevolve.plugins.policies.transformers import TransformersOptions, TransformersPolicy
from coevolve.plugins.trainers.grpo import Grpo, GrpoOptions

HERE = Path(__file__).parent


def imported(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def train(
    folder: Path, options: dict[str, Any], batch: int = 4, rollouts: int = 4, steps: int = 3, change: Callable[..., Any] | None = None
) -> tuple[Any, Any]:
    """Trainer and loop after `steps` iterations. Every process rolls everything out, so only the updates are shared.

    `change(iteration, trajectories)` returns the trajectories that the update is made on instead of those that were rolled out.
    """
    tiny, TalkingLoop = imported(HERE.parent / "policies" / "tiny_llama.py"), imported(HERE / "conftest.py").TalkingLoop
    options = dict(options)
    settings = TransformersOptions(model=str(folder / options.pop("model", "model")), dtype=options.pop("dtype", "auto"))
    trainer = Grpo(GrpoOptions(**options))
    run = SimpleNamespace(seed=5, steps=steps, batch=batch, rollouts=rollouts, temperature=1.0, folder=folder / "run", planned=False)
    trainer.setup(TransformersPolicy(settings), run)
    loop = TalkingLoop(tiny.WORDS[:40], batch, rollouts, steps)
    loop.change = change or loop.change
    if int(os.environ.get("RANK", "0")):
        loop.commit = lambda iteration, folder: None
    trainer.train(loop, None)
    return trainer, loop


if __name__ == "__main__":
    import torch

    torch.distributed.init_process_group("gloo")
    folder = Path(sys.argv[1])
    made = []
    for number, options in enumerate(json.loads(sys.argv[2])):
        trainer, loop = train(folder, options)
        made.append(loop.metrics)
        if int(os.environ["RANK"]) == 0:
            trainer.save_policy(folder / f"policy-{number}")
            (folder / "metrics.json").write_text(json.dumps(made))
        torch.distributed.barrier()
    torch.distributed.destroy_process_group()
