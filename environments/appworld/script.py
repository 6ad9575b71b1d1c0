"""Actions as code blocks, and back: the text that a perfect policy would write.

An action is one of three: `execute` with a block of code; `app.api` with its arguments, which becomes a block that logs in where the API
asks for a token and prints the answer; and `reference` with a task's id, which stands for that task's reference solution without showing it
(solutions of held-out tasks must not be in a Task). A block of a `reference` is signed with a secret of this process, so that a policy
cannot ask for a reference solution.
"""

import hashlib
import hmac
import json
import keyword
import secrets
from collections.abc import Mapping, Sequence
from typing import Any

from attrs import frozen

from coevolve import Action

EXECUTE, REFERENCE, COMPLETE = "execute", "reference", "supervisor.complete_task"
TOKENS = ("access_token", "file_system_access_token")
"""Arguments that a block fills by itself."""
_CALL, _REFERENCE = "# call ", "# reference "
_BACKTICK, _BACKTICK_JSON = "\\x60", "\\u0060"
"""Backticks inside string literals are escaped: a fence within the code would end the block."""
_SECRET = secrets.token_bytes(32)


def completion(code: str) -> str:
    """A policy's turn that carries out `code`."""
    return f"```python\n{code}\n```"


def reference_block(task_id: str) -> str:
    """A block that stands for a task's reference solution."""
    return f"{_REFERENCE}{task_id} {_sign(task_id)}"


def read_reference(code: str) -> str | None:
    """The id of the task whose reference solution a block stands for; None for other blocks and for those signed elsewhere."""
    words = code.strip().removeprefix(_REFERENCE).split(" ")
    if not code.strip().startswith(_REFERENCE) or len(words) != 2:
        return None
    return words[0] if hmac.compare_digest(words[1].encode(), _sign(words[0]).encode()) else None


def _sign(task_id: str) -> str:
    return hmac.new(_SECRET, task_id.encode(), hashlib.sha256).hexdigest()


@frozen
class Calls:
    """Converts between calls of documented APIs and code; `documents` are the engine's, by "app.api"."""

    documents: Mapping[str, Mapping[str, Any]]

    def blocks(self, actions: Sequence[Action]) -> tuple[str, ...]:
        """The code of each action; see `block`."""
        return tuple(self.block(action) for action in actions)

    def block(self, action: Action) -> str:
        """The code that carries out an action. Raises ValueError for an action that this environment does not have."""
        if action.name == EXECUTE:
            return _text(action, "code")
        if action.name == REFERENCE:
            return reference_block(_text(action, "task"))
        if action.name not in self.documents:
            raise ValueError(f"there is no API {action.name!r}")
        return self._call(action)

    def read(self, code: str) -> Action | None:
        """The API call for which `block` writes exactly this code; None for other code."""
        first, _, _ = code.partition("\n")
        name, _, text = first.removeprefix(_CALL).partition(" ")
        if not first.startswith(_CALL) or name not in self.documents:
            return None
        try:
            action = Action(name, json.loads(text))
            return action if self.block(action) == code else None
        except (ValueError, TypeError, AttributeError, RecursionError):
            return None

    def changes(self, name: str) -> bool:
        """Whether an API may change something, by its method: everything but GET."""
        return name in self.documents and self.documents[name]["method"].upper() != "GET"

    def _call(self, action: Action) -> str:
        known = {parameter["name"]: parameter["required"] for parameter in self.documents[action.name]["parameters"]}
        for name in action.arguments:
            if name not in known or name in TOKENS or not name.isidentifier() or keyword.iskeyword(name):
                raise ValueError(f"{action.name} has no argument {name!r}")
        app, _, _ = action.name.partition(".")
        given = [f"{name}={repr(value).replace('`', _BACKTICK)}" for name, value in action.arguments.items()]
        lines = [f"{_CALL}{action.name} {json.dumps(dict(action.arguments)).replace('`', _BACKTICK_JSON)}"]
        for token, owner in zip(TOKENS, (app, "file_system"), strict=True):
            if token in known and (owner == app or known[token] or any("file_path" in name for name in action.arguments)):
                lines.append(self.login(token, owner))
                given.append(f"{token}={token}")
        call = f"apis.{action.name}({', '.join(given)})"
        return "\n".join([*lines, call if action.name == COMPLETE else f"print({call})"])

    def login(self, token: str, app: str) -> str:
        """The line of code that logs in to `app` and stores the token under the name `token`."""
        parameters = self.documents[f"{app}.login"]["parameters"]
        by_number = any(p["name"] == "username" and "phone_number" in p["description"] for p in parameters)
        user = f"apis.supervisor.show_profile()[{'phone_number' if by_number else 'email'!r}]"
        password = f"next(row['password'] for row in apis.supervisor.show_account_passwords() if row['account_name'] == {app!r})"
        return f"{token} = apis.{app}.login(username={user}, password={password})['access_token']"


def _text(action: Action, argument: str) -> str:
    value = action.arguments.get(argument)
    if not isinstance(value, str):
        raise ValueError(f"the action {action.name!r} needs a text {argument!r}")
    return value
