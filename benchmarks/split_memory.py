"""Memory of each process and seconds of GRPO iterations, for each way to launch them: DDP, FSDP2, ZeRO-2, ZeRO-3.

    accelerate launch --multi_gpu --num_processes 2 benchmarks/split_memory.py FOLDER
    accelerate launch --use_fsdp --fsdp_version 2 --num_processes 2 benchmarks/split_memory.py FOLDER
    accelerate launch --use_deepspeed --zero_stage 3 --num_processes 2 benchmarks/split_memory.py FOLDER

A random model of 154 million weights is saved in FOLDER (on a disk that all processes see); `--model NAME` uses another model. Memory in
MB is the GPU's where there is one, else the resident memory of the process: the peak, and the value after an update and the export of its
weights. Every process plays all conversations (8 for each of as many tasks as there are processes) and trains on its share.
"""

import argparse
import json
import os
import resource
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import gpu_check  # type: ignore[import-not-found]  # beside this file
import torch

from coevolve.plugins.policies.transformers import TransformersOptions, TransformersPolicy
from coevolve.plugins.trainers.grpo import Grpo, GrpoOptions
from coevolve.plugins.trainers.grpo.sharded_weights import WholeCopy

MB = 2**20


def random_model(folder: Path) -> str:
    from transformers import LlamaConfig, LlamaForCausalLM

    own = TransformersPolicy(TransformersOptions(model=gpu_check.PACKAGE_POLICY)).tokenizer
    torch.manual_seed(0)
    model: Any = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(own), hidden_size=1024, intermediate_size=2816, num_hidden_layers=12, num_attention_heads=16,
            max_position_embeddings=1024, tie_word_embeddings=True, eos_token_id=own.eos_token_id, pad_token_id=own.pad_token_id,
        )
    )  # fmt: skip
    model.save_pretrained(folder / "model")
    own.save_pretrained(folder / "model")
    return str(folder / "model")


def held() -> tuple[int, int]:
    """Memory in MB: now, and at the peak."""
    if torch.cuda.is_available():
        return torch.cuda.memory_allocated() // MB, torch.cuda.max_memory_allocated() // MB
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() // MB, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


class Loop(gpu_check.OneTurn):  # type: ignore[misc]  # it is not typed here
    def finish_iteration(self, iteration: int, metrics: dict[str, float]) -> bool:
        super().after(iteration, metrics)
        self.memory = held()
        return False


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--model", default="")
    parser.add_argument("--steps", type=int, default=2)
    asked = parser.parse_args()
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    if torch.cuda.is_available():
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    torch.distributed.init_process_group("cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo")
    if rank == 0 and not asked.model:
        random_model(asked.folder)
    torch.distributed.barrier()
    took: list[float] = []
    take = WholeCopy.take

    def timed(self: WholeCopy, trained: Any) -> None:
        began = time.perf_counter()
        take(self, trained)
        took.append(time.perf_counter() - began)

    WholeCopy.take = timed  # type: ignore[method-assign]
    trainer = Grpo(GrpoOptions(beta=0.1, gradient_checkpointing=True))
    policy = TransformersPolicy(TransformersOptions(model=asked.model or str(asked.folder / "model"), max_context=256))
    run: Any = SimpleNamespace(
        seed=0, steps=asked.steps, batch=size, rollouts=8, temperature=1.0, folder=asked.folder / "run", planned=False
    )
    trainer.setup(policy, run)
    loop = Loop(policy, 8 * size, 48, 16, asked.steps)
    trainer.train(loop, None)
    now, peak = loop.memory
    last = loop.seconds[-1]
    found = {"launch": trainer._launch, "process": rank, "held": now, "peak": peak, "rollout": last["rollout"], "update": last["update"]}
    print(json.dumps(found | {"take": took[-1] if took else 0.0, "gap": loop.metrics["logprob_gap"]}), flush=True)
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
