"""The official inference loop, executor, checker and decoders, in a process of their own: one JSON job on stdin, answers on stdout.

python official_worker.py FOLDER_WITH_BFCL_EVAL SCRATCH_FOLDER < job.json

Between jobs, what the official code leaves behind for later ones is undone: instances in module globals, lists that are defaults of
methods, module-level data that episodes change, and the precision of mpmath.
"""

import ast
import contextlib
import copy
import hashlib
import importlib
import inspect
import json
import os
import re
import sys
import time
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

FOLDER = Path(sys.argv[1]) if __name__ == "__main__" else Path()
EVAL = "bfcl_eval.eval_checker.multi_turn_eval"
SOURCES = (
    "gorilla_file_system",
    "math_api",
    "message_api",
    "posting_api",
    "ticket_api",
    "trading_bot",
    "travel_booking",
    "vehicle_control",
)


class Placeholder(types.ModuleType):
    """Stands for a module of the handlers that the functions used here never call; a decorator from it does nothing."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {}) if name[0].isupper() else lambda function, *_: function


def hide() -> None:
    """Put placeholders where modules are missing or heavy."""
    for name in ("tenacity", "overrides", "openai", "requests", "tqdm"):
        sys.modules[name] = Placeholder(name)
    for kind in ("java", "js", "json", "xml"):
        sys.modules[f"bfcl_eval.model_handler.parser.{kind}_parser"] = Placeholder(kind)


def early() -> bool:
    return (FOLDER / "bfcl_eval/data/BFCL_v3_multi_turn_base.json").exists()


class Pristine:
    """Brings back what the official modules were when they were loaded."""

    def __init__(self) -> None:
        self.utils = importlib.import_module(f"{EVAL}.multi_turn_utils")
        self.shared = vars(importlib.import_module(f"{EVAL}.func_source_code.long_context"))
        self.data = {name: copy.deepcopy(value) for name, value in self.shared.items() if isinstance(value, dict | list) and name[0] != "_"}
        modules = [importlib.import_module(f"{EVAL}.func_source_code.{name}") for name in SOURCES]
        methods = [
            method for module in modules for kind in vars(module).values() if inspect.isclass(kind) for method in vars(kind).values()
        ]
        self.defaults = [(method, copy.deepcopy(method.__defaults__)) for method in methods if inspect.isfunction(method)]

    def restore(self) -> None:
        for name in [name for name in vars(self.utils) if name.endswith("_instance")]:
            del vars(self.utils)[name]
        for name, value in self.data.items():
            if self.shared[name] != value:
                self.shared[name].clear()
                getattr(self.shared[name], "update" if isinstance(value, dict) else "extend")(copy.deepcopy(value))
        for method, defaults in self.defaults:
            if method.__defaults__ != defaults:
                method.__defaults__ = copy.deepcopy(defaults)
        if "mpmath" in sys.modules:
            sys.modules["mpmath"].mp.dps = 15


def each(jobs: list[dict[str, Any]]) -> Iterator[tuple[str, dict[str, Any]]]:
    pristine = Pristine()
    for number, job in enumerate(jobs):
        yield f"run{number}", job
        pristine.restore()


def is_long(job: dict[str, Any]) -> bool:
    return "long_context" in job["id"]


def execute(jobs: list[dict[str, Any]]) -> list[list[str]]:
    """Results of all calls of a job, in one world."""
    call = importlib.import_module(f"{EVAL}.multi_turn_utils").execute_multi_turn_func_call
    return [
        call(job["calls"], job["initial_config"], job["involved_classes"], name, job["id"], is_long(job))[0] for name, job in each(jobs)
    ]


def states(jobs: list[dict[str, Any]]) -> list[list[str]]:
    """After each call of a job, all public attributes of all services as text."""
    call = importlib.import_module(f"{EVAL}.multi_turn_utils").execute_multi_turn_func_call
    found: list[list[str]] = []
    for name, job in each(jobs):
        found.append([])
        for text in job["calls"]:
            instances = call([text], job["initial_config"], job["involved_classes"], name, job["id"], is_long(job))[1]
            found[-1].append(fingerprint(plain({owner: public(instance) for owner, instance in instances.items()})))
    return found


def public(instance: Any) -> dict[str, Any]:
    return {name: value for name, value in vars(instance).items() if not name.startswith("_")}


def fingerprint(value: Any) -> str:
    """Of a JSON value. The same function stands in test_bfcl_parity.py."""
    return hashlib.sha256(unordered(json.dumps(value, sort_keys=True)).encode()).hexdigest()[:16]


def plain(value: Any) -> str:
    """A state as text; sets are in no order."""
    if isinstance(value, dict):
        return "{" + ", ".join(sorted(f"{key!r}: {plain(inner)}" for key, inner in value.items())) + "}"
    if isinstance(value, list | tuple):
        return f"{'[' if isinstance(value, list) else '('}{', '.join(map(plain, value))}]"
    if isinstance(value, set):
        return f"set {sorted(map(plain, value))}"
    if hasattr(value, "contents"):
        return f"directory {value.name} {plain(value.contents)}"
    if hasattr(value, "content"):
        return f"file {value.name} {value.content!r}"
    return repr(value)


def unordered(text: str) -> str:
    """One official message writes out a set of words, whose order changes from process to process."""
    return re.sub(r"(?<=Must be one of )\{[^{}]*\}", lambda match: str(sorted(match[0].strip("{}").split(", "))), text)


def check(jobs: list[dict[str, Any]]) -> list[bool]:
    """The checker's verdict on the calls of each step of each turn."""
    judge = importlib.import_module(f"{EVAL}.multi_turn_checker").multi_turn_checker
    return [judge(job["turns"], job["ground_truth"], job, job["id"].rsplit("_", 1)[0], name)["valid"] for name, job in each(jobs)]


def handler(mode: str) -> Any:
    """The handler of a local Qwen model, without a server."""
    hide()
    module = "qwen" if mode == "prompt" else "qwen_fc"
    kind = getattr(
        importlib.import_module(f"bfcl_eval.model_handler.local_inference.{module}"), "QwenHandler" if mode == "prompt" else "QwenFCHandler"
    )
    return kind.__new__(kind)


def reader(made: Any) -> Callable[[str], list[str]]:
    return made.decode_execute if early() else lambda text: made.decode_execute(text, has_tool_call_tag=False)


def decode(jobs: list[str], mode: str = "prompt") -> list[list[str] | None]:
    read, found = reader(handler(mode)), list[list[str] | None]()
    for text in jobs:
        try:
            found.append(read(text))
        except Exception:  # noqa: BLE001 - so does the official inference loop
            found.append(None)
    return found


def decode_fc(jobs: list[str]) -> list[list[str] | None]:
    return decode(jobs, "fc")


def entries(jobs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The entries as the official inference gets them, with function documents."""
    utils, jobs = importlib.import_module("bfcl_eval.utils"), copy.deepcopy(jobs)
    if not early():
        made: list[dict[str, Any]] = utils.add_language_specific_hint_to_function_doc(
            utils.populate_test_cases_with_predefined_functions(jobs)
        )
        return made
    source = ast.parse((FOLDER / "bfcl_eval/_llm_response_generation.py").read_text())  # importing it would import every handler
    source.body = [node for node in source.body if isinstance(node, ast.FunctionDef) and node.name == "process_multi_turn_test_case"]
    space = {**vars(importlib.import_module("bfcl_eval.constants.category_mapping")), **vars(utils)}
    space |= vars(importlib.import_module("bfcl_eval.constants.eval_config"))
    exec(compile(source, "official", "exec"), space)  # noqa: S102 - the benchmark's own code, pinned by hash
    made = space["process_multi_turn_test_case"](jobs)
    return made


def rollout(jobs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The official inference loop, given the model's answers, then the official verdict as in eval_runner.py.

    Gives fingerprints of all messages that are not the model's, in order (the messages themselves if the job is "verbose").
    """
    found = []
    judge = importlib.import_module(f"{EVAL}.multi_turn_checker").multi_turn_checker
    made = entries(jobs)
    made_by_mode = {mode: handler(mode) for mode in sorted({job["mode"] for job in jobs})}
    for (name, job), entry in zip(each(jobs), made, strict=True):
        qwen = made_by_mode[job["mode"]]
        answers, kept = iter(job["answers"]), dict[str, Any]()
        qwen.model_name_underline_replaced = name

        def query(data: dict[str, Any], answers: Iterator[str] = answers, kept: dict[str, Any] = kept) -> tuple[Any, float]:
            kept.update(data)
            usage = types.SimpleNamespace(prompt_tokens=0, completion_tokens=0)
            return types.SimpleNamespace(choices=[types.SimpleNamespace(text=next(answers, ""))], usage=usage), 0.0

        qwen._query_prompting = query
        decoded = qwen.inference_multi_turn_prompting(entry, include_input_log=False, exclude_state_log=True)[0]
        received = [message for message in kept["message"] if message["role"] != "assistant"]
        found.append(
            {
                "messages": received if job.get("verbose") else [fingerprint(message) for message in received],
                "tools": fingerprint(kept["function"]) if job["mode"] == "fc" else None,
                "valid": verdict(judge, qwen, decoded, job, name),
            }
        )
    return found


def verdict(judge: Any, qwen: Any, decoded: list[list[str]], job: dict[str, Any], name: str) -> bool:
    if len(decoded) != len(job["ground_truth"]):
        return False
    read, turns = reader(qwen), list[list[list[str]]]()
    for turn in decoded:
        turns.append([])
        for text in turn:
            with contextlib.suppress(Exception):
                if calls := read(text):
                    turns[-1].append(calls)
    valid: bool = judge(turns, job["ground_truth"], job, job["id"].rsplit("_", 1)[0], name)["valid"]
    return valid


def time_gold(jobs: list[dict[str, Any]]) -> float:
    """Seconds for executing and checking every ground truth, as the leaderboard does: once in the rollout, once in the checker."""
    checker = importlib.import_module(f"{EVAL}.multi_turn_checker")
    spent = 0.0
    for name, job in each(jobs):
        spent -= time.perf_counter()
        for calls in job["ground_truth"]:
            checker.execute_multi_turn_func_call(calls, job["initial_config"], job["involved_classes"], name, job["id"], is_long(job))
        turns = [[calls] for calls in job["ground_truth"]]
        if not checker.multi_turn_checker(turns, job["ground_truth"], job, job["id"].rsplit("_", 1)[0], name)["valid"]:
            raise RuntimeError(job["id"])
        spent += time.perf_counter()
    return spent


KINDS: dict[str, Callable[[Any], Any]] = {kind.__name__: kind for kind in (execute, states, check, decode, decode_fc, rollout, time_gold)}

if __name__ == "__main__":
    sys.path.insert(0, sys.argv[1])
    os.environ["BFCL_PROJECT_ROOT"] = sys.argv[2]
    asked = json.load(sys.stdin)
    with contextlib.redirect_stdout(open(os.devnull, "w", encoding="utf-8")):
        answers = {kind: KINDS[kind](jobs) for kind, jobs in asked.items()}
    json.dump(answers, sys.stdout)
