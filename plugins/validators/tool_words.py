"""Find the words of tools in a request: a request that names its calls and arguments dictates the solution.

Names that no person writes (`get_order_details`, `spotify.show_song`, `pressBrakePedal`) count wherever they stand. A name that is also an
English word ("sort", "find", "mean") counts only where it is written as a call or a command. Values of the solution do not count: a file
may be called `travel_date`. A request that has all words of the names of all its calls, and of at least CHAIN of them, lists the calls in
plain words.
"""

import re
from collections.abc import Collection, Iterator, Sequence

from coevolve import Action, Tool

from .grounding import literals

CHAIN = 3
"""Different tools of which a request that names them all is a list of calls."""
RUN = 6
"""Words in a row of a tool's document from which a request quotes it."""
_WORD = re.compile(r"[A-Za-z0-9']+")
_PART = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])")
"""A word inside of a tool's name."""
_IDENTIFIER = re.compile(r"[A-Za-z]\w*(?:_\w+|[a-z][A-Z]\w*)\w*")
_SHELL = "ls cd pwd cp mv rm mkdir rmdir du wc grep chmod sudo"
_COMMANDS = frozenset(_SHELL.split())
"""Names of commands that are not English words."""
_COMMANDED = r"(?:command|function|tool|api|call|run|invoke|execute|use)"


def tool_words(query: str, tools: Sequence[Tool], solution: Sequence[Action]) -> str | None:
    """Describe the first word of a tool that the request holds; None when it holds none."""
    values = {str(value) for action in solution for value in literals(dict(action.arguments))}
    text = _without(query, values)
    return (
        next(_names(text, tools), None)
        or next(_arguments(text, tools, {action.name for action in solution}), None)
        or _listed(text, [action.name for action in solution])
        or next(_quotations(query, [tool for tool in tools if tool.name in {action.name for action in solution}], values), None)
    )


def _without(query: str, values: Collection[str]) -> str:
    """The request without the solution's values, so that a file's name is not taken for a tool's."""
    for value in sorted(values, key=len, reverse=True):
        if len(value) > 2:
            query = query.replace(value, " ... ")
    return query


def _names(text: str, tools: Sequence[Tool]) -> Iterator[str]:
    for tool in tools:
        for name in {tool.name, tool.name.rpartition(".")[2]}:
            plain = re.escape(name)
            odd = _IDENTIFIER.fullmatch(name) or "." in name or name in _COMMANDS
            quoted = rf"[`\"']{plain}[`\"']"
            called = rf"(?<![\w.]){plain}\(|`{plain}`|(?<!\w){quoted}\s+{_COMMANDED}\b|\b{_COMMANDED}\s+(?:the\s+)?{quoted}"
            if re.search(called, text) or (odd and re.search(rf"(?<![\w./-]){plain}(?![\w/-])", text)):
                yield f"it names the tool {name}"


def _listed(text: str, names: Sequence[str]) -> str | None:
    """Whether the text has every word of every called tool's name: a list of calls in plain words."""
    wanted = {name: [word.casefold() for word in _PART.findall(name.rpartition(".")[2])] for name in names}
    said = {word.casefold() for word in _WORD.findall(text)}
    named = [name for name, words in wanted.items() if len(words) > 1 and said.issuperset(words)]
    plain = [name for name, words in wanted.items() if len(words) == 1 and said.issuperset(words)]
    if len(named) + len(plain) < len(wanted) or len(named) < CHAIN:
        return None
    return f"it names all its calls in plain words: {', '.join(wanted)}"


def _arguments(text: str, tools: Sequence[Tool], used: Collection[str]) -> Iterator[str]:
    known = {name for tool in tools for name in tool.parameters.get("properties", {})}
    own = {name for tool in tools if tool.name in used for name in tool.parameters.get("properties", {})}
    for match in re.finditer(r"(?<![\w.])([A-Za-z_]\w*)\s?=(?!=)", text):
        if match[1] in known:
            yield f"it gives the argument {match[1]}="
    for name in own:
        if _IDENTIFIER.fullmatch(name) and re.search(rf"(?<![\w./-]){re.escape(name)}(?![\w/-])", text):
            yield f"it names the argument {name}"


def _quotations(query: str, tools: Sequence[Tool], values: Collection[str]) -> Iterator[str]:
    """Runs of RUN words that the request shares with the document of a tool of the solution."""
    own = _runs(_without(query, values))
    for tool in tools:
        schemas = tool.parameters.get("properties", {}).values()
        for text in (tool.description, *(str(schema.get("description", "")) for schema in schemas)):
            if shared := own & _runs(text):
                yield f"it quotes the document of {tool.name}: {' '.join(min(shared))!r}"


def _runs(text: str) -> set[tuple[str, ...]]:
    words = [word.casefold() for word in _WORD.findall(text)]
    return {tuple(words[start : start + RUN]) for start in range(len(words) - RUN + 1)}
