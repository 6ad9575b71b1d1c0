"""What a world's process answers to requests: operations on its list are carried out, everything else is refused without a call."""

from typing import Any

import pytest

from coevolve.environments.appworld.engine.world import World
from coevolve.environments.appworld.engine.world_process import OPERATIONS, answer


class Untouchable(World):
    """A world that fails the test when anything of it is looked up."""

    def __init__(self) -> None:
        pass

    def __getattribute__(self, name: str) -> Any:
        raise AssertionError(f"{name} was looked up")


@pytest.mark.parametrize(
    "operation",
    [
        *("completed", "limit", "world", "guards", "ping", "score", "__init__", "__class__", "__dict__", "_nothing", "open ", "Open", ""),
        *(None, 7, True, ["open"], {"open": "diff"}),
    ],
)
def test_an_operation_that_is_not_on_the_list_is_refused(operation: Any) -> None:
    found = answer(Untouchable(), {"id": 5, "op": operation, "task": "a_1", "code": ""})
    assert found == {"id": 5, "ok": False, "error": {"kind": "request", "text": f"unknown operation {operation!r}"}}


def test_a_request_without_an_operation_or_an_id_is_refused() -> None:
    assert answer(Untouchable(), {}) == {"id": None, "ok": False, "error": {"kind": "request", "text": "unknown operation None"}}


def test_the_listed_operations_are_those_of_a_world() -> None:
    methods = {name for name in vars(World) if not name.startswith("_")} - {"completed"}
    assert methods | {"trace"} == set(OPERATIONS)


def test_an_operation_that_raises_is_answered_with_its_error() -> None:
    class Broken(World):
        def __init__(self) -> None:
            self.world = None

    found = answer(Broken(), {"id": 1, "op": "save"})
    assert not found["ok"] and found["error"]["kind"] == "engine" and found["error"]["text"].startswith("AttributeError")
