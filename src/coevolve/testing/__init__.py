"""What the authors of plugins need in their tests: a small environment, policies, a trainer without torch, small runs, builders, checks.

    from coevolve.testing import Stockroom, StockroomOptions, check_signal, make_group

    def test_my_signal():
        check_signal(MySignal(MySignal.Options()))

Every `check_...` raises an AssertionError that says in one sentence what is wrong.
"""

from .builders import make_feedback, make_group, make_services, make_task, make_trajectory
from .checks import check_environment, check_sampler, check_signal, check_synthesizer, check_validator, replay
from .learner import ScriptedOptions, ScriptedPolicy, TabularOptions, TabularPolicy, TabularTrainer, TabularTrainerOptions
from .registration import registered
from .small_runs import SmallRuns
from .stockroom import Stockroom, StockroomOptions

__all__ = [
    "ScriptedOptions",
    "ScriptedPolicy",
    "SmallRuns",
    "Stockroom",
    "StockroomOptions",
    "TabularOptions",
    "TabularPolicy",
    "TabularTrainer",
    "TabularTrainerOptions",
    "check_environment",
    "check_sampler",
    "check_signal",
    "check_synthesizer",
    "check_validator",
    "make_feedback",
    "make_group",
    "make_services",
    "make_task",
    "make_trajectory",
    "registered",
    "replay",
]
