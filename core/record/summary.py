"""What a run achieved, read out of its store: the final table, `coevolve show RUN`, summary.json."""

from collections.abc import Mapping
from typing import Any

from ..settings.config import Config
from .store import Store

LEARNING = ("generation", "environment", "update", "evaluation")
OVERLAP = "first_tasks_held_out"
"""Name of the metric, of iteration 0, that counts the first tasks that are held-out tasks too."""
FEEDBACK = ("signals", "synthesis", "validation")


COUNTS = {
    "signals": "SELECT kind, count(*) FROM signals GROUP BY kind ORDER BY kind",
    "pool": "SELECT origin, count(*) FROM tasks GROUP BY origin ORDER BY min(number)",
    "rejected": "SELECT reason, count(*) FROM verdicts WHERE NOT accepted GROUP BY reason ORDER BY count(*) DESC, reason",
}
"""Queries for the counts of a run: signals by kind, pool by origin, refusals by reason."""


REPAIRS = (
    "SELECT iif(name = 'repairs', 'tried', 'admitted'), sum(value) FROM metrics WHERE name IN ('repairs', 'repaired') "
    "GROUP BY name HAVING sum(value) > 0 ORDER BY name DESC"
)
"""Query for the number of repaired candidates that were tried, and of those that were admitted."""


def summarize(store: Store, config: Config, provenance: Mapping[str, Any], seconds: Mapping[str, float], wall: float) -> dict[str, Any]:
    """The summary as JSON values. `seconds` by part and `wall` cover all processes of the run up to each one's last checkpoint."""

    def counts(sql: str) -> dict[str, int]:
        return {str(key): int(n) for key, n in store.rows(sql)}

    outcomes = counts("SELECT outcome, count(*) FROM trajectories GROUP BY outcome")
    reward = store.rows("SELECT iteration, avg(mean) FROM groups GROUP BY iteration ORDER BY iteration")
    return {
        "environment": config.environment.name,
        "provenance": {**provenance, "split": config.evaluation.split, "max_new_tokens": config.max_new_tokens},
        "seed": config.seed,
        "iterations": reward[-1][0] if reward else 0,
        "overlap": overlap_text(count, config.evaluation.split) if (count := overlap(store)) else "",
        "held_out": evaluations(store, config.evaluation.split),
        "train_success": {"first": reward[0][1], "last": reward[-1][1]} if reward else {},
        **{name: counts(sql) for name, sql in COUNTS.items()},
        "teacher": teacher(store),
        "rollouts": sum(outcomes.values()),
        "attempts": attempts(store),
        "repaired": {name: int(n) for name, n in store.rows(REPAIRS)},
        "faults": {key: n for key, n in outcomes.items() if key != "completed"},
        "worker_faults": counts("SELECT 'lost', coalesce(sum(value), 0) FROM metrics WHERE name = 'worker_faults'")["lost"],
        "seconds": {key: round(value, 3) for key, value in sorted(seconds.items(), key=lambda item: -item[1])},
        "wall_seconds": round(wall, 3),
        "share": shares(seconds, wall),
    }


def attempts(store: Store) -> int:
    """How many attempts the policy in training made at candidates, beside the training rollouts."""
    return int(store.rows("SELECT count(*) FROM attempts")[0][0])


def overlap(store: Store) -> int:
    """How many of the run's first tasks are held-out tasks too."""
    return int(sum(value for (value,) in store.rows("SELECT value FROM metrics WHERE name = ?", OVERLAP)))


def overlap_text(count: int, split: str) -> str:
    """What a result must be shown with where `count` of a run's first tasks are held-out tasks too."""
    return f"{count} of the run's first tasks are tasks of the held-out split {split} too: this is not the success on tasks it never saw"


def teacher(store: Store) -> dict[str, dict[str, float]]:
    """Calls, failed calls, tokens and cost by purpose; empty when no teacher was asked."""
    return {
        purpose: {"calls": calls, "failed": failed, "tokens": tokens, "cost": cost}
        for purpose, calls, failed, tokens, cost in store.rows(
            "SELECT purpose, count(*), sum(reply IS NULL), sum(prompt_tokens + completion_tokens), sum(cost) FROM teacher_calls "
            "WHERE sent GROUP BY purpose ORDER BY min(number)"
        )
    }


def evaluations(store: Store, split: str) -> dict[str, dict[str, Any]]:
    """By mode: success at the first and the last evaluation, all of them by iteration, and how many tasks the last one had."""
    found: dict[str, dict[str, Any]] = {}
    for mode, iteration, success, tasks in store.rows(
        "SELECT mode, iteration, success, tasks FROM evaluations WHERE split = ? ORDER BY iteration", split
    ):
        of_mode = found.setdefault(mode, {"before": success, "by_iteration": {}})
        of_mode["by_iteration"][str(iteration)] = success
        of_mode |= {"after": success, "tasks": tasks}
    return found


def shares(seconds: Mapping[str, float], wall: float) -> dict[str, float]:
    """Shares of the wall time: each learning part, the feedback stage, and the overhead (all that is neither learning nor feedback)."""
    if wall <= 0:
        return {}
    found = {name: seconds.get(name, 0.0) / wall for name in (*LEARNING, *FEEDBACK)}
    found["feedback"] = sum(found[name] for name in FEEDBACK)
    found["start"] = seconds.get("start", 0.0) / wall
    found["overhead"] = max(0.0, 1.0 - sum(found[name] for name in LEARNING) - found["feedback"] - found["start"])
    return {name: round(value, 4) for name, value in found.items()}
