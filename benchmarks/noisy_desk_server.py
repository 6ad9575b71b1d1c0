"""A desk teacher behind a real OpenAI-compatible endpoint: competent, with errors at set rates.

It knows the desk's tools, their forms and the desk's wording. It keeps no state: every reply is a function of the request. It explores
plans near the tools that failed in the rollouts, one in each round, and words each plan as a candidate. Its errors:

- wrong argument: one argument of one call of the solution is another valid value of its kind;
- mislabelled: the request belongs to another plan;
- impossible: the solution guesses the values (each is one of six) instead of looking them up.

A candidate's intent names its error ("clean" for none), so that admissions can be counted by kind. No validator and no policy reads the
intent. The teacher makes no plans of held-out families, so contamination does not affect the comparison of validators.
"""

import hashlib
import json
import random
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from attrs import frozen

from coevolve.environments.desk.generator import held_out, random_plan, word
from coevolve.environments.desk.tools import ENTITIES, TOOLS
from coevolve.environments.desk.values import FORMS
from coevolve.environments.desk.wording import FRAMES, Node, Plan, family, solve

KINDS = ("clean", "wrong argument", "mislabelled", "impossible")
_NEAR = 0.75
"""How often a plan must use an app of a tool that failed."""
_NONCE = re.compile(r"\[exploration ([0-9a-f]{12})\]")
_STEP = re.compile(r"^(\d+)\. (\S+) (\{.*?\}) -> (.*)$", re.MULTILINE)
_ROUND = re.compile(r"Round (\d+) of (\d+)")
_FAILED = re.compile(r"(\S+) \{[^\n]*\} -> [^\n]*\n\d+\. (\S+) \{[^\n]*\} -> FAILED")


@frozen
class Rates:
    """Shares of candidates with each error."""

    wrong: float = 0.2
    mislabelled: float = 0.2
    impossible: float = 0.2

    def draw(self, rng: random.Random) -> str:
        weights = (1 - self.wrong - self.mislabelled - self.impossible, self.wrong, self.mislabelled, self.impossible)
        return rng.choices(KINDS, weights)[0]


def plans(nonce: str, weak: Sequence[str], count: int) -> list[Plan]:
    """The plans that one exploration tries, in order."""
    rng, made = random.Random(f"plans {nonce}"), list[Plan]()
    apps = {TOOLS[name].app for name in weak if name in TOOLS}
    while len(made) < count:
        plan = random_plan(rng)
        near = any(node.spec.app in apps for node in nodes(plan))
        if not held_out(family(solve(plan, 0))) and (near or not apps or rng.random() > _NEAR):
            made.append(plan)
    return made


def nodes(plan: Plan) -> list[Node]:
    """A plan's calls in the order in which they are made."""

    def below(node: Node) -> list[Node]:
        return [*(below(node.value) if isinstance(node.value, Node) else []), node]

    return [node for root in plan for node in below(root)]


def arguments(node: Node, before: str) -> dict[str, str]:
    """The arguments of a call that takes `before`, the value of the lookup before it."""
    value = before if isinstance(node.value, Node) else node.value
    given = {node.spec.entity: node.entity, node.spec.takes: value, "as": node.form}
    return {key: text for key, text in given.items() if key is not None and text is not None}


class DeskTeacher:
    """The scripted teacher. `reply` depends only on the request and the rates."""

    def __init__(self, rates: Rates) -> None:
        self.rates = rates

    def reply(self, request: Mapping[str, Any]) -> dict[str, Any]:
        messages = request["messages"]
        asked = request["response_format"]["json_schema"]["schema"]["properties"]
        if "weakness" in asked:
            return self._reflect(messages)
        head = messages[1]["content"]
        nonce = found[1] if (found := _NONCE.search(head)) else hashlib.sha256(head.encode()).hexdigest()[:12]
        weak = [name for name in re.findall(r"^- (\S+)$", head, re.MULTILINE) if name in TOOLS]
        if "action" in asked:
            return self._explore(messages, nonce, weak)
        return {"candidates": list(self._abstract(head, nonce, weak))}

    def _reflect(self, messages: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        text = messages[1]["content"]
        nonce = hashlib.sha256(json.dumps(messages).encode()).hexdigest()[:12]
        failed = [name for pair in _FAILED.findall(text) for name in pair if name in TOOLS]
        seen = [name for name in re.findall(r"^\d+\. (\S+) ", text, re.MULTILINE) if name in TOOLS]
        tries = list(dict.fromkeys(failed or seen))[:6] or ["mail.sender"]
        return {
            "weakness": f"handing values over around {', '.join(tries)}",
            "why": "the form that the next tool reads",
            "tries": tries,
            "variant": f"the same apps in other chains [exploration {nonce}]",
        }

    def _explore(self, messages: Sequence[Mapping[str, Any]], nonce: str, weak: Sequence[str]) -> dict[str, Any]:
        marks = [(index, int(found[1]), int(found[2])) for index, m in enumerate(messages) for found in _ROUND.finditer(str(m["content"]))]
        at, number, rounds = marks[-1]
        answers = [str(m["content"]) for m in messages[at + 1 :] if m["role"] == "user"]
        calls = nodes(plans(nonce, weak, rounds)[number - 1])
        if len(answers) >= len(calls):
            return {"thought": "all is done", "action": {"tool": "stop", "arguments": {}}}
        before = answers[-1].partition("returned: ")[2].split()[0] if answers and "returned: " in answers[-1] else ""
        node = calls[len(answers)]
        return {"thought": "", "action": {"tool": node.spec.name, "arguments": arguments(node, before)}}

    def _abstract(self, head: str, nonce: str, weak: Sequence[str]) -> Iterator[dict[str, Any]]:
        steps = [(int(number), name, json.loads(given)) for number, name, given, _ in _STEP.findall(head)]
        made = plans(nonce, weak, 8)
        for number, plan in enumerate(made):
            calls, rng = nodes(plan), random.Random(f"candidate {nonce} {number}")
            mine, steps = steps[: len(calls)], steps[len(calls) :]
            if [name for _, name, _ in mine] != [node.spec.name for node in calls]:
                return  # the round was cut short
            kind, query = self.rates.draw(rng), word(plan, rng, FRAMES)
            solution: list[Any] = [number for number, _, _ in mine]
            if kind == "mislabelled":
                query = word(plans(f"another {nonce} {number}", weak, 1)[0], rng, FRAMES)
            elif kind == "impossible":
                solution = [guessed(node, rng) for node in calls if not node.spec.gives and isinstance(node.value, Node)]
                if not solution:
                    kind, solution = "clean", [of for of, _, _ in mine]
            elif kind == "wrong argument":
                place = rng.randrange(len(mine))
                solution[place] = {"tool": mine[place][1], "arguments": altered(mine[place][1], mine[place][2], rng)}
            yield {"intent": kind, "query": query, "solution": solution}


def guessed(node: Node, rng: random.Random) -> dict[str, Any]:
    """The call with a guessed value in place of the looked-up one."""
    value = rng.choice(FORMS[node.spec.takes or ""][node.spec.reads or ""])
    return {"tool": node.spec.name, "arguments": arguments(node, value)}


def altered(tool: str, given: Mapping[str, str], rng: random.Random) -> dict[str, str]:
    """The arguments with one of them replaced by another valid value of its kind."""
    spec, key = TOOLS[tool], rng.choice(sorted(given))
    if key == "as":
        choices = list(FORMS[spec.gives or ""])
    elif key == spec.entity:
        choices = list(ENTITIES[key])
    else:
        choices = list(FORMS[spec.takes or ""][spec.reads or ""])
    return {**given, key: rng.choice([choice for choice in choices if choice != given[key]])}


@contextmanager
def serving(teacher: DeskTeacher) -> Iterator[str]:
    """Serve on a free port of this machine; yields the endpoint's base_url."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            text = json.dumps(teacher.reply(request))
            tokens = [len(json.dumps(request["messages"])) // 4, len(text) // 4]
            usage = dict(zip(("prompt_tokens", "completion_tokens", "total_tokens"), (*tokens, sum(tokens)), strict=True))
            choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
            made = {"id": "1", "object": "chat.completion", "created": 1, "model": request["model"], "choices": [choice], "usage": usage}
            body = json.dumps(made).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *given: Any) -> None:
            """Log nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/v1"
        finally:
            server.shutdown()
