"""Find requests that ask for harm, by a short, readable list of patterns, to keep them out of an agent's training.

A pattern names the deed, not the word: "kill" alone is an everyday word of computing, "kill my boss" is not. Harm in other words
passes. The recall of the list was not measured: its tests only show that it refuses about thirty example requests, which it was
written for, and passes about forty everyday ones with the same words. A moderation endpoint (moderation.py) reads more. In doubtful cases
the list refuses, because losing a good task costs little.
"""

import re
import unicodedata
from collections.abc import Iterable, Mapping

_MAKE = r"(?:make|build|assemble|construct|print|cook|brew|create|write|develop|code|produce|manufacture|synthesi[sz]e)"
_TRADE = r"(?:buy|sell|order|ship|smuggle|deal|get|obtain|find|purchase|acquire)"
_SOME = r"(?:\W+[\w'-]+){0,4}?\W+"
"""Up to four words between a verb and its object."""
_DETERMINER = r"(?:an?|the|my|our|his|her|their|your|that|this|some|every|all|these|those)"
_WHO = rf"(?:{_DETERMINER}\W+)?(?:(?!(?:{_DETERMINER}|at|for|of|to|with|in|on|from|and|or|by)\b)[\w-]+\W+){{0,2}}?"
_PERSON = (
    r"(?:persons?|people|m[ae]n|wom[ae]n|wife|husband|girlfriend|boyfriend|partner|boss|neighbou?rs?|famil(?:y|ies)|colleagues?|co-?workers?"
    r"|teachers?|classmates?|students?|roommates?|employees?|customers?|president|minister|senator|mayor|police|cops?|officers?"
    r"|child(?:ren)?|kids?|bab(?:y|ies)|mother|father|brother|sister|parents?|somebody|someone|anyone|everyone|himself|herself|myself|yourself)"
    r"(?!['’]s|\W+(?:process(?:es)?|(?:node|task|thread|table|job|session|service|server|record|script|app|tab|window|e?-?mail|message)s?"
    r"|an?|the|some)\b)"
)
_DRUG = r"(?:meth|methamphetamine|crystal\W+meth|heroin|cocaine|crack\W+cocaine|fentanyl|mdma|ecstasy\W+pills|lsd|ketamine)"
_WEAPON = (
    r"(?:(?<!bath )(?<!bath-)(?<!photo )(?<!logic )(?<!zip )(?<!fork )bombs?|explosives?|grenades?|detonators?|landmines?|napalm|sarin"
    r"|nerve\W+(?:agent|gas)|mustard\W+gas|anthrax|ricin|chemical\W+weapons?|bioweapons?|biological\W+weapons?"
    r"|ghost\W+guns?|molotovs?|silencers?|ieds?)"
)
_MALWARE = (
    r"(?:malware|ransomware|spyware|keyloggers?|(?:computer\W+)?virus(?:es)?|trojans?|rootkits?|botnets?|(?:computer|network|internet)\W+worms?"
    r"|phishing\W+(?:e?-?mails?|messages?|pages?|sites?|kits?|campaigns?)|backdoors?|exploit\W+kits?)"
)
_SECRET = r"(?:passwords?|passcodes?|credentials|log-?ins?|pins?|(?:credit|bank|debit)\W*card\W+(?:numbers?|details|data)|identit(?:y|ies))"
_MINOR = (
    r"(?:child(?:ren)?|kids?|minors|underaged?|pre-?teens?|toddlers?|infants?|school\W?(?:girls?|boys?)"
    r"|(?:[1-9]|1[0-7])\W?years?\W?olds?)"
)
_SEXUAL = r"(?:porn\w*|nudes?|naked|erotic\w*|sexual(?:ly|i[sz]e\w*)?|sex(?!\W+(?:ed|education)\b)|lewd)"

HARM: Mapping[str, tuple[str, ...]] = {
    "weapons": (
        rf"\b{_MAKE}{_SOME}{_WEAPON}\b",
        rf"\b(?:detonate|set\W+off|plant){_SOME}(?:(?<!bath )bombs?|explosives?|ieds?)\b",
        r"\b(?:pipe|nail|car|dirty|letter|fertili[sz]er)\W+bombs?\b",
    ),
    "malware": (
        rf"\b(?:{_MAKE}|deploy|spread|distribute|send|plant|release|unleash){_SOME}{_MALWARE}\b",
        r"\b(?:keylogger|spyware|ransomware|rootkit)s?\W+(?:on|onto|in|into)\b",
        r"\b(?:launch|start|run|carry\W+out)(?:\W+[\w'-]+){0,3}?\W+(?:ddos|denial\W+of\W+service)\b",
    ),
    "theft of credentials": (
        rf"\b(?:steal|phish|harvest|crack|skim|hijack){_SOME}{_SECRET}\b",
        r"\bhack\W+(?:in)?to\W+(?:[\w'’-]+\W+){0,4}?(?:accounts?|e?-?mails?|inbox|phones?|networks?|servers?|banks?)\b",
    ),
    "self-harm": (
        r"\b(?:kill|hang|cut|harm|hurt|poison|starve|drown)(?:ing)?\W+(?:my|your|him|her|them|our)sel(?:f|ves)\b",
        r"\bcommit(?:ting)?\W+suicide\b",
        r"\bend(?:ing)?\W+(?:my|your|his|her)\W+(?:own\W+)?life\b",
        r"\b(?:ways?|how|methods?|want|wish)\W+(?:\w+\W+){0,2}?(?:to\W+die\b|of\W+suicide\b)",
    ),
    "sexual content with minors": (
        rf"\b{_MINOR}\b(?:\W+[\w'-]+){{0,5}}?\W+{_SEXUAL}\b",
        rf"\b{_SEXUAL}(?:\W+[\w'-]+){{0,5}}?\W+{_MINOR}\b",
        r"\bcsam\b",
    ),
    "violence": (
        rf"\b(?:kill|murder|assassinate|poison|strangle|stab|shoot|behead|torture|kidnap|rape|lynch|mutilate|drown)\W+{_WHO}{_PERSON}\b",
        r"\b(?:murder|assassinate|strangle|stab|behead|torture|kidnap|rape|lynch|mutilate)\W+(?:him|her|them)\b",
        r"\b(?:plan|organi[sz]e|carry\W+out|commit|prepare)(?:\W+[\w'-]+){0,3}?\W+"
        r"(?:mass\W+shooting|school\W+shooting|massacre|terror(?:ist)?\W+attack|bombing|genocide|murder)\b",
        r"\bhire\W+(?:a\W+)?hit\W?m[ae]n\b",
    ),
    "drugs": (rf"\b(?:{_MAKE}|{_TRADE}|grow)(?:\W+[\w'-]+){{0,3}}?\W+{_DRUG}\b",),
    "forgery and laundering": (
        r"\b(?:forge|counterfeit|fake)\W+(?:[\w'’-]+\W+){0,2}?"
        r"(?:passports?|bank\W?notes?|(?:dollar\W+)?bills\W+to\W+spend|prescriptions?|id\W+cards?|driver'?s?\W+licen[cs]es?|signatures?)\b",
        r"\blaunder(?:ing)?\W+(?:[\w'-]+\W+){0,3}?(?:money|cash|funds|profits)\b",
    ),
}
"""Kind of harm -> regular expressions. They are searched for in the text that `plain` returns."""

_HIDDEN = re.compile(r"[\u00ad\u200b-\u200f\u2060\ufeff]")
_LONGEST = 20_000


def plain(text: str) -> str:
    """The first 20,000 characters in lower case, letters of other widths normalised, invisible characters removed, spaces joined."""
    return " ".join(_HIDDEN.sub("", unicodedata.normalize("NFKC", text[:_LONGEST])).casefold().split())


class Patterns:
    """Compiled patterns: those of HARM when `defaults` is true, and `more` as the kind "pattern"."""

    def __init__(self, defaults: bool, more: Iterable[str] = ()) -> None:
        found = [(kind, text) for kind, texts in HARM.items() for text in texts] if defaults else []
        self._patterns = [(kind, re.compile(text, re.IGNORECASE)) for kind, text in [*found, *(("pattern", text) for text in more)]]

    def find(self, text: str) -> str | None:
        """The kind and the words of the first pattern that matches, as "kind: 'words'"; None when no pattern matches."""
        of = plain(text)
        for kind, pattern in self._patterns:
            if found := pattern.search(of):
                return f"{kind}: {found[0][:80]!r}"
        return None
