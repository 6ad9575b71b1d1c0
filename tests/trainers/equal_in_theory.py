"""Train the tiny model as one of several processes: `equal_in_theory.py FOLDER JSON`, a list of options; the first saves the outcomes."""

import importlib.util
import json
import os
import sys
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


def train(folder: Path, options: dict[str, Any], batch: int = 4, rollouts: int = 4, steps: int = 3) -> tuple[Any, Any]:
    """Trainer and loop after `steps` iterations. Every process rolls everything out, so only the updates are shared."""
    tiny, TalkingLoop = imported(HERE.parent / "policies" / "tiny_llama.py"), imported(HERE / "conftest.py").TalkingLoop
    trainer = Grpo(GrpoOptions(**options))
    run = SimpleNamespace(seed=5, steps=steps, batch=batch, rollouts=rollouts, temperature=1.0, folder=folder / "run")
    trainer.setup(TransformersPolicy(TransformersOptions(model=str(folder / "model"))), run)
    loop = TalkingLoop(tiny.WORDS[:40], batch, rollouts, steps)
    if int(os.environ.get("RANK", "0")):
        loop.commit = lambda iteration, folder: None
    trainer.train(loop, None)
    return trainer, loop


if __name__ == "__main__":
    import torch

    made = []
    for options in json.loads(sys.argv[2]):
        trainer, loop = train(Path(sys.argv[1]), options)
        made.append({"weights": dict(trainer._trainer.model.state_dict()), "metrics": loop.metrics})
    if int(os.environ["RANK"]) == 0:
        torch.save(made, Path(sys.argv[1]) / "made.pt")
    torch.distributed.destroy_process_group()
