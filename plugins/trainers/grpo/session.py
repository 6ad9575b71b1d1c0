"""One `train` call of trainer "grpo": TRL's hooks on one side, the loop's three calls on the other."""

import math
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from coevolve import CoevolveError, LoopState, RolloutGroup, TakesWeights, UserError

RESUME = "the last checkpoint is untouched: resume from it, with a smaller trainer.learning_rate"
SMALLER = "trainer.learning_rate=SMALLER"


METRICS = {
    "loss": "loss",
    "reward": "reward",
    "reward_std": "reward_std",
    "zero_advantage_groups": "frac_reward_zero_std",
    "kl": "kl",
    "entropy": "entropy",
    "clip_ratio": "clip_ratio/region_mean",
    "grad_norm": "grad_norm",
    "learning_rate": "learning_rate",
}
"""Our name of a metric -> TRL's."""
LAST = ("grad_norm", "learning_rate")
"""Metrics whose value is that of the iteration's last optimiser step; the others are means over the iteration."""


class IterationMetrics:
    """What TRL measured in the optimiser steps of one iteration."""

    def __init__(self) -> None:
        self._values: dict[str, list[float]] = {}

    def add(self, values: Mapping[str, Sequence[float]]) -> None:
        """Add the values of one optimiser step, by TRL's names."""
        for name, found in values.items():
            self._values.setdefault(name, []).extend(found)

    def means(self) -> dict[str, float]:
        """One number for each metric, by our names; values that are not a number are left out, as TRL does."""
        found = {}
        for name, key in METRICS.items():
            known = self._values.get(key, ())
            values = known[-1:] if name in LAST else [value for value in known if not math.isnan(value)]
            if values:
                found[name] = sum(values) / len(values)
        return found


class Session:
    """Of `owner`, a Grpo, over `loop`; `trainer` is TRL's."""

    def __init__(self, owner: Any, loop: LoopState, resume_from: Path | None) -> None:
        self.options, self._run, self._tokenizer, self.loop = owner.options, owner._run, owner._policy.tokenizer, loop
        self.largest_gap = owner.largest_gap()
        self.trainer: Any = None
        self.gap: Any = None
        self._rows: dict[str, list[Any]] = {}
        self._metrics = IterationMetrics()
        self.learning_rate = 0.0
        """Rate of the optimiser step that is under way."""
        self._iteration = 0
        self._kept = [resume_from] if resume_from else []

    def rollout(self, prompts: list[str], trainer: Any) -> dict[str, list[Any]]:
        """TRL's `rollout_func`: the rows for one iteration's tickets, each repeated K times."""
        iteration = int(prompts[0].partition(":")[0])
        if iteration != self._iteration:
            policy = trainer.live_policy
            groups = self.loop.rollout(policy, iteration)
            policy.release()
            if trainer.copy:
                trainer.copy.drop()
            self._rows = self._as_rows(groups, iteration)
            self._iteration = iteration
        first = trainer.accelerator.process_index * len(prompts)
        mine = slice(first, first + len(prompts))
        expected = [f"{iteration}:{n // self._run.rollouts}" for n in range(len(self._rows["score"]))][mine]
        if prompts != expected:
            raise CoevolveError(f"iteration {iteration}: the trainer's tickets are not those of its rows; this is a defect of coevolve")
        return {name: values[mine] for name, values in self._rows.items()}

    def _as_rows(self, groups: Sequence[RolloutGroup], iteration: int) -> dict[str, list[Any]]:
        from .trl_trainer import rows_for_trl

        run = self._run
        sizes = [len(group.trajectories) for group in groups]
        if sizes != [run.rollouts] * run.batch:
            raise CoevolveError(f"iteration {iteration}: {run.batch} groups of {run.rollouts} rollouts were due, these came: {sizes}")
        trajectories = [trajectory for group in groups for trajectory in group.trajectories]
        if any(t.score is not None and t.tokens is None for t in trajectories):
            raise UserError("the rollouts have no token ids, so nothing can be trained; the policy must give them")
        rows = rows_for_trl([t.tokens for t in trajectories], [t.score for t in trajectories], self._tokenizer.pad_token_id)
        if not any(map(sum, rows["env_mask"])):
            broken = [t.fault or "no reason given" for t in trajectories if t.score is None]
            why = f"{len(broken)} of {len(trajectories)} rollouts were infrastructure faults" + (f" ({broken[0]})" if broken else "")
            rest = "" if len(broken) == len(trajectories) else "; the others had no room for a completion: raise policy.max_context"
            change = "policy.max_context=LARGER" if rest else ""
            raise CoevolveError(f"iteration {iteration} has no token to train on: {why}{rest}", change=change)
        return dict(rows)

    @staticmethod
    def scores(prompts: list[str], completions: list[str], *, score: list[float | None], **_: Any) -> list[float | None]:
        """TRL's reward function: the scores that came with the rollouts."""
        return score

    def finish_iteration(self) -> bool:
        """All updates of an iteration are done: hand its metrics to the loop. Returns True when a checkpoint is due."""
        metrics, self._metrics = self._metrics.means(), IterationMetrics()
        gap, self.trainer.gap = self.gap, type(self.gap)()
        metrics |= {"logprob_gap": gap.mean, "logprob_gap_max": gap.max, "logprob_ratio": gap.ratio}
        metrics["trained_tokens"] = float(sum(map(sum, self._rows["env_mask"])))
        if not math.isfinite(metrics.get("grad_norm", 0.0)):  # DeepSpeed shows no gradients before its step
            raise CoevolveError(f"iteration {self._iteration}: the gradient is not finite; {RESUME}", change=SMALLER)
        return self.loop.finish_iteration(self._iteration, metrics)

    def bad_loss(self, loss: float) -> None:
        raise CoevolveError(f"iteration {self._iteration}: the loss is {loss}; {RESUME}", change=SMALLER)

    def finite(self, model: Any) -> None:
        """Refuse an update whose gradient is not finite."""
        from .sharded_weights import own

        if self.trainer.anywhere(not all(bool(own(p.grad).isfinite().all()) for p in model.parameters() if p.grad is not None)):
            raise CoevolveError(f"iteration {self._iteration}: the gradient is not finite; {RESUME}", change=SMALLER)

    def same_policy(self) -> None:
        """Refuse rollouts that were sampled from another policy than the one that is trained."""
        gap = self.gap = self.trainer.whole_gap()
        if not gap.mean <= self.largest_gap:
            what = f"differ by {gap.mean:.2g} a token (at most {gap.max:.2g}), above max_gap {self.largest_gap:g}"
            raise CoevolveError(
                f"iteration {self._iteration}: the log-probabilities of engine and trainer {what}: the rollouts were sampled from another "
                "policy than the one that is trained; the last checkpoint is untouched: resume from it with policy.name=transformers or "
                "policy.dtype=float32, or allow it with a larger trainer.max_gap"
            )

    def settle_rate(self, optimizer: Any, scheduler: Any) -> None:
        """Train at the rate of the options: a checkpoint brings the one that it was written with."""
        scheduler, rate = getattr(scheduler, "scheduler", scheduler), self.options.learning_rate
        scheduler.base_lrs = [rate] * len(scheduler.base_lrs)
        for group, factor in zip(optimizer.param_groups, scheduler.lr_lambdas, strict=True):
            group["initial_lr"], group["lr"] = rate, rate * factor(scheduler.last_epoch)
        scheduler._last_lr = [group["lr"] for group in optimizer.param_groups]

    def updated(self, step: int) -> None:
        """Collect the metrics of optimiser step `step`; after an iteration's last one, what samples with a copy takes the new weights."""
        self._metrics.add(self.trainer.take_metrics() | {"learning_rate": [self.learning_rate]})
        if step % self.options.num_iterations == 0:
            self.take_weights()

    def take_weights(self) -> None:
        """Give the trained weights to what samples with a copy of them."""
        if self.trainer.copy:
            self.trainer.copy.take(self.trainer.model)
        if isinstance(self.trainer.live_policy, TakesWeights):
            self.trainer.live_policy.take_weights()

    def saved(self, folder: Path) -> None:
        """Commit the complete checkpoint, then drop all but this and the one before."""
        self.loop.commit(self._iteration, folder)
        if not self.trainer.accelerator.is_main_process:
            return
        self._kept = [*self._kept[-1:], folder]
        kept = [path.resolve() for path in self._kept]
        for other in folder.parent.glob("checkpoint-*"):
            if other.resolve() not in kept:
                shutil.rmtree(other, ignore_errors=True)

    def callback(self) -> Any:
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
