"""Restricts a policy's code within the interpreter: fewer modules, no `apis.admin`, and a record of every API call with its answer.

This stops accidents and easy ways to an unearned reward. It is not a sandbox: the code runs in the interpreter of the simulated apps.
`confine.py` has the kernel refuse what it can.
"""

import json
from collections.abc import Callable
from typing import Any

DROPPED_MODULES = ("appworld", "builtins", "csv", "os", "pathlib", "unittest")
SECRETS = ("access_token", "password", "token", "verification_code", "password_reset_code")
"""Arguments and fields of answers that are removed from recorded calls."""
ADMIN = "No app named 'admin' found."
MAX_CALLS, MAX_ANSWER = 1_000, 20_000
"""Calls recorded for one block, and characters of JSON kept of one answer."""

_encode = json.JSONEncoder(default=str).encode
_decode = json.JSONDecoder().decode
Call = list[Any]
"""["app.api", arguments, status, answer]; the status is 200 or that of the refusal."""


def tighten() -> None:
    """Take modules off the engine's list of those that code may import; called once in the server, before it forks."""
    from appworld.common import safety_guard

    safety_guard.ALLOWED_MODULE_NAMES -= set(DROPPED_MODULES)


def without_secrets(value: Any) -> Any:
    """A copy as plain JSON without passwords and tokens."""
    if isinstance(value, dict):
        return {str(key): without_secrets(item) for key, item in value.items() if key not in SECRETS}
    if isinstance(value, list | tuple):
        return [without_secrets(item) for item in value]
    return value


def plain(value: Any) -> Any:
    """The value as JSON restores it; a value over MAX_ANSWER characters becomes {"shortened": its beginning}."""
    text = _encode(value)
    return _decode(text) if len(text) <= MAX_ANSWER else {"shortened": text[:MAX_ANSWER]}


def _status(message: str) -> int:
    digits = message.removeprefix("Response status code is ")[:3]
    return int(digits) if digits.isdigit() else 0


def watch(world: Any, calls: list[Call]) -> None:
    """Record the world's API calls in `calls`, refuse the admin app, and remove from the shell what no solution needs."""
    requester = world.requester
    request: Callable[..., Any] = requester.request
    prepare: Callable[..., Any] = requester.prepare

    def recorded(_app_name: str, _api_name: str, *args: Any, **data: Any) -> Any:
        if _app_name == "admin":
            raise Exception(ADMIN)  # the engine's own class for this
        if not world.coevolve_inside:  # a call that the engine makes for itself
            return request(_app_name, _api_name, *args, **data)
        data = {key: value for key, value in data.items() if key not in ("client", "show", "track")}
        given = {key: value for key, value in data.items() if key != "raise_on_failure"}
        call: Call = [f"{_app_name}.{_api_name}", plain(without_secrets(given)), 0, None]
        if len(calls) < MAX_CALLS:
            calls.append(call)
        try:
            answer = request(_app_name, _api_name, *args, **data)
        except Exception as error:
            call[2], call[3] = _status(str(error)), str(error)[:MAX_ANSWER]
            raise
        call[2], call[3] = 200, plain(without_secrets(answer))
        return answer

    def prepared(url: str, *args: Any, **kwargs: Any) -> Any:
        if url.lstrip("/").startswith("admin") or "//admin" in url:
            raise Exception(ADMIN)
        return prepare(url, *args, **kwargs)

    requester.request, requester.prepare = recorded, prepared
    dict.pop(world.apis, "admin", None)
    names = world.shell.user_ns
    engine_print = names["print"]
    if "builtins" in getattr(engine_print, "__globals__", {}):
        import builtins

        def printed(*args: Any, **kwargs: Any) -> None:
            if not kwargs and len(args) == 1 and isinstance(args[0], list | tuple | dict):
                text = _encode(args[0])
                builtins.print(text if len(text) < 100 else json.dumps(args[0], indent=1, default=str))
            else:
                builtins.print(*args, **kwargs)

        names["print"] = printed
    for name in ("builtins", "ApiCollection", "Requester"):
        names.pop(name, None)
