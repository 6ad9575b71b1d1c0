"""The official executor, checker, decoder and prompt, in a process of their own: one JSON job on stdin, its answers on stdout.

python official_worker.py FOLDER_WITH_BFCL_EVAL SCRATCH_FOLDER < job.json
"""

import contextlib
import importlib
import json
import os
import sys
import time
import types
from collections.abc import Callable
from typing import Any


class Placeholder(types.ModuleType):
    """Stands for a module of the handlers that the functions used here never call."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return None


def execute(jobs: list[dict[str, Any]]) -> list[list[str]]:
    module = importlib.import_module("bfcl_eval.eval_checker.multi_turn_eval.multi_turn_utils")
    return [
        module.execute_multi_turn_func_call(job["calls"], job["initial_config"], job["involved_classes"], f"run{number}", job["id"])[0]
        for number, job in enumerate(jobs)
    ]


def check(jobs: list[dict[str, Any]]) -> list[bool]:
    module = importlib.import_module("bfcl_eval.eval_checker.multi_turn_eval.multi_turn_checker")
    return [
        module.multi_turn_checker(job["turns"], job["ground_truth"], job, "multi_turn_base", f"check{number}")["valid"]
        for number, job in enumerate(jobs)
    ]


def decode(jobs: list[str]) -> list[list[str] | None]:
    module = handlers()
    found: list[list[str] | None] = []
    for text in jobs:
        try:
            found.append(module.default_decode_execute_prompting(text))
        except Exception:  # noqa: BLE001 - so does the official handler
            found.append(None)
    return found


def prompt(jobs: list[dict[str, Any]]) -> list[str]:
    module = handlers()
    utils = importlib.import_module("bfcl_eval.utils")
    form = importlib.import_module("bfcl_eval.constants.default_prompts").DEFAULT_SYSTEM_PROMPT_FORMAT
    entries = utils.add_language_specific_hint_to_function_doc(utils.populate_test_cases_with_predefined_functions(jobs))
    return [module.formulate_system_prompt(form, entry["function"]) for entry in entries]


def time_gold(jobs: list[dict[str, Any]]) -> float:
    """Seconds for executing and checking every ground truth, as the leaderboard does: once in the rollout, once in the checker."""
    checker = importlib.import_module("bfcl_eval.eval_checker.multi_turn_eval.multi_turn_checker")
    began = time.perf_counter()
    for number, job in enumerate(jobs):
        for calls in job["ground_truth"]:
            checker.execute_multi_turn_func_call(calls, job["initial_config"], job["involved_classes"], f"gold{number}", job["id"])
        turns = [[calls] for calls in job["ground_truth"]]
        if not checker.multi_turn_checker(turns, job["ground_truth"], job, "multi_turn_base", f"gold{number}")["valid"]:
            raise RuntimeError(job["id"])
    return time.perf_counter() - began


def handlers() -> Any:
    for name in ("tenacity", "overrides", *(f"bfcl_eval.model_handler.parser.{kind}_parser" for kind in ("java", "js", "json", "xml"))):
        sys.modules[name] = Placeholder(name)
    return importlib.import_module("bfcl_eval.model_handler.utils")


KINDS: dict[str, Callable[[Any], Any]] = {"execute": execute, "check": check, "decode": decode, "prompt": prompt, "time_gold": time_gold}

if __name__ == "__main__":
    sys.path.insert(0, sys.argv[1])
    os.environ["BFCL_PROJECT_ROOT"] = sys.argv[2]
    asked = json.load(sys.stdin)
    with contextlib.redirect_stdout(sys.stderr):
        answers = {kind: KINDS[kind](jobs) for kind, jobs in asked.items()}
    json.dump(answers, sys.stdout)
