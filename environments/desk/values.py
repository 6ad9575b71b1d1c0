"""The values that the desk's tools pass to each other: twelve kinds of values, six values of each kind, three written forms of each value.

One value has one meaning and several forms, like a day as `2027-03-04`, `03/04/2027` or `04.03.2027`. The call of
a tool that gives a value names the form to write; a tool that takes a value reads a single form and refuses the others.
"""

from collections.abc import Mapping

SIZE = 6
"""Values of each kind."""

_DAYS = ((3, 4), (3, 17), (4, 9), (5, 21), (6, 2), (7, 30))
_HOURS = ((8, 30), (9, 45), (11, 15), (13, 0), (15, 30), (18, 15))
_EUROS = (20, 36, 52, 68, 84, 96)
_MINUTES = (15, 30, 45, 60, 90, 120)
_NAMES = ("ana", "bruno", "clara", "dev", "elif", "finn")
_FILES = ("plan", "menu", "memo", "chart", "draft", "guide")
_GOODS = ("lamp", "chair", "cable", "mouse", "screen", "printer")


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


FORMS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "person": {
        "email": tuple(f"{n}@desk.org" for n in _NAMES),
        "handle": tuple(f"@{n}" for n in _NAMES),
        "badge": tuple(f"E{101 + 7 * i}" for i in range(SIZE)),
    },
    "date": {
        "iso": tuple(f"2027-{m:02}-{d:02}" for m, d in _DAYS),
        "us": tuple(f"{m:02}/{d:02}/2027" for m, d in _DAYS),
        "dotted": tuple(f"{d:02}.{m:02}.2027" for m, d in _DAYS),
    },
    "time": {
        "h24": tuple(f"{h:02}:{m:02}" for h, m in _HOURS),
        "h12": tuple(f"{(h - 1) % 12 + 1}:{m:02}{'am' if h < 12 else 'pm'}" for h, m in _HOURS),
        "utc": tuple(f"{h - 1:02}{m:02}Z" for h, m in _HOURS),
    },
    "amount": {
        "eur": tuple(f"{e}eur" for e in _EUROS),
        "usd": tuple(f"{round(e * 1.25)}usd" for e in _EUROS),
        "gbp": tuple(f"{round(e * 0.75)}gbp" for e in _EUROS),
    },
    "place": {
        "city": _words("berlin madrid oslo rome paris lisbon"),
        "airport": _words("BER MAD OSL FCO CDG LIS"),
        "grid": _words("52n13e 40n04w 60n11e 42n12e 49n02e 39n09w"),
    },
    "file": {
        "path": tuple(f"/docs/{n}.txt" for n in _FILES),
        "link": tuple(f"desk.org/f/{n}" for n in _FILES),
        "hash": _words("a1f09 b73c2 c05e8 d9a41 e62b7 f38d0"),
    },
    "room": {
        "label": _words("aspen birch cedar maple olive willow"),
        "number": tuple(f"R{201 + 11 * i}" for i in range(SIZE)),
        "map": tuple(f"{1 + i // 2}F-{'AB'[i % 2]}" for i in range(SIZE)),
    },
    "phone": {
        "intl": tuple(f"+49-30-{71 + 3 * i}" for i in range(SIZE)),
        "local": tuple(f"030-{71 + 3 * i}" for i in range(SIZE)),
        "ext": tuple(f"x{71 + 3 * i}" for i in range(SIZE)),
    },
    "product": {
        "sku": tuple(f"SKU-{510 + 13 * i}" for i in range(SIZE)),
        "barcode": tuple(str(4006381 + 177 * i) for i in range(SIZE)),
        "model": tuple(f"{n}-{2 + i}" for i, n in enumerate(_GOODS)),
    },
    "ticket": {
        "key": tuple(f"OPS-{11 + 6 * i}" for i in range(SIZE)),
        "url": tuple(f"desk.org/t/{11 + 6 * i}" for i in range(SIZE)),
        "serial": tuple(f"#{90011 + 6 * i}" for i in range(SIZE)),
    },
    "duration": {
        "minutes": tuple(f"{m}min" for m in _MINUTES),
        "hours": tuple(f"{m / 60:g}h" for m in _MINUTES),
        "clock": tuple(f"{m // 60}:{m % 60:02}:00" for m in _MINUTES),
    },
    "account": {
        "iban": tuple(f"DE{44 + 5 * i}0017" for i in range(SIZE)),
        "short": tuple(f"*{4410 + 21 * i}" for i in range(SIZE)),
        "alias": _words("main joint savings petty reserve holiday"),
    },
}
"""Kind -> form -> the six texts, in the order of their meanings."""

READ: Mapping[tuple[str, str], Mapping[str, int]] = {
    (kind, form): {text: i for i, text in enumerate(texts)} for kind, forms in FORMS.items() for form, texts in forms.items()
}
"""(kind, form) -> text -> its meaning, 0 to 5."""
