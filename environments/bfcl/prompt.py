"""The prompts: the functions that are offered from the start, and those that are held out until a later turn.

Two styles, whose results are not comparable. "official" is the benchmark's own text: in prompt mode a system prompt of about 7,600 tokens,
in function-call mode the function documents as tools and no system prompt, as its Qwen handler has it. "compact" fits small models: one
line for each function. In both modes the official handlers of local models announce held-out functions in a user message of their turn, so
a conversation only ever grows; handlers of hosted models change the list of tools instead, which is not done here.
"""

import copy
import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from .apis import Apis, Function
from .schema import schema

STYLES = ("compact", "official")
MODES = ("prompt", "fc")
_HINT = " Note that the provided function is in Python 3 syntax."
_TYPES = {"string": "str", "integer": "int", "float": "float", "boolean": "bool", "dict": "dict"}
_COMPACT = """Do what the user asks by calling functions. Answer with nothing but a list of calls:
[first_function(name='text', count=2), second_function(flag=True)]
You then see the results and may call again. When the request is done, answer []
Functions:
"""
Documents = Sequence[Mapping[str, Any]]


@lru_cache(maxsize=256)
def system_prompt(apis: Apis, classes: tuple[str, ...], held_out: tuple[str, ...], style: str) -> str:
    """The system prompt of prompt mode, with the functions of `classes` that are not held out."""
    documents = _offered(apis, classes, held_out)
    return _COMPACT + _lines(apis, documents) if style == "compact" else _official(apis, documents)


@lru_cache(maxsize=256)
def tools(apis: Apis, classes: tuple[str, ...], held_out: tuple[str, ...], style: str) -> tuple[dict[str, Any], ...]:
    """The tools of function-call mode. Shared between episodes, not to be changed."""
    documents = _offered(apis, classes, held_out)
    return tuple(_tool(apis.functions[document["name"]]) for document in documents) if style == "compact" else tuple(_hinted(documents))


def late_message(apis: Apis, names: Sequence[str], style: str, mode: str) -> str:
    """The user message of the turn in which the functions `names` are first offered."""
    documents = [apis.functions[name].document for name in names if name in apis.functions]
    rendered = str(documents)
    if style == "compact":
        rendered = (
            _lines(apis, documents)
            if mode == "prompt"
            else "\n".join(json.dumps(_tool(apis.functions[document["name"]])) for document in documents)
        )
    text: str = apis.constants.DEFAULT_USER_PROMPT_FOR_ADDITIONAL_FUNCTION_PROMPTING
    return text.replace("{functions}", rendered)


def held_out(payload: Mapping[str, Any]) -> tuple[str, ...]:
    """Names of the functions that a task offers only in a later turn."""
    return tuple(name for names in payload.get("missed_function", {}).values() for name in names)


def _offered(apis: Apis, classes: tuple[str, ...], held_out: tuple[str, ...]) -> Documents:
    return [document for owner in classes for document in apis.documents[owner] if document["name"] not in held_out]


def _hinted(documents: Documents) -> list[dict[str, Any]]:
    rendered = [copy.deepcopy(dict(document)) for document in documents]
    for document in rendered:
        document["description"] += _HINT
    return rendered


def _official(apis: Apis, documents: Documents) -> str:
    rendered, constants = _hinted(documents), apis.constants
    if apis.release.early:
        early: str = constants.DEFAULT_SYSTEM_PROMPT.format(functions=rendered)
        return early
    texts = constants.PROMPT_STYLE_TEMPLATES["classic"]
    prompt: str = constants.PROMPT_TEMPLATE_MAPPING["plaintext"].format(
        persona=texts["persona"],
        task=texts["task"],
        tool_call_format=texts["tool_call_no_tag"].format(
            output_format=constants.OUTPUT_FORMAT_MAPPING["python"], param_types=constants.PARAM_TYPE_MAPPING["python"]
        ),
        multiturn_behavior=texts["multiturn_behavior"],
        available_tools=texts["available_tools"].format(format="json", functions=json.dumps(rendered, indent=4)),
    )
    return prompt


def _tool(function: Function) -> dict[str, Any]:
    parameters = schema(function.document["parameters"])
    return {"type": "function", "function": {"name": function.name, "description": function.sentence, "parameters": parameters}}


def _lines(apis: Apis, documents: Documents) -> str:
    return "\n".join(signature(apis.functions[document["name"]]) for document in documents)


def signature(function: Function) -> str:
    """`name(a: str, b: int = 1): What it does`."""
    described = function.document["parameters"]
    required = set(described.get("required", ()))
    rendered = []
    for name, detail in described["properties"].items():
        default = "" if name in required else f" = {_default(detail)!r}"
        rendered.append(f"{name}: {_type(detail)}{default}")
    return f"{function.name}({', '.join(rendered)}): {function.sentence}"


def _type(detail: Mapping[str, Any]) -> str:
    if detail["type"] in ("array", "tuple"):
        return f"list[{_type(detail['items'])}]" if "items" in detail else "list"
    return _TYPES.get(detail["type"], str(detail["type"]))


def _default(detail: Mapping[str, Any]) -> Any:
    value = detail.get("default")
    return None if value == "None" else value
