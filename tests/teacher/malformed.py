"""Malformed replies of distinct kinds, as data. Good candidates are planted in each, so the expected result is known exactly."""

import json
from collections.abc import Iterator
from typing import Any

from attrs import frozen

from coevolve.synthesizers.teacher.replies import Call, Candidate, CandidateTurn

Json = Any


@frozen
class Malformed:
    """A reply, the candidates that must be read from it in this order, and the codes of the others."""

    name: str
    text: str
    good: tuple[Candidate, ...]
    bad: tuple[str, ...] = ()


A: Json = {"intent": "learn the date", "query": "When is the budget review?", "solution": [1, 2]}
B: Json = {
    "intent": "move mail",
    "query": "Forward the outage thread to Ana, please.",
    "solution": [{"tool": "contacts.find", "arguments": {"name": "Ana"}}, 3, {"tool": "mail.forward", "arguments": {"thread": "outage"}}],
}
C: Json = {
    "intent": "two wishes",
    "turns": [
        {"request": "Open the brand folder.", "solution": [1]},
        {"request": "Now sort what is in it.", "solution": [2, {"tool": "sort", "arguments": {"by": "size", "deep": True}}]},
    ],
}
D: Json = {"intent": "", "query": "Wie heißt Анна auf 日本語? 🙂", "solution": [4]}
GOOD: tuple[tuple[Json, Candidate], ...] = (
    (A, Candidate("learn the date", A["query"], (1, 2))),
    (B, Candidate("move mail", B["query"], (Call("contacts.find", {"name": "Ana"}), 3, Call("mail.forward", {"thread": "outage"})))),
    (
        C,
        Candidate(
            "two wishes",
            "Open the brand folder.\n\nNow sort what is in it.",
            (1, 2, Call("sort", {"by": "size", "deep": True})),
            (
                CandidateTurn("Open the brand folder.", (1,)),
                CandidateTurn("Now sort what is in it.", (2, Call("sort", {"by": "size", "deep": True}))),
            ),
        ),
    ),
    (D, Candidate("", D["query"], (4,))),
)
RAW = [raw for raw, _ in GOOD]
WANTED = tuple(wanted for _, wanted in GOOD)


def dump(value: Json, **more: Any) -> str:
    return json.dumps(value, ensure_ascii=False, **more)


TEXTS = [dump(raw) for raw in RAW]
LIST = dump(RAW)
WHOLE = dump({"candidates": RAW})


def bare_keys(value: Json) -> str:
    """JSON without quotes around keys."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {bare_keys(inner)}" for key, inner in value.items()) + "}"
    return "[" + ", ".join(map(bare_keys, value)) + "]" if isinstance(value, list) else dump(value)


def mapped(change: Any) -> str:
    return dump({"candidates": [change(raw) for raw in RAW]})


def cased(value: Json) -> Json:
    """Keys of candidates in other cases and with spaces; keys of arguments stay."""
    return {f" {key.title()}" if key != "turns" else "TURNS": inner for key, inner in value.items()}


def calls_as(shape: Any) -> str:
    """The candidates with their calls in another shape."""

    def part(item: Any) -> Any:
        return shape(item) if isinstance(item, dict) else item

    def change(raw: Json) -> Json:
        if "turns" in raw:
            return {**raw, "turns": [{**turn, "solution": [part(item) for item in turn["solution"]]} for turn in raw["turns"]]}
        return {**raw, "solution": [part(item) for item in raw["solution"]]}

    return mapped(change)


def numbers_as(shape: Any) -> str:
    def change(raw: Json) -> Json:
        if "turns" in raw:
            return {
                **raw,
                "turns": [{**t, "solution": [shape(i) if isinstance(i, int) else i for i in t["solution"]]} for t in raw["turns"]],
            }
        return {**raw, "solution": [shape(item) if isinstance(item, int) else item for item in raw["solution"]]}

    return mapped(change)


def whole() -> Iterator[tuple[str, str]]:
    """Replies in which all four candidates are good, however they are wrapped, written or surrounded."""
    yield "wrapped", WHOLE
    yield "a bare list", LIST
    yield "another name for the list", dump({"tasks": RAW})
    yield "wrapped twice", dump({"result": {"items": RAW}})
    yield "an object of objects", dump({str(number): raw for number, raw in enumerate(RAW)})
    yield "each wrapped in an object", dump([{"candidate": raw} for raw in RAW])
    yield "lists in a list", dump([[raw] for raw in RAW])
    yield "two lists in one object", dump({"first": RAW[:2], "second": RAW[2:]})
    yield "notes beside the list", dump({"thoughts": ["one", "two"], "count": 4, "candidates": RAW, "done": True})
    yield "a single object in place of each list", dump({"a": RAW[0], "b": RAW[1], "c": RAW[2], "d": RAW[3]})
    yield "one object a line", "\n".join(TEXTS)
    yield "objects one after the other", "".join(TEXTS)
    yield "objects with commas and no list", ", ".join(TEXTS)
    yield "objects with semicolons", "; ".join(TEXTS)
    yield "two whole replies", dump({"candidates": RAW[:2]}) + "\n" + dump({"candidates": RAW[2:]})
    yield "a fence", f"```json\n{WHOLE}\n```"
    yield "a fence without a language", f"```\n{LIST}\n```"
    yield "a fence that is never closed", f"```json\n{WHOLE}"
    yield "a fence that is never opened", f"{WHOLE}\n```"
    yield "a fence on one line", f"```json {WHOLE}```"
    yield "a fence of tildes", f"~~~\n{WHOLE}\n~~~"
    yield "a fence in another language", f"```python\n{WHOLE}\n```"
    yield "a fence for each", "\n".join(f"Task {n}:\n```json\n{text}\n```" for n, text in enumerate(TEXTS, 1))
    yield "prose before", f"Sure! Here are the tasks that you asked for:\n{WHOLE}"
    yield "prose after", f"{WHOLE}\nLet me know if you need more of them."
    yield "prose between", "\n\nAnd another one: ".join(TEXTS)
    yield "prose with brackets", f"I use [step 1] and {{tool}} as in {{x: y}} below [see above].\n{WHOLE}"
    yield "prose with an open bracket", f"Here (or { {'{'} }".replace("{'{'}", "{") + f" somewhere) they are {WHOLE}"
    yield "prose with an odd quote", f'The 5" screen, so to say:\n{WHOLE}'
    yield "a numbered list", "\n".join(f"{n}. {text}" for n, text in enumerate(TEXTS, 1))
    yield "bullets", "\n".join(f"- **Task**: {text}" for text in TEXTS)
    yield "thinking before", f"<think>They want tasks. Perhaps [1, 2]?</think>{WHOLE}"
    yield "thinking with a draft", f'<think>Say {{"query": "draft", "solution": [9]}}, no.</think>\n{WHOLE}'
    yield "thinking with half a draft", f'<thinking>{{"query": "draft", "solution": [</thinking>{WHOLE}'
    yield "thinking whose beginning is in the prompt", f'so {{"query": "draft", "solution": [9]}} will not do.\n</think>\n{WHOLE}'
    yield "thinking twice", f"<think>a</think><think>b {{</think>{WHOLE}"
    yield "reasoning in other tags", f"<reasoning>{{}}</reasoning>{WHOLE}"
    yield "tags around", f"<json>{WHOLE}</json>"
    yield "a page", f"<html><body><pre>{WHOLE}</pre></body></html>"
    yield "a speaker", f"Assistant: {WHOLE}"
    yield "the word json", f"json\n{WHOLE}"
    yield "an assignment in JavaScript", f"const candidates = {LIST};"
    yield "an assignment in Python", f"candidates = {RAW!r}"
    yield "events", "\n".join(f"data: {text}" for text in TEXTS) + "\ndata: [DONE]"
    yield "log lines", "\n".join(f"[12:00:0{n}] INFO {text}" for n, text in enumerate(TEXTS))
    yield "special tokens", f"<|im_start|>assistant\n{WHOLE}<|im_end|>"
    yield "a byte order mark", f"\ufeff{WHOLE}"
    yield "carriage returns", dump({"candidates": RAW}, indent=2).replace("\n", "\r\n")
    yield "tabs", dump({"candidates": RAW}, indent="\t")
    yield "spread out", dump({"candidates": RAW}, indent=4)
    yield "as tight as can be", dump({"candidates": RAW}, separators=(",", ":"))
    yield "escapes for all that is not ASCII", json.dumps({"candidates": RAW})
    yield "a character escaped", WHOLE.replace("?", "\\u003f")
    yield "a comma behind the last candidate", f'{{"candidates": [{", ".join(TEXTS)},]}}'
    yield "commas behind everything", WHOLE.replace("}", ",}").replace("]", ",]")
    yield "Python's own writing", repr({"candidates": RAW})
    yield "Python's own writing in a fence", f"```python\n{RAW!r}\n```"
    yield "single quotes", "[" + ", ".join(repr(raw) for raw in RAW) + "]"
    yield "keys without quotes", bare_keys({"candidates": RAW})
    yield "keys in capitals", mapped(cased)
    yield "typographic quotes", WHOLE.replace(' "', " “").replace('{"', "{“").replace('"', "”")
    yield "line comments", dump({"candidates": RAW}, indent=1).replace("[\n", "[ // here they come\n")
    yield "block comments", WHOLE.replace('"solution":', '/* by number */ "solution":')
    yield "no comma between candidates", "[" + "\n".join(TEXTS) + "]"
    yield "no comma between fields", WHOLE.replace('", "solution"', '" "solution"')
    yield "the last bracket missing", WHOLE[:-1]
    yield "both last brackets missing", WHOLE[:-2]
    yield "a bracket too many", f"{WHOLE}]}}}}"
    yield "the first bracket missing", WHOLE[1:]
    yield "the wrong last bracket", f"{WHOLE[:-2]}}}]"
    yield "cut off after a candidate", WHOLE[:-2] + ","
    yield "cut off at the next candidate's list", WHOLE[:-2] + ", ["
    yield "JSON in a string", json.dumps(WHOLE)
    yield "the list as text", json.dumps({"candidates": LIST})
    yield "each candidate as text", json.dumps([*TEXTS, {}])
    yield "each candidate as text under a name", json.dumps({"candidates": TEXTS})
    yield "more keys", mapped(lambda raw: {"id": 7, **raw, "difficulty": "hard", "tags": ["a", "b"], "notes": {"why": None}})
    yield "keys the other way round", mapped(lambda raw: dict(reversed(raw.items())))
    yield "line ends inside of strings", WHOLE.replace('🙂"', '🙂\n"')
    yield "tabs inside of strings", WHOLE.replace('"learn the date"', '"learn the date\t"')
    yield "spaces around texts", mapped(lambda raw: {k: f"  {v}\n" if isinstance(v, str) else v for k, v in raw.items()})
    yield "numbers as text", numbers_as(str)
    yield "numbers as floats", numbers_as(float)
    yield "numbers in words of a list", numbers_as(lambda n: f"Step {n}.")
    yield "numbers with a sign", numbers_as(lambda n: f"#{n}")
    yield "numbers in objects", numbers_as(lambda n: {"step": n})
    yield "calls with names", calls_as(lambda c: {"name": c["tool"], "arguments": c["arguments"]})
    yield "calls with inputs", calls_as(lambda c: {"type": "tool_use", "name": c["tool"], "input": c["arguments"]})
    yield "calls with parameters", calls_as(lambda c: {"tool": c["tool"], "parameters": c["arguments"]})
    yield "calls with args and thoughts", calls_as(lambda c: {"thought": "so", "tool": c["tool"], "args": c["arguments"]})
    yield (
        "calls as functions",
        calls_as(lambda c: {"type": "function", "function": {"name": c["tool"], "arguments": json.dumps(c["arguments"])}}),
    )
    yield "arguments as text", calls_as(lambda c: {"tool": c["tool"], "arguments": json.dumps(c["arguments"])})
    yield "an intent that is null", mapped(lambda raw: {**raw, "intent": raw["intent"] or None})
    yield "fields of the other shape, empty", mapped(lambda raw: {"turns": [], **raw} if "query" in raw else {"solution": [], **raw})
    yield "nothing between candidates", dump([RAW[0], {}, RAW[1], {}, RAW[2], {}, RAW[3], {}])
    yield "long prose before", "All work and no play. " * 4000 + WHOLE
    yield "a bomb of brackets behind", WHOLE + "[" * 5000
    yield "a bomb of objects behind", WHOLE + '{"a":' * 5000
    yield "a bomb of objects before", '{"a":' * 500 + WHOLE
    yield "a list of steps before", f"[1, 2, 3] {WHOLE}"
    yield "a reflection before", dump({"weakness": "dates", "tries": ["a"]}) + WHOLE
    yield "a call before", dump({"thought": "t", "action": {"tool": "x", "arguments": {"query": "q"}}}) + WHOLE
    yield "prose in another script", f"好的，这里是任务：{WHOLE}。希望有帮助！"
    yield "prose from right to left", f"هذه هي المهام: {WHOLE}"
    yield "halves of characters around", f"\ud83d{WHOLE}\udc00"


def lacking(key: str, raw: Json = A) -> Json:
    return {name: value for name, value in raw.items() if name != key}


def with_solution(*items: Json) -> Json:
    return {**A, "query": "Another one?", "solution": list(items)}


X = {"intent": "bad", "query": "Is this one bad?", "solution": [1, 2]}
XT = dump(X)
Y: Json = {"intent": "bad turns", "turns": [{"request": "First?", "solution": [1]}, {"request": "Then?", "solution": [2]}]}


def bad() -> Iterator[tuple[str, str, str]]:
    """One bad candidate's own text, with brackets that balance, and its code."""
    yield "no query", dump(lacking("query")), "no_query"
    yield "a blank query", dump({**X, "query": " \n "}), "no_query"
    yield "a null query", dump({**X, "query": None}), "no_query"
    yield "an empty query", dump({**X, "query": ""}), "no_query"
    yield "another name for the query", dump({"intent": "x", "question": "Who?", "solution": [1]}), "no_query"
    yield "a number for a query", dump({**X, "query": 7}), "bad_text"
    yield "a list for a query", dump({**X, "query": ["Do", "this"]}), "bad_text"
    yield "an object for a query", dump({**X, "query": {"text": "Do"}}), "bad_text"
    yield "true for a query", dump({**X, "query": True}), "bad_text"
    yield "a control character", dump({**X, "query": "Do\x00this"}), "bad_text"
    yield "half a character", '{"intent": "x", "query": "Do \\ud83d this", "solution": [1]}', "bad_text"
    yield "a query without end", dump({**X, "query": "please " * 2000}), "bad_text"
    yield "a number for an intent", dump({**X, "intent": 3}), "bad_text"
    yield "no solution", dump(lacking("solution")), "no_solution"
    yield "a null solution", dump({**X, "solution": None}), "no_solution"
    yield "an empty solution", dump({**X, "solution": []}), "no_solution"
    yield "an empty text for a solution", dump({**X, "solution": ""}), "no_solution"
    yield "an empty object for a solution", dump({**X, "solution": {}}), "no_solution"
    yield "another name for the solution", dump({"intent": "x", "query": "Who?", "steps": [1, 2]}), "no_solution"
    yield "prose for a solution", dump({**X, "solution": "First look, then pay."}), "bad_solution"
    yield "numbers in a sentence", dump({**X, "solution": "1, 2 and 3"}), "bad_solution"
    yield "prose in a solution", dump(with_solution(1, "then pay")), "bad_solution"
    yield "step zero", dump(with_solution(0, 1)), "bad_solution"
    yield "a step below zero", dump(with_solution(1, -2)), "bad_solution"
    yield "half a step", dump(with_solution(1.5)), "bad_solution"
    yield "true for a step", dump(with_solution(True)), "bad_solution"
    yield "null for a step", dump(with_solution(1, None)), "bad_solution"
    yield "a list for a step", dump(with_solution([1, 2])), "bad_solution"
    yield "an empty object for a step", dump(with_solution(1, {})), "bad_solution"
    yield "a step of astronomic number", dump(with_solution(10**30)), "bad_solution"
    yield "a call without a tool", dump(with_solution({"arguments": {"a": 1}})), "bad_solution"
    yield "a number for a tool", dump(with_solution({"tool": 5, "arguments": {}})), "bad_solution"
    yield "a blank tool", dump(with_solution({"tool": " ", "arguments": {}})), "bad_solution"
    yield "a tool of endless name", dump(with_solution({"tool": "x" * 500, "arguments": {}})), "bad_solution"
    yield "two tools in a call", dump(with_solution({"tool": "a", "name": "b", "arguments": {}})), "bad_solution"
    yield "a list for arguments", dump(with_solution({"tool": "a", "arguments": ["x"]})), "bad_solution"
    yield "a number for arguments", dump(with_solution({"tool": "a", "arguments": 5})), "bad_solution"
    yield "prose for arguments", dump(with_solution({"tool": "a", "arguments": "with x"})), "bad_solution"
    yield "half JSON for arguments", dump(with_solution({"tool": "a", "arguments": '{"x": 1'})), "bad_solution"
    yield "arguments under a strange name", dump(with_solution({"tool": "a", "payload": {"x": 1}})), "bad_solution"
    yield "arguments twice", dump(with_solution({"tool": "a", "arguments": {"x": 1}, "args": {"x": 2}})), "bad_solution"
    yield "half a character in an argument", '{"query": "q", "solution": [{"tool": "a", "arguments": {"x": "\\udc00"}}]}', "bad_solution"
    yield "arguments too deep", dump(with_solution({"tool": "a", "arguments": {"x": json.loads("[" * 40 + "]" * 40)}})), "broken_json"
    yield "arguments too long", dump(with_solution({"tool": "a", "arguments": {"x": "y" * 30_000}})), "bad_solution"
    yield "more calls than any task", dump(with_solution(*[1] * 101)), "bad_solution"
    yield "a call as text", dump(with_solution("mail.forward(thread='outage')")), "bad_solution"
    yield "a candidate for a step", dump(with_solution(1, lacking("solution"))), "bad_solution"
    yield "not a number", '{"query": "q", "solution": [NaN]}', "broken_json"
    yield "not a number as an argument", '{"query": "q", "solution": [{"tool": "a", "arguments": {"x": NaN}}]}', "broken_json"
    yield "infinity", '{"query": "q", "solution": [{"tool": "a", "arguments": {"x": -Infinity}}]}', "broken_json"
    yield "a number beyond all numbers", '{"query": "q", "solution": [{"tool": "a", "arguments": {"x": 1e999}}]}', "broken_json"
    yield "a number of endless digits", f'{{"query": "q", "solution": [{"9" * 6000}]}}', "broken_json"
    yield "dots for the rest", '{"query": "q", "solution": [1, 2, ...]}', "broken_json"
    yield "dots for the fields", '{"query": "q", "solution": [1], ...}', "broken_json"
    yield "a query twice", '{"query": "q", "query": "r", "solution": [1]}', "broken_json"
    yield "a solution twice", '{"query": "q", "solution": [1], "solution": [2]}', "broken_json"
    yield "a query twice in other cases", '{"query": "q", "Query": "r", "solution": [1]}', "broken_json"
    yield "an argument twice", '{"query": "q", "solution": [{"tool": "a", "arguments": {"x": 1, "x": 2}}]}', "broken_json"
    yield "a quote missing behind", '{"intent": "i", "query": "Pay the bill, "solution": [1]}', "broken_json"
    yield "a quote missing before", '{"intent": "i", "query": Pay the bill", "solution": [1]}', "broken_json"
    yield "no quotes around the query", '{"intent": "i", "query": Pay the bill, "solution": [1]}', "broken_json"
    yield "a quote missing at a key", '{"intent": "i", "query: "Pay the bill", "solution": [1]}', "broken_json"
    yield "a colon missing", '{"intent": "i", "query" "Pay the bill", "solution": [1]}', "broken_json"
    yield "equals signs", '{"intent" = "i", "query" = "Pay the bill", "solution" = [1]}', "broken_json"
    yield "arrows", '{"query" => "Pay the bill", "solution" => [1]}', "broken_json"
    yield "a value missing", '{"intent": "i", "query": , "solution": [1]}', "broken_json"
    yield "the last value missing", '{"intent": "i", "query": "q", "solution": }', "broken_json"
    yield "two commas in a list", '{"query": "q", "solution": [1,, 2]}', "broken_json"
    yield "a comma first", '{"query": "q", "solution": [, 2]}', "broken_json"
    yield "a list closed too early", '{"query": "q", "solution": [1], 2]}', "broken_json"
    yield "a list that is never closed", '{"query": "q", "solution": [1, 2}', "broken_json"
    yield "the wrong bracket", '{"query": "q", "solution": [1, 2)}', "broken_json"
    yield "a call that is never closed", '{"query": "q", "solution": [{"tool": "a", "arguments": {"x": 1}]}', "broken_json"
    yield "a word for a value", '{"query": "q", "solution": all}', "broken_json"
    yield "undefined", '{"query": "q", "solution": [1, undefined]}', "broken_json"
    yield "a fraction", '{"query": "q", "solution": [1/2]}', "broken_json"
    yield "a number in base 16", '{"query": "q", "solution": [0x10]}', "broken_json"
    yield "a zero in front", '{"query": "q", "solution": [01]}', "broken_json"
    yield "a range", '{"query": "q", "solution": [1-3]}', "broken_json"
    yield "an escape that there is not", '{"query": "C:\\Users", "solution": [1]}', "broken_json"
    yield "a placeholder", '{"query": "{{query}}", "solution": [{{steps}}]}', "broken_json"
    yield "a formula for a text", '{"query": "a" + "b", "solution": [1]}', "broken_json"
    yield "turns and a solution", dump({**Y, "solution": [1, 2]}), "bad_solution"
    yield "a turn without a request", dump({**Y, "turns": [{"solution": [1]}, Y["turns"][1]]}), "no_query"
    yield "a turn without a solution", dump({**Y, "turns": [Y["turns"][0], {"request": "Then?"}]}), "no_solution"
    yield "a turn with prose for a solution", dump({**Y, "turns": [{"request": "First?", "solution": "look"}]}), "bad_solution"
    yield "turns as text", dump({**Y, "turns": "First?"}), "bad_solution"
    yield "turns of text", dump({**Y, "turns": ["First?", "Then?"]}), "bad_solution"
    yield "turns as an object", dump({**Y, "turns": {"1": Y["turns"][0]}}), "bad_solution"
    yield "too many calls over the turns", dump({**Y, "turns": [{"request": f"{n}", "solution": [1] * 60} for n in "ab"]}), "bad_solution"
    yield "a text for a candidate", '"Pay the water bill"', "not_an_object"
    yield "a number for a candidate", "42", "not_an_object"
    yield "null for a candidate", "null", "not_an_object"
    yield "a candidate that is there already", TEXTS[0], "repeated"


CUTS = {
    "before the first key": "{",
    "in the first key": '{"int',
    "after a key": '{"intent"',
    "after a colon": '{"intent":',
    "in the intent": '{"intent": "something li',
    "after the intent": '{"intent": "bad"',
    "in the next key": '{"intent": "bad", "que',
    "in the query": '{"intent": "bad", "query": "Is this on',
    "in an escape": '{"intent": "bad", "query": "Is this \\u00',
    "after a backslash": '{"intent": "bad", "query": "Is this \\',
    "after the query": '{"intent": "bad", "query": "Is this one bad?",',
    "before the solution": '{"intent": "bad", "query": "Is this one bad?", "solution":',
    "at the solution's bracket": '{"intent": "bad", "query": "Is this one bad?", "solution": [',
    "after a step": '{"intent": "bad", "query": "Is this one bad?", "solution": [1',
    "after a comma": '{"intent": "bad", "query": "Is this one bad?", "solution": [1,',
    "in a call": '{"query": "Is this one bad?", "solution": [1, {"tool": "ma',
    "in a call's arguments": '{"query": "Is this one bad?", "solution": [1, {"tool": "mail.send", "arguments": {"to": "A',
    "after a call's arguments": '{"query": "Is this one bad?", "solution": [1, {"tool": "mail.send", "arguments": {"to": "Ana"}',
    "after a call": '{"query": "Is this one bad?", "solution": [1, {"tool": "mail.send", "arguments": {"to": "Ana"}}',
    "after the solution": '{"intent": "bad", "query": "Is this one bad?", "solution": [1, 2]',
    "in a literal": '{"query": "Is this one bad?", "solution": [{"tool": "a", "arguments": {"x": tr',
    "in the first turn": '{"intent": "bad", "turns": [{"request": "First?", "solution": [1',
    "after the first turn": '{"intent": "bad", "turns": [{"request": "First?", "solution": [1]}',
    "in the second turn": '{"intent": "bad", "turns": [{"request": "First?", "solution": [1]}, {"request": "Th',
    "after the turns": '{"intent": "bad", "turns": [{"request": "First?", "solution": [1]}, {"request": "Then?", "solution": [2]}]',
    "in single quotes": "{'intent': 'bad', 'query': 'Is this one bad?', 'solution': [1, ",
}

NOTHING: dict[str, tuple[str, str]] = {
    "nothing": ("", "unreadable"),
    "space": (" \n\t ", "unreadable"),
    "a refusal": ("I'm sorry, but I can't help with that.", "unreadable"),
    "prose": ("First look up the bill, then pay it. Solution: steps 1 and 2.", "unreadable"),
    "null": ("null", "unreadable"),
    "a number": ("42", "unreadable"),
    "a text": ('"Pay the bill"', "unreadable"),
    "an empty object": ("{}", "unreadable"),
    "an empty list": ("[]", "none"),
    "an empty list in a fence": ("```json\n[]\n```", "none"),
    "an empty list under its name": ('{"candidates": []}', "none"),
    "an empty list after thinking": ("<think>nothing new</think>[]", "none"),
    "only thinking": ("<think>I should make tasks that", "unreadable"),
    "a page of an error": ("<html><head><title>502 Bad Gateway</title></head></html>", "unreadable"),
    "an error as JSON": ('{"error": {"message": "overloaded", "code": 503}}', "unreadable"),
    "other markup": ("candidates:\n  - query: Pay the bill\n    solution: [1, 2]\n", "unreadable"),
    "a list of steps": ("[1, 2, 3]", "unreadable"),
    "a call alone": ('{"tool": "mail.send", "arguments": {"to": "Ana"}}', "unreadable"),
    "a reflection": ('{"weakness": "dates", "why": "x", "tries": ["y"], "variant": "z"}', "unreadable"),
    "brackets alone": ("{[}]", "unreadable"),
    "a flood of brackets": ("{" * 50_000, "unreadable"),
    "a flood of objects": ('{"a":' * 30_000, "unreadable"),
    "a flood of lists": ("[" * 50_000, "unreadable"),
    "a flood of quotes": ('"' * 50_000, "unreadable"),
}


def families() -> dict[str, list[Malformed]]:
    """All replies, by the kind of their fault."""
    found: dict[str, list[Malformed]] = {
        "whole candidates in odd surroundings": [Malformed(name, text, WANTED) for name, text in whole()],
        "a bad candidate between two good ones": [],
        "a bad candidate in lines of objects": [],
        "cut off": [],
        "cut off in a fence": [],
        "no candidate": [Malformed(name, text, (), (code,)) for name, (text, code) in NOTHING.items()],
    }
    for name, text, code in bad():
        among = f'{{"candidates": [{TEXTS[0]}, {text}, {TEXTS[1]}]}}'
        found["a bad candidate between two good ones"].append(Malformed(f"{name}, between two good ones", among, WANTED[:2], (code,)))
        if text.startswith("{") and code != "repeated":
            lines = f"Here you are.\n{text}\n{TEXTS[2]}\n{TEXTS[3]}"
            found["a bad candidate in lines of objects"].append(Malformed(f"{name}, in lines of objects", lines, WANTED[2:], (code,)))
    for name, text in CUTS.items():
        cut = f'{{"candidates": [{TEXTS[0]}, {TEXTS[2]}, {text}'
        found["cut off"].append(Malformed(f"cut off {name}", cut, (WANTED[0], WANTED[2]), ("cut_off",)))
        fenced = f"```json\n[{TEXTS[1]},\n {text}\n```"
        found["cut off in a fence"].append(Malformed(f"cut off {name}, in a fence", fenced, WANTED[1:2], ("cut_off",)))
    return found


def replies() -> list[Malformed]:
    """The replies of all families."""
    return [reply for family in families().values() for reply in family]
