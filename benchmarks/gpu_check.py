"""Check correctness and throughput on a GPU, without a network, in under eight minutes; figures are written to gpu_check.json.

    python benchmarks/gpu_check.py                          # on a machine with a GPU
    python benchmarks/gpu_check.py --device cpu --tiny      # the script itself, anywhere

The models have random weights: a tiny Qwen3, and the shapes of Qwen3-0.6B and Qwen3-4B. Correctness compares loss and gradient of the
trainer's head with the CPU's, tokens of the lockstep engine with transformers' greedy `generate`, and the engine's log-probabilities with
the trainer's, in float32 and bfloat16. Throughput compares a GRPO iteration with one of TRL's own (generation of one turn, which is the
cost of a TRL rollout without its tool loop): tokens a second, and seconds of each half. When a part fails, its error is recorded and the
other parts still run. The exit code is 1 when a part failed or a correctness figure is out of bounds.
"""

import argparse
import json
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch

from coevolve import Outcome, RolloutGroup, Sampling, Task, Trajectory
from coevolve.plugins.policies.transformers import TransformersOptions, TransformersPolicy
from coevolve.plugins.trainers.grpo import Grpo, GrpoOptions

PACKAGE_POLICY = "pkg:coevolve.environments.desk/policy"
SHAPES: dict[str, dict[str, Any]] = {
    "qwen3-0.6b": {"hidden_size": 1024, "intermediate_size": 3072, "num_hidden_layers": 28, "num_attention_heads": 16},
    "qwen3-4b": {"hidden_size": 2560, "intermediate_size": 9728, "num_hidden_layers": 36, "num_attention_heads": 32},
    "tiny": {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4},
}
BOUNDS = {"loss": 1e-4, "gradient": 1e-3, "gap_float32": 1e-3, "gap_bfloat16": 0.1, "token_parity": 1.0}


def saved(folder: Path, name: str) -> str:
    """Save a model of this shape with random bfloat16 weights, and the desk's tokenizer with an end token that is never sampled."""
    from transformers import Qwen3Config, Qwen3ForCausalLM

    if not (folder / name).is_dir():
        own = TransformersPolicy(TransformersOptions(model=PACKAGE_POLICY)).tokenizer
        vocabulary = len(own) if name == "tiny" else 151_936
        heads = {"num_key_value_heads": 2, "head_dim": 16} if name == "tiny" else {"num_key_value_heads": 8, "head_dim": 128}
        torch.manual_seed(0)
        with torch.device("cuda" if torch.cuda.is_available() else "cpu"):
            dtype = torch.get_default_dtype()
            torch.set_default_dtype(torch.float32 if name == "tiny" else torch.bfloat16)
            model: Any = Qwen3ForCausalLM(
                Qwen3Config(
                    vocab_size=vocabulary, max_position_embeddings=8192, tie_word_embeddings=True,
                    eos_token_id=own.eos_token_id, pad_token_id=own.pad_token_id, **heads, **SHAPES[name],
                )
            )  # fmt: skip
            torch.set_default_dtype(dtype)
        model.save_pretrained(folder / name)
        own.save_pretrained(folder / name)
        del model
    return str(folder / name)


def policy_of(path: str, device: str, dtype: str, context: int) -> TransformersPolicy:
    return TransformersPolicy(TransformersOptions(model=path, device=device, dtype=dtype, max_context=context))


def batch(path: str) -> tuple[torch.Tensor, torch.Tensor]:
    torch.manual_seed(1)
    ids = torch.randint(5, 600, (4, 96))
    mask = torch.ones_like(ids)
    mask[1, :20] = 0
    return ids, mask


def loss_and_gradient(path: str, device: str) -> tuple[float, torch.Tensor]:
    """Mean log-probability of the trainer's head, and the gradient of one weight."""
    from trl.trainer.utils import add_fused_lm_head

    from coevolve.plugins.trainers.grpo.trl_trainer import PackedGrpoTrainer

    model = policy_of(path, device, "float32", 128).model
    add_fused_lm_head(model, outputs=("log_probs", "entropy"))
    trainer: Any = PackedGrpoTrainer.__new__(PackedGrpoTrainer)
    trainer.accelerator, trainer._positions = SimpleNamespace(autocast=torch.enable_grad), None
    model.base_model.register_forward_hook(trainer._pick)
    ids, mask = (x.to(device) for x in batch(path))
    trainer._scored = torch.zeros(4, 32, dtype=torch.bool, device=device)
    trainer._scored[:, ::2] = True
    logps, _, _ = trainer._get_per_token_logps_and_entropies(model, ids, mask, 32)
    loss = -logps.sum() / trainer._scored.sum()
    loss.backward()
    return loss.item(), model.model.layers[0].mlp.down_proj.weight.grad.float().cpu()


def correctness(device: str, folder: Path) -> dict[str, float]:
    path = saved(folder, "tiny")
    (loss, gradient), (expected, reference) = loss_and_gradient(path, device), loss_and_gradient(path, "cpu")
    found = {"loss": abs(loss - expected), "gradient": ((gradient - reference).norm() / reference.norm()).item()}
    found["token_parity"] = parity(path, device)
    for dtype in ("float32", "bfloat16"):
        found[f"gap_{dtype}"] = iteration(path, device, dtype, rows=16, prompt=64, new=32)["logprob_gap"]
    return found


def parity(path: str, device: str) -> float:
    """Share of rows whose greedy tokens are those of `generate`."""
    policy = policy_of(path, device, "float32", 256)
    words = [f"call {n} of the list of tasks" * (n + 1) for n in range(6)]
    talks = [policy.begin(Task(f"t{n}", "none", w), [{"role": "user", "content": w}], None, n) for n, w in enumerate(words)]
    starts = [list(talk.ids) for talk in talks]
    policy.complete(talks, Sampling(0.0, 24, 0))
    same = 0
    for talk, start in zip(talks, starts, strict=True):
        ids = torch.tensor([start], device=device)
        out = policy.model.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=24, do_sample=False)
        same += out[0].tolist() == talk.ids
    return same / len(talks)


class OneTurn:
    """A loop whose rollouts are completions of one turn, after prompts of a given length."""

    def __init__(self, policy: Any, rows: int, prompt: int, new: int, steps: int) -> None:
        self.policy, self.rows, self.prompt, self.new, self.steps, self.iteration = policy, rows, prompt, new, steps, 0
        self.seconds: list[dict[str, float]] = []
        self.metrics: dict[str, float] = {}

    def rollout(self, policy: Any, iteration: int) -> list[RolloutGroup]:
        began = time.perf_counter()
        text = " ".join(["call"] * self.prompt)
        talks = [policy.begin(Task(f"t{n // 8}", "none", "q"), [{"role": "user", "content": text}], None, n) for n in range(self.rows)]
        policy.complete(talks, Sampling(1.0, self.new, iteration))
        rollout = time.perf_counter() - began
        tokens = sum(sum(talk.tokens.mask) for talk in talks)
        self.seconds.append({"rollout": rollout, "tokens": float(tokens), "ended": time.perf_counter()})
        made = [
            Trajectory(f"t{n // 8}", iteration, n % 8, (), (), Outcome.COMPLETED, float(n % 3 == 0), tokens=talk.tokens)
            for n, talk in enumerate(talks)
        ]
        return [RolloutGroup(Task(f"t{s}", "none", "q"), iteration, tuple(made[s * 8 : s * 8 + 8])) for s in range(self.rows // 8)]

    def finish_iteration(self, iteration: int, metrics: dict[str, float]) -> bool:
        self.iteration, self.metrics = iteration, metrics
        self.seconds[-1]["update"] = time.perf_counter() - self.seconds[-1].pop("ended")
        return False

    def commit(self, iteration: int, folder: Path) -> None:
        raise AssertionError("no checkpoint was due")


def iteration(path: str, device: str, dtype: str, *, rows: int, prompt: int, new: int, steps: int = 1, **options: Any) -> dict[str, float]:
    """One GRPO iteration (the last of `steps`): seconds by half, sampled tokens, metrics."""
    policy = policy_of(path, device, dtype, prompt + new + 64)
    trainer = Grpo(GrpoOptions(**options))
    with tempfile.TemporaryDirectory() as folder:
        run: Any = SimpleNamespace(seed=0, steps=steps, batch=rows // 8, rollouts=8, temperature=1.0, folder=Path(folder), planned=False)
        trainer.setup(policy, run)
        loop = OneTurn(policy, rows, prompt, new, steps)
        trainer.train(loop, None)
    return loop.metrics | loop.seconds[-1]


def bare_trl(path: str, device: str, dtype: str, *, rows: int, prompt: int, new: int, steps: int, **options: Any) -> dict[str, float]:
    """The same work by TRL alone: its generate, its loss. Seconds of its last step."""
    from datasets import Dataset
    from transformers import PrinterCallback, TrainerCallback
    from trl import GRPOConfig, GRPOTrainer

    policy = policy_of(path, device, dtype, prompt + new + 64)
    micro, rank = options.get("micro_batch") or rows, options.get("lora_rank", 0)
    adapter = None
    if rank:
        from peft import LoraConfig

        adapter = LoraConfig(r=rank, target_modules="all-linear", task_type="CAUSAL_LM")
    times: list[float] = []

    class Clock(TrainerCallback):
        def on_step_end(self, *args: Any, **kwargs: Any) -> None:
            times.append(time.perf_counter())

    with tempfile.TemporaryDirectory() as folder:
        arguments = GRPOConfig(
            folder, beta=0.0, loss_type="dapo", use_cpu=device == "cpu", bf16=dtype == "bfloat16", num_generations=8, max_steps=steps,
            per_device_train_batch_size=micro, gradient_accumulation_steps=rows // micro, report_to=[], save_strategy="no",
            max_completion_length=new, gradient_checkpointing=options.get("gradient_checkpointing", False), disable_tqdm=True,
        )  # fmt: skip
        text = " ".join(["call"] * prompt)
        data = Dataset.from_list([{"prompt": [{"role": "user", "content": text}]}] * (rows // 8 * steps))
        model = policy.load(None if rank else torch.float32)
        trainer = GRPOTrainer(model, lambda completions, **_: [float(n % 3 == 0) for n in range(len(completions))], arguments, data,
                              processing_class=policy.tokenizer, peft_config=adapter, callbacks=[Clock()])  # fmt: skip
        trainer.remove_callback(PrinterCallback)
        began = time.perf_counter()
        trainer.train()
    return {"seconds": times[-1] - (times[-2] if len(times) > 1 else began)}


def throughput(device: str, folder: Path, tiny: bool) -> dict[str, Any]:
    found: dict[str, Any] = {}
    work = {"tiny": {"rows": 16, "prompt": 32, "new": 16}} if tiny else {
        "qwen3-0.6b": {"rows": 64, "prompt": 512, "new": 128, "micro_batch": 8},
        "qwen3-4b": {"rows": 32, "prompt": 512, "new": 128, "micro_batch": 4, "lora_rank": 16, "gradient_checkpointing": True},
    }  # fmt: skip
    dtype = "float32" if device == "cpu" else "bfloat16"
    for name, case in work.items():
        path = saved(folder, name)
        common: dict[str, Any] = {"steps": 2, **case}
        own = iteration(path, device, dtype, beta=0.0, **common)
        release()
        theirs = bare_trl(path, device, dtype, **common)
        release()
        own_seconds = own["rollout"] + own["update"]
        found[name] = {
            "work": case,
            "coevolve": {
                "seconds": own_seconds,
                "rollout": own["rollout"],
                "update": own["update"],
                "tokens/s": own["tokens"] / own["rollout"],
            },
            "trl": theirs,
            "trl / coevolve": theirs["seconds"] / own_seconds,
            "peak_gb": torch.cuda.max_memory_allocated() / 1e9 if torch.cuda.is_available() else None,
        }
    return found


def release() -> None:
    import gc

    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--tiny", action="store_true", help="use the tiny model only")
    parser.add_argument("--out", type=Path, default=Path("gpu_check.json"))
    asked = parser.parse_args()
    if asked.device.startswith("cuda") and not torch.cuda.is_available():
        parser.error("there is no GPU here; try the script itself with --device cpu --tiny")
    began, report = time.perf_counter(), {"device": asked.device, "torch": torch.__version__}
    if torch.cuda.is_available():
        report["gpu"] = torch.cuda.get_device_name(0)
    parts: dict[str, Callable[[Path], Any]] = {
        "correctness": lambda folder: correctness(asked.device, folder),
        "throughput": lambda folder: throughput(asked.device, folder, asked.tiny),
    }
    with tempfile.TemporaryDirectory() as folder:
        for name, part in parts.items():
            try:
                report[name] = part(Path(folder))
            except Exception:  # noqa: BLE001 - the other parts must still run
                report[name] = {"failed": traceback.format_exc()}
            asked.out.write_text(json.dumps(report | {"seconds": time.perf_counter() - began}, indent=1))
    print(asked.out.read_text())
    found: Any = report["correctness"]
    ok = "failed" not in found and all(found[k] >= b if k == "token_parity" else found[k] <= b for k, b in BOUNDS.items())
    return 0 if ok and "failed" not in report["throughput"] else 1


if __name__ == "__main__":
    sys.exit(main())
