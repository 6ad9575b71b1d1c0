"""Actions as blocks of code, and back."""

import ast
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coevolve import Action
from coevolve.environments.appworld.script import Calls, completion, read_reference, reference_block


def document(app: str, api: str, method: str, *names: str, user: str = "email") -> dict[str, Any]:
    parameters = [{"name": n.rstrip("?"), "description": f"Your account {user}.", "required": not n.endswith("?")} for n in names]
    return {"app_name": app, "api_name": api, "method": method, "description": f"{api}.", "parameters": parameters}


DOCUMENTS = {
    f"{d['app_name']}.{d['api_name']}": d
    for d in (
        document("shop", "show", "GET", "item_id"),
        document("shop", "buy", "POST", "item_id", "note", "access_token", "file_system_access_token"),
        document("shop", "rate", "POST", "item_id", "photo_file_path?", "access_token", "file_system_access_token?"),
        document("shop", "login", "POST", "username", "password"),
        document("file_system", "login", "POST", "username", "password"),
        document("phone", "call", "POST", "number", "access_token"),
        document("phone", "login", "POST", "username", "password", user="phone_number"),
        document("supervisor", "complete_task", "POST", "answer", "status"),
    )
}
CALLS = Calls(DOCUMENTS)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(), st.lists, max_leaves=4
)


@settings(deadline=None)
@given(VALUES, VALUES)
def test_a_call_is_read_back_as_it_was(item: Any, note: Any) -> None:
    action = Action("shop.buy", {"item_id": item, "note": note})
    code = CALLS.block(action)
    assert CALLS.read(code) == action
    call = ast.parse(code).body[-1]
    assert isinstance(call, ast.Expr) and isinstance(call.value, ast.Call)
    inner = call.value.args[0]
    assert isinstance(inner, ast.Call)
    given_values = {k.arg: ast.literal_eval(k.value) for k in inner.keywords if not isinstance(k.value, ast.Name)}
    assert given_values == {"item_id": item, "note": note}


@settings(deadline=None)
@given(st.text(max_size=40))
def test_other_code_is_no_call(text: str) -> None:
    assert CALLS.read(text) is None
    code = CALLS.block(Action("shop.show", {"item_id": 3}))
    assert CALLS.read(f"{code}\n{text}") is None
    assert CALLS.read(code.replace("item_id=3", f"item_id={text!r}")) is None


def test_tokens_are_filled_in_where_an_api_asks_for_them() -> None:
    assert "login" not in CALLS.block(Action("shop.show", {"item_id": 3}))
    bought = CALLS.block(Action("shop.buy", {"item_id": 3}))
    assert "apis.shop.login(username=apis.supervisor.show_profile()['email']" in bought
    assert "access_token=access_token, file_system_access_token=file_system_access_token" in bought
    assert "apis.file_system.login(" in bought
    assert "apis.file_system.login(" in CALLS.block(Action("shop.rate", {"item_id": 3, "photo_file_path": "/a.png"}))
    assert "file_system" not in CALLS.block(Action("shop.rate", {"item_id": 3})), "not everybody has files"
    assert "show_profile()['phone_number']" in CALLS.block(Action("phone.call", {"number": "5"}))


@pytest.mark.parametrize(
    "action",
    [
        Action("shop.steal", {}),
        Action("shop.show", {"colour": "red"}),
        Action("shop.buy", {"item_id": 1, "access_token": "x"}),
        Action("shop.show", {"item_id=1); evil(": 1}),
        Action("execute", {}),
        Action("execute", {"code": 3}),
        Action("reference", {"task": None}),
    ],
)
def test_what_is_no_action_is_refused(action: Action) -> None:
    with pytest.raises(ValueError, match=r"no API|no argument|needs a text"):
        CALLS.block(action)


def test_a_text_with_a_fence_in_it_does_not_end_the_block() -> None:
    action = Action("shop.buy", {"item_id": 1, "note": "see:\n```python\nx\n``` and \\`"})
    code = CALLS.block(action)
    assert "`" not in code
    assert CALLS.read(code) == action
    assert repr("see:\n```python\nx\n``` and \\`") == repr(ast.literal_eval(code.split("note=")[1].split(", access_token=")[0]))


def test_code_stays_as_it_is() -> None:
    code = "for n in range(3):\n    print(n)"
    assert CALLS.blocks([Action("execute", {"code": code, "calls": 2})]) == (code,)
    assert completion(code) == f"```python\n{code}\n```"


def test_only_this_process_can_ask_for_a_reference_solution() -> None:
    block = CALLS.block(Action("reference", {"task": "abc_1"}))
    assert block == reference_block("abc_1")
    assert read_reference(block) == "abc_1"
    for forged in ("# reference abc_1", "# reference abc_1 0", block.replace("abc_1", "abc_2"), f"{block} x", f"x = 1\n{block}"):
        assert read_reference(forged) is None
    assert json.dumps(block)  # plain text


def test_which_calls_can_change_something() -> None:
    assert [name for name in DOCUMENTS if CALLS.changes(name) and not name.endswith(".login")] == [
        "shop.buy",
        "shop.rate",
        "phone.call",
        "supervisor.complete_task",
    ]
    assert not CALLS.changes("no.such")
