"""JSON values out of a reply, whatever stands around them and whichever of them are damaged.

At every opening bracket the standard reader is tried first. Where it fails, `json_repair` mends quotes, commas, literals and comments, and
then a second reading must agree with it: `_Reading` takes the same text with its brackets as they stand, and both must hold the same keys
and values in the same nesting. So nothing is lost or made up in a repair, and brackets are never supplied: what was cut off stays cut off.
An object that cannot be read does not take the others with it, since reading goes on at the next bracket.
"""

import json
import math
import re
from collections.abc import Iterator
from typing import Any

from attrs import define, field, frozen

from coevolve import Reason, Refusal

MAX_CHARS = 200_000
"""Characters of a reply that are looked at."""
MAX_DEPTH = 32
"""Nesting of what is read: far more than any candidate has."""
_MAX_TRIES = 4_000
"""Brackets of a reply at which reading is tried."""
_MAX_READ = 20 * MAX_CHARS
"""Characters that may be looked at in vain, for a reply made to waste time."""

_EACH = 2_000
"""What a try counts for at least that the second reading ended in vain."""
_MAX_MENDED = 40_000
"""Characters of an object that are mended at once; longer ones are read piece by piece."""
_MAX_INNER = 64
"""Quotes inside of one string."""
_DEEP = MAX_CHARS // 10
"""What a try counts for that ended at the interpreter's own limit of nesting."""

Token = tuple[str, Any]


@frozen
class Found:
    """A value that was read whole. `before` is the text right before it."""

    value: Any
    before: str = ""


@frozen
class Damaged:
    """An object that could not be read: "cut_off" where the text ends before it does, else "broken_json". `text` is how it begins."""

    reason: str
    text: str
    before: str = ""


_TAG = re.compile(r"<(/?)(think|thinking|thought|reasoning|analysis|scratchpad)>", re.IGNORECASE)


def spoken(text: str) -> str:
    """The reply without what the model thought aloud in tags, and without a last fence; thinking that never ended leaves no reply."""
    text = text[:MAX_CHARS]
    said, begin, thinking = list[str](), 0, ""
    for tag in _TAG.finditer(text):
        closing, name = tag[1], tag[2].lower()
        if closing and thinking in ("", name):
            if not thinking:
                said = []  # the prompt itself began the thinking
            thinking, begin = "", tag.end()
        elif not closing and not thinking:
            said.append(text[begin : tag.start()])
            thinking = name
    text = "".join([*said, "" if thinking else text[begin:]])
    bare = text.rstrip()
    return bare.rstrip("`~") if bare.endswith(("```", "~~~")) else text


def salvage(text: str) -> Iterator[Found | Damaged]:
    """The objects, and the lists that hold objects, in the reply's order; objects inside of a damaged one come after it."""
    text = _decoded_once_more(spoken(text))
    end, left = 0, _MAX_READ
    for tries, opening in enumerate(_OPENING.finditer(text)):
        start = opening.start()
        if tries >= _MAX_TRIES or left <= 0:
            return
        if start < end:
            continue
        before = text[max(0, start - 40) : start]
        try:
            value, stop = _DECODER.raw_decode(text, start)
            readable = within(value)
        except (ValueError, RecursionError) as error:
            readable = False
            left -= (error.pos - start) // 10 if isinstance(error, json.JSONDecodeError) else _DEEP
        if not readable:
            if opening[0] == "[":
                continue
            reading = _Reading(text, start)
            try:
                value = _repaired(reading)
            except Refusal as damage:
                left -= reading.at - start + _EACH
                yield Damaged(damage.reason, text[start : _first_bracket(text, start + 1)][:400], before)
                continue
            stop = reading.at
        if isinstance(value, list) and not any(isinstance(item, dict) for item in value):
            continue
        end = stop
        yield Found(value, before)


def decoded(text: str) -> Any:
    """The value of a text that is JSON and nothing else; ValueError for any other text, for NaN and for a key that stands twice."""
    try:
        value, end = _DECODER.raw_decode(text.strip())
    except RecursionError as error:
        raise ValueError("nested too deep") from error
    if end != len(text.strip()) or not within(value):
        raise ValueError("more than one value, or one nested too deep")
    return value


def _decoded_once_more(text: str) -> str:
    """The reply itself where it was written as one JSON string."""
    try:
        value = decoded(text) if text.lstrip().startswith('"') else None
    except ValueError:
        return text
    return value if isinstance(value, str) else text


def _first_bracket(text: str, at: int) -> int:
    match = _BRACKET.search(text, at)
    return match.start() if match else len(text)


def within(value: Any, depth: int = MAX_DEPTH, size: int = 4 * MAX_CHARS) -> bool:
    """Whether a JSON value nests at most `depth` deep and holds at most `size` characters."""
    level: list[Any] = [value]
    for _ in range(depth + 1):
        size -= sum(len(item) if isinstance(item, str) else 8 for item in level)
        if not level or size < 0:
            return size >= 0
        level = [
            inner
            for item in level
            if isinstance(item, dict | list)
            for inner in ([*item, *item.values()] if isinstance(item, dict) else item)
        ]
    return not level


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key stands twice")
    return found


def _constant(text: str) -> Any:
    raise ValueError(f"{text} is no JSON")


def _finite(text: str) -> float:
    if not math.isfinite(number := float(text)):
        raise ValueError("too large a number")
    return number


_OPENING = re.compile(r"[{\[]")
_BRACKET = re.compile(r"[{}\[\]]")
_DECODER = json.JSONDecoder(strict=False, object_pairs_hook=_unique, parse_constant=_constant, parse_float=_finite)


def _repaired(reading: "_Reading") -> Any:
    """The object that begins where `reading` stands, mended; `reading` then stands at its end."""
    import json_repair

    start = reading.at
    reading.read()
    if reading.at - start > _MAX_MENDED:
        raise Refusal(Reason.BROKEN_JSON)
    try:
        value = json_repair.repair_json(reading.plain(start), return_objects=True, skip_json_loads=True)
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
        raise Refusal(Reason.BROKEN_JSON) from error
    if not within(value) or list(_flat(value)) != reading.tokens:
        raise Refusal(Reason.BROKEN_JSON)
    return value


def _flat(value: Any) -> Iterator[Token]:
    if isinstance(value, dict):
        yield "{", None
        for key, inner in value.items():
            yield "key", key
            yield from _flat(inner)
        yield "}", None
    elif isinstance(value, list):
        yield "[", None
        for inner in value:
            yield from _flat(inner)
        yield "]", None
    else:
        yield type(value).__name__, value


_GAP = re.compile(r"(?:\s|//[^\n]*|/\*.{0,1000}?\*/)*", re.DOTALL)
_END = r"(?=[\s,:\]})/]|\Z)"
_NUMBER = re.compile(rf"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?{_END}", re.ASCII)
_WORD = re.compile(rf"(?:true|false|null|True|False|None){_END}")
_WORDS: dict[str, Any] = {"true": True, "True": True, "false": False, "False": False, "null": None, "None": None}
_BARE_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?=\s*:)")
_QUOTES = {'"': '"', "'": "'", "“": "”", "‘": "’"}
_CLOSES = re.compile(r"\s*(?:[,:\]})\"'“‘]|//|/\*|\Z)")
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.|\Z)", re.DOTALL)
_ESCAPES = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", '"': '"', "'": "'", "\\": "\\", "/": "/"}
_CLOSERS = {"{": "}", "[": "]", "(": ")"}


@define
class _Reading:
    """The keys, values and brackets of an object as they stand.

    Commas may be missing or trail, keys may be bare, strings may hold their own quote where it cannot be the end. Nothing else is forgiven.
    """

    text: str
    at: int
    tokens: list[Token] = field(factory=list)
    _nesting: list[str] = field(factory=list)
    _typographic: list[int] = field(factory=list)
    """Where typographic quotes begin and end strings."""
    _last: str = ""
    """What stands before: "," or ":", "key", "value", or nothing after an opening bracket."""

    def read(self) -> None:
        """Read up to the end of the object that begins here."""
        while True:
            gap = _GAP.match(self.text, self.at)
            self.at = gap.end() if gap else self.at
            if self.at >= len(self.text):
                raise Refusal(Reason.CUT_OFF)
            sign, keyed = self.text[self.at], self._nesting[-1:] == ["{"]
            if sign in "}])":
                self._close(sign, keyed)
                if not self._nesting:
                    return
            elif sign in ",:":
                self._expect(self._last == ("value" if sign == "," else "key"))
                self._last, self.at = sign, self.at + 1
            elif keyed and self._last != ":":
                self._expect(self._last != "key")
                self.tokens.append(("key", self._key()))
                self._last = "key"
            elif sign in _CLOSERS:
                self._open(sign)
            else:
                self.tokens.append(self._scalar())
                self._last = "value"

    def plain(self, start: int) -> str:
        """What was read since `start`, with plain quotes: the library ends a string in typographic ones at its first comma."""
        signs = list(self.text[start : self.at])
        for at in self._typographic:
            signs[at - start] = '"'
        return "".join(signs)

    def _expect(self, right: bool, reason: str = Reason.BROKEN_JSON) -> None:
        if not right:
            raise Refusal(reason)

    def _open(self, sign: str) -> None:
        self._expect(len(self._nesting) < MAX_DEPTH)
        self._nesting.append(sign)
        self.tokens.append(("{" if sign == "{" else "[", None))
        self._last, self.at = "", self.at + 1

    def _close(self, sign: str, keyed: bool) -> None:
        self._expect(sign == _CLOSERS[self._nesting[-1]] and self._last not in ("key", ":"))
        self._nesting.pop()
        self.tokens.append(("}" if keyed else "]", None))
        self._last, self.at = "value", self.at + 1

    def _key(self) -> str:
        if match := _BARE_KEY.match(self.text, self.at):
            self.at = match.end()
            return match[0]
        self._expect(self.text[self.at] in _QUOTES)
        return self._string()

    def _scalar(self) -> Token:
        if self.text[self.at] in _QUOTES:
            return "str", self._string()
        if match := _NUMBER.match(self.text, self.at):
            try:
                value = json.loads(match[0], parse_float=_finite)
            except ValueError as error:
                raise Refusal(Reason.BROKEN_JSON) from error
        elif match := _WORD.match(self.text, self.at):
            value = _WORDS[match[0]]
        else:
            raise Refusal(Reason.CUT_OFF if re.fullmatch(r"[-+.\w]*\s*", self.text[self.at :]) else Reason.BROKEN_JSON)
        self.at = match.end()
        return type(value).__name__, value

    def _string(self) -> str:
        closing, begin = _QUOTES[self.text[self.at]], self.at + 1
        stop, inner = begin, [begin]
        while (stop := self.text.find(closing, stop)) >= 0:
            escapes = 0
            while self.text[stop - 1 - escapes] == "\\" and stop - 1 - escapes >= begin:
                escapes += 1
            if escapes % 2 == 0:
                if _CLOSES.match(self.text, stop + 1):
                    break
                inner.append(stop + 1)
                self._expect(len(inner) <= _MAX_INNER)
            stop += 1
        if stop < 0:
            self.at = len(self.text)
            raise Refusal(Reason.CUT_OFF)
        # Inner quotes come in pairs with a word between them; others are where another string begins or ends, and which is anyone's guess.
        quoted = [self.text[begin:end] for begin, end in zip(inner[1::2], inner[2::2], strict=False)]
        self._expect(closing != '"' or (len(inner) % 2 == 1 and all(re.search(r"\w", words) for words in quoted)))
        if closing in "”’" and '"' not in self.text[begin:stop]:
            self._typographic += [begin - 1, stop]
        self.at = stop + 1
        return _ESCAPE.sub(_unescaped, self.text[begin:stop])


def _unescaped(match: re.Match[str]) -> str:
    code = match[1]
    if len(code) == 5:
        return chr(int(code[1:], 16))
    if code not in _ESCAPES:
        raise Refusal(Reason.BROKEN_JSON)
    return _ESCAPES[code]
