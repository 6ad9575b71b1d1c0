"""How many candidates of each operator the validator "execution" admits on BFCL, and why it refuses the others.

python benchmarks/bfcl_operators.py [SEED [CALLS [OPTION=VALUE ...]]]      # options of the validator "execution"
"""

import json
import random
import sys
import time
from collections import Counter
from typing import Any

from coevolve import TaskPool
from coevolve.environments.bfcl.environment import Bfcl, BfclOptions
from coevolve.plugins.validators.execution import Execution, ExecutionOptions
from coevolve.synthesizers.operators import Operators, OperatorsOptions
from coevolve.synthesizers.variants import OPERATORS
from coevolve.testing import make_feedback


def main(seed: int = 0, calls: int = 6000, **options: bool) -> None:
    environment: Any = Bfcl(BfclOptions())
    validator = Execution(ExecutionOptions(**options))
    tasks, held_out = environment.tasks("train"), environment.tasks("test")
    for operator in OPERATORS:
        reasons: Counter[str] = Counter()
        pool, begun = TaskPool(tuple(tasks)), time.perf_counter()
        made = Operators(OperatorsOptions(operators=(operator,), max_calls=calls))
        for candidate in made.synthesize(make_feedback(tasks, wanted=10**6), environment, random.Random(seed)):
            verdict = validator.validate(candidate, environment, pool, held_out)
            reasons[str(verdict.reason)] += 1
            if verdict.accepted:
                pool = pool.with_tasks([candidate.task])
        total, refused = sum(reasons.values()), {reason: n for reason, n in reasons.most_common() if reason != "accepted"}
        seconds = time.perf_counter() - begun
        print(f"{operator:10} {reasons['accepted']:4} of {total:4} admitted, {seconds:.1f} s; refused: {refused}")


if __name__ == "__main__":
    settings = dict(argument.split("=", 1) for argument in sys.argv[3:])
    main(*map(int, sys.argv[1:3]), **{key: json.loads(value) for key, value in settings.items()})
