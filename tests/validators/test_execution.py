import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import attrs
import pytest

from coevolve import Action, CandidateTask, InfrastructureFault, Observation, Origin, Reason, Step, Task, TaskKeys, TaskPool, Verdict
from coevolve.environments.desk import Desk, DeskOptions
from coevolve.plugins.validators.execution import Execution, ExecutionOptions, _adds_to
from coevolve.testing import Stockroom, StockroomOptions, check_validator
from coevolve.testing.stockroom import StockroomEpisode, World

ROOM = Stockroom(StockroomOptions())
TASK = next(task for task in ROOM.tasks("train") if [a.name for a in task.solution] == ["catalog.find", "stock.add"])
EMPTY = TaskPool(())


def judge(task: Task, pool: Sequence[Task] = (), held_out: Sequence[Task] = (), environment: Stockroom = ROOM, **options: Any) -> Verdict:
    return Execution(ExecutionOptions(**options)).validate(CandidateTask(task), environment, TaskPool(tuple(pool)), held_out)


def reason(*arguments: Any, **more: Any) -> str:
    return judge(*arguments, **more).reason


def test_every_training_task_of_the_stockroom_is_accepted() -> None:
    assert {reason(task) for task in ROOM.tasks("train")} == {"accepted"}
    check_validator(Execution(ExecutionOptions()), ROOM)


@pytest.mark.parametrize(
    "changes",
    [
        {"query": "  "},
        {"solution": ()},
        {"environment": "elsewhere"},
        {"payload": {"world": {1, 2}}},
        {"solution": (Action("catalog.find", {"item": object()}),)},
    ],
)
def test_an_incomplete_task_is_malformed(changes: dict[str, Any]) -> None:
    assert reason(attrs.evolve(TASK, **changes)) == Reason.MALFORMED


def test_an_id_that_is_taken_is_malformed() -> None:
    other = attrs.evolve(ROOM.tasks("train")[-1], id=TASK.id)
    assert reason(TASK, [other]) == reason(TASK, (), [other]) == Reason.MALFORMED


def test_a_solution_with_a_failing_call_is_refused() -> None:
    find, add = TASK.solution
    wrong = attrs.evolve(add, arguments={**add.arguments, "code": "C0"})
    verdict = judge(attrs.evolve(TASK, solution=(find, wrong)))
    assert (verdict.reason, verdict.accepted) == (Reason.CALL_FAILED, False) and "stock.add" in verdict.detail
    endless = attrs.evolve(TASK, solution=(find,) * 40)
    assert reason(endless) == Reason.CALL_FAILED


def test_a_solution_longer_than_the_bound_is_refused() -> None:
    verdict = judge(TASK, max_completions=1)
    assert verdict.reason == Reason.CALL_FAILED and "1 of 2" in verdict.detail


class Blocks(StockroomEpisode):
    """Each action is a block of code that also makes inner lookups, as many as there were steps before."""

    asked = 0

    def step(self, text: str) -> Observation:
        seen = super().step(text)
        self.asked += len(seen.steps)
        looked = tuple(Step(Action("stock.look"), "12", 12, inner=True) for _ in range(self.asked) if seen.steps)
        return attrs.evolve(seen, steps=(*seen.steps, *looked))


def test_inner_calls_of_a_block_of_code_do_not_count_as_actions_of_the_solution() -> None:
    assert {reason(task, environment=changed(Blocks)) for task in ROOM.tasks("train")} == {"accepted"}

    class Short(Blocks):
        def step(self, text: str) -> Observation:
            return attrs.evolve(super().step(text), done=True)

    verdict = judge(TASK, environment=changed(Short))
    assert verdict.reason == Reason.CALL_FAILED and "1 of 2" in verdict.detail


def test_a_lookup_without_news_has_no_effect() -> None:
    """The result of the lookup holds only what the request says already."""
    code = TASK.solution[1].arguments["code"]
    assert reason(attrs.evolve(TASK, query=f"Is it {code}?", solution=TASK.solution[:1])) == Reason.NO_EFFECT


@pytest.mark.parametrize(
    ("result", "tells"),
    [({"canDrive": True}, True), ({"login_status": True}, False), ({"success": False}, False), (True, False), ({"n": 3}, True)],
)
def test_yes_or_no_is_news_unless_it_only_says_that_a_call_went_well(result: Any, tells: bool) -> None:
    assert _adds_to(result, "Can I drive there?") == tells


def test_a_copy_of_a_pool_task_is_refused_by_text_actions_or_end_state() -> None:
    again = attrs.evolve(TASK, id="again")
    assert reason(again, [TASK]) == Reason.DUPLICATE_TEXT
    assert reason(attrs.evolve(again, query=TASK.query.replace("Please", "Could you kindly").upper()), [TASK]) == Reason.DUPLICATE_TEXT
    worded = attrs.evolve(again, query="Restock it as usual")
    assert reason(worded, [TASK]) == Reason.DUPLICATE_ACTIONS
    longer = attrs.evolve(worded, solution=(TASK.solution[0], *TASK.solution))
    assert reason(longer, [TASK]) == Reason.DUPLICATE_END_STATE


def test_a_copy_of_a_held_out_task_is_refused_by_text_family_actions_or_end_state() -> None:
    again = attrs.evolve(TASK, id="again")
    assert reason(again, (), [TASK]) == Reason.HELD_OUT_TEXT
    worded = attrs.evolve(again, query="Restock it as usual")
    assert reason(worded, (), [TASK]) == Reason.HELD_OUT_FAMILY

    class Plain(Stockroom):
        def keys(self, task: Task) -> TaskKeys:
            return attrs.evolve(super().keys(task), family=None)

    plain = Plain(StockroomOptions())
    assert reason(worded, (), [TASK], environment=plain) == Reason.HELD_OUT_ACTIONS
    longer = attrs.evolve(worded, solution=(TASK.solution[0], *TASK.solution))
    assert reason(longer, (), [TASK], environment=plain) == Reason.HELD_OUT_END_STATE
    assert reason(worded, (), ROOM.tasks("test")) == "accepted"


def test_word_order_counts_in_the_pool_and_not_against_the_held_out_split() -> None:
    words = attrs.evolve(TASK, id="a", query="Ana before Ben")
    turned = attrs.evolve(ROOM.tasks("train")[-1], query="Ben before Ana")
    assert reason(turned, [words]) == "accepted"
    assert reason(turned, (), [words]) == Reason.HELD_OUT_TEXT


def test_held_out_tasks_without_a_solution_are_compared_by_text() -> None:
    hidden = attrs.evolve(TASK, id="hidden", solution=())
    assert reason(TASK, (), [hidden]) == Reason.HELD_OUT_TEXT
    assert reason(attrs.evolve(TASK, query="Restock it as usual"), (), [hidden]) == "accepted"


class Changed(Stockroom):
    """A stockroom whose episodes are of another class."""

    episode: type[StockroomEpisode] = StockroomEpisode

    def open(self, task: Task) -> StockroomEpisode:
        made = super().open(task)
        made.__class__ = self.episode
        return made


def changed(episode: type[StockroomEpisode]) -> Stockroom:
    return cast(Stockroom, type("Other", (Changed,), {"episode": episode})(StockroomOptions()))


def test_two_replays_that_differ_are_refused() -> None:
    count: list[str] = []

    class Fickle(StockroomEpisode):
        def step(self, text: str) -> Observation:
            count.append(text)
            seen = super().step(text)
            return attrs.evolve(seen, messages=({"role": "tool", "content": str(len(count))},))

    assert reason(TASK, environment=changed(Fickle)) == Reason.REPLAY_DIFFERS


def test_a_solution_that_the_scorer_misses_is_refused() -> None:
    class Strict(StockroomEpisode):
        def score(self) -> float:
            return 0.49

    assert reason(TASK, environment=changed(Strict)) == Reason.NOT_SOLVED


def test_a_task_that_is_solved_by_nothing_is_refused() -> None:
    class Generous(StockroomEpisode):
        def score(self) -> float:
            return 1.0

    assert reason(TASK, environment=changed(Generous)) == Reason.SOLVED_BY_NOTHING


def test_a_task_that_is_solved_by_ending_at_once_is_refused() -> None:
    """On the desk an empty text does not end the episode, but `done` does. This task only looks things up, so the start is the goal."""
    desk = Desk(DeskOptions(train=1))
    lookups = (Action("mail.sender", {"thread": "press", "as": "email"}), Action("notes.place", {"note": "idea", "as": "city"}))
    idle = Task("idle", "desk", "Look who wrote to the press", "", (*lookups, Action("done")), {"seed": 3})
    verdict = Execution(ExecutionOptions()).validate(CandidateTask(idle), desk, EMPTY, ())
    assert verdict.reason == Reason.SOLVED_BY_NOTHING


def test_an_endless_episode_is_bounded() -> None:
    class Endless(StockroomEpisode):
        def step(self, text: str) -> Observation:
            return super().step(text) if text else Observation()

    assert reason(TASK, environment=changed(Endless)) == "accepted"


def test_a_task_that_is_solved_without_its_last_call_is_refused() -> None:
    class Early(StockroomEpisode):
        def score(self) -> float:
            return float(self._calls >= 1)

    verdict = judge(TASK, environment=changed(Early))
    assert verdict.reason == Reason.SOLVED_BY_WRONG and "without stock.add" in verdict.detail


def test_a_task_that_is_solved_with_another_argument_is_refused() -> None:
    class Careless(StockroomEpisode):
        def score(self) -> float:
            return float(self._world.digest() != World(TASK.payload["world"]).digest())

    verdict = judge(TASK, environment=changed(Careless))
    assert verdict.reason == Reason.SOLVED_BY_WRONG and "other arguments" in verdict.detail


def test_a_task_that_its_parents_solution_solves_is_refused() -> None:
    find, add = TASK.solution
    more = attrs.evolve(add, arguments={**add.arguments, "amount": add.arguments["amount"] + 1})
    child = attrs.evolve(TASK, id="child", query="Restock it twice", solution=(find, more), origin=Origin("x", 1, None, (TASK.id,)))
    assert reason(child, [TASK]) == "accepted"

    class Careless(StockroomEpisode):
        def score(self) -> float:
            return float(self._world.digest() != World(TASK.payload["world"]).digest())

    verdict = judge(child, [TASK], environment=changed(Careless))
    assert verdict.reason == Reason.SOLVED_BY_WRONG and TASK.id in verdict.detail


def test_the_solutions_of_all_parents_must_fail() -> None:
    """The scorer also accepts what the second parent asks for."""
    find, add = TASK.solution
    first, second = (attrs.evolve(add, arguments={**add.arguments, "amount": add.arguments["amount"] + n}) for n in (1, 2))
    other = attrs.evolve(TASK, id="other", query="Restock it thrice", solution=(find, second))
    origin = Origin("x", 1, None, (TASK.id, other.id))
    child = attrs.evolve(TASK, id="child", query="Restock it twice", solution=(find, first), origin=origin)
    goal = World(TASK.payload["world"])
    goal.call("stock.add", second.arguments)

    class Lenient(StockroomEpisode):
        def score(self) -> float:
            return max(super().score(), float(self._world.digest() == goal.digest()))

    room = changed(Lenient)
    assert reason(child, [TASK, other], environment=room, mutations=1) == "accepted"
    verdict = judge(child, [TASK, other], environment=room, mutations=1, all_parents=True)
    assert verdict.reason == Reason.SOLVED_BY_WRONG and "other" in verdict.detail
    assert reason(child, [TASK, other], all_parents=True) == "accepted"


def test_the_scorer_must_miss_every_call_with_drop_all() -> None:
    verdict = judge(TASK, drop_all=True)  # this scorer looks at the end alone, so it does not miss the lookup
    assert verdict.reason == Reason.DROPPABLE_CALL and "catalog.find, call 1 of 2" in verdict.detail
    assert reason(attrs.evolve(TASK, solution=TASK.solution[1:]), drop_all=True) == "accepted"


def test_every_literal_needs_a_source_with_grounding() -> None:
    assert {reason(task, grounding=True) for task in ROOM.tasks("train")} == {"accepted"}
    blind = attrs.evolve(TASK, solution=TASK.solution[1:])
    assert reason(blind) == "accepted"
    verdict = judge(blind, grounding=True)
    assert verdict.reason == Reason.UNGROUNDED and f"stock.add: code {TASK.solution[1].arguments['code']!r}" in verdict.detail


@pytest.mark.parametrize("method", ["open", "keys", "script"])
def test_an_exception_of_the_environment_is_never_an_acceptance(method: str) -> None:
    def broken(self: Stockroom, *arguments: Any) -> None:
        raise InfrastructureFault("the service is down")

    broken_room = type("Broken", (Stockroom,), {method: broken})(StockroomOptions())
    verdict = judge(TASK, environment=broken_room)
    assert (verdict.accepted, verdict.reason) == (False, Reason.ENVIRONMENT_ERROR) and "the service is down" in verdict.detail


def test_nothing_is_accepted_until_every_held_out_task_can_be_compared() -> None:
    down = [True]

    class Flaky(Stockroom):
        def keys(self, task: Task) -> TaskKeys:
            if down[0] and task.id.startswith("stockroom-test"):
                raise InfrastructureFault("the service is down")
            return super().keys(task)

    execution, room = Execution(ExecutionOptions()), Flaky(StockroomOptions())
    held_out = room.tasks("test")
    assert execution.validate(CandidateTask(TASK), room, EMPTY, held_out).reason == Reason.ENVIRONMENT_ERROR
    down[0] = False
    assert execution.validate(CandidateTask(TASK), room, EMPTY, held_out).accepted


def test_known_tasks_are_indexed_once() -> None:
    asked: list[str] = []

    class Counting(Stockroom):
        def keys(self, task: Task) -> TaskKeys:
            asked.append(task.id)
            return super().keys(task)

    room = Counting(StockroomOptions(train=40, test=20))
    execution, tasks, pool = Execution(ExecutionOptions()), room.tasks("train"), TaskPool(())
    for task in tasks:
        assert execution.validate(CandidateTask(task), room, pool, room.tasks("test")).accepted
        pool = pool.with_tasks([task])
    # Each candidate is asked about once as a candidate and once as a member of the pool; each held-out task once.
    assert len(asked) == 40 + 39 + 20


def test_the_index_follows_a_pool_that_shrinks_or_changes() -> None:
    execution = Execution(ExecutionOptions())
    again = CandidateTask(attrs.evolve(TASK, id="again"))
    other = ROOM.tasks("train")[-1]
    assert not execution.validate(again, ROOM, TaskPool((TASK,)), ()).accepted
    assert execution.validate(again, ROOM, TaskPool((other,)), ()).accepted
    assert execution.validate(again, ROOM, EMPTY, ()).accepted
    assert not execution.validate(again, ROOM, TaskPool((other, TASK)), ()).accepted


def test_the_same_words_in_another_world_are_another_task() -> None:
    """ "How many staplers are there?" has another answer where there are others; held-out texts are refused in any world."""
    other = next(task for task in ROOM.tasks("train") if task.query != TASK.query and ROOM.open(task).state() != ROOM.open(TASK).state())
    known = attrs.evolve(other, query=TASK.query)
    assert reason(TASK, [known]) == "accepted"
    assert reason(TASK, [attrs.evolve(TASK, id="again")]) == Reason.DUPLICATE_TEXT
    assert reason(TASK, (), [known]) == Reason.HELD_OUT_TEXT


def test_every_reason_of_a_validator_has_a_test() -> None:
    """Reasons from UNREADABLE on come from a teacher's replies."""
    text = "".join(file.read_text() for file in Path(__file__).parent.glob("test_*.py"))
    names = list(Reason.__members__)
    assert [name for name in names[: names.index("UNREADABLE")] if f"Reason.{name}" not in text] == []
    assert json.loads(json.dumps(list(Reason))) == list(Reason)
