"""The simulated APIs of one episode: calls in, results in the official executor's words. Nothing is shared between episodes.

They are loaded once a scenario, then copied by pickling our own objects, which takes about a tenth of the time. Unlike the official
executor, this one evaluates no text, keeps nothing in module globals, copies arguments that the APIs would keep, and gives a function
whose default is a list a fresh list each time.
"""

import copy
import json
import pickle
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from attrs import frozen

from . import call_bounds
from .apis import Apis
from .decode import Call

ERROR = "Error during execution: "
_FORBIDDEN = frozenset({"kill", "exit", "quit", "remove", "unlink", "popen", "Popen", "run"})
_STATELESS = frozenset({"MathAPI"})


@frozen
class CallResult:
    """The result of a call: `text` is what the agent sees, `error` what went wrong (None: nothing), `encoded` the value as JSON."""

    text: str
    error: str | None = None
    encoded: str = "null"

    @property
    def value(self) -> Any:
        """The JSON value of the result; decoded at each access, since a scorer does not need it."""
        return json.loads(self.encoded, parse_constant=str)


def fault(text: str) -> CallResult:
    """The result of a call that is refused before it reaches a service."""
    return CallResult(text, text)


class SimulatedApis:
    """Instances of a task's involved classes, by class; for one thread at a time."""

    def __init__(self, apis: Apis, saved: bytes) -> None:
        self._apis = apis
        self.instances: dict[str, Any] = {}
        self.load(saved)

    def save(self) -> bytes:
        """The state of all instances, for `load`."""
        return pickle.dumps(self.instances, pickle.HIGHEST_PROTOCOL)

    def load(self, saved: bytes) -> None:
        """Restore the state that `save` returned. It is unpickled, so pass only bytes that this process wrote itself."""
        self.instances = pickle.loads(saved)

    def public(self) -> dict[str, dict[str, Any]]:
        """All public attributes of the instances, by class: what the score compares. Live objects, not to be changed."""
        return {
            owner: {name: value for name, value in vars(instance).items() if not name.startswith("_")}
            for owner, instance in self.instances.items()
        }

    def execute(self, call: Call) -> CallResult:
        """Carry out one call. An error of the call is part of the result, never raised."""
        try:
            return _result(self._run(call))
        except Exception as error:  # noqa: BLE001 - the benchmark shows every error of a call to the agent
            text = f"{ERROR}{error}".encode(errors="backslashreplace").decode()
            return fault(text)

    def _run(self, call: Call) -> Any:
        method = call.name.split(".")[1] if "." in call.name else call.name
        if method in _FORBIDDEN:
            raise call_bounds.CallRefused(f"Function call {method} is not allowed.")
        function = self._apis.functions.get(call.name)
        if function is None or function.owner not in self.instances:
            raise call_bounds.CallRefused(f"name '{call.name.split('.')[0]}' is not defined")
        if call.refusal is not None:
            raise call_bounds.CallRefused(call.refusal)
        call_bounds.check_literals(call.arguments)
        arguments = copy.deepcopy({**function.mutable, **call.arguments})
        return call_bounds.run(self.instances[function.owner], call.name, arguments)


def _result(value: Any) -> CallResult:
    """The result in the official wording: a string as it is, a dictionary as JSON when possible, anything else as Python writes it."""
    if isinstance(value, str):
        return CallResult(value, None, json.dumps(value))
    try:
        encoded = json.dumps(value)
    except (TypeError, ValueError):
        return CallResult(str(value), failure(str(value)), json.dumps(str(value)))
    return CallResult(encoded if isinstance(value, dict) else str(value), failure(value), encoded)


def failure(value: Any) -> str | None:
    """The error in a result, None when there is none: services report errors as {"error": ...}, some of them in a list."""
    if isinstance(value, list | tuple) and len(value) == 1:
        value = value[0]
    if isinstance(value, dict) and "error" in value:
        return str(value["error"])
    return value if isinstance(value, str) and value.startswith("Error: ") else None


@frozen
class Start:
    """The initial state of services. Hashable, since initial states and references are cached by it."""

    classes: tuple[str, ...]
    config: str
    """The task's `initial_config` as JSON text."""
    long_context: bool = False
    """Whether the services add the benchmark's large amounts of further data."""

    @classmethod
    def of(cls, payload: Mapping[str, Any]) -> "Start":
        """The initial state of a task with this payload."""
        long_context = payload["category"] == "long_context"
        return cls(tuple(payload["involved_classes"]), json.dumps(payload["initial_config"]), long_context)


@lru_cache(maxsize=1024)
def _initial(apis: Apis, start: Start) -> bytes:
    instances = {}
    initial = json.loads(start.config)
    for owner in start.classes:
        instances[owner] = apis.load(owner)()
        if owner not in _STATELESS:
            instances[owner]._load_scenario(initial.get(owner, {}), long_context=start.long_context)
    return pickle.dumps(instances, pickle.HIGHEST_PROTOCOL)


def fresh(apis: Apis, start: Start) -> SimulatedApis:
    """The simulated APIs in a task's initial state."""
    return SimulatedApis(apis, _initial(apis, start))
