"""One `train` call of trainer "grpo": connects TRL's callbacks with the loop's three calls.

TRL asks for rollouts     -> Session.rollout          -> Loop.rollout
TRL ends an iteration     -> Session.finish_iteration -> Loop.finish_iteration
TRL has saved its files   -> Session.saved            -> Loop.commit
"""

import math
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from coevolve import CoevolveError, LoopState, RolloutGroup, RunInfo, UserError

from .iteration_metrics import IterationMetrics
from .options import reward

RESUME = "the last checkpoint is untouched: resume from it, with a smaller trainer.learning_rate"
SMALLER = "trainer.learning_rate=SMALLER"
"""Setting to change at a resume, as CoevolveError.change names it."""


class Session:
    """Rollouts, checks and checkpoints of one training; `trainer` is TRL's, set once it is made."""

    def __init__(self, options: Any, run: RunInfo, tokenizer: Any, largest_gap: float, loop: LoopState, resume_from: Path | None) -> None:
        self.options, self._run, self._tokenizer, self.loop, self.largest_gap = options, run, tokenizer, loop, largest_gap
        self.trainer: Any = None
        self.gap: Any = None
        self.rows: dict[str, list[Any]] = {}
        """Of the last iteration, as TRL takes them."""
        self._metrics = IterationMetrics()
        self.learning_rate = 0.0
        """Rate of the optimiser step that is under way."""
        self._iteration = 0
        self._kept = [resume_from] if resume_from else []

    def rollout(self, prompts: list[str], trainer: Any) -> dict[str, list[Any]]:
        """TRL's `rollout_func`: this rank's rows for `prompts`, one iteration's tickets "iteration:slot", each repeated K times.

        The first call of an iteration samples; later calls return other slices of the same rows.
        """
        iteration = int(prompts[0].partition(":")[0])
        if iteration != self._iteration:
            policy = trainer.live_policy
            groups = self.loop.rollout(policy, iteration)
            policy.release()
            if trainer.copy:
                trainer.copy.drop()
            self.rows = self._as_rows(groups, iteration)
            self._iteration = iteration
        first = trainer.accelerator.process_index * len(prompts)
        mine = slice(first, first + len(prompts))
        expected = [f"{iteration}:{n // self._run.rollouts}" for n in range(len(self.rows["score"]))][mine]
        if prompts != expected:
            raise CoevolveError(f"iteration {iteration}: the trainer's tickets are not those of its rows; this is a defect of coevolve")
        return {name: values[mine] for name, values in self.rows.items()}

    def _as_rows(self, groups: Sequence[RolloutGroup], iteration: int) -> dict[str, list[Any]]:
        from .trl_trainer import rows_for_trl

        run = self._run
        sizes = [len(group.trajectories) for group in groups]
        if sizes != [run.rollouts] * run.batch:
            raise CoevolveError(f"iteration {iteration}: {run.batch} groups of {run.rollouts} rollouts were due, these came: {sizes}")
        trajectories = [trajectory for group in groups for trajectory in group.trajectories]
        if any(t.score is not None and t.tokens is None for t in trajectories):
            raise UserError("the rollouts have no token ids, so nothing can be trained; the policy must give them")
        rows = rows_for_trl([t.tokens for t in trajectories], [reward(t, self.options) for t in trajectories], self._tokenizer.pad_token_id)
        if not any(map(sum, rows["env_mask"])):
            broken = [t.fault or "no reason given" for t in trajectories if t.score is None]
            why = f"{len(broken)} of {len(trajectories)} rollouts were infrastructure faults" + (f" ({broken[0]})" if broken else "")
            rest = "" if len(broken) == len(trajectories) else "; the others had no room for a completion: raise policy.max_context"
            change = "policy.max_context=LARGER" if rest else ""
            raise CoevolveError(f"iteration {iteration} has no token to train on: {why}{rest}", change=change)
        return dict(rows)

    @staticmethod
    def scores(prompts: list[str], completions: list[str], *, score: list[float | None], **_: Any) -> list[float | None]:
        """TRL's reward function: returns the rewards that came with the rollouts."""
        return score

    def finish_iteration(self) -> bool:
        """All updates of an iteration are done: hand its metrics to the loop. Returns True when a checkpoint is due."""
        metrics, self._metrics = self._metrics.means(), IterationMetrics()
        gap, self.trainer.gap = self.gap, type(self.gap)()
        metrics |= {"logprob_gap": gap.mean, "logprob_gap_max": gap.max, "logprob_ratio": gap.ratio}
        metrics["trained_tokens"] = float(sum(map(sum, self.rows["env_mask"])))
        if not math.isfinite(metrics.get("grad_norm", 0.0)):  # DeepSpeed shows no gradients before its step
            raise CoevolveError(f"iteration {self._iteration}: the gradient is not finite; {RESUME}", change=SMALLER)
        return self.loop.finish_iteration(self._iteration, metrics)

    def bad_loss(self, loss: float) -> None:
        """Stop the run for a loss that is not finite."""
        raise CoevolveError(f"iteration {self._iteration}: the loss is {loss}; {RESUME}", change=SMALLER)

    def finite(self, model: Any) -> None:
        """CoevolveError when the gradient is not finite, before it can spoil the weights."""
        from .sharded_weights import own

        if self.trainer.anywhere(not all(bool(own(p.grad).isfinite().all()) for p in model.parameters() if p.grad is not None)):
            raise CoevolveError(f"iteration {self._iteration}: the gradient is not finite; {RESUME}", change=SMALLER)

    def same_policy(self) -> None:
        """CoevolveError when the rollouts were sampled from another policy than the one that is trained."""
        gap = self.gap = self.trainer.whole_gap()
        if not gap.mean <= self.largest_gap:
            what = f"differ by {gap.mean:.2g} a token (at most {gap.max:.2g}), above max_gap {self.largest_gap:g}"
            raise CoevolveError(
                f"iteration {self._iteration}: the log-probabilities of engine and trainer {what}: the rollouts were sampled from another "
                "policy than the one that is trained; the last checkpoint is untouched: resume from it with policy.name=transformers or "
                "policy.dtype=float32, or allow it with a larger trainer.max_gap"
            )

    def settle_rate(self, optimizer: Any, scheduler: Any) -> None:
        """Set the learning rate of the options, in place of the one in the restored checkpoint."""
        scheduler, rate = getattr(scheduler, "scheduler", scheduler), self.options.learning_rate
        scheduler.base_lrs = [rate] * len(scheduler.base_lrs)
        for group, factor in zip(optimizer.param_groups, scheduler.lr_lambdas, strict=True):
            group["initial_lr"], group["lr"] = rate, rate * factor(scheduler.last_epoch)
        scheduler._last_lr = [group["lr"] for group in optimizer.param_groups]

    def updated(self, step: int) -> None:
        """Collect the metrics of optimiser step `step`; after an iteration's last step, pass the new weights on."""
        self._metrics.add(self.trainer.take_metrics() | {"learning_rate": [self.learning_rate]})
        if step % self.options.num_iterations == 0:
            self.take_weights()

    def take_weights(self) -> None:
        """Copy the trained weights to the engines that sample with a copy."""
        if self.trainer.copy:
            self.trainer.copy.take(self.trainer.model)
        self.trainer.live_policy.take_weights()

    def saved(self, folder: Path) -> None:
        """Commit a complete checkpoint, then delete all but this one and the one before."""
        self.loop.commit(self._iteration, folder)
        if not self.trainer.accelerator.is_main_process:
            return
        self._kept = [*self._kept[-1:], folder]
        kept = [path.resolve() for path in self._kept]
        for other in folder.parent.glob("checkpoint-*"):
            if other.resolve() not in kept:
                shutil.rmtree(other, ignore_errors=True)

    def callback(self) -> Any:
        """The callback that TRL calls at each of its steps."""
        from transformers import TrainerCallback

        from .sharded_weights import first_pass

        session = self

        class LoopCallback(TrainerCallback):
            def on_pre_optimizer_step(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
                session.same_policy()
                session.finite(kwargs["model"])
                session.learning_rate = kwargs["lr_scheduler"].get_last_lr()[0]  # of this step; the scheduler moves on before it ends

            def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
                session.settle_rate(kwargs["optimizer"], kwargs["lr_scheduler"])
                if session.trainer.is_fsdp_enabled:
                    first_pass(session.trainer.model)
                session.take_weights()

            def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
                session.updated(state.global_step)
                if state.global_step % session.options.num_iterations == 0:
                    control.should_save = session.finish_iteration()

            def on_save(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
                session.saved(Path(args.output_dir) / f"checkpoint-{state.global_step}")

        return LoopCallback()
