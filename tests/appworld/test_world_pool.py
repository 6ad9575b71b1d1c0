"""The pool over a fake server: lost worlds are restored, ended ones are reported, the limit is kept, nothing is left."""

import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from coevolve import InfrastructureFault, Task
from coevolve.environments.appworld import connection
from coevolve.environments.appworld.connection import EngineError, WorldEnded
from coevolve.environments.appworld.server_process import RESTARTS, ServerProcess, private_folder
from coevolve.environments.appworld.world_pool import RECOVERIES, WorldLimits, WorldPool, engine_id, located, room

LIMITS = WorldLimits(block_seconds=1.0, wall_seconds=1.0, memory=64, output=100, interactions=5, worlds=2)
TASK = Task("a_1", "appworld", "Do it.")


@pytest.fixture
def worlds(tmp_path: Path) -> Iterator[WorldPool]:
    server = ServerProcess([sys.executable, str(Path(__file__).with_name("fake_server.py"))], tmp_path)
    made = WorldPool(server, tmp_path, LIMITS)
    yield made
    made.close()
    assert server.pid is None


def opened(worlds: WorldPool) -> int:
    return len((worlds.root / "opened").read_text().splitlines())


def test_blocks_run_in_one_world(worlds: WorldPool) -> None:
    world = worlds.open(TASK)
    assert [world.execute(code)["output"] for code in ("a", "b")] == ["1 a", "2 b"]
    assert world.diff() == ["a", "b"]
    assert opened(worlds) == 1


def test_a_dead_server_is_started_again_and_the_world_replayed(worlds: WorldPool) -> None:
    world = worlds.open(TASK)
    world.execute("a")
    before = worlds.server.pid
    assert world.execute("die once")["output"] == "2 die once"
    assert worlds.server.pid != before
    assert world.diff() == ["a", "die once"]


def test_a_block_that_takes_the_server_down_time_and_again_is_an_infrastructure_fault(worlds: WorldPool) -> None:
    world = worlds.open(TASK)
    with pytest.raises(InfrastructureFault, match=f"lost {RECOVERIES + 1} times"):
        world.execute("die")
    assert world.execute("a")["output"] == "1 a", "what failed is not part of the world"


def test_a_server_that_keeps_dying_is_given_up(worlds: WorldPool) -> None:
    world = worlds.open(TASK)
    for _ in range((RESTARTS + 1) // (RECOVERIES + 1)):
        with pytest.raises(InfrastructureFault):
            world.execute("die")
    with pytest.raises(InfrastructureFault, match="died"):
        world.execute("a")


def test_a_killed_world_is_made_again_and_then_its_code_is_blamed(worlds: WorldPool) -> None:
    world = worlds.open(TASK)
    with pytest.raises(WorldEnded) as caught:
        world.execute("lose")
    assert caught.value.reason == "killed"
    assert opened(worlds) == RECOVERIES + 1


@pytest.mark.parametrize(("code", "error"), [("end", WorldEnded), ("raise", EngineError)])
def test_what_the_code_did_is_reported_and_not_tried_again(worlds: WorldPool, code: str, error: type[Exception]) -> None:
    world = worlds.open(TASK)
    with pytest.raises(error):
        world.execute(code)
    assert opened(worlds) == 1


def test_no_answer_and_rubbish_are_infrastructure_faults(worlds: WorldPool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "GRACE", -2.9)
    world = worlds.open(TASK)
    for code in ("hang", "rubbish"):
        with pytest.raises(InfrastructureFault):
            world.execute(code)


def test_an_unknown_task_is_the_callers_error(worlds: WorldPool) -> None:
    with pytest.raises(ValueError, match="open"):
        worlds.open(Task("unknown", "appworld", "?"))
    assert worlds.open(TASK).execute("a")["output"] == "1 a", "its place is free again"


def test_another_protocol_is_refused(worlds: WorldPool) -> None:
    (worlds.root / "protocol").write_text("2")
    with pytest.raises(InfrastructureFault, match="protocol 2"):
        worlds.open(TASK)


def test_more_worlds_than_there_is_room_for_are_parked_and_replayed(worlds: WorldPool) -> None:
    made = [worlds.open(TASK) for _ in range(5)]
    for text in ("a", "b"):
        for number, world in enumerate(made):
            world.execute(f"{text}{number}")
    assert [world.diff() for world in made] == [[f"a{n}", f"b{n}"] for n in range(5)]
    assert sum(world.connection is not None for world in made) <= LIMITS.worlds


def test_worlds_are_used_from_many_threads(worlds: WorldPool) -> None:
    found: list[list[str]] = []

    def live(number: int) -> None:
        world = worlds.open(TASK)
        for turn in range(4):
            world.execute(f"{number}.{turn}")
        found.append(world.diff())
        world.close()

    threads = [threading.Thread(target=live, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(found) == [[f"{n}.{turn}" for turn in range(4)] for n in range(8)]


def test_a_world_goes_back_to_any_of_its_pasts(worlds: WorldPool) -> None:
    world = worlds.open(TASK)
    world.execute("a")
    past = world.blocks
    world.execute("b")
    world.rewind(past)
    assert world.diff() == ["a"]
    world.execute("c")
    assert world.diff() == ["a", "c"]


def test_a_trace_needs_no_world_of_ones_own(worlds: WorldPool) -> None:
    found: object = worlds.trace(TASK, ["a", "b"])
    assert found == ["a", "b"]


def test_nothing_is_left_of_a_server(tmp_path: Path) -> None:
    server = ServerProcess([sys.executable, str(Path(__file__).with_name("fake_server.py"))], tmp_path)
    server.connect().close()
    process, run = server._process, server._run
    assert process is not None and run is not None and run.parent == private_folder() and (run / "socket").exists()
    server.stop()
    assert process.returncode == 0
    assert not run.exists()


def test_synthesized_tasks_are_known_by_all_that_they_are() -> None:
    payload = {"start": "a_1", "code": ["x"], "reference": {"diff": {}, "answer": 1}}
    task = Task("new", "appworld", "Do more.", payload=payload)
    assert engine_id(TASK) == "a_1" and located(TASK) == {"task": "a_1"}
    assert engine_id(task).endswith("_1") and engine_id(task) != engine_id(Task("new", "appworld", "Do less.", payload=payload))
    assert located(task)["synthesized"] == {**payload, "query": "Do more."}


def test_room_is_by_memory_unless_it_is_given(tmp_path: Path) -> None:
    assert room(tmp_path, 7) == 7
    small = room(tmp_path, 0)
    (tmp_path / "data" / "base_dbs").mkdir(parents=True)
    with (tmp_path / "data" / "base_dbs" / "a.db").open("wb") as file:
        file.truncate(2**40)
    assert small > 1 and room(tmp_path, 0) == 1
