"""Trainer "grpo": group-relative policy optimisation (paper, section 3) on TRL's GRPOTrainer.

objective.py has the formula and the settings that make TRL compute it.

    [trainer]
    name = "grpo"
    learning_rate = 1e-6
    beta = 0.001

TRL drives, by one `train()` call over a dataset of tickets. A ticket "iteration:slot" stands for a task that is picked from the pool only
when the iteration begins, so the very next iteration trains on an evolved pool.
"""

import importlib.util
import os
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

from coevolve import (
    CoevolveError,
    HasWeights,
    LoopState,
    PlannedRun,
    Policy,
    RunInfo,
    Trajectory,
    UserError,
    did_you_mean,
    hookimpl,
)

from ...library_logging import quiet
from .launch import Launch, check_checkpoint, check_variables, launch
from .objective import objective_settings
from .options import SCHEDULES, GrpoOptions, reward
from .session import Session
from .trainable import check_trainable


class Grpo:
    """Trains every policy that has weights here and gives token ids: `HasWeights`, such as "transformers" and "vllm"."""

    name: ClassVar[str] = "grpo"
    Options: ClassVar[type[Any]] = GrpoOptions
    fixed_options: ClassVar[tuple[str, ...]] = ("num_iterations", "weight_decay", "lora_rank", "lora_alpha", "lora_targets", "quantize")

    def __init__(self, options: GrpoOptions) -> None:
        if options.schedule not in SCHEDULES:
            raise UserError(f"trainer.schedule {options.schedule!r} is unknown{did_you_mean(options.schedule, SCHEDULES)}")
        if options.lora_targets and not options.lora_rank:
            raise UserError("trainer.lora_targets names modules for adapters, but trainer.lora_rank is 0: set it, such as to 16")
        self.options = options
        self._policy: Any = None
        self._run: Any = None
        self._local_rows = 0
        self._launch = Launch.WHOLE
        self._trainer: Any = None
        self._session: Any = None
        self._whole: Any = None
        """Where the weights are split: those to save, in the first process."""

    def setup(self, policy: Policy, run: RunInfo) -> None:
        """Check that the policy has weights to train, the run's numbers, the model's files and what this machine must have; loads nothing
        large. For a plan the machine is not checked, nor files that are elsewhere."""
        if not (isinstance(type(policy), HasWeights) or isinstance(policy, HasWeights)):  # the first reads no files, on any Python
            why = "it has no weights here and gives no token ids, and text that is tokenised again is not what was sampled"
            raise UserError(f'policy {policy.name!r} cannot be trained ({why}); choose policy.name = "transformers" or "vllm"')
        weights: Any = policy
        processes = _processes()
        self._check_numbers(run, processes)
        self._check_quantize()
        self._launch = launch(self.options.quantize, processes)
        if not (run.planned and weights.config_file() is None):
            weights.check()
            with quiet():
                skeleton = weights.skeleton()
            check_trainable(skeleton, weights.model_settings.model)
            self._check_adapter(skeleton)
        if not run.planned:
            check_variables(weights.placement[0], str(weights.placement[1]) == "torch.bfloat16")
        self._local_rows = run.batch * run.rollouts // processes
        self._policy, self._run = weights, run
        if self.options.quantize and not run.planned:
            self._check_machine()
            weights.quantize = self.options.quantize

    def estimate(self, plan: PlannedRun) -> list[str]:
        """Memory by part, the cost of an iteration, and for a plan which GPUs hold the run."""
        from .resource_estimate import estimate_lines

        return list(estimate_lines(self.options, plan))

    def _check_numbers(self, run: RunInfo, processes: int) -> None:
        if run.rollouts < 2:
            raise UserError(f"rollouts is {run.rollouts}, but advantages are relative to a task's other rollouts; set it to at least 2")
        micro = self.options.micro_batch
        rows, rest = divmod(run.batch * run.rollouts, processes)
        if rest:
            raise UserError(
                f"the {run.batch * run.rollouts} rows of an iteration (batch * rollouts) cannot be split over {processes} processes"
            )
        if micro and rows % micro:
            each = f" in each of {processes} processes" if processes > 1 else ""
            raise UserError(f"trainer.micro_batch {micro} does not divide the {rows} rows of an iteration (batch * rollouts){each}")

    def _check_quantize(self) -> None:
        if not self.options.quantize:
            return
        if self.options.quantize != "4bit":
            raise UserError(f'trainer.quantize {self.options.quantize!r} is unknown; choose "4bit", or "" for none')
        if not self.options.lora_rank:
            raise UserError('trainer.quantize "4bit" trains adapters over frozen weights: set trainer.lora_rank, such as 16')

    def _check_machine(self) -> None:
        if not self._policy.placement[0].startswith("cuda"):
            raise UserError('trainer.quantize "4bit" needs a GPU, and policy.device is the CPU: set trainer.quantize=""')
        if importlib.util.find_spec("bitsandbytes") is None:
            raise UserError('trainer.quantize "4bit" needs the package bitsandbytes: pip install bitsandbytes')

    def _check_adapter(self, model: Any) -> None:
        """Put the adapters into `model`, a skeleton."""
        rank, targets = self.options.lora_rank, self.options.lora_targets
        if not rank:
            return
        from peft import get_peft_model

        width = model.config.get_text_config().hidden_size
        if rank > width:
            raise UserError(f"trainer.lora_rank is {rank}, above the model's width {width}: set it to that or less")
        heads = [model.get_output_embeddings()]
        if model.config.get_text_config().tie_word_embeddings:  # merged into it, an adapter would change the head too
            heads.append(model.get_input_embeddings())
        head = {name.rpartition(".")[2] for name, module in model.named_modules() if any(module is one for one in heads)}
        if named := head.intersection(name.rpartition(".")[2] for name in targets):
            raise UserError(f"trainer.lora_targets names {named.pop()!r}, the model's head, which takes no adapter: remove it")
        try:
            with quiet():
                get_peft_model(model, self._adapter())
        except ValueError as error:
            why = " ".join(str(error).split())[:200]
            raise UserError(f"trainer.lora_targets {list(targets)} do not fit the model ({why}): name some of its linear layers") from error

    def reward(self, trajectory: Trajectory) -> float | None:
        """The score, mixed with the progress where `progress_weight` says so."""
        return reward(trajectory, self.options)

    def policy(self) -> Policy:
        live: Policy = self._policy if self._trainer is None else self._trainer.live_policy
        return live

    def train(self, loop: LoopState, resume_from: Path | None) -> None:
        """One optimiser step (or `num_iterations`) for each of the loop's remaining iterations."""
        if loop.iteration and resume_from is None:
            raise CoevolveError(f"the loop stands at iteration {loop.iteration}, but there is no checkpoint to resume from")
        if loop.iteration >= loop.steps and resume_from is None:
            return
        if resume_from:
            check_checkpoint(resume_from, self._launch)
        with quiet():
            self._trainer = self._build(loop, resume_from)
            self._trainer.train(resume_from_checkpoint=str(resume_from) if resume_from else None)
            if self._launch.shards:
                from .sharded_weights import whole_state

                self._whole = whole_state(self._trainer.model, self._trainer.accelerator.is_main_process)

    def save_policy(self, folder: Path) -> None:
        """Write model and tokenizer as one folder of safetensors; adapters are merged into a copy of the weights. Then read them back.

        Raises CoevolveError where what is read back is not the trained policy.
        """
        with quiet():
            model = self._policy.load() if self._trainer is None else self._trainer.accelerator.unwrap_model(self._trainer.model)
            if hasattr(model, "peft_config"):
                self._merged(model).save_pretrained(folder)
            else:
                model.save_pretrained(folder, state_dict=self._whole)
            self._policy.tokenizer.save_pretrained(folder)
            self._check_saved(model, folder)

    def _check_saved(self, model: Any, folder: Path) -> None:
        from .saved_policy import check_saved
        from .sharded_weights import read_whole

        live = self._trainer.copy.model if self._trainer is not None and self._trainer.copy else model
        rows = {} if self._session is None else self._session.rows
        with read_whole():
            check_saved(self._policy, live, folder, rows, self.largest_gap(), bool(self.options.quantize))

    def _merged(self, model: Any) -> Any:
        """The adapters in a fresh copy of the weights beneath them, which in training may be quantised."""
        from peft import PeftModel

        from .sharded_weights import read_whole

        with TemporaryDirectory() as folder:
            model.save_pretrained(folder, state_dict=self._whole)
            where = "cpu" if self.options.quantize else self._where()  # the model in four bits is still on the GPU
            with read_whole():
                merged: Any = PeftModel.from_pretrained(self._policy.load(device=where), folder).merge_and_unload()
        return merged

    def _where(self) -> str:
        """Split weights are read into main memory: a device may have no room for all of them."""
        return "cpu" if self._launch.shards else ""

    def _build(self, loop: LoopState, resume_from: Path | None) -> Any:
        os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
        import torch
        from datasets import Dataset  # type: ignore[import-untyped]  # it has no types
        from transformers import PrinterCallback

        from .sharded_weights import WholeCopy, meet, read_whole
        from .trl_trainer import PackedGrpoTrainer

        if int(os.environ.get("WORLD_SIZE", "1")) == 1 and torch.cuda.device_count() > 1:
            raise UserError(
                f"{torch.cuda.device_count()} GPUs are visible: start one process for each (torchrun --nproc-per-node "
                f"{torch.cuda.device_count()} -m coevolve run ...), or choose one with CUDA_VISIBLE_DEVICES=0"
            )
        session = self._session = Session(self.options, self._run, self._policy.tokenizer, self.largest_gap(), loop, resume_from)
        dtype = self._policy.placement[1]
        # Full training keeps float32 weights (small updates vanish in bfloat16) and computes in the policy's dtype; what splits them makes
        # them float32 itself, when each process has only its part to keep.
        tickets = [f"{iteration}:{slot}" for iteration in range(1, loop.steps + 1) for slot in range(self._run.batch)]
        if self._launch is Launch.ZERO3:
            meet()
        with read_whole():
            model = self._policy.load(
                dtype if self.options.lora_rank or self._launch.shards else torch.float32, self.options.quantize, self._where()
            )
            copy = WholeCopy(self._policy.model, self._adapter()) if self._launch.shards else None
        trainer = PackedGrpoTrainer(
            model=model,
            reward_funcs=session.scores,
            args=self._arguments(dtype == torch.bfloat16),
            train_dataset=Dataset.from_dict({"prompt": tickets}),
            processing_class=self._policy.tokenizer,
            callbacks=[session.callback()],
            peft_config=self._adapter(),
            rollout_func=session.rollout,
            exact_group_normaliser=self.options.exact_group_normaliser,
            fsdp=self._launch is Launch.FSDP2,
        )
        trainer.on_bad_loss = session.bad_loss
        trainer.remove_callback(PrinterCallback)
        trainer.copy = copy
        trainer.live_policy = self._policy.over(copy.model if copy else trainer.model)
        session.trainer = trainer
        return trainer

    def _arguments(self, bf16: bool) -> Any:
        """TRL's settings for this run."""
        from trl.trainer.grpo_config import GRPOConfig

        options, run = self.options, self._run
        rows = self._local_rows
        micro = options.micro_batch or rows
        return GRPOConfig(
            output_dir=str(Path(run.folder) / "checkpoints"),
            seed=run.seed,
            **objective_settings(options, run),
            # one iteration is one batch of rollouts
            num_generations=run.rollouts,
            per_device_train_batch_size=micro,
            gradient_accumulation_steps=rows // micro,
            steps_per_generation=rows // micro,
            num_train_epochs=1,
            shuffle_dataset=False,
            # the optimiser
            learning_rate=options.learning_rate,
            lr_scheduler_type=options.schedule if options.schedule != "constant" or not options.warmup else "constant_with_warmup",
            warmup_steps=options.warmup,
            weight_decay=options.weight_decay,
            max_grad_norm=options.max_grad_norm,
            optim="adamw_torch",
            # the machine
            bf16=bf16,
            use_cpu=self._policy.placement[0] == "cpu",
            gradient_checkpointing=options.gradient_checkpointing,
            ddp_find_unused_parameters=False,
            dataloader_pin_memory=False,
            # saving and reporting are the loop's business
            save_strategy="no",
            logging_strategy="no",
            report_to=[],
            disable_tqdm=True,
        )

    def largest_gap(self) -> float:
        """`max_gap`, or what suits the policy's dtype."""
        if self.options.max_gap is not None:
            return self.options.max_gap
        return 0.001 if str(self._policy.placement[1]) == "torch.float32" else 0.1

    def _adapter(self) -> Any:
        if not self.options.lora_rank:
            return None
        from peft import LoraConfig

        return LoraConfig(
            r=self.options.lora_rank,
            lora_alpha=self.options.lora_alpha,
            target_modules=list(self.options.lora_targets) or "all-linear",
            lora_dropout=0.0,
            task_type="CAUSAL_LM",
        )


def _processes() -> int:
    return int(os.environ.get("WORLD_SIZE", "1"))


@hookimpl
def coevolve_trainers() -> list[type[Grpo]]:
    """Register."""
    return [Grpo]
