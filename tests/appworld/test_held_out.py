"""Copies of held-out tasks whose solutions are not in the data, as the benchmark ships its test splits."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from coevolve import Action, CandidateTask, Step, Task, TaskPool
from coevolve.environments.appworld.data_checks import GROUND_TRUTH
from coevolve.environments.appworld.environment import AppWorld, AppWorldOptions
from coevolve.environments.appworld.held_out import Effect, copied
from coevolve.environments.appworld.reference import gold_blocks
from coevolve.environments.appworld.synonyms import content, likeness
from coevolve.plugins.validators.execution import Execution, ExecutionOptions

APPS = ("phone", "simple_note", "spotify", "venmo")
LOGIN = ("supervisor.show_profile", "supervisor.show_account_passwords", "supervisor.complete_task")
HELD_OUT: dict[str, tuple[str, Any, dict[str, Any], int, int]] = {
    "pin_1": ("Pin my note Book Ideas so that I find it at once.", None, {"simple_note.Note": {"updated": {"2": {"pinned": True}}}}, 1, 6),
    "sum_1": ("How many dollars has my sister sent me on Venmo this month, in total?", 45.75, {}, 2, 7),
    "pay_1": ("Send $3 to my sister on Venmo.", None, {"venmo.Transaction": {"added": [{"amount": 3}]}}, 2, 7),
    "accept_1": (
        "My roommate has asked me for money on Venmo. Approve that request.",
        None,
        {
            "venmo.PaymentRequest": {"updated": {"1": {"approved_at": None}}},
            "venmo.Transaction": {"added": [{"amount": 3}]},
            "venmo.Notification": {"added": [{"user_id": 2}]},
            "venmo.User": {"updated": {"1": {"venmo_balance": 3}}},
        },
        2,
        8,
    ),
}
"""Request, answer, changes, and the numbers of apps and APIs."""


def effect(asked: bool, fields: dict[str, set[str]], *calls: str) -> Effect:
    return Effect({model: frozenset(names) for model, names in fields.items()}, asked, frozenset((*LOGIN, *calls)))


PIN = effect(False, {"simple_note.Note": {"pinned"}}, "simple_note.login", "simple_note.search_notes", "simple_note.update_note")
RENAME = effect(False, {"simple_note.Note": {"title"}}, "simple_note.login", "simple_note.search_notes", "simple_note.update_note")
WRITE = evolve(PIN, fields={"simple_note.Note": frozenset()}, kinds={"simple_note.Note": frozenset({"added"})})
FOUND = ("phone.login", "phone.search_contacts", "venmo.login")
SUM = effect(True, {}, *FOUND, "venmo.show_transactions")
PAY = effect(False, {"venmo.Transaction": set()}, *FOUND, "venmo.create_transaction")
BOTH = effect(
    False, {"venmo.Transaction": set(), "simple_note.Note": {"content"}}, *FOUND, "venmo.create_transaction", "simple_note.update_note"
)
PAID: dict[str, set[str]] = {"venmo.Transaction": set(), "venmo.Notification": set(), "venmo.User": {"venmo_balance"}}
LEND = effect(False, PAID, *FOUND, "venmo.create_transaction")
ACCEPT = effect(False, {**PAID, "venmo.PaymentRequest": {"approved_at"}}, "venmo.login", "venmo.approve_payment_request")
ASK = effect(False, {"venmo.PaymentRequest": set()}, *FOUND, "venmo.create_payment_request")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name, (query, answer, changes, apps, apis) in HELD_OUT.items():
        truth = tmp_path / "data" / "tasks" / name / "ground_truth"
        truth.mkdir(parents=True)
        (truth.parent / "specs.json").write_text(json.dumps({"instruction": query}))
        (truth / "metadata.json").write_text(json.dumps({"num_apps": apps, "num_apis": apis}))
        (truth / "answer.json").write_text(json.dumps(answer))
        (truth / "private_data.json").write_text(json.dumps({"changes": changes}))
        (truth / "test_data.json").write_text(json.dumps([{"requirement": f"Exactly {model} is changed."} for model in changes]))
        (truth / "evaluation.py").write_text("def evaluate(test, models): ...\n")
    return tmp_path


@pytest.mark.parametrize(
    ("query", "made", "of"),
    [
        ("The Haiku Drafts should always be the first that I see.", PIN, "pin_1"),
        ("Rename my note Book Ideas to Novels.", RENAME, None),
        ("Send my sister 3 dollars and note it down.", BOTH, None),
        ("Write a note 'Paint' that says 'sage'.", WRITE, None),
        ("Pin my note Camping List so that I find it at once.", RENAME, "pin_1"),
        ("What do the payments from my roommate on Venmo since the first of May come to?", SUM, "sum_1"),
        ("What is the note on the newest payment in Venmo?", effect(True, {}, "venmo.login", "venmo.show_transactions"), None),
        ("How many songs are in my library?", effect(True, {}, "spotify.login", "spotify.show_song_library"), None),
        ("Give Elena the 12.50 that I owe her for lunch.", PAY, "pay_1"),
        ("Pay my roommate 31.50 dollars on Venmo. Write 'Groceries' as the note.", LEND, None),
        ("Accept what my coworker asked for on Venmo and nothing else.", ACCEPT, "accept_1"),
        ("Ask my coworker for $14 for the pizza.", ASK, None),
    ],
)
def test_a_copy_is_found_by_what_its_solution_does_and_its_words(root: Path, query: str, made: Effect, of: str | None) -> None:
    found = dict(copied(root, APPS, query, made, [*HELD_OUT, "not_here_1"]))
    assert (max(found, key=lambda name: found[name]) if found else None) == of, found


def test_words_are_compared_without_values_endings_and_names_of_apps() -> None:
    one = content("Please like all the songs by Ada Quill on Spotify, 3 of 'Half a Map'.", APPS)
    assert one == {"lik", "all", "song"}
    assert likeness(one, content("Give a heart to every track of hers.", APPS)) > 0.5
    assert likeness(one, content("Delete my alarm.", APPS)) == likeness(one, frozenset()) == 0.0


class Rooted(AppWorld):
    """AppWorld over a given folder of data."""

    root = Path()


@pytest.fixture(scope="module")
def shipped(environment: AppWorld, tmp_path_factory: pytest.TempPathFactory) -> Iterator[AppWorld]:
    """The tiny world without the solutions of split test_normal."""
    copy = tmp_path_factory.mktemp("shipped") / "root"
    shutil.copytree(environment.root, copy)
    for task in environment.tasks("test_normal"):
        for file in (copy / "data" / "tasks" / task.id / "ground_truth").iterdir():
            if file.name not in GROUND_TRUTH:
                file.unlink()
    made = Rooted(AppWorldOptions(data="tiny", max_worlds=2))
    Rooted.root = copy
    yield made
    made.close()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("query", "note", "reason"),
    [
        ("Pin my note Camping List so that I find it at once.", "Camping List", "held_out_family"),
        ("Would you keep Book Ideas at the top for me?", "Book Ideas", "held_out_family"),
    ],
)
def test_a_copy_of_a_task_without_a_known_solution_is_refused(
    environment: AppWorld, shipped: AppWorld, query: str, note: str, reason: str
) -> None:
    held_out = shipped.tasks("test_normal")
    assert not any(task.solution for task in held_out)
    start = next(task for task in shipped.tasks("train") if task.id == "payback_1")
    code = [block.replace("Book Ideas", note) for block in gold_blocks(environment.root, "pinnote_1")]
    verdict = judged(shipped, start, code, query, held_out)
    assert verdict.reason == reason and "pinnote_1" in verdict.detail


@pytest.mark.slow
def test_another_request_in_the_same_app_is_no_copy(shipped: AppWorld) -> None:
    start = next(task for task in shipped.tasks("train") if task.id == "payback_1")
    made = shipped.compose(start, [Step(Action("spotify.create_playlist", {"title": "Evenings"}), "")], "made", "Make a playlist Evenings.")
    assert made is not None and shipped.copied(made, shipped.tasks("test_normal")) is None


def judged(environment: AppWorld, start: Task, code: list[str], query: str, held_out: Any) -> Any:
    task = environment.compose(start, [Step(Action("execute", {"code": block, "calls": 0}), "") for block in code], "made", query)
    assert task is not None
    return Execution(ExecutionOptions()).validate(CandidateTask(task), environment, TaskPool(()), held_out)
