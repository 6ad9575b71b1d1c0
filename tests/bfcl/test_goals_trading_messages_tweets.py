"""The goals around the brokerage account, the workspace messages and the Twitter account, tried in all train worlds that have them."""

from collections.abc import Iterator

import pytest

from coevolve import CandidateTask, ExplorationContext, Goal, Step, Task, TaskPool
from coevolve.environments.bfcl.decode import Call
from coevolve.environments.bfcl.environment import Bfcl
from coevolve.environments.bfcl.goals.story import goals, known_goals
from coevolve.environments.bfcl.goals.trading import OBSCURE
from coevolve.environments.bfcl.realizer import Made, word
from coevolve.environments.bfcl.simulated_apis import Start, fresh
from coevolve.plugins.validators.execution import Execution, ExecutionOptions

OWNERS = ("TradingBot", "MessageAPI", "TwitterAPI")
Stories = list[tuple[Task, Goal]]


@pytest.fixture(scope="module")
def stories(bfcl: Bfcl) -> Stories:
    return [(start, goal) for seed in range(12) for start, goal in _stories(bfcl, seed, 5)]


def _stories(bfcl: Bfcl, seed: int, count: int) -> Iterator[tuple[Task, Goal]]:
    for start in bfcl.tasks("train"):
        if set(OWNERS) & set(start.payload["involved_classes"]):
            for goal in goals(bfcl.apis, Start.of(start.payload), seed, count):
                yield start, goal


def _names(goal: Goal) -> list[str]:
    return [name.removesuffix(" (asked back)") for name in goal.kind.split(" + ")]


def test_every_goal_occurs_and_every_function_is_called(bfcl: Bfcl, stories: Stories) -> None:
    ours = {known.name for known in known_goals() if known.owner in OWNERS and set(known.also) <= set(OWNERS)}
    assert ours - {name for _, goal in stories for name in _names(goal)} == set()
    called = {action.name for _, goal in stories for action in goal.actions}
    assert {function.name for function in bfcl.apis.functions.values() if function.owner in OWNERS} - called == set()


def test_a_task_of_every_goal_is_admitted_by_the_strict_door(bfcl: Bfcl, stories: Stories) -> None:
    door, pool = Execution(ExecutionOptions(drop_all=True, all_parents=True)), TaskPool(tuple(bfcl.tasks("train")))
    seen, refused = set[str](), []
    for number, (start, goal) in enumerate(stories):
        if seen.issuperset(goal.kind.split(" + ")):
            continue
        seen.update(goal.kind.split(" + "))
        task = bfcl.compose(start, [Step(action, "") for action in goal.actions], f"goal-{number}", goal.query)
        assert task is not None and len(task.payload["question"]) == len(goal.query.split("\n\n"))
        verdict = door.validate(CandidateTask(task, ExplorationContext(None, "", ()), ()), bfcl, pool, bfcl.tasks("test"))
        if not verdict.accepted:
            refused.append((start.id, goal.kind, verdict))
    assert len(seen) > 70
    assert len(refused) <= 2, refused


def test_the_same_seed_gives_the_same_stories_and_another_world_others(bfcl: Bfcl) -> None:
    assert list(_stories(bfcl, 1, 1)) == list(_stories(bfcl, 1, 1))
    worlds = [start for start in bfcl.tasks("train") if start.payload["involved_classes"] == ["TradingBot"]]
    openings = {tuple(goal.kind for goal in goals(bfcl.apis, Start.of(start.payload), 1, 3)) for start in worlds}
    assert len(openings) > 5


def test_symbols_that_nobody_knows_are_said_or_looked_up(bfcl: Bfcl, stories: Stories) -> None:
    checked = 0
    for start, goal in stories:
        world, shown = fresh(bfcl.apis, Start.of(start.payload)), goal.query
        for action in goal.actions:
            symbol = action.arguments.get("symbol", action.arguments.get("stock"))
            if symbol in OBSCURE:
                checked += 1
                assert symbol in shown, goal
            shown += world.execute(Call(action.name, dict(action.arguments))).text
    assert checked > 50


def test_no_one_writes_to_himself_and_ids_are_looked_up(bfcl: Bfcl, stories: Stories) -> None:
    sent = 0
    for start, goal in stories:
        world, shown = fresh(bfcl.apis, Start.of(start.payload)), goal.query
        for action in goal.actions:
            if action.name == "send_message":
                sent += 1
                assert action.arguments["receiver_id"] in shown
                assert action.arguments["receiver_id"] != world.instances["MessageAPI"].current_user
                assert action.arguments["message"] in goal.query or "PRICE" in goal.query
            shown += world.execute(Call(action.name, dict(action.arguments))).text
    assert sent > 50


def test_the_realizer_words_every_call_that_goals_make(bfcl: Bfcl, stories: Stories) -> None:
    ours = {function.name for function in bfcl.apis.functions.values() if function.owner in OWNERS}
    made = {(action.name, *sorted(action.arguments)): action for _, goal in stories for action in goal.actions if action.name in ours}
    for action in made.values():
        call = Call(action.name, dict(action.arguments))
        text = word([Made(call, None, False)])
        assert text is not None, call
        assert call.name not in text or call.name in ("comment", "retweet", "mention"), text
