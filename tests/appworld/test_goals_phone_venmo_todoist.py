"""Goals about alarms, contacts, messages, payments, requests and plans: their parts alone, and all of them in the tiny world."""

import random
import re
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import Any

import pytest

from coevolve import CandidateTask, Goal, Step, Task, TaskPool
from coevolve.environments.appworld.environment import AppWorld
from coevolve.environments.appworld.goals import alarms, contacts, dealings, errands, messages, payment_requests, payments, projects, todos
from coevolve.environments.appworld.goals.alarms import of_minute, ringing
from coevolve.environments.appworld.goals.deal import make
from coevolve.environments.appworld.goals.dealings import part, single, spans
from coevolve.environments.appworld.goals.messages import clock_in
from coevolve.environments.appworld.goals.people import known, next_birthday
from coevolve.environments.appworld.goals.plans import minutes, next_monday
from coevolve.environments.appworld.goals.registry import GOALS
from coevolve.environments.appworld.goals.scene import Scene, Unavailable
from coevolve.environments.appworld.goals.snapshot import Snapshot
from coevolve.plugins.validators.execution import Execution, ExecutionOptions

MODULES = (alarms, contacts, messages, payments, payment_requests, todos, projects, errands)
KINDS = [name for name, kind in GOALS.items() if kind.make.__module__ in {module.__name__ for module in MODULES}]
NEEDED = GOALS["alarm ahead of a texted time"].needs
TRIES = 4
"""Attempts at a kind of goal for each user."""


def scene(now: str = "2023-05-18T12:00:00", **listed: Sequence[Mapping[str, Any]]) -> Scene:
    found: dict[str, list[tuple[dict[str, Any], Any]]] = {name.replace("__", "."): [({}, list(rows))] for name, rows in listed.items()}
    found["supervisor.show_profile"] = [({}, {"email": "me@x.y", "phone_number": "1"})]
    return Scene(Snapshot("key", datetime.fromisoformat(now), found), random.Random(1))


def contact(name: str, *relationships: str, email: str = "") -> dict[str, Any]:
    return {
        "first_name": name,
        "last_name": "X",
        "email": email or f"{name}@x.y",
        "phone_number": "2",
        "relationships": list(relationships),
        "birthday": None,
    }


def test_there_are_enough_kinds() -> None:
    assert len(KINDS) >= 65
    assert {name.partition(".")[0] for kind in KINDS for name in GOALS[kind].needs} == {"phone", "venmo", "todoist"}


def test_a_relationship_names_one_person_or_nobody() -> None:
    rows = [contact("Ann", "sister"), contact("Bob", "friend"), contact("Cid", "friend", "coworker"), contact("Me", "boss", email="me@x.y")]
    assert [(one.row["first_name"], one.my) for one in known(scene(phone__search_contacts=rows))] == [
        ("Ann", "my sister"),
        ("Cid", "my coworker"),
    ]


@pytest.mark.parametrize(
    ("born", "today", "at"),
    [
        ("1990-05-18", "2023-05-18", "2023-05-18"),
        ("1990-05-17", "2023-05-18", "2024-05-17"),
        ("1990-12-31", "2023-05-18", "2023-12-31"),
        ("1992-02-29", "2024-01-01", "2024-02-29"),
    ],
)
def test_the_next_birthday(born: str, today: str, at: str) -> None:
    assert next_birthday({"birthday": born, "first_name": "Ann"}, date.fromisoformat(today)) == date.fromisoformat(at)


def test_no_birthday_is_guessed() -> None:
    for born, today in ((None, "2023-05-18"), ("1992-02-29", "2023-01-01"), ("1992-02-29", "2024-03-01")):
        with pytest.raises(Unavailable):
            next_birthday({"birthday": born, "first_name": "Ann"}, date.fromisoformat(today))


def test_the_month_before_january_is_december() -> None:
    this, last = spans(scene("2023-01-09T08:00:00"))
    assert (this.words, last.words) == ("this month", "in December")
    assert this.arguments == {"min_created_at": "2023-01-01"}
    assert last.arguments == {"min_created_at": "2022-12-01", "max_created_at": "2022-12-31"}
    assert last.holds("2022-12-31T23:59:00") and not last.holds("2023-01-01T00:00:00") and this.holds("2023-01-09T07:00:00")


def test_a_payment_on_the_last_day_of_a_past_month_leaves_its_sum_open() -> None:
    rows = [
        {"sender": {"email": "me@x.y"}, "receiver": {"email": "a@x.y"}, "amount": 5.0, "created_at": f"2023-{at}T10:00:00"}
        for at in ("04-29", "05-18")
    ]
    at = scene(venmo__show_transactions=rows)
    this, last = spans(at)
    assert [len(dealings.payments(at, "sent", span)) for span in (this, last)] == [1, 1]
    with pytest.raises(Unavailable, match="last day"):
        dealings.payments(scene(venmo__show_transactions=[{**rows[0], "created_at": "2023-04-30T10:00:00"}]), "sent", last)


def test_a_one_time_alarm_is_not_set_for_a_text_about_another_day() -> None:
    made = []
    for words in ("Dinner is on Sunday at 18:30.", "Dinner is at 18:30."):
        text = {"sender": {"phone_number": "2"}, "receiver": {"phone_number": "1"}, "sent_at": "2023-05-17T10:00:00", "message": words}
        at = scene(phone__search_contacts=[contact("Ann", "sister")], phone__search_text_messages=[text])
        made.append(
            make(
                "alarm ahead of a texted time", at.data, {name: {"description": "", "parameters": []} for name in NEEDED}, random.Random(1)
            )
        )
    assert made[0] is None and made[1] is not None and "repeat_days" not in made[1].actions[-2].arguments


def test_amounts_are_divided_to_the_cent_or_not_at_all() -> None:
    assert part(12.5, 2) == 6.25 and part(11.25, 3) == 3.75 and part(0.3, 3) == 0.1
    for amount, of in ((12.55, 2), (10.0, 3)):
        with pytest.raises(Unavailable):
            part(amount, of)


def test_the_largest_is_one_of_several_and_has_no_equal() -> None:
    assert single([3, 9, 5], int) == 9 and single([3, 9, 5], int, largest=False) == 3
    rows: list[int]
    for rows in ([], [4], [9, 9, 3]):
        with pytest.raises(Unavailable):
            single(rows, int)


@pytest.mark.parametrize(("text", "time"), [("Be there at 9:05.", "09:05"), ("It begins at 18:30, really", "18:30")])
def test_a_text_names_one_time(text: str, time: str) -> None:
    assert clock_in(text) == time
    for other in ("Come soon.", f"{text} Or at 20:00?", "Room 214"):
        with pytest.raises(Unavailable):
            clock_in(other)


def test_minutes_of_the_day() -> None:
    assert [of_minute(minute) for minute in (0, 65, 1439)] == ["00:00", "01:05", "23:59"]


def test_only_alarms_that_are_on_ring_and_two_at_once_have_no_order() -> None:
    rows: list[dict[str, Any]] = [
        {"time": "09:00", "repeat_days": ["monday"], "enabled": True},
        {"time": "07:00", "repeat_days": ["monday"], "enabled": False},
        {"time": "08:00", "repeat_days": ["monday", "friday"], "enabled": True},
        {"time": "08:00", "repeat_days": ["friday"], "enabled": True},
        {"time": "06:00", "repeat_days": None, "enabled": True},
    ]
    assert [row["time"] for row in ringing(scene(phone__show_alarms=rows), "monday")] == ["08:00", "09:00"]
    with pytest.raises(Unavailable):
        ringing(scene(phone__show_alarms=rows), "friday")


def test_durations_are_added_in_minutes() -> None:
    task = {"duration": 1.5, "duration_unit": "hours"}
    assert minutes([task, {"duration": 20, "duration_unit": "minutes"}]) == 110
    for other in ({"duration": None, "duration_unit": None}, {"duration": 1, "duration_unit": "days"}):
        with pytest.raises(Unavailable):
            minutes([task, other])


def test_next_monday_is_never_today() -> None:
    assert [next_monday(date(2023, 5, day)).isoformat() for day in (21, 22, 24)] == ["2023-05-22", "2023-05-29", "2023-05-29"]


@pytest.fixture(scope="module")
def starts(environment: AppWorld) -> list[Task]:
    """One task of each main user."""
    return [task for task in environment.tasks("train") if task.id.startswith("payback")]


def drawn(environment: AppWorld, start: Task, kind: str) -> list[Goal]:
    """What TRIES attempts at a kind give."""
    snapshot = environment._snapshots.of(environment.worlds, environment.calls, start)
    made = [make(kind, snapshot, environment.calls.documents, random.Random(f"{kind} {turn}")) for turn in range(TRIES)]
    return [goal for goal in made if goal is not None]


def a_goal(environment: AppWorld, starts: Sequence[Task], kind: str) -> tuple[Task, Goal]:
    """The first goal of a kind, looking at the users in an order that depends on the kind."""
    first = KINDS.index(kind) % len(starts)
    for start in [*starts[first:], *starts[:first]]:
        for goal in drawn(environment, start, kind):
            return start, goal
    pytest.fail(f"no user of the tiny world wants {kind!r}")


@pytest.mark.slow
def test_every_kind_has_goals_whose_words_hide_the_answer(environment: AppWorld, starts: list[Task]) -> None:
    for kind in KINDS:
        found = [goal for start in starts for goal in drawn(environment, start, kind)]
        assert found, kind
        assert len({goal.query for goal in found}) > 1, kind
        for goal in found:
            *_, end = goal.actions
            answer = end.arguments.get("answer")
            assert end.name == "supervisor.complete_task"
            assert not isinstance(answer, str) or answer not in goal.query, (kind, goal.query)
            assert not isinstance(answer, float) or f"{answer:.2f}" not in goal.query, (kind, goal.query)
            assert len(goal.query) < 400 and "  " not in goal.query and goal.query[0].isupper(), (kind, goal.query)


@pytest.mark.slow
def test_nobody_deals_with_themselves(environment: AppWorld, starts: list[Task]) -> None:
    for start in starts:
        snapshot = environment._snapshots.of(environment.worlds, environment.calls, start)
        own = {snapshot.me["email"], snapshot.me["phone_number"]}
        goals = [goal for kind in KINDS for goal in drawn(environment, start, kind)]
        partners = [
            value
            for goal in goals
            for action in goal.actions
            for name, value in action.arguments.items()
            if name in ("receiver_email", "user_email", "phone_number", "assignee_email")
        ]
        assert len(partners) > 100 and not own & set(partners)


@pytest.mark.slow
def test_goals_are_a_function_of_the_seed(environment: AppWorld, starts: list[Task]) -> None:
    one, again, other = (environment.goals(starts[0], seed, 40) for seed in (3, 3, 4))
    assert len(one) == 40 and one == again and one != other
    assert len({goal.query for goal in one}) == len({goal.kind for goal in one}) == 40


ANSWERS = {
    "others still owe me": "sum(r['amount'] for r in venmo(apis.venmo.show_sent_payment_requests, status='pending'))",
    "requests within a budget": "max(n for n in range(len(owed()) + 1) if sum(owed()[:n]) <= {budget})",
    "who wrote last": (
        "max((r for r in phone(apis.phone.search_text_messages) if r['receiver']['phone_number'] == me['phone_number']), "
        "key=lambda r: r['sent_at'])['sender']['name']"
    ),
    "days with an alarm": "7 - len({d for r in phone(apis.phone.show_alarms) if r['enabled'] for d in r['repeat_days']})",
}
"""For some kinds of questions, another way to the answer."""
_TOKENS = """me = apis.supervisor.show_profile()
words = {row['account_name']: row['password'] for row in apis.supervisor.show_account_passwords()}
def token(app):
    name = me['phone_number' if app == 'phone' else 'email']
    return getattr(apis, app).login(username=name, password=words[app])['access_token']
def venmo(api, **more):
    return api(page_limit=20, access_token=token('venmo'), **more)
def owed():
    return sorted(row['amount'] for row in venmo(apis.venmo.show_received_payment_requests, status='pending'))
def phone(api, **more):
    return api(page_limit=20, access_token=token('phone'), **more)
"""


@pytest.mark.slow
def test_answers_agree_with_another_way_to_them(environment: AppWorld, starts: list[Task]) -> None:
    for kind, expression in ANSWERS.items():
        start, goal = a_goal(environment, starts, kind)
        budget = re.search(r"\$(\d+)", goal.query)
        code = expression.replace("{budget}", budget[1] if budget else "")
        found = environment.worlds.trace(start, [f"{_TOKENS}apis.supervisor.complete_task(answer={code})"])
        assert found["ok"], (kind, found["error"])
        expected = goal.actions[-1].arguments["answer"]
        assert (round(float(found["answer"]), 2) if isinstance(expected, float) else found["answer"]) == expected, kind


def admitted(environment: AppWorld, starts: Sequence[Task], kinds: Sequence[str], mutations: int, splits: Sequence[str]) -> dict[str, str]:
    """The verdict of the validator "execution" on a task of each kind, with an empty pool and the first variants of held-out scenarios."""
    held_out = [task for split in splits for task in environment.tasks(split) if task.id.endswith("_1")]
    validator, verdicts = Execution(ExecutionOptions(mutations=mutations)), {}
    for number, kind in enumerate(kinds):
        start, goal = a_goal(environment, starts, kind)
        task = environment.compose(start, [Step(action, "") for action in goal.actions], f"goal{number}_1", goal.query)
        assert task is not None, goal.query
        verdict = validator.validate(CandidateTask(task), environment, TaskPool(()), held_out)
        verdicts[kind] = verdict.reason
    return verdicts


@pytest.mark.slow
def test_tasks_of_some_kinds_are_admitted(environment: AppWorld, starts: list[Task]) -> None:
    kinds = ["pay what was texted", "put off overdue tasks"]
    assert admitted(environment, starts, kinds, 1, ["test_challenge"]) == dict.fromkeys(kinds, "accepted")


@pytest.mark.slow
@pytest.mark.nightly
def test_nearly_every_sixth_kind_is_admitted_and_the_rest_only_resembles_held_out_tasks(environment: AppWorld, starts: list[Task]) -> None:
    some = sorted(KINDS)[::6]  # a candidate takes the door ten seconds
    verdicts = admitted(environment, starts, some, 4, ["dev", "test_normal", "test_challenge"])
    refused = {kind: reason for kind, reason in verdicts.items() if reason != "accepted"}
    assert len(verdicts) == len(some) and len(refused) <= 2 and set(refused.values()) <= {"held_out_end_state", "held_out_family"}, refused
