"""Reads the calls in prompt-mode answers, `[f(a=1), g(b='x')]`. Nothing is evaluated: literals are read from the parsed text.

Reads what the official decoder of the same release reads, its oddities included: a bare name is a string (`a=true` is 'true'), a unary
operator always negates, a call without keywords as an argument is its own text, dictionary keys are strings, `**x` is the keyword None.
Departures: positional arguments are bound to keywords (the official decoder drops them; `positional="drop"` does too); arithmetic
works on literals only and within bounds; a call with a nested call, bytes or a complex number as an argument is refused with an error
result, not executed.
"""

import ast
import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from attrs import field, frozen

MAX_TEXT = 16_384
"""Characters of an answer."""
MAX_NODES = 4_000
"""Nodes of its syntax tree."""
MAX_CALLS = 100
"""Calls in an answer."""
MAX_BITS = 14_284
"""Bits of an integer: the most that Python will write out (4,300 digits)."""
_FILE = "bfcl-answer"

Parameters = Mapping[str, Sequence[str]]


class Undecodable(ValueError):
    """The text is not a list of calls; the message is the reason."""


class Unquoted(str):
    """An argument that the official decoder writes as code (a name, a nested call). It is never evaluated here."""

    def __repr__(self) -> str:
        return str(self)


@frozen
class Call:
    """A call with literal arguments. A call with a `refusal` is answered with that error and not executed."""

    name: str
    arguments: dict[str, Any] = field(factory=dict)
    refusal: str | None = None

    def __str__(self) -> str:
        return self.as_code(", ")

    def as_code(self, separator: str) -> str:
        """The call as code; the official decoders write ", " in prompt mode and "," in function-call mode."""
        return f"{self.name}({separator.join(f'{key}={value!r}' for key, value in self.arguments.items())})"


def decode(text: str, parameters: Parameters, positional: str = "bind", early: bool = False) -> list[Call]:
    """The calls in a model's answer, in order. Raises Undecodable when it is not a list of calls. `early`: see `Release`."""
    if len(text) > MAX_TEXT:
        raise Undecodable(f"longer than {MAX_TEXT} characters")
    text = text.strip("`\n ")
    text = text if text.startswith("[") else "[" + text
    text = text if text.endswith("]") else text + "]"
    body = _parse(text.strip("[]'") if early else text.strip().strip("'"))
    nodes = [body] if isinstance(body, ast.Call) else body.elts if isinstance(body, ast.List | ast.Tuple | ast.Set) else None
    if nodes is None:
        raise Undecodable("not a list")
    return bounded(nodes, lambda node: _call(node, parameters, positional))


def bounded(parts: Sequence[Any], read: Callable[[Any], Call]) -> list[Call]:
    """Each part read as a call by `read`. Raises Undecodable for over MAX_CALLS parts, or when one cannot be read."""
    if len(parts) > MAX_CALLS:
        raise Undecodable(f"more than {MAX_CALLS} calls")
    try:
        return [read(part) for part in parts]
    except (RecursionError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise error if isinstance(error, Undecodable) else Undecodable(str(error)) from None


def ground_truth(text: str, parameters: Parameters) -> Call:
    """The call in a text as the benchmark's answers or `str(Call)` write it, with Python literals. Raises ValueError for other texts."""
    node = _parse(text)
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        raise Undecodable(f"not a call: {text[:80]}")
    keywords = {keyword.arg: ast.literal_eval(keyword.value) for keyword in node.keywords if keyword.arg}
    return _bind(node.func.id, [ast.literal_eval(value) for value in node.args], keywords, parameters)


def _parse(text: str) -> ast.expr:
    _silence()
    try:
        tree = ast.parse(text, _FILE, mode="eval")
        if 2 * len(text) + 8 > MAX_NODES and sum(1 for _ in ast.walk(tree)) > MAX_NODES:  # a character makes two nodes at most
            raise Undecodable(f"more than {MAX_NODES} parts")
    except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError) as error:
        raise error if isinstance(error, Undecodable) else Undecodable(f"{type(error).__name__}: {error}") from None
    return tree.body


def _silence() -> None:
    """Keep the parser's warnings about a model's text to itself (where warnings are errors, they would change what it reads)."""
    first = warnings.filters[0] if warnings.filters else None
    if first is None or getattr(first[3], "pattern", first[3]) != _FILE:
        warnings.filterwarnings("ignore", module=_FILE)


def _call(node: ast.expr, parameters: Parameters, positional: str) -> Call:
    if not isinstance(node, ast.Call):
        raise Undecodable("an element is not a call")
    parts, function = [], node.func
    while isinstance(function, ast.Attribute):
        parts.append(function.attr)
        function = function.value
    if isinstance(function, ast.Name):
        parts.append(function.id)
    name = ".".join(reversed(parts))
    given: dict[int | str, Any] = {n: _value(part) for n, part in enumerate(node.args) if positional == "bind"}
    given |= {str(keyword.arg): _value(keyword.value) for keyword in node.keywords}
    refusal = None
    for key, value in given.items():
        try:
            given[key] = _as_decoded(checked(value))
        except EvaluatedName as found:
            given[key] = Unquoted(_as_code(value))
            refusal = "a call cannot be an argument" if str(found) in parameters else found.error
    keywords = {key: value for key, value in given.items() if isinstance(key, str)}
    values = [value for key, value in given.items() if isinstance(key, int)]
    return Call(name, keywords, refusal) if refusal else _bind(name, values, keywords, parameters)


def _bind(name: str, values: Sequence[Any], keywords: dict[str, Any], parameters: Parameters) -> Call:
    if not values or name not in parameters:
        return Call(name, keywords)
    names = parameters[name]
    if len(values) > len(names):
        return Call(name, keywords, f"{name}() takes {len(names)} arguments but {len(values)} were given")
    bound = dict(zip(names, values, strict=False))
    if twice := sorted(bound.keys() & keywords.keys()):
        return Call(name, keywords, f"{name}() got multiple values for argument '{twice[0]}'")
    return Call(name, bound | keywords)


class EvaluatedName(Exception):
    """An argument that the official decoder would write as code and the official executor evaluate; the message is the name looked up."""

    @property
    def error(self) -> str:
        """The error that the official executor would report."""
        return f"name '{self}' is not defined"


class RefusedType(EvaluatedName):
    """An argument of a type that no function takes and JSON cannot hold; the message names the type."""

    @property
    def error(self) -> str:
        return f"{self} cannot be an argument"


def _as_decoded(value: Any) -> Any:
    """An argument's value as the official decoder makes it by writing text: keys are strings, dictionaries of dictionaries are calls."""
    if not isinstance(value, dict):
        return value
    if not value:
        raise Undecodable("an empty dictionary")
    if all(isinstance(inner, dict) for inner in value.values()):
        raise EvaluatedName(next(iter(value)))
    found = {str(key): _as_decoded(inner) for key, inner in value.items()}
    if any("'" in key or "\\" in key or not key.isprintable() for key in found):  # between quotes, such a key is another one, or none
        try:
            return ast.literal_eval(_as_code(value))
        except (SyntaxError, ValueError):
            raise EvaluatedName(next(iter(value))) from None
    return found


def _as_code(value: Any) -> str:
    """The code that the official decoder writes for an argument."""
    if not isinstance(value, dict):
        return repr(value)
    if not value:
        raise Undecodable("an empty dictionary")
    if all(isinstance(inner, dict) for inner in value.values()):
        name = next(iter(value))
        return f"{name}({', '.join(f'{key}={_as_code(inner)}' for key, inner in value[name].items())})"
    return "{" + ", ".join(f"'{key}': {_as_code(inner)}" for key, inner in value.items()) + "}"


def _value(node: ast.expr | None) -> Any:
    match node:
        case ast.Constant(value=value):
            return "..." if value is Ellipsis else value
        case ast.UnaryOp(operand=ast.Constant(value=value)):
            return -value  # type: ignore[operator]
        case ast.List(elts=parts):
            return [_value(part) for part in parts]
        case ast.Tuple(elts=parts):
            return tuple(_value(part) for part in parts)
        case ast.Dict(keys=keys, values=values):
            return {_value(key): _value(value) for key, value in zip(keys, values, strict=True)}
        case ast.BinOp():
            return _arithmetic(node)
        case ast.Name(id=name):
            return name
        case ast.Call(keywords=[]):
            return ast.unparse(node)
        case ast.Call(keywords=keywords):
            return {ast.unparse(node.func): {keyword.arg: _value(keyword.value) for keyword in keywords}}
        case ast.Subscript(value=owner, slice=index):
            return f"{ast.unparse(owner)}[{ast.unparse(index)}]"
    raise Undecodable(f"{type(node).__name__} is not a literal")


def _arithmetic(node: ast.expr) -> Any:
    """A sum, product, quotient or power of literals, refused before it grows beyond what could be written out."""
    if isinstance(node, ast.UnaryOp):
        value = _arithmetic(node.operand)
        return -value if isinstance(node.op, ast.USub) else +value
    if not isinstance(node, ast.BinOp):
        if isinstance(node, ast.Constant | ast.List | ast.Tuple):
            return ast.literal_eval(node)
        raise Undecodable("arithmetic on something that is not a literal")
    left, right = _arithmetic(node.left), _arithmetic(node.right)
    if isinstance(node.op, ast.Add) and type(left) is type(right) and isinstance(left, str | list | tuple):
        return left + right
    if not isinstance(left, int | float) or not isinstance(right, int | float):
        raise Undecodable("arithmetic on something that is not a number")
    match node.op:
        case ast.Add():
            return _small(left + right)
        case ast.Sub():
            return _small(left - right)
        case ast.Mult():
            return _small(left * right)
        case ast.Div():
            return left / right
        case ast.FloorDiv():
            return left // right
        case ast.Mod():
            return left % right
        case ast.Pow() if not isinstance(left, int) or not isinstance(right, int) or left.bit_length() * max(right, 0) <= MAX_BITS:
            return left**right
    raise Undecodable(f"{type(node.op).__name__} of {type(left).__name__} and {type(right).__name__}")


def _small(value: Any) -> Any:
    if isinstance(value, int) and value.bit_length() > MAX_BITS:
        raise Undecodable("an integer that is too long")
    return value


def checked(value: Any) -> Any:
    """`value`, if it may be an argument. Raises Undecodable, or EvaluatedName for what Python writes as a name (inf, nan) and for bytes."""
    if isinstance(value, dict):
        for key, inner in value.items():
            checked(key), checked(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            checked(inner)
    elif isinstance(value, int):
        _small(value)
    elif isinstance(value, float) and not math.isfinite(value):
        raise EvaluatedName(repr(value).lstrip("-"))
    elif isinstance(value, bytes | complex):
        raise RefusedType(type(value).__name__)
    elif value is not None and not isinstance(value, str | float):
        raise Undecodable(f"{type(value).__name__} cannot be an argument")
    return value
