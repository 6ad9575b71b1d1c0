"""The tiny world in the real engine: right solutions score 1; doing nothing, too much, the wrong thing or stopping short score 0."""

import contextlib
import json
import sqlite3
import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from coevolve import Task
from coevolve.environments.appworld import home
from coevolve.environments.appworld.environment import AppWorld
from coevolve.environments.appworld.reference import gold_blocks

pytestmark = pytest.mark.slow

OTHER_THING = {
    "longsong": ("Morning Run", "Rainy Sunday"),
    "payback": ("'coworker'", "'sister'"),
    "tickoff": ("Repair the trellis", "Order potting soil"),
    "openitems": ("Camping List", "Book Ideas"),
    "latealarm": ("Water the plants", "Standup"),
    "gotmoney": ("'sister'", "'coworker'"),
    "likesongs": ("Ada Quill", "The Paper Kites of Oslo"),
    "pinnote": ("Book Ideas", "Camping List"),
    "approve": ("'roommate'", "'coworker'"),
    "newlist": ("Ada Quill", "The Paper Kites of Oslo"),
}
"""For each scenario's first variant: what its solution names, and what the same solution could name by mistake."""
EVERY_TIME = ("payback",)
"""An errand that adds a record; the other scenarios are nightly."""
QUESTIONS = ("longsong", "openitems", "gotmoney")
COMPLETE = "apis.supervisor.complete_task("
STRAY = """passwords = {row["account_name"]: row["password"] for row in apis.supervisor.show_account_passwords()}
profile = apis.supervisor.show_profile()
token = apis.simple_note.login(username=profile["email"], password=passwords["simple_note"])["access_token"]
apis.simple_note.create_note(title="By the way", content="Nobody asked for this.", access_token=token)"""
AGAIN = {
    "payback": 'apis.venmo.create_transaction(receiver_email=person["email"], amount=1.0, description="tip", access_token=venmo)',
    "tickoff": 'apis.todoist.update_task(task_id=found["no_section_tasks"][0]["task_id"], is_completed=True, access_token=todoist)',
    "latealarm": 'apis.phone.update_alarm(alarm_id=alarm["alarm_id"], enabled=False, access_token=phone)',
    "likesongs": "apis.spotify.like_song(song_id=12, access_token=spotify)",
    "pinnote": 'apis.simple_note.update_note(note_id=note["note_id"], title="Renamed", access_token=simple_note)',
    "approve": (
        "for entry in requests:\n    if entry is not request:\n"
        '        apis.venmo.deny_payment_request(payment_request_id=entry["payment_request_id"], access_token=venmo)'
    ),
    "newlist": 'apis.spotify.add_song_to_playlist(playlist_id=playlist["playlist_id"], song_id=12, access_token=spotify)',
}
"""For each errand, one more change of the kind that was asked for."""


def outcome(environment: AppWorld, name: str, blocks: Sequence[str]) -> bool:
    """Whether the engine's scorer accepts blocks that must all run."""
    world = environment.worlds.open(Task(name, "appworld", ""))
    try:
        for block in blocks:
            assert world.execute(block)["error"] is None
        return world.score()["success"] is True
    finally:
        world.close()


def outcomes(environment: AppWorld, tried: Sequence[tuple[str, Sequence[str]]]) -> list[bool]:
    """`outcome` of each, some at a time."""
    with ThreadPoolExecutor(4) as threads:
        return list(threads.map(lambda one: outcome(environment, *one), tried))


def gold(environment: AppWorld, name: str) -> list[str]:
    return list(gold_blocks(environment.root, name))


def before_completing(blocks: list[str], added: str) -> list[str]:
    *first, last = blocks
    head, tail = last.split(COMPLETE)
    return [*first, f"{head}{added}\n{COMPLETE}{tail}"]


def test_every_split_is_there_with_whole_scenarios(environment: AppWorld) -> None:
    assert environment.splits() == ("train", "dev", "test_normal", "test_challenge")
    names = [task.id for split in environment.splits() for task in environment.tasks(split)]
    assert sorted(names) == sorted(f"{scenario}_{number}" for scenario in OTHER_THING for number in (1, 2, 3))
    assert len({task.query for split in environment.splits() for task in environment.tasks(split)}) == len(names)


@pytest.mark.parametrize("numbers", [(1,), pytest.param((2, 3), marks=pytest.mark.nightly)], ids=["first variants", "other variants"])
def test_right_solutions_are_accepted(environment: AppWorld, numbers: tuple[int, ...]) -> None:
    names = [f"{scenario}_{number}" for scenario in OTHER_THING for number in numbers]
    found = outcomes(environment, [(name, gold(environment, name)) for name in names])
    assert dict(zip(names, found, strict=True)) == dict.fromkeys(names, True)


@pytest.mark.parametrize(
    "scenario", [name if name in EVERY_TIME else pytest.param(name, marks=pytest.mark.nightly) for name in OTHER_THING]
)
def test_anything_less_or_more_is_refused(environment: AppWorld, scenario: str) -> None:
    name = f"{scenario}_1"
    right = gold(environment, name)
    last = right[-1]
    one, other = OTHER_THING[scenario]
    assert any(one in block for block in right)
    stopped = [block for block in [*right[:-1], last[: last.index(COMPLETE)].rstrip()] if block]
    wrong = {
        "nothing": [],
        "only completing": [f"{COMPLETE})"],
        "not completing": stopped,
        "giving up": [*stopped, f'{COMPLETE}status="fail")'],
        "a stray change": [STRAY, *right],
        "the wrong thing": [block.replace(one, other) for block in right],
        "a wrong answer": [*stopped, f'{COMPLETE}answer="something else")'],
    }
    if scenario not in QUESTIONS:
        wrong["one change more"] = before_completing(right, AGAIN[scenario])
    found = outcomes(environment, [(name, blocks) for blocks in wrong.values()])
    assert dict(zip(wrong, found, strict=True)) == dict.fromkeys(wrong, False)


SONGS_AGAIN = """
import json, sys
sys.path.insert(0, sys.argv[1])
from appworld.collections.models import ModelCollection
from appworld.common.utils import freeze_time
from engine import tiny, tiny_world
with freeze_time(tiny_world.EARLIER):
    apps = ModelCollection.load(to_db_home_path=":memory:again", load_apps=["spotify"], create_db=True)
    for person in tiny_world.PEOPLE:
        apps.spotify.User.create_save(**person.names, email=person.email, verified=True, password=person.password("spotify"))
    tiny_world._music(apps.spotify)
    tiny.rehash({"spotify": apps.spotify})
rows = apps.spotify.SQLModel.db.connection.execute("SELECT * FROM songs ORDER BY id")
print(json.dumps([list(row) for row in rows]))
"""
"""Run in the engine's Python: the songs as the generator makes them now."""


def test_the_generator_makes_the_same_songs_again(environment: AppWorld) -> None:
    command = [str(home.python()), "-I", "-B", "-c", SONGS_AGAIN, str(home.ENGINE_FOLDER.parent)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0, done.stderr
    file = environment.root / "data" / "base_dbs" / "spotify.db"
    with contextlib.closing(sqlite3.connect(f"file:{file}?mode=ro&immutable=1", uri=True)) as database:
        there = [list(row) for row in database.execute("SELECT * FROM songs ORDER BY id")]
    assert len(there) == 12 and json.loads(done.stdout) == there


@pytest.mark.nightly
def test_the_generator_writes_the_same_bytes_again(environment: AppWorld, tmp_path: Path) -> None:
    fresh = tmp_path / "fresh"
    fresh.mkdir()
    done = subprocess.run(home.engine_command("tiny", str(fresh)), capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0, done.stderr
    made, there = (
        {str(f.relative_to(root)): f.read_bytes() for f in root.rglob("data/**/*") if f.is_file() and f.suffix != ".pyc"}
        for root in (fresh, environment.root)
    )
    assert made.keys() == there.keys()
    assert [name for name in made if made[name] != there[name]] == []


def test_the_generator_refuses_a_folder_that_holds_data(environment: AppWorld) -> None:
    done = subprocess.run(home.engine_command("tiny", str(environment.root)), capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode != 0 and "exists" in done.stderr


def test_the_generator_refuses_a_path_that_the_engine_misreads(environment: AppWorld, tmp_path: Path) -> None:
    folder = tmp_path / "in memory of"
    folder.mkdir()
    done = subprocess.run(home.engine_command("tiny", str(folder)), capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode != 0 and "memory" in done.stderr
    assert not list(folder.iterdir())
