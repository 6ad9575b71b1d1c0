"""Attempts at a candidate task by a policy, for components that ask for them (services.Services.attempts)."""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Self

from attrs import define, frozen

from ..contracts import Policy, Trainer
from ..errors import InfrastructureFault, UserError
from ..model import RolloutGroup, Sampling, Task, TeacherCall, Trajectory
from ..optional import HasUsage, NeedsEnvironment
from ..randomness import derive
from ..record.store import from_json, to_json
from ..registry import Registry
from ..services import Journal
from ..settings.config import Config
from ..settings.toml_to_attrs import SettingError, structure
from .runner import RolloutRunner


@frozen
class PolicyAttempts:
    """services.Attempts over a runner; without a `policy` the one in training attempts, as trained so far."""

    runner: RolloutRunner
    trainer: Trainer
    config: Config
    policy: Policy | None = None

    @classmethod
    def of(cls, name: str, options: Mapping[str, Any], config: Config, registry: Registry, runner: RolloutRunner, trainer: Trainer) -> Self:
        """Attempts by the policy of that name, made with `options`; UserError for an unknown name or options that do not fit."""
        policy = make_policy(name, options, registry)
        if isinstance(policy, NeedsEnvironment):
            policy.bind(runner.environment)
        return cls(runner, trainer, config, policy)

    def __call__(self, tasks: Sequence[Task], count: int, temperature: float, first: int = 0) -> list[RolloutGroup]:
        if not tasks:
            return []
        sampling = Sampling(temperature, self.config.max_new_tokens, derive(self.config.seed, "attempts"))
        policy, iteration = self.policy or self.trainer.policy(), tasks[0].origin.iteration
        return self.runner.run(policy, tasks, count, sampling, iteration, first=first)

    def usage(self) -> Mapping[str, float]:
        """What the policy's attempts have cost so far; empty for a policy that does not say."""
        return self.policy.usage() if isinstance(self.policy, HasUsage) else {}

    @property
    def model(self) -> str:
        """The name of the policy's model, for the record."""
        return str(getattr(getattr(self.policy, "options", None), "model", ""))


@define
class SharedAttempts:
    """services.Attempts of which, within `shared`, each is made once: whoever asks for it again gets the same one.

    The policy in training attempts so. The door shares its attempts among the validators of a wave; the weights stay the same meanwhile.
    """

    attempts: PolicyAttempts
    _made: dict[tuple[str, float], tuple[Task, dict[int, Trajectory]]] | None = None
    """Within `shared`, for each id of a task and temperature: the task, and its attempts by index."""

    @contextmanager
    def shared(self) -> Iterator[None]:
        """Keep the attempts that are made inside, and drop them at the end."""
        self._made = {}
        try:
            yield
        finally:
            self._made = None

    def made(self, task_id: str) -> RolloutGroup | None:
        """The attempts made so far, within `shared`, at the newest task with that id; None where there are none."""
        found = [of_task for (tried, _), of_task in list((self._made or {}).items()) if tried == task_id]
        trajectories = tuple(attempts[index] for _, attempts in found for index in sorted(attempts))
        return RolloutGroup(found[-1][0], found[-1][0].origin.iteration, trajectories) if trajectories else None

    def __call__(self, tasks: Sequence[Task], count: int, temperature: float, first: int = 0) -> list[RolloutGroup]:
        made = {} if self._made is None else self._made
        known = [_known(made, task, temperature) for task in tasks]
        wanted = range(first, first + count)
        lacking: dict[range, list[int]] = {}
        for n, of_task in enumerate(known):
            if missing := [index for index in wanted if index not in of_task]:
                lacking.setdefault(range(missing[0], missing[-1] + 1), []).append(n)
        for indices, numbers in lacking.items():
            groups = self.attempts([tasks[n] for n in numbers], len(indices), temperature, indices.start)
            for n, group in zip(numbers, groups, strict=True):
                known[n].update((t.index, t) for t in group.trajectories)
        return [
            RolloutGroup(task, task.origin.iteration, tuple(of_task[index] for index in wanted))
            for task, of_task in zip(tasks, known, strict=True)
        ]


def _known(made: dict[tuple[str, float], tuple[Task, dict[int, Trajectory]]], task: Task, temperature: float) -> dict[int, Trajectory]:
    """The attempts at exactly this task; another one with its id (a longer solution, say) has been judged before."""
    if (task.id, temperature) not in made or made[task.id, temperature][0] != task:
        made[task.id, temperature] = (task, {})
    return made[task.id, temperature][1]


@frozen
class JournalledAttempts:
    """services.Attempts that are stored as calls of the teacher: paid for once, and recalled by a resumed or replayed run.

    One row of the journal stands for the attempts at a task that were asked for at once; its reply is the rollout group as JSON. Tasks are
    attempted one after the other, so that each has its own cost.
    """

    attempts: PolicyAttempts
    journal: Journal

    def __call__(self, tasks: Sequence[Task], count: int, temperature: float, first: int = 0) -> list[RolloutGroup]:
        return [self._of(task, count, temperature, first) for task in tasks]

    def _of(self, task: Task, count: int, temperature: float, first: int) -> RolloutGroup:
        key, iteration = attempt_key(task, first), task.origin.iteration
        request = {
            "model": self.attempts.model,
            "messages": [{"role": "user", "content": task.query}],
            "count": count,
            "temperature": temperature,
        }
        if known := self.journal.recall(key, request):
            if known[-1].reply is None:
                raise InfrastructureFault(known[-1].fault or "the attempts failed")
            return from_json(known[-1].reply, RolloutGroup)
        before, begun = dict(self.attempts.usage()), time.monotonic()
        group: RolloutGroup | None = None
        fault: str | None = None
        try:
            (group,) = self.attempts([task], count, temperature, first)
        except InfrastructureFault as error:
            fault = str(error)
            raise
        finally:
            spent = {name: value - before.get(name, 0) for name, value in self.attempts.usage().items()}
            if group is not None or fault is not None:
                reply = None if group is None else to_json(group)
                tokens = int(spent.get("prompt_tokens", 0)), int(spent.get("completion_tokens", 0))
                seconds = time.monotonic() - begun
                about = (key, iteration, "attempt", self.attempts.model, request)
                self.journal.record(TeacherCall(*about, reply, fault, *tokens, spent.get("cost", 0.0), seconds))
        return group


def attempt_key(task: Task, first: int = 0) -> str:
    """The key under which the journal keeps the teacher's attempts at a task, from number `first` on."""
    return f"{task.origin.iteration}/attempt/{task.id}" + (f"/{first}" if first else "")


def make_policy(name: str, options: Mapping[str, Any], registry: Registry) -> Any:
    """The policy of that name, not yet used; None for "", the policy in training. UserError as in `PolicyAttempts.of`."""
    if not name:
        return None
    component = registry.component("policy", name)
    try:
        return component(structure(dict(options), component.Options, f"the settings of policy {name!r} for attempts"))
    except SettingError as misfit:
        raise UserError(misfit.text) from misfit
