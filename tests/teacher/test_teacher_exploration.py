"""Choosing signals, exploring in rounds, and the prompts, without any server."""

import asyncio
import contextlib
import json
import random
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from attrs import define, evolve, field
from hypothesis import given, settings
from hypothesis import strategies as st

from coevolve import Action, Message, Signal, Step, Task
from coevolve.synthesizers.teacher import prompts as words
from coevolve.synthesizers.teacher import rendering, tool_list
from coevolve.synthesizers.teacher.assignments import assignments, in_turn
from coevolve.synthesizers.teacher.evolution import Evolution
from coevolve.synthesizers.teacher.faults import BudgetSpent, TeacherFault
from coevolve.synthesizers.teacher.guided_exploration import GuidedExploration
from coevolve.synthesizers.teacher.options import TeacherOptions
from coevolve.synthesizers.teacher.prompts import Prompts
from coevolve.synthesizers.teacher.questions import Questions
from coevolve.synthesizers.teacher.replies import Reflection
from coevolve.testing import Stockroom, make_feedback, make_group

WORLD = Stockroom(Stockroom.Options())
TASK = next(task for task in WORLD.tasks("train") if task.solution[0].name == "catalog.find")
TOOLS = {tool.name: tool for tool in WORLD.describe().tools}
LOOKUP = {**TASK.solution[0].arguments, "as": "code"}
CODE: dict[str, Any] = {"tool": "catalog.find", "arguments": LOOKUP}
STOP: dict[str, Any] = {"tool": "stop", "arguments": {}}


@define
class Scripted:
    """Answers by key from the test's replies; a missing reply is a fault."""

    options: TeacherOptions
    replies: Mapping[str, str]
    asked: list[tuple[str, list[Message], Any]] = field(factory=list)

    async def ask(
        self, key: str, iteration: int, purpose: str, messages: Sequence[Message], schema: Any = None, max_tokens: int | None = None
    ) -> str:
        self.asked.append((key, list(messages), schema))
        if key not in self.replies:
            raise TeacherFault(f"nothing is written for {key}")
        return self.replies[key]


def explored(replies: Mapping[str, Any], left: int | None = None, **options: Any) -> tuple[GuidedExploration, Scripted]:
    """An exploration after its end, also one that a fault ended."""
    settings = TeacherOptions(**{"rounds": 1, "steps": 4, "reasks": 1, **options})
    texts = {key: reply if isinstance(reply, str) else json.dumps({"thought": "t", "action": reply}) for key, reply in replies.items()}
    scripted = Scripted(settings, texts)
    questions = Questions(scripted, 5, 1, settings.reasks, settings.max_tokens, left)  # type: ignore[arg-type]
    prompts = Prompts.of(settings, "notes", "tools", TASK, False)
    exploration = GuidedExploration(WORLD, TOOLS, TASK, prompts, questions)
    with contextlib.suppress(TeacherFault):
        asyncio.run(exploration.run(prompts.explore(None), list(TOOLS.values())))
    return exploration, scripted


def signal(kind: str, task: str, strength: float) -> Signal:
    return Signal(kind, task, 1, strength)


def test_kinds_take_turns_and_a_task_is_explored_once() -> None:
    given = [signal("boundary", f"t{n}", 1 - n / 100) for n in range(10)]
    given += [signal("rare", "t0", 0.2), signal("rare", "t11", 0.1), signal("forgetting", "t12", 0.05)]
    chosen = in_turn(given)
    assert [(s.kind, s.task_id) for s in chosen[:4]] == [("boundary", "t0"), ("rare", "t11"), ("forgetting", "t12"), ("boundary", "t1")]
    assert len(chosen) == len({s.task_id for s in given})


@given(
    st.lists(
        st.builds(signal, st.sampled_from(["boundary", "rare", "forgetting"]), st.sampled_from("abcdefgh"), st.floats(0, 1)), max_size=20
    ),
    st.randoms(),
)
def test_the_choice_does_not_depend_on_the_order_of_signals(signals: list[Signal], rng: random.Random) -> None:
    signals = list({s.id: s for s in signals}.values())
    chosen = in_turn(signals)
    mixed = list(signals)
    rng.shuffle(mixed)
    assert in_turn(mixed) == chosen
    assert {s.task_id for s in chosen} == {s.task_id for s in signals} and len(chosen) == len({s.task_id for s in chosen})
    if chosen:
        assert chosen[0].strength == max(s.strength for s in signals)


def test_explorations_start_at_random_where_no_signal_is_used() -> None:
    tasks = WORLD.tasks("train")[:6]
    group = make_group(tasks[0], (1.0, 0.0))
    fired = [Signal("boundary", tasks[0].id, 1, 1.0), Signal("boundary", "gone", 1, 1.0)]
    options = TeacherOptions(explorations=4)
    guided = assignments(make_feedback(tasks, [group], fired), options, random.Random(1))
    assert [(one.number, one.task.id, one.groups) for one in guided] == [(1, tasks[0].id, (group,))]
    for feedback, chosen in (
        (make_feedback(tasks, [group]), options),
        (make_feedback(tasks, [group], fired), TeacherOptions(explorations=4, use_signals=False)),
    ):
        drawn = assignments(feedback, chosen, random.Random(1))
        assert [one.number for one in drawn] == [1, 2, 3, 4] and all(one.signal is None for one in drawn)
        assert len({one.task.id for one in drawn}) == 4
        assert drawn == assignments(feedback, chosen, random.Random(1)) != assignments(feedback, chosen, random.Random(2))


def test_before_the_first_iteration_each_wanted_task_has_an_exploration() -> None:
    tasks = WORLD.tasks("train")[:12]
    first = make_feedback(tasks, iteration=0, wanted=10)
    for feedback, count in ((first, 10), (evolve(first, wanted=2), 4), (evolve(first, wanted=99), 12)):
        drawn = assignments(feedback, TeacherOptions(explorations=4), random.Random(1))
        assert len({one.task.id for one in drawn}) == len(drawn) == count
    assert len(assignments(evolve(first, iteration=1), TeacherOptions(explorations=4), random.Random(1))) == 4


def test_a_failed_call_is_recorded_reported_and_undone() -> None:
    wrong = {"tool": "stock.add", "arguments": {"code": "C0", "amount": 1}}
    ill = {"tool": "stock.add", "arguments": {"code": 7, "amount": "many"}}
    replies = {
        "5/explore/1/1.1": CODE,
        "5/explore/1/1.2": wrong,
        "5/explore/1/1.3": ill,
        "5/explore/1/1.4": {"tool": "fly", "arguments": {}},
    }
    exploration, scripted = explored(replies)
    first, *failed = exploration.steps
    assert first.error is None and first.result and all(step.error for step in failed)
    assert "there is no code C0" in str(failed[0].error) and "no tool 'fly'" in str(failed[2].error)
    told = [message["content"] for message in scripted.asked[-1][1]]
    assert told[3] == f"Call 1 returned: {first.observation}" and told[5] == f"Call 2 failed: {failed[0].error}"


def test_every_round_begins_where_the_task_begins() -> None:
    code = WORLD.open(TASK).step(WORLD.script([Action("catalog.find", LOOKUP)])[0]).steps[0].result["reference"]
    add, count = {"tool": "stock.add", "arguments": {"code": code, "amount": 5}}, {"tool": "stock.count", "arguments": {"code": code}}
    keys = ("1.1", "1.2", "1.3", "2.1", "2.2")
    replies = {f"5/explore/1/{place}": call for place, call in zip(keys, (count, add, STOP, count, STOP), strict=True)}
    exploration, scripted = explored(replies, rounds=3, steps=3)
    assert [step.action.name for step in exploration.steps] == ["stock.count", "stock.add", "stock.count"]
    assert exploration.steps[0].result == exploration.steps[2].result, "what the first round added is gone"
    assert exploration.ends == [2, 3, 3]
    asked = {key: messages for key, messages, _ in scripted.asked}
    assert "Round 2 of 3" in asked["5/explore/1/2.1"][-1]["content"]
    assert [m["role"] for m in asked["5/explore/1/3.1"]] == ["system", "user", *["assistant", "user"] * 5]


def test_a_tool_is_not_offered_again_in_the_round_after_two_equal_calls() -> None:
    replies = {"5/explore/1/1.1": CODE, "5/explore/1/1.2": CODE, "5/explore/1/1.3": STOP}
    _, scripted = explored(replies)
    offers = [
        {option["properties"]["tool"]["enum"][0] for option in schema["properties"]["action"]["anyOf"]} for _, _, schema in scripted.asked
    ]
    assert offers[0] == set(TOOLS), "no stop before the first call"
    assert offers[1] == {*TOOLS, "stop"} and offers[2] == {*TOOLS, "stop"} - {"catalog.find"}
    assert "make another one" in scripted.asked[2][1][-1]["content"]


def test_reading_again_after_a_change_is_no_repetition() -> None:
    code = WORLD.open(TASK).step(WORLD.script([Action("catalog.find", LOOKUP)])[0]).steps[0].result["reference"]
    add, count = {"tool": "stock.add", "arguments": {"code": code, "amount": 5}}, {"tool": "stock.count", "arguments": {"code": code}}
    calls = [count, add, count, CODE, count, add, add, count]
    exploration, scripted = explored({f"5/explore/1/1.{n}": call for n, call in enumerate(calls, 1)}, steps=9)
    told = [message["content"] for message in scripted.asked[-1][1]][3::2]
    assert ["make another one" in text for text in told] == [False, False, False, False, True, True, True, False]
    assert "nothing has changed since" in told[4]
    assert exploration.idle == {0, 2, 3, 4, 7}, "a lookup of something else changes nothing, and marks nothing as new"
    offers = [
        {option["properties"]["tool"]["enum"][0] for option in schema["properties"]["action"]["anyOf"]} for _, _, schema in scripted.asked
    ]
    assert "stock.count" not in offers[5] and "stock.count" in offers[6], "offered again once something has changed"


def test_calls_that_failed_are_not_marked_as_changing_nothing() -> None:
    wrong = {"tool": "stock.add", "arguments": {"code": "C0", "amount": 1}}
    exploration, scripted = explored({"5/explore/1/1.1": wrong, "5/explore/1/1.2": CODE, "5/explore/1/1.3": wrong}, steps=3)
    assert exploration.idle == {1}
    exploration, scripted = explored({"5/explore/1/1.1": wrong, "5/explore/1/1.2": CODE, "5/explore/1/1.3": wrong, "5/explore/1/1.4": STOP})
    assert "make another one" in scripted.asked[-1][1][-1]["content"], "a failed call that is tried again fails again"


def test_an_unreadable_step_is_requested_again_and_then_ends_the_round() -> None:
    replies = {"5/explore/1/1.1": "hm", "5/explore/1/1.1/again1": json.dumps({"thought": "t", "action": CODE})}
    replies |= {"5/explore/1/1.2": "hm", "5/explore/1/1.2/again1": "hm"}
    exploration, scripted = explored(replies)
    assert len(exploration.steps) == 1 and exploration.questions.unreadable == 3
    assert scripted.asked[1][1][-1]["content"] == words.AGAIN and scripted.asked[1][1][-2]["content"] == "hm"


def test_what_was_explored_before_a_fault_stays() -> None:
    exploration, _ = explored({"5/explore/1/1.1": CODE})
    assert len(exploration.steps) == 1 and exploration.ends == [1]


def test_an_exploration_reserves_requests_for_the_abstraction() -> None:
    replies = {f"5/explore/1/1.{n}": CODE for n in range(1, 5)}
    exploration, _ = explored(replies, left=4)
    assert len(exploration.steps) == 2 and exploration.questions.left == 2
    questions = Questions(Scripted(TeacherOptions(), {}), 5, 1, 0, 10, 0)  # type: ignore[arg-type]
    with pytest.raises(BudgetSpent):
        asyncio.run(questions.ask("explore", "", [], {}, str))


@pytest.mark.parametrize(
    ("calls", "waiting", "expected"), [(None, 9, 4), (None, 2, 2), (3, 9, 0), (4, 9, 1), (13, 9, 1), (28, 9, 2), (500, 9, 4)]
)
def test_a_wave_is_as_large_as_the_calls_that_are_left_allow(calls: int | None, waiting: int, expected: int) -> None:
    feedback = make_feedback(WORLD.tasks("train")[:2])
    evolution = Evolution(TeacherOptions(rounds=2, steps=6), None, feedback, WORLD, calls)  # type: ignore[arg-type]
    assert evolution._wave(waiting) == expected


def asked_for(several: bool, world: str = "", **options: Any) -> tuple[str, str]:
    """The system message and the request for candidates."""
    made = Prompts.of(TeacherOptions(**options), "notes", "tools", TASK, several, world).abstract(None, "1. look")
    return made[0]["content"], made[1]["content"]


def test_the_request_for_tasks_has_the_rules_of_turns_where_tasks_have_turns() -> None:
    _, several = asked_for(True)
    _, single = asked_for(False)
    assert words.TURNS in several and words.TURNS not in single and words.TURNS not in asked_for(True, queries="environment")[1]
    for text in (several, single):
        assert words.RULES in text and "at most 3 new tasks" in text and "an empty list, are fine" in text


def test_the_world_is_told_where_it_is_known() -> None:
    assert "The world where the task begins:\n{}\n" in asked_for(False, "{}")[0] and "The world" not in asked_for(False)[0]


def test_a_signal_of_another_kind_without_evidence_says_nothing() -> None:
    prompts = Prompts.of(TeacherOptions(), "notes", "tools", TASK, False)
    text = prompts.reflect(Signal("odd", "t", 1, 1.0, {}), "e")[1]["content"]
    assert "The signal 'odd' was found here." in text and "{}" not in text
    assert """'odd' says: {"a": 1}""" in prompts.reflect(Signal("odd", "t", 1, 1.0, {"a": 1}), "e")[1]["content"]


@pytest.mark.parametrize("chars", [6000, 8000, 9500, 24_000])
def test_the_longest_texts_leave_room_for_calls(chars: int) -> None:
    options = TeacherOptions(context_chars=chars)
    task = evolve(TASK, query="q" * chars)
    prompts = Prompts.of(options, "n" * chars, "t" * words.tools_chars(options), task, True, "w" * words.world_chars(options))
    long = "x" * chars
    assert prompts.room(prompts.abstract(Reflection(long, long, tuple(f"{n}{long}" for n in range(9)), long), "")) >= 150


LONG = st.text(st.characters(codec="utf-8"), max_size=3000)


@settings(max_examples=40, deadline=None)
@given(LONG, LONG, LONG, st.lists(LONG, min_size=1, max_size=8), st.lists(LONG, max_size=8), st.integers(6000, 12_000))
def test_no_prompt_is_longer_than_it_may_be(notes: str, query: str, text: str, tries: list[str], seen: list[str], chars: int) -> None:
    options = TeacherOptions(context_chars=chars)
    description = WORLD.describe()
    tools = tool_list.tools(list(description.tools), [], options.max_tools, words.tools_chars(options))
    world = "w" * words.world_chars(options)
    task = Task("t", "stockroom", query, "", (Action("catalog.find", {"item": text}),))
    prompts = Prompts.of(options, notes, tools, task, True, world)
    reflection = Reflection(text, text, tuple(tries), text)
    steps = [Step(Action("catalog.find", {"item": one}), one, one, one if n % 2 else None) for n, one in enumerate(seen)]
    talk: list[Message] = []
    for number, step in enumerate(steps, 1):
        said = rendering.cut(words.wanted(text, "catalog.find", step.action.arguments), chars // 12)
        talk += [{"role": "assistant", "content": said}, {"role": "user", "content": words.observed(step, number, chars // 12)}]
    again = words.quoted_chars(options) + len(words.AGAIN)
    odd = Signal("odd", "t", 1, 1.0, {"why": text})
    for messages in (
        prompts.reflect(odd, "x" * prompts.room(prompts.reflect(odd, ""))),
        words.fitted(prompts.explore(reflection), talk, words.limit(options)),
        prompts.abstract(reflection, rendering.steps(steps, prompts.room(prompts.abstract(reflection, "")), idle=range(len(steps)))),
    ):
        assert sum(len(message["content"]) for message in messages) + again <= chars
        roles = [message["role"] for message in messages]
        assert roles[:2] == ["system", "user"] and roles[2:] == ["assistant", "user"] * (len(roles[2:]) // 2)
    assert 0 < len(query) <= chars // 10 or "left out" in prompts.explore(reflection)[1]["content"] or not query
