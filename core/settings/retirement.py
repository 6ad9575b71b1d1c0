"""Settings of resting tasks; rollouts/resting_tasks.py has the rule."""

from attrs import field, frozen
from attrs.validators import and_, ge, gt, le


@frozen
class Retirement:
    """When tasks rest, and how many take part at once."""

    solved_after: int = field(default=0, validator=ge(0))
    """Attempts in a row, each solved, after which a task rests (0: never)."""
    impossible_after: int = field(default=0, validator=ge(0))
    """Attempts in a row, each without any success, after which a task rests (0: never)."""
    solved: float = field(default=1.0, validator=and_(gt(0), le(1)))
    """Mean score over the K rollouts from which on an attempt counts as solved."""
    rest: int = field(default=20, validator=ge(1))
    """Iterations that a task rests before it may be tried once more."""
    limit: int = field(default=0, validator=ge(0))
    """Tasks that batches are drawn from at most (0: all that do not rest): untried ones first, then unsettled, impossible, solved ones, and
    of equals the newer."""
