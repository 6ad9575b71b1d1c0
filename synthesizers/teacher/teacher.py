"""The teacher (paper, section 3): an LLM reflects on the rollouts behind each signal, explores the environment again, and makes tasks of
the explored calls.

The paper's arms are options: `use_signals = false` explores at random, without reflection; `provider = "policy"` lets the policy in
training be its own teacher. Replies are untrusted: candidates are carried out here and judged by the validators.
"""

import random
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from attrs import fields_dict

from coevolve import WORDING, CandidateTask, Chat, Environment, Feedback, Journal, PlannedRun, Services, Verdict
from coevolve.endpoint import EndpointOptions

from .assignments import assignments
from .options import TeacherOptions, call_cap, estimate, missing_key

if TYPE_CHECKING:
    from .teacher_client import TeacherClient


class Teacher:
    """Synthesizes tasks with an LLM that explores around the signals."""

    name: ClassVar[str] = "teacher"
    Options: ClassVar[type] = TeacherOptions

    def __init__(self, options: TeacherOptions) -> None:
        self.options = options
        self._journal: Journal | None = None
        self._chat: Chat | None = None
        self._client: TeacherClient | None = None
        self._feedback: Feedback | None = None

    def bind_services(self, services: Services) -> None:
        self._journal, self._chat = services.journal, services.chat
        if text := missing_key(self.options):
            services.journal.notify(f"{text} (a replay needs none)")

    def estimate(self, plan: PlannedRun) -> list[str]:
        """Upper bounds on the calls, tokens and cost of a run, as lines for its plan."""
        return [f"teacher calls: {estimate(self.options, plan.evolutions, plan.initial, plan.repairs)}"]

    def reader(self) -> tuple[str, Mapping[str, Any]]:
        """The policy that attempts tasks as this teacher would: the same model at the same endpoint, or the policy in training."""
        if self.options.provider == "policy":
            return "", {}
        return "openai", {name: getattr(self.options, name) for name in fields_dict(EndpointOptions)}

    def repair(self, candidate: CandidateTask, verdict: Verdict, environment: Environment, rng: random.Random) -> CandidateTask | None:
        """Another candidate in its place, in one call: another request for the same solution, or another task of the explored calls.

        Which of the two depends on the verdict's reason. None where the option `repair` is off, and for reasons that neither repairs.
        """
        from .request_repair import repair_request
        from .task_repair import PROBLEMS, repair_task

        if not self.options.repair or self._client is None or self._feedback is None:
            return None
        if verdict.reason in WORDING:
            return repair_request(self._client, candidate, verdict, environment) if self.options.queries == "teacher" else None
        if verdict.reason not in PROBLEMS:
            return None
        pool, parents = self._feedback.pool, candidate.task.origin.parents
        start = next((task for task in pool if task.id in parents[:1]), candidate.task)
        several = any(action.turn for task in pool for action in task.solution)
        return repair_task(self._client, candidate, verdict, environment, start, several)

    def synthesize(self, feedback: Feedback, environment: Environment, rng: random.Random) -> Iterator[CandidateTask]:
        from .evolution import Evolution
        from .teacher_client import TeacherClient

        if self._journal is None:
            raise RuntimeError("bind_services comes before synthesize")
        self._client = self._client or TeacherClient(self.options, self._journal, self._chat)
        self._client.begin(feedback.iteration)
        self._feedback = feedback
        evolution = Evolution(self.options, self._client, feedback, environment, self._calls(feedback.iteration))
        try:
            yield from evolution.run(assignments(feedback, self.options, rng))
        finally:
            if text := evolution.problems():
                self._journal.notify(text)

    def _calls(self, iteration: int) -> int | None:
        """The number of calls that this evolution may make; None without a limit.

        Only calls of earlier evolutions are subtracted, so an evolution that is repeated after a resume gets the same number.
        """
        assert self._journal is not None
        limits = [self.options.calls_per_evolution] if self.options.calls_per_evolution else []
        if (cap := call_cap(self.options)) is not None:
            limits.append(max(0, cap - sum(call.iteration < iteration and call.sent for call in self._journal.calls())))
        return min(limits) if limits else None
