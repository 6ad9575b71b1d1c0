"""Words of AppWorld's requests that mean one thing, so that a request in other words can be recognised."""

import re
from collections.abc import Iterable

_GROUPS = """
like love heart favorite favourite enjoy thumb
song track tune music
playlist mix mixtape compilation
album record
artist singer band musician performer
library collection saved save kept
all every everything each whole entire
make create new build prepare compile start begin
call name title entitle
add put include insert place append
remove delete drop erase discard
note memo notes text
pin stick fix top first up front
find see reach spot locate quick quickly once immediately
alarm alarms clock wake ring
move shift push postpone delay set change reschedule
later late delay postpone after longer
minute min
money dollar cash amount sum fund buck pay paid payment transfer transaction
send sent transfer pay paid give gave forward get got receive received
request ask asked demand want wanted bill
approve accept confirm grant agree settle honor honour fulfil fulfill pay
leave keep stay alone untouched other rest others
month may
total altogether sum overall
many much number count
tick check complete done finish mark
task todo item entry thing
project board list
friend roommate flatmate coworker colleague neighbor neighbour sister brother sibling mother father parent husband wife partner manager
message text sms write tell
order purchase buy bought
cart basket
return refund
email mail
file document
folder directory
expense cost spend spent
split share divide
group team
follow subscribe
download fetch
rate rating review star
long longest length duration
play listen hear
queue line
volume loud louder quiet
contact person people
birthday born
"""

_ASIDE = """
a an the i me my mine our us we you your it its they them their he him his she her this that these those there here is are be been being am
was were has have had do does did doing can could would will shall should may might must let lets need needs want please kindly just now so
and or but if then than as of in on at to for from with by into onto out over under about up off not no yes any some which who whom whose
what when where how why also too very really again get got app account hello hi thanks thank dear hey
"""
_QUOTED = re.compile(r"\"[^\"]*\"|(?<!\w)'[^'\n]*'(?!\w)|\u201c[^\u201d]*\u201d|\u2018[^\u2019]*\u2019(?!\w)")
_NAME = re.compile(r"(?<![.!?:]\s)(?<!^)\b(?!I\b)[A-Z][\w'-]*")
_WORD = re.compile(r"[a-z]+")
_SUFFIXES = ("ings", "ing", "ied", "ies", "ed", "es", "ly", "s")


def stem(word: str) -> str:
    """A word without its ending, roughly.

    >>> stem("songs"), stem("liked"), stem("like"), stem("pinning"), stem("copies")
    ('song', 'lik', 'lik', 'pin', 'copy')
    """
    for suffix in _SUFFIXES:
        rest = word.removesuffix(suffix)
        if rest != word and len(rest) >= 3:
            if suffix in ("ied", "ies"):
                return f"{rest}y"
            return rest[:-1] if rest[-1] == rest[-2] and rest[-1] not in "aeiouls" else rest.removesuffix("e")
    return word.removesuffix("e") if len(word) > 3 else word


_STEMS = [frozenset(map(stem, line.split())) for line in _GROUPS.strip().splitlines()]
_GROUPS_OF: dict[str, frozenset[int]] = {
    word: frozenset(number for number, group in enumerate(_STEMS) if word in group) for word in frozenset().union(*_STEMS)
}
_LEFT_OUT = frozenset(_ASIDE.split())


def content(request: str, apps: Iterable[str]) -> frozenset[str]:
    """The stems of a request's content words, without its values (names, numbers, quoted texts) and the names of apps.

    >>> sorted(content("Please like 3 songs by Ada Quill on Spotify.", ["spotify"]))
    ['lik', 'song']
    """
    names = {part for app in apps for part in (app, app.replace("_", " "), app.replace("_", ""))}
    text = _NAME.sub(" ", _QUOTED.sub(" ", request)).lower()
    for name in names:
        text = text.replace(name, " ")
    return frozenset(stem(word) for word in _WORD.findall(text) if word not in _LEFT_OUT and len(word) > 1)


def likeness(one: frozenset[str], other: frozenset[str]) -> float:
    """The share of the words of both requests that have a counterpart in the other, in [0, 1]."""
    if not one or not other:
        return 0.0
    return (sum(_in(word, other) for word in one) + sum(_in(word, one) for word in other)) / (len(one) + len(other))


def _in(word: str, words: frozenset[str]) -> bool:
    own = _GROUPS_OF.get(word, frozenset())
    return word in words or any(own & _GROUPS_OF.get(other, frozenset()) for other in words)
