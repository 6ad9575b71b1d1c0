"""From a candidate to a task, on the desk and on BFCL: only by execution, and with a reason for each refusal."""

from collections.abc import Sequence
from typing import Any

import pytest

from coevolve import SUCCESS, Action, Environment, InfrastructureFault, Origin, Refusal, Step, Task, Tool
from coevolve.environments.bfcl import assets
from coevolve.environments.bfcl.environment import Bfcl, BfclOptions
from coevolve.environments.bfcl.release import DEFAULT, RELEASES
from coevolve.environments.desk.environment import Desk, DeskOptions
from coevolve.synthesizers.teacher.abstraction import checked_arguments, realise, verdict_of
from coevolve.synthesizers.teacher.replies import Call, Candidate, CandidateTurn

ORIGIN = Origin("teacher", 10, "boundary:9:x", ("x",), {"exploration": 3})


@pytest.fixture(scope="module")
def desk() -> Desk:
    return Desk(DeskOptions())


@pytest.fixture(scope="module")
def bfcl() -> Bfcl:
    assets.ensure(RELEASES[DEFAULT])
    return Bfcl(BfclOptions())


def explore(environment: Environment, start: Task, actions: Sequence[Action]) -> list[Step]:
    """The steps that the actions become, in one turn of a fresh episode."""
    made: list[Step] = []
    with environment.open(start) as episode:
        for action in actions:
            made += episode.step(environment.script([Action(action.name, action.arguments)])[0]).steps
    return made


def score(environment: Environment, task: Task, actions: Sequence[Action] | None = None) -> float:
    with environment.open(task) as episode:
        for text in environment.script(task.solution if actions is None else actions):
            if episode.step(text).done:
                break
        return episode.score()


def refused(*arguments: Any) -> str:
    """The stored reason and detail with which `realise` refuses."""
    with pytest.raises(Refusal) as caught:
        realise(*arguments)
    verdict = verdict_of(caught.value)
    return str(Refusal(verdict.reason, verdict.detail))


def chain(desk: Desk) -> Task:
    """A seed task whose solution passes a value from one call to another."""
    return next(task for task in desk.tasks("train") if len([a for a in task.solution if a.name != "done"]) >= 3)


def calls(task: Task) -> list[Action]:
    return [action for action in task.solution if action.name != "done"]


def test_numbers_of_explored_steps_become_a_task_on_the_desk(desk: Desk) -> None:
    start = chain(desk)
    explored = explore(desk, start, calls(start))
    candidate = Candidate("why", "Please do it.", tuple(range(1, len(explored) + 1)))
    task = realise(candidate, start, explored, desk, "teacher-10-3-0", ORIGIN)
    assert isinstance(task, Task)
    assert (task.id, task.query, task.intent, task.origin, task.payload) == (
        "teacher-10-3-0",
        "Please do it.",
        "why",
        ORIGIN,
        start.payload,
    )
    assert calls(task) == calls(start)
    assert score(desk, task) >= SUCCESS > score(desk, task, task.solution[-1:])


def test_the_environment_writes_the_request_and_the_intent_where_the_option_is_set(desk: Desk) -> None:
    start = chain(desk)
    explored = explore(desk, start, calls(start))
    task = realise(Candidate("", "", tuple(range(1, len(explored) + 1))), start, explored, desk, "t", ORIGIN, "environment")
    assert isinstance(task, Task)
    assert len(task.query) > 20 and task.intent == start.intent and task.intent


def test_calls_that_are_written_out_need_no_exploration(desk: Desk) -> None:
    start = chain(desk)
    spelt = tuple(Call(action.name, action.arguments) for action in calls(start))
    task = realise(Candidate("", "Do it.", spelt), start, [], desk, "t", ORIGIN)
    assert isinstance(task, Task) and calls(task) == calls(start)


def test_numbers_and_calls_go_together(desk: Desk) -> None:
    start = chain(desk)
    explored, last = explore(desk, start, calls(start)[:-1]), calls(start)[-1]
    mixed = (*range(1, len(explored) + 1), Call(last.name, last.arguments))
    task = realise(Candidate("", "Do it.", mixed), start, explored, desk, "t", ORIGIN)
    assert isinstance(task, Task) and calls(task) == calls(start)


def bad_desk() -> list[tuple[str, Any, str]]:
    call = Call("calendar.meeting_date", {"meeting": "board", "as": "iso"})
    return [
        ("a step that there is not", 9, "unknown_step: 9 of 2"),
        ("a step that failed", 2, "failed_step: 2"),
        ("an unknown tool", Call("calendar.meeting", {}), "unknown_tool: calendar.meeting"),
        ("a tool of Python", Call("__import__('os').system", {"x": "rm"}), "unknown_tool"),
        ("done as a tool", Call("done", {"answer": "x"}), "unknown_tool: done"),
        ("an argument missing", Call(call.tool, {"meeting": "board"}), "bad_arguments: calendar.meeting_date: 'as' is a required"),
        ("an argument too many", Call(call.tool, {**call.arguments, "when": "now"}), "bad_arguments: calendar.meeting_date: Additional"),
        ("a value not listed", Call(call.tool, {**call.arguments, "meeting": "party"}), "bad_arguments: calendar.meeting_date.meeting:"),
        ("a number for a text", Call(call.tool, {**call.arguments, "meeting": 3}), "bad_arguments"),
        ("a list for a text", Call(call.tool, {**call.arguments, "meeting": ["board"]}), "bad_arguments"),
        ("null for a text", Call(call.tool, {**call.arguments, "meeting": None}), "bad_arguments"),
        ("a value that the desk refuses", Call("contacts.team_phone", {"team": "design", "as": "nonsense"}), "bad_arguments"),
    ]


@pytest.mark.parametrize(("name", "part", "reason"), bad_desk(), ids=[one[0] for one in bad_desk()])
def test_a_refused_candidate_has_a_reason(desk: Desk, name: str, part: Any, reason: str) -> None:
    start = chain(desk)
    explored = [*explore(desk, start, calls(start)[:1]), Step(Action("mail.sender", {"thread": "x"}), "error: no", None, "no")]
    got = refused(Candidate("", "Do it.", (1, part)), start, explored, desk, "t", ORIGIN)
    assert got.startswith(reason), got


def taking(desk: Desk) -> Tool:
    """A tool with a text argument that only the environment can check."""
    return next(tool for tool in desk.describe().tools if any("enum" not in p for p in tool.parameters["properties"].values()))


def test_a_call_that_fails_in_a_fresh_episode_is_refused(desk: Desk) -> None:
    tool = taking(desk)
    properties = tool.parameters["properties"]
    given = {name: inner["enum"][0] if "enum" in inner else "nonsense" for name, inner in properties.items()}
    got = refused(Candidate("", "Do it.", (Call(tool.name, given),)), chain(desk), [], desk, "t", ORIGIN)
    assert got.startswith(f"call_failed: {tool.name}"), got
    spaced = {name: inner["enum"][0] if "enum" in inner else "two words" for name, inner in properties.items()}
    got = refused(Candidate("", "Do it.", (Call(tool.name, spaced),)), chain(desk), [], desk, "t", ORIGIN)
    assert got.startswith(f"call_failed: {tool.name}: no_call"), got


def test_what_worked_only_after_other_calls_fails_alone(desk: Desk) -> None:
    start = chain(desk)
    explored = explore(desk, start, calls(start))
    changed = [Step(Action(s.action.name, {**s.action.arguments}), "pretended", "pretended") for s in explored]
    task = realise(Candidate("", "Do it.", tuple(range(1, len(changed) + 1))), start, changed, desk, "t", ORIGIN)
    assert isinstance(task, Task), "what was observed in the exploration is not believed: all is carried out again"
    assert calls(task) == calls(start)


def test_more_calls_than_an_episode_has_are_refused(desk: Desk) -> None:
    call = Call("calendar.meeting_date", {"meeting": "board", "as": "iso"})
    got = refused(Candidate("", "Do it.", (call,) * 12), chain(desk), [], desk, "t", ORIGIN)
    assert got.startswith("call_failed") and "too_many_calls" in got


def test_a_task_that_the_environment_cannot_compose_is_refused(desk: Desk) -> None:
    action = next(a for task in desk.tasks("train") for a in calls(task) if "as" not in a.arguments)
    start = next(task for task in desk.tasks("train") if action in task.solution)
    before = tuple(Call(a.name, a.arguments) for a in calls(start)[: calls(start).index(action) + 1])
    got = refused(Candidate("", "Do it.", (*before, before[-1])), start, [], desk, "t", ORIGIN)
    assert got == "not_composable"


class Broken:
    """An environment that fails when it opens a task."""

    def __init__(self, desk: Desk) -> None:
        self.describe = desk.describe

    def open(self, task: Task) -> Any:
        raise InfrastructureFault("environment failed in open: OSError: gone\nfor good")


def test_an_environment_that_fails_is_a_reason_and_not_an_exception(desk: Desk) -> None:
    call = Call("calendar.meeting_date", {"meeting": "board", "as": "iso"})
    got = refused(Candidate("", "Do it.", (call,)), chain(desk), [], Broken(desk), "t", ORIGIN)
    assert got == "environment_error: environment failed in open: OSError: gone for good"


def turns_of(task: Task) -> tuple[CandidateTurn, ...]:
    numbers = sorted({action.turn for action in task.solution})
    return tuple(
        CandidateTurn(f"Wish {n}, please.", tuple(Call(a.name, a.arguments) for a in task.solution if a.turn == n)) for n in numbers
    )


def candidate_of(turns: tuple[CandidateTurn, ...]) -> Candidate:
    return Candidate("", "\n\n".join(turn.request for turn in turns), tuple(part for turn in turns for part in turn.solution), turns)


def test_turns_become_turns_on_bfcl(bfcl: Bfcl) -> None:
    made = 0
    for start in bfcl.tasks("train")[:25]:
        turns = turns_of(start)
        task = realise(candidate_of(turns), start, [], bfcl, "teacher-1", ORIGIN)
        assert isinstance(task, Task), (start.id, task)
        assert [[a.name for a in task.solution if a.turn == n] for n in range(len(turns))] == [
            [part.tool for part in turn.solution if isinstance(part, Call)] for turn in turns
        ]
        assert task.query == "\n\n".join(turn.request for turn in turns)
        assert [messages[0]["content"] for messages in task.payload["question"]] == [turn.request for turn in turns]
        assert score(bfcl, task) == 1.0 and task.origin == ORIGIN
        made += len(turns) > 1
    assert made > 10


def test_numbers_become_one_turn_on_bfcl_whatever_turn_they_were_explored_in(bfcl: Bfcl) -> None:
    start = bfcl.tasks("train")[0]
    explored = [
        Step(Action(step.action.name, step.action.arguments, turn=index), step.observation, step.result, step.error)
        for index, step in enumerate(explore(bfcl, start, start.solution))
    ]
    assert all(step.error is None for step in explored)
    task = realise(Candidate("tidy up", "Do all of it.", tuple(range(1, len(explored) + 1))), start, explored, bfcl, "t", ORIGIN)
    assert isinstance(task, Task)
    assert {action.turn for action in task.solution} == {0} and task.intent == "tidy up"
    assert score(bfcl, task) == 1.0


def fails(candidate: Candidate, start: Task, environment: Environment) -> bool:
    try:
        realise(candidate, start, [], environment, "t", ORIGIN)
    except Refusal:
        return True
    return False


def test_turns_on_bfcl_are_carried_out_in_one_world(bfcl: Bfcl) -> None:
    """A later turn's call needs the effect of an earlier turn; alone it fails."""
    start = next(task for task in bfcl.tasks("train") if len(turns_of(task)) > 1 and fails(candidate_of(turns_of(task)[1:]), task, bfcl))
    assert isinstance(realise(candidate_of(turns_of(start)), start, [], bfcl, "t", ORIGIN), Task)
    assert refused(candidate_of(turns_of(start)[1:]), start, [], bfcl, "t", ORIGIN).startswith("call_failed")


def test_types_are_taken_strictly_on_bfcl(bfcl: Bfcl) -> None:
    start = bfcl.tasks("train")[0]
    for call, reason in (
        (Call("mkdir", {"dir_name": 5}), "bad_arguments: mkdir.dir_name: 5 is not of type 'string'"),
        (Call("mkdir", {"dir_name": "x", "mode": "0777"}), "bad_arguments: mkdir: Additional properties"),
        (Call("get_ticket", {"ticket_id": "5"}), "bad_arguments: get_ticket.ticket_id: '5' is not of type 'integer'"),
        (Call("get_ticket", {"ticket_id": True}), "bad_arguments: get_ticket.ticket_id: True is not of type 'integer'"),
        (Call("get_ticket", {"ticket_id": 5.5}), "bad_arguments: get_ticket.ticket_id: 5.5 is not of type 'integer'"),
    ):
        got = refused(Candidate("", "Do it.", (call,)), start, [], bfcl, "t", ORIGIN)
        assert got.startswith(reason), got


def test_nearly_all_calls_of_the_benchmark_fit_their_own_schemas(bfcl: Bfcl) -> None:
    """The check accepts right calls: only one document contradicts its ground truths."""
    tools = {tool.name: tool for tool in bfcl.describe().tools}
    actions = [action for split in bfcl.splits() for task in bfcl.tasks(split) for action in task.solution]
    assert {misfit(tools[a.name], a.arguments) for a in actions} == {"", "close_ticket.ticket_id: 'ticket_001' is not of type 'integer'"}


def misfit(tool: Tool, arguments: Any) -> str:
    """The reason why the arguments do not fit; "" where they fit."""
    try:
        checked_arguments(tool, arguments)
    except Refusal as refusal:
        return refusal.detail
    return ""


def test_a_turn_in_which_the_user_leaves_out_a_value_becomes_a_turn_without_calls(bfcl: Bfcl) -> None:
    start = next(task for task in bfcl.tasks("train") if [action.turn for action in task.solution].count(0) == 1)
    explored = explore(bfcl, start, start.solution[:1])
    turns = (CandidateTurn("Could you do it?", ()), CandidateTurn("With this one.", (1,)))
    task = realise(Candidate("why", "Could you do it?\n\nWith this one.", (1,), turns), start, explored, bfcl, "t", ORIGIN)
    assert [action.turn for action in task.solution] == [1] and task.payload["category"] == "miss_param"
    assert task.payload["ground_truth"][0] == [] and score(bfcl, task) >= SUCCESS


TOOL = Tool(
    "t",
    "",
    {
        "type": "object",
        "properties": {
            "a": {"type": "string"},
            "b": {"type": ["integer", "null"]},
            "c": {"type": "object", "properties": {"d": {"type": "number"}}, "additionalProperties": False},
        },
        "required": ["a"],
    },
)


def test_nulls_mean_omitted_arguments_where_null_is_not_a_value() -> None:
    assert checked_arguments(TOOL, {"a": "x", "b": None, "c": None}) == {"a": "x", "b": None}
    assert checked_arguments(TOOL, {"a": "x", "c": {"d": None}}) == {"a": "x", "c": {}}
    assert misfit(TOOL, {"a": None}) == "t.a: None is not of type 'string'"
    assert misfit(TOOL, {"a": "x", "e": None}).startswith("t: Additional properties are not allowed")
    assert misfit(TOOL, {"a": "x", "c": {"d": "1"}}).startswith("t.c.d: '1' is not of type 'number'")
