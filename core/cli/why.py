"""`coevolve why RUN TASK`: where a task came from and what happened to it, read from the run's store.

The story in order: the signal and the rollouts that it was detected in, the reflection, the exploration, the teacher's calls with their
cost, the verdict with the attempts that it rests on, and the task's success since. A refused candidate's story ends with its verdict.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

from ..errors import UserError, did_you_mean
from ..model import Action, CandidateTask, RolloutGroup, Step, Task, Trajectory
from ..record.store import Store, from_json
from ..rollouts.evaluation_report import transcript
from ..rollouts.policy_attempts import attempt_key
from ..text import one_line

LONG = 300
"""Characters printed of one observation or reply; `--full` prints all."""


def why(folder: Path, task_id: str, *, full: bool = False) -> Iterator[str]:
    """Lines of the story; UserError for an unknown task. `full` prints observations, requests and replies whole."""
    with closing(Store(folder / "run.sqlite")) as store:
        pool = {task.id: task for task in store.pool()}
        rows = store.rows(
            "SELECT c.candidate, v.accepted, v.reason, v.detail, c.iteration FROM candidates c "
            "JOIN verdicts v ON v.candidate_number = c.number WHERE c.task_id = ? ORDER BY c.number DESC LIMIT 1",
            task_id,
        )
        if task_id not in pool and not rows:
            known = {row[0] for row in store.rows("SELECT DISTINCT task_id FROM candidates")} | set(pool)
            raise UserError(f"{folder} has no task {task_id!r}{did_you_mean(task_id, known)}")
        candidate = from_json(rows[0][0], CandidateTask) if rows else None
        task = pool.get(task_id) or (candidate.task if candidate else None)
        assert task is not None
        yield from _task_lines(task)
        if candidate is None:
            yield f"\norigin: a seed task of {task.environment}, in the pool from the start"
        else:
            yield from _origin(store, candidate, full)
            accepted, reason, detail, iteration = rows[0][1:]
            yield f"\nverdict at iteration {iteration}: {'accepted' if accepted else 'refused'}" + (
                "" if accepted else f", {reason}: {detail}"
            )
            yield from _attempts(store.attempts(task_id), full)
            if accepted and task.solution != candidate.task.solution:
                yield f"  a validator shortened its solution from {len(candidate.task.solution)} to {len(task.solution)} calls"
        yield from _since(store, task) if task_id in pool else ()


def _task_lines(task: Task) -> Iterator[str]:
    yield f"task {task.id}\n  query: {task.query}"
    if task.intent:
        yield f"  intent: {task.intent}"
    yield "  solution:"
    yield from (f"    {number}. {_call(action)}" for number, action in enumerate(task.solution, 1))


def _origin(store: Store, candidate: CandidateTask, full: bool) -> Iterator[str]:
    origin, context = candidate.task.origin, candidate.context
    parents = f", made from {', '.join(origin.parents)}" if origin.parents else ""
    yield f"\norigin: {origin.kind}, evolution of iteration {origin.iteration}{parents}"
    if origin.detail:
        yield f"  detail: {json.dumps(dict(origin.detail))}"
    if context and context.signal:
        signal = context.signal
        yield f"\nsignal: {signal.kind} on {signal.task_id} at iteration {signal.iteration}, strength {signal.strength:.2f}"
        yield f"  evidence: {json.dumps(dict(signal.evidence))}"
        yield from _rollouts([g for g in store.groups(signal.iteration - 1, signal.task_id) if g.iteration == signal.iteration])
    elif context is None or context.signal is None:
        yield "\nsignal: none, it was found without one"
    if context:
        yield f"\nreflection: {context.weakness}"
        yield from (f"  to try: {target}" for target in context.targets)
    if candidate.exploration:
        yield f"\nexploration: {len(candidate.exploration)} steps"
        yield from (f"  {number}. {_step(step, full)}" for number, step in enumerate(candidate.exploration, 1))
    yield from _calls(store, (*candidate.calls, attempt_key(candidate.task)), full)


def _rollouts(groups: Sequence[RolloutGroup]) -> Iterator[str]:
    """The signal's rollouts in a line each, the best and the worst with their calls."""
    for group in groups:
        known = "" if group.progress is None else f", mean progress {group.progress:.2f}"
        yield f"  its rollouts: scores {[round(score, 3) for score in group.scores]}{known}"
        yield from _best_and_worst(group.trajectories)


def _best_and_worst(rollouts: Sequence[Trajectory]) -> Iterator[str]:
    scored = sorted((t for t in rollouts if t.score is not None), key=lambda t: (t.score or 0.0, t.progress or 0.0))
    for trajectory in {id(t): t for t in (scored[-1:] + scored[:1])}.values():
        done = "" if trajectory.progress is None else f", progress {trajectory.progress:.2f}"
        yield f"    rollout {trajectory.index}, score {trajectory.score:g}{done}: {_path(trajectory)}"


def _attempts(made: Sequence[Trajectory], full: bool) -> Iterator[str]:
    """The attempts at the door, the best and the worst with their calls; `full`: all of them as they were written."""
    if not made:
        return
    scores, broken = [round(t.score, 3) for t in made if t.score is not None], sum(t.score is None for t in made)
    yield f"  attempts by the policy in training: scores {scores}" + (f", {broken} broke off" if broken else "")
    if full:
        for trajectory in made:
            yield f"    rollout {trajectory.index}, {trajectory.outcome}"
            yield from (f"      {line}" for line in transcript(trajectory).splitlines())
    else:
        yield from _best_and_worst(made)


def _path(trajectory: Trajectory) -> str:
    calls = [step.action.name + (" (failed)" if step.error else "") for step in trajectory.steps]
    return " > ".join(calls) or f"no call ({trajectory.fault or 'no text'})"


def _calls(store: Store, keys: Sequence[str], full: bool) -> Iterator[str]:
    found = [call for _, call in store.teacher_calls(keys)] if keys else []
    if not found:
        return
    cost = sum(call.cost for call in found)
    yield f"\nteacher: {sum(call.sent for call in found)} calls, {sum(call.tokens for call in found):,} tokens, cost {cost:.6g}"
    for call in found:
        yield (
            f"  {call.key}: {call.purpose} by {call.model}, {call.prompt_tokens} + {call.completion_tokens} tokens, cost {call.cost:.6g}, "
            f"{call.seconds:.1f} s" + (f"; {'not sent' if call.unsent else 'failed'}: {call.fault}" if call.fault else "")
        )
        if full:
            yield from (f"    {message.get('role')}: {message.get('content')}" for message in call.request.get("messages", ()))
        if call.reply is not None:
            yield f"    reply: {call.reply if full else _short(call.reply)}"


def _since(store: Store, task: Task) -> Iterator[str]:
    attempts = store.rows("SELECT iteration, mean, scored FROM groups WHERE task_id = ? AND mean IS NOT NULL ORDER BY number", task.id)
    if not attempts:
        yield "\nsince then: not tried yet"
        return
    yield f"\nsince then: tried in {len(attempts)} iterations, mean score {attempts[0][1]:.2f} at first, {attempts[-1][1]:.2f} at last"
    yield from (f"  iteration {iteration}: {mean:.2f} of {scored} rollouts" for iteration, mean, scored in attempts)


def _step(step: Step, full: bool) -> str:
    return f"{_call(step.action)} {'! ' + step.error if step.error else '-> ' + (step.observation if full else _short(step.observation))}"


def _call(action: Action) -> str:
    return f"{action.name} {json.dumps(dict(action.arguments), ensure_ascii=False)}"


def _short(text: str) -> str:
    line = one_line(text)
    return line if len(line) <= LONG else f"{line[:LONG]} ... ({len(line) - LONG} more characters, see --full)"
