"""Rewrite a malformed JSON object as JSON where only its form is wrong; missing content is never guessed.

The repair accepts single and typographic quotes, bare keys, missing and trailing commas, Python's literals and comments. It refuses an
object in which a bracket, a quote, a colon or a value is missing, because the teacher's meaning would be a guess.
"""

import json
import re

from coevolve import Reason, Refusal

MAX_DEPTH = 32
"""Upper bound on the nesting of a value; candidates need much less."""

_TOKEN = re.compile(
    r"""(?P<gap>\s+|//[^\n]*|/\*.{0,1000}?\*/)
    |(?P<mark>[{}\[\]:,])
    |(?P<key>[A-Za-z_]\w{0,100}(?=\s*:))
    |(?P<literal>(?:-?(?:0|[1-9]\d{0,30})(?:\.\d{1,30})?(?:[eE][+-]?\d{1,2})?|true|false|null|True|False|None)(?![-+.\w]|\Z))
    |(?:"(?P<double>(?:[^"\\]|\\.)*)"|'(?P<single>(?:[^'\\]|\\.)*)'|“(?P<curly>[^“”"\\]*)”)(?=\s*(?:[,:\]}"'“]|//|/\*|\Z))
    |(?P<cut>"(?:[^"\\]|\\.)*\\?\Z|'(?:[^'\\]|\\.)*\\?\Z|“[^”]*\Z|[-+.\w]+\s*\Z)""",
    re.DOTALL | re.VERBOSE | re.ASCII,
)
_OPENERS = {"}": "{", "]": "["}
_LITERALS = {"True": "true", "False": "false", "None": "null"}
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_ESCAPES = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", '"': '"', "'": "'", "\\": "\\", "/": "/"}


def as_json(text: str, start: int) -> tuple[str, int]:
    """The object that opens at `start`, rewritten as JSON, and the index in `text` at which it ends.

    Commas are corrected; the order of keys, colons and values is not checked here, but by the JSON reader. Raises Refusal: CUT_OFF where
    the text ends inside the object, BROKEN_JSON where a token cannot be read without guessing.
    """
    parts, nesting, last, at = list[str](), list[str](), "", start
    while (token := _TOKEN.match(text, at)) and token.lastgroup != "cut":
        at = token.end()
        if token.lastgroup == "gap":
            continue
        before, last = last, token[0]
        if last == ",":
            if before in ("{", "[", ":", ","):
                raise Refusal(Reason.BROKEN_JSON, "an item is missing")
            continue
        if before not in ("", "{", "[", ":") and last not in ("}", "]", ":"):
            parts.append(",")
        parts.append(_rewritten(token))
        if last in ("{", "["):
            nesting.append(last)
        if (last in _OPENERS and nesting.pop() != _OPENERS[last]) or len(nesting) > MAX_DEPTH:
            raise Refusal(Reason.BROKEN_JSON)
        if not nesting:
            return "".join(parts), at
    raise Refusal(Reason.CUT_OFF if token or at == len(text) else Reason.BROKEN_JSON)


def _rewritten(token: re.Match[str]) -> str:
    kind, text = str(token.lastgroup), token[0]
    if kind in ("mark", "literal"):
        return _LITERALS.get(text, text)
    return json.dumps(text if kind == "key" else _ESCAPE.sub(_unescaped, token[kind]))


def _unescaped(escape: re.Match[str]) -> str:
    code = escape[1]
    if len(code) == 5:
        return chr(int(code[1:], 16))
    if code not in _ESCAPES:
        raise Refusal(Reason.BROKEN_JSON)
    return _ESCAPES[code]
