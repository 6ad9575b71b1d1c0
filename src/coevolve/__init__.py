"""Train an LLM agent and its training data together (CoEvolve, arXiv 2604.15840). These are the public names."""

__version__ = "0.1.0"

import typing

from coevolve.core.contracts import (
    Component,
    Conversation,
    Environment,
    EnvironmentSource,
    Episode,
    Executor,
    LightEnvironment,
    LightEpisode,
    LoopState,
    Policy,
    RunInfo,
    Sampler,
    SignalDetector,
    Synthesizer,
    Trainer,
    Validator,
    Worker,
    WorkerSettings,
)
from coevolve.core.errors import CoevolveError, InfrastructureFault, TooManyFaults, UserError, WorkerLost, did_you_mean
from coevolve.core.hookspecs import hookimpl
from coevolve.core.model import (
    SUCCESS,
    Action,
    Attempt,
    CandidateTask,
    Description,
    ExplorationContext,
    Feedback,
    History,
    Message,
    Observation,
    Origin,
    Outcome,
    RolloutGroup,
    Sampling,
    Signal,
    Step,
    Task,
    TaskKeys,
    TaskPool,
    TeacherCall,
    Tokens,
    Tool,
    Trajectory,
    Unsent,
    Verdict,
)
from coevolve.core.optional import (
    NOTE,
    Checkable,
    HasAggregates,
    HasEstimate,
    HasFixedOptions,
    HasMetrics,
    HasProvenance,
    HasUsage,
    HasWeights,
    Installable,
    ModelSettings,
    NeedsEnvironment,
    NeedsServices,
    PlannedRun,
    StreamsCompletions,
)
from coevolve.core.refusals import Reason, Refusal
from coevolve.core.replay import Replay, perform, play
from coevolve.core.run.trained_run import TrainedRun, trained_run
from coevolve.core.services import Attempts, Chat, Journal, Services
from coevolve.core.text import error_line, one_line

if typing.TYPE_CHECKING:
    from coevolve.core.loop import iterate

__all__ = [
    "NOTE",
    "SUCCESS",
    "Action",
    "Attempt",
    "Attempts",
    "CandidateTask",
    "Chat",
    "Checkable",
    "CoevolveError",
    "Component",
    "Conversation",
    "Description",
    "Environment",
    "EnvironmentSource",
    "Episode",
    "Executor",
    "ExplorationContext",
    "Feedback",
    "HasAggregates",
    "HasEstimate",
    "HasFixedOptions",
    "HasMetrics",
    "HasProvenance",
    "HasUsage",
    "HasWeights",
    "History",
    "InfrastructureFault",
    "Installable",
    "Journal",
    "LightEnvironment",
    "LightEpisode",
    "LoopState",
    "Message",
    "ModelSettings",
    "NeedsEnvironment",
    "NeedsServices",
    "Observation",
    "Origin",
    "Outcome",
    "PlannedRun",
    "Policy",
    "Reason",
    "Refusal",
    "Replay",
    "RolloutGroup",
    "RunInfo",
    "Sampler",
    "Sampling",
    "Services",
    "Signal",
    "SignalDetector",
    "Step",
    "StreamsCompletions",
    "Synthesizer",
    "Task",
    "TaskKeys",
    "TaskPool",
    "TeacherCall",
    "Tokens",
    "TooManyFaults",
    "Tool",
    "TrainedRun",
    "Trainer",
    "Trajectory",
    "Unsent",
    "UserError",
    "Validator",
    "Verdict",
    "Worker",
    "WorkerLost",
    "WorkerSettings",
    "__version__",
    "did_you_mean",
    "error_line",
    "hookimpl",
    "iterate",
    "one_line",
    "perform",
    "play",
    "trained_run",
]


def __getattr__(name: str) -> object:
    """Import `iterate` at its first use: the loop brings the store and the settings, for which `coevolve --help` should not wait."""
    if name == "iterate":
        from coevolve.core.loop import iterate

        return iterate
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
