"""Render the agent's rollouts as text for the teacher, by the kind of the signal (paper, section 3: signal-annotated trajectories).

Boundary: a success and a failure, with the calls around the first difference, or where none succeeded the failures that did most and
least of the task. Forgetting: the earlier success and the present failure.
Rare: a trajectory with the rare pattern, and its neighbours: the trajectories of other tasks that share the most patterns with it. The only
source is the rollouts in the arguments, which are rollouts of training tasks.
"""

from collections.abc import Sequence

from coevolve import RolloutGroup, Signal, Step, Trajectory

from .rendering import cut, transcript

_LEAST = 200
"""Lower bound on the characters of each transcript."""


def evidence(signal: Signal | None, groups: Sequence[RolloutGroup], others: Sequence[RolloutGroup], chars: int) -> str:
    """The evidence for a signal in at most `chars` characters. `groups` are the task's rollouts in order, `others` are of other tasks."""
    if signal is None:
        text = _plain(groups, chars)
    elif signal.kind == "boundary":
        text = _boundary(signal, groups, chars)
    elif signal.kind == "forgetting":
        text = _forgetting(signal, groups, chars)
    elif signal.kind == "rare":
        text = _rare(signal, groups, others, chars)
    else:
        text = _plain(groups, chars)
    return cut(text or "No attempt is at hand.", chars)


def parting(first: Sequence[Step], second: Sequence[Step]) -> int:
    """The number of calls that two trajectories have in common from the beginning: the index of the first difference."""
    common = 0
    for one, other in zip(first, second, strict=False):
        if (one.action.name, one.action.arguments, one.error) != (other.action.name, other.action.arguments, other.error):
            break
        common += 1
    return common


def _boundary(signal: Signal, groups: Sequence[RolloutGroup], chars: int) -> str:
    now = [trajectory for group in groups if group.iteration == signal.iteration for trajectory in group.trajectories]
    successes, rollouts = signal.evidence.get("successes"), signal.evidence.get("rollouts")
    known = successes is not None and rollouts is not None
    head = f"{successes} of {rollouts} attempts at iteration {signal.iteration} succeeded." if known else ""
    if signal.evidence.get("of") == "progress" and not _successes(now):
        return _further(head, now, chars)
    return _pair(head, "An attempt that succeeded:", _successes(now), "An attempt that failed:", _failures(now), chars)


def _further(head: str, now: Sequence[Trajectory], chars: int) -> str:
    """Two failures: the one that did most of the task and the one that did least."""
    known = sorted(_failures(now), key=lambda t: t.progress or 0.0)
    each = max(_LEAST, (chars - len(head)) // 2 - 4)
    titled = [("The attempt that got furthest, and failed:", t) for t in known[-1:]]
    titled += [("The attempt that did least:", t) for t in known[:1] if len(known) > 1]
    return "\n\n".join([*filter(None, [head]), *(transcript(title, trajectory, each) for title, trajectory in titled)])


def _forgetting(signal: Signal, groups: Sequence[RolloutGroup], chars: int) -> str:
    now = [trajectory for group in groups if group.iteration == signal.iteration for trajectory in group.trajectories]
    before = [trajectory for group in groups if group.iteration < signal.iteration for trajectory in group.trajectories]
    recent, present = ", ".join(f"{score:.3g}" for score in signal.evidence.get("recent") or ()), signal.evidence.get("now")
    of = "progress" if signal.evidence.get("of") == "progress" else "scores"
    said = [f"Mean {of} of the attempts before: {recent}."] * bool(recent) + [f"Now: {present}."] * (present is not None)
    earlier, title = _successes(before), "An earlier attempt that succeeded:"
    if not earlier:
        said.append("The earlier success itself is not at hand.")
        earlier, title = _successes(now), "An attempt that still succeeds:"
    return _pair(" ".join(said), title, earlier, "An attempt now, that failed:", _failures(now), chars)


def _rare(signal: Signal, groups: Sequence[RolloutGroup], others: Sequence[RolloutGroup], chars: int) -> str:
    counts, observations = signal.evidence.get("counts") or {}, signal.evidence.get("observations")
    patterns_seen = ", ".join(f"{pattern} ({count} times)" for pattern, count in counts.items())
    among = "Rare" if observations is None else f"Rare among {observations} observations"
    head = f"{among}: {cut(patterns_seen, max(_LEAST, chars // 6))}" if patterns_seen else ""
    own = [trajectory for group in groups for trajectory in _scored(group.trajectories)]
    showing = sorted((t for t in own if set(t.patterns) & set(counts)), key=lambda t: (-t.iteration, t.index)) or own
    if not showing:
        return head
    patterns = set(showing[0].patterns)
    near = sorted(
        ((group, trajectory) for group in others for trajectory in _scored(group.trajectories) if set(trajectory.patterns) & patterns),
        key=lambda pair: (-_likeness(patterns, set(pair[1].patterns)), -pair[1].iteration, pair[1].task_id, pair[1].index),
    )
    neighbours = list({group.task.id: (group, trajectory) for group, trajectory in reversed(near)}.values())[::-1][:2]
    each = max(_LEAST, (chars - len(head)) // (1 + len(neighbours)) - 2)
    parts = [*filter(None, [head]), transcript("An attempt that shows it:", showing[0], each)]
    for group, trajectory in neighbours:
        title = f"A neighbour, another task ({cut(' '.join(group.task.query.split()), 200)}):"
        parts.append(transcript(title, trajectory, each))
    return "\n\n".join(parts)


def _plain(groups: Sequence[RolloutGroup], chars: int) -> str:
    all_of_them = [trajectory for group in groups for trajectory in _scored(group.trajectories)]
    return _pair("", "An attempt that succeeded:", _successes(all_of_them), "An attempt that failed:", _failures(all_of_them), chars)


def _pair(head: str, good_title: str, good: Sequence[Trajectory], bad_title: str, bad: Sequence[Trajectory], chars: int) -> str:
    """The success and the failure that have the most calls in common from the beginning: their difference is the most informative."""
    parts = [head] if head else []
    success, failure, focus = next(iter(good), None), next(iter(bad), None), None
    if good and bad:
        success, failure = max(((s, f) for s in good for f in bad), key=lambda two: parting(two[0].steps, two[1].steps))
        focus = parting(success.steps, failure.steps)
        parts.append(_parted(focus, len(success.steps), len(failure.steps)))
    shown = [(title, one) for title, one in ((good_title, success), (bad_title, failure)) if one is not None]
    room = chars - sum(len(part) + 2 for part in parts)
    each = max(_LEAST, room // max(1, len(shown)) - 2)
    return "\n\n".join([*parts, *(transcript(title, one, each, focus) for title, one in shown)])


def _parted(common: int, good: int, bad: int) -> str:
    """How a success of `good` calls and a failure of `bad` calls differ, whose first `common` calls are the same."""
    if common == good == bad:
        return f"Both make the same calls, {common} in all."
    if common == bad:
        return f"The attempt that failed makes only the first {common} of the {good} calls: it stopped there."
    if common == good:
        return f"The attempt that failed makes all {good} calls of the one that succeeded, and then {bad - good} more."
    return f"The first {common} calls are the same in both; they part at call {common + 1}."


def _scored(trajectories: Sequence[Trajectory]) -> list[Trajectory]:
    return [trajectory for trajectory in trajectories if trajectory.score is not None]


def _successes(trajectories: Sequence[Trajectory]) -> list[Trajectory]:
    """The successes, latest first and shortest first among equals."""
    return sorted((t for t in _scored(trajectories) if t.success), key=lambda t: (-t.iteration, len(t.steps), t.index))


def _failures(trajectories: Sequence[Trajectory]) -> list[Trajectory]:
    return sorted((t for t in _scored(trajectories) if not t.success), key=lambda t: (-t.iteration, len(t.steps), t.index))


def _likeness(first: set[str], second: set[str]) -> float:
    """The Jaccard index of two sets."""
    return len(first & second) / len(first | second)
