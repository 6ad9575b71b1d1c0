"""System prompts in prompt mode: the official one (from the benchmark's own template), and a compact one that fits small models."""

import copy
import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from .apis import Apis, Function

STYLES = ("compact", "official")
_HINT = " Note that the provided function is in Python 3 syntax."
_TYPES = {"string": "str", "integer": "int", "float": "float", "boolean": "bool", "dict": "dict"}
_COMPACT = """Do what the user asks by calling functions. Answer with nothing but a list of calls:
[first_function(name='text', count=2), second_function(flag=True)]
You then see the results and may call again. When the request is done, answer []
Functions:
"""


@lru_cache(maxsize=256)
def system_prompt(apis: Apis, classes: tuple[str, ...], style: str) -> str:
    """What the first message says, for the functions of `classes`."""
    documents = [document for owner in classes for document in apis.documents[owner]]
    if style == "compact":
        return _COMPACT + "\n".join(signature(apis.functions[document["name"]]) for document in documents)
    return _official(apis, documents)


def _official(apis: Apis, documents: Sequence[Mapping[str, Any]]) -> str:
    shown = [copy.deepcopy(dict(document)) for document in documents]
    for document in shown:
        document["description"] += _HINT
    constants = apis.constants
    texts = constants.PROMPT_STYLE_TEMPLATES["classic"]
    prompt: str = constants.PROMPT_TEMPLATE_MAPPING["plaintext"].format(
        persona=texts["persona"],
        task=texts["task"],
        tool_call_format=texts["tool_call_no_tag"].format(
            output_format=constants.OUTPUT_FORMAT_MAPPING["python"], param_types=constants.PARAM_TYPE_MAPPING["python"]
        ),
        multiturn_behavior=texts["multiturn_behavior"],
        available_tools=texts["available_tools"].format(format="json", functions=json.dumps(shown, indent=4)),
    )
    return prompt


def signature(function: Function) -> str:
    """`name(a: str, b: int = 1): What it does`."""
    schema = function.document["parameters"]
    required = set(schema.get("required", ()))
    shown = []
    for name, detail in schema["properties"].items():
        default = "" if name in required else f" = {_default(detail)!r}"
        shown.append(f"{name}: {_type(detail)}{default}")
    return f"{function.name}({', '.join(shown)}): {function.sentence}"


def _type(detail: Mapping[str, Any]) -> str:
    if detail["type"] in ("array", "tuple"):
        return f"list[{_type(detail['items'])}]" if "items" in detail else "list"
    return _TYPES.get(detail["type"], str(detail["type"]))


def _default(detail: Mapping[str, Any]) -> Any:
    value = detail.get("default")
    return None if value == "None" else value
