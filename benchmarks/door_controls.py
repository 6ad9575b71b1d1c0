"""How well the door tells good tasks from bad ones: candidates written by hand, good ones and some with a known fault.

For BFCL there are two sets of 100 good ones and 20 of each of five faults, for AppWorld's tiny world 10 good ones and 5 of each of four
faults.

    python benchmarks/door_controls.py [--half odd|even|all] [--kinds good leaked ...] [--show]
    python benchmarks/door_controls.py --written fresh --half all [--show]
    python benchmarks/door_controls.py --environment appworld --half all [--validators request]
    python benchmarks/door_controls.py --blind openai --set model=qwen3-max --set base_url=http://127.0.0.1:8080/v1 --set api_key_env= \
        [--parallel 16] [--attempts 2] [--needed 1] [--out verdicts.jsonl]

The candidates lie in data/door_controls (AppWorld's in data/door_controls/appworld), a file for each kind. All begin in worlds of training
tasks. Their calls are carried out, and a text "$2.order_id" stands for a value of the result of call number 2 (from 0). Each candidate is
judged alone, against an empty pool, by the validators "request" and "execution" (with `drop_all`), and with --blind also by "blind_solve".

BFCL's first set was looked at while the checks were made: they were tuned on its even numbers. The second, "fresh" (files fresh-KIND.json),
was written later, without a look at the checks; its first run is a measurement. AppWorld's were looked at while the checks were mended.

Faults: `mismatched` (the solution does something else), `missing` (a needed value is not said), `ambiguous` (one of several things is meant
and not said which), `unasked` (the solution makes calls that nobody asked for), `leaked` (the request dictates the calls, or values that
the agent should find out).
"""

import argparse
import ast
import json
import threading
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from attrs import evolve, fields_dict, frozen

from coevolve import Action, CandidateTask, Origin, RolloutGroup, Sampling, Step, Task, TaskPool, Verdict
from coevolve.core.record.timing import Clock
from coevolve.core.registry import load_plugins
from coevolve.core.rollouts.policy_attempts import make_policy
from coevolve.core.rollouts.runner import RolloutLimits, RolloutRunner
from coevolve.environments.appworld.environment import AppWorld, AppWorldOptions
from coevolve.environments.bfcl.environment import Bfcl, BfclOptions
from coevolve.plugins.validators.blind_solve import BlindSolve, BlindSolveOptions
from coevolve.plugins.validators.execution import Execution, ExecutionOptions
from coevolve.plugins.validators.request import Request, RequestOptions
from coevolve.testing import make_services

DATA = Path(__file__).parent / "data" / "door_controls"
KINDS = ("good", "mismatched", "missing", "ambiguous", "unasked", "leaked")
SETS = {"first": "", "fresh": "fresh-"}


@frozen
class Control:
    """A candidate and what is known about it: its kind, and its number within the kind."""

    kind: str
    number: int
    task: Task


def made_environment(given: argparse.Namespace) -> Any:
    """The environment that the arguments name."""
    if given.environment == "appworld":
        return AppWorld(AppWorldOptions(data="tiny", max_worlds=2 * given.parallel))
    return Bfcl(BfclOptions(mode=given.mode))


def controls(environment: Any, kinds: Sequence[str] = KINDS, written: str = "first") -> Iterator[Control]:
    """The candidates of the given kinds in a set. ValueError for one that cannot be carried out or is not solved by its own calls."""
    starts = {task.id: task for task in environment.tasks("train")}
    for kind in kinds:
        file = (DATA / "appworld" if environment.name == "appworld" else DATA) / f"{SETS[written]}{kind}.json"
        for entry in json.loads(file.read_text(encoding="utf-8")) if file.exists() else ():
            yield Control(kind, int(entry["id"].rpartition("-")[2]), _composed(environment, starts[entry["start"]], entry))


def _composed(environment: Any, start: Task, entry: Mapping[str, Any]) -> Task:
    steps: list[Step] = []
    with environment.open(start) as episode:
        for turn, written in enumerate(entry["turns"]):
            for text in written["calls"]:
                action = _action(text, steps)
                step = episode.step(environment.script([action])[0]).steps[0]
                if step.error is not None:
                    raise ValueError(f"{entry['id']}: {text}: {step.error}")
                steps.append(evolve(step, action=evolve(step.action, turn=turn)))
    query = "\n\n".join(turn["request"] for turn in entry["turns"])
    task = environment.compose(start, steps, entry["id"], query)
    if task is None:
        raise ValueError(f"{entry['id']} cannot be composed")
    return evolve(task, origin=Origin("controls", 1, None, (start.id,)))


def _action(text: str, steps: Sequence[Step]) -> Action:
    call = ast.parse(text, mode="eval").body
    assert isinstance(call, ast.Call)
    given = {str(keyword.arg): _value(ast.literal_eval(keyword.value), steps) for keyword in call.keywords}
    return Action(ast.unparse(call.func), given)


def _value(value: Any, steps: Sequence[Step]) -> Any:
    if not (isinstance(value, str) and value.startswith("$")):
        return value
    number, *path = value[1:].split(".")
    found = steps[int(number)].result
    for key in path:
        found = found[int(key)] if isinstance(found, list) else found[key]
    return found


def judged(environment: Any, control: Control, validators: Sequence[Any], held_out: Sequence[Task]) -> Verdict:
    """The first refusal of the validators, or the last one's acceptance."""
    task, verdict = control.task, Verdict(True, "accepted")
    for validator in validators:
        verdict = validator.validate(CandidateTask(task), environment, TaskPool(()), held_out)
        if not verdict.accepted:
            break
        task = verdict.task or task
    return verdict


class Stages:
    """The validators of one thread: a policy takes one group of conversations at a time, so each thread has its own."""

    def __init__(self, environment: Any, given: argparse.Namespace) -> None:
        names = [name for name in given.without if name in fields_dict(RequestOptions)]
        request = Request(RequestOptions(**dict.fromkeys(names, False)))
        known = {"request": request, "execution": Execution(ExecutionOptions(drop_all=True, all_parents=True))}
        self.validators: list[Any] = [known[name] for name in given.validators]
        self.policy: Any = None
        if given.blind:
            settings = {key: _typed(value) for key, _, value in (pair.partition("=") for pair in given.set)}
            self.policy = make_policy(given.blind, settings, load_plugins())
            if hasattr(self.policy, "bind"):
                self.policy.bind(environment)
            runner = RolloutRunner(environment, RolloutLimits(), Clock())

            def attempts(task: Task, count: int, temperature: float) -> RolloutGroup:
                sampling = Sampling(temperature, given.max_new_tokens, 0)
                return runner.run(self.policy, [task], count, sampling, task.origin.iteration)[0]

            blind = BlindSolve(BlindSolveOptions(attempts=given.attempts, needed=given.needed, temperature=given.temperature))
            blind.bind_services(make_services(attempts=attempts))
            self.validators.append(blind)


def _typed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--environment", choices=("bfcl", "appworld"), default="bfcl")
    parser.add_argument("--validators", nargs="+", choices=("request", "execution"), default=["request", "execution"])
    parser.add_argument("--half", choices=("odd", "even", "all"), default="odd", help="odd: the measurement; even: the half for tuning")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--written", choices=tuple(SETS), default="first", help="the set of candidates")
    parser.add_argument("--show", action="store_true", help="print the refused good ones and the admitted bad ones")
    parser.add_argument("--without", nargs="*", default=[], help="options of the validator 'request' to switch off")
    parser.add_argument("--blind", default="", help="a policy by name, which reads the requests")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="an option of that policy")
    parser.add_argument("--attempts", type=int, default=3)
    parser.add_argument("--needed", type=int, default=2)
    parser.add_argument("--temperature", type=float, default=1.0)
    parser.add_argument("--max-new-tokens", type=int, default=1024)
    parser.add_argument("--parallel", type=int, default=1, help="candidates judged at once")
    parser.add_argument("--mode", choices=("prompt", "fc"), default="prompt", help="how the reader writes calls")
    parser.add_argument("--out", type=Path, help="write the verdicts as JSON lines")
    given = parser.parse_args()
    environment = made_environment(given)
    held_out, local = environment.tasks("test_normal" if given.environment == "appworld" else "test"), threading.local()
    wanted = {"odd": (1,), "even": (0,), "all": (0, 1)}[given.half]
    chosen = [control for control in controls(environment, given.kinds, given.written) if control.number % 2 in wanted]
    made: list[Stages] = []

    def verdict_of(control: Control) -> Verdict:
        if not hasattr(local, "stages"):
            local.stages = Stages(environment, given)
            made.append(local.stages)
        return judged(environment, control, local.stages.validators, held_out)

    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    lines = given.out.open("w", encoding="utf-8") if given.out else None
    with ThreadPoolExecutor(given.parallel) as pool:
        for control, verdict in zip(chosen, pool.map(verdict_of, chosen), strict=True):
            counts[control.kind][str(verdict.reason)] += 1
            row = {"id": control.task.id, "kind": control.kind, "accepted": verdict.accepted, "reason": str(verdict.reason)}
            row |= {"detail": verdict.detail, "query": control.task.query}
            if lines:
                print(json.dumps(row, ensure_ascii=False), file=lines, flush=True)
            if given.show and verdict.accepted != (control.kind == "good"):
                print(f"{control.task.id}: {verdict.reason}: {verdict.detail}\n    {control.task.query!r}")
    for kind, found in counts.items():
        others = ", ".join(f"{reason} {count}" for reason, count in found.most_common() if reason != "accepted")
        print(f"{kind:11} admitted {found['accepted']:3} of {found.total():3}   {others}")
    bad = [(found["accepted"], found.total()) for kind, found in counts.items() if kind != "good"]
    print(f"{'bad':11} admitted {sum(admitted for admitted, _ in bad):3} of {sum(total for _, total in bad):3}")
    if hasattr(environment, "close"):
        environment.close()
    spent = Counter[str]()
    for stages in made:
        spent.update(stages.policy.usage() if hasattr(stages.policy, "usage") else {})
    if spent:
        print("; ".join(f"{name} {amount:,.6g}" for name, amount in spent.items()))


if __name__ == "__main__":
    main()
