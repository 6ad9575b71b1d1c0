"""What is missing or broken in the set-up: a quick look (`doctor`) and a thorough one (`examine`)."""

from coevolve import UserError

from . import home
from .data_checks import lacking, verify
from .setup import constraints, generator, marker

SETUP = "run: coevolve env setup appworld"


def doctor() -> list[str]:
    """Problems and their fixes, one line each. Looks at files only, which takes well under a second."""
    try:
        folder = home.home()
    except UserError as error:
        return [str(error)]
    lines = []
    engine = marker(folder / "venv")
    if engine is None or not home.python().exists():
        lines.append(f"the engine (appworld {home.ENGINE}, in a Python 3.11 of its own) is not installed; {SETUP}")
    elif engine.get("engine") != home.ENGINE or engine.get("constraints") != constraints():
        lines.append(f"the engine was installed for another version of this package (appworld {engine.get('engine')}); {SETUP}")
    here = {kind: found for kind in home.KINDS if (found := marker(home.root(kind))) is not None}
    if not here:
        lines.append(f"there is no data; {SETUP} (a tiny invented world), or with --set data=download or --set data=PATH for the benchmark")
    for kind, found in here.items():
        where = home.root(kind)
        again = SETUP + ("" if kind == "tiny" else " --set data=PATH")
        if found.get("data") != home.DATA:
            lines.append(f"the {kind} data is of version {found.get('data')}, not {home.DATA}; {again}")
        elif kind == "tiny" and found.get("generator") != generator():
            lines.append(f"the tiny world was made by another version of this package; {again}")
        elif problems := lacking(where):
            lines.append(f"the {kind} data is damaged: {problems[0]}; {again}")
    return lines


def examine() -> list[str]:
    """`doctor`'s problems, else those that the engine's own verification finds: seconds for the tiny world, minutes for the benchmark."""
    lines = doctor()
    if not lines:
        for kind in home.KINDS:
            if marker(home.root(kind)) is not None:
                try:
                    verify(home.root(kind))
                except UserError as error:
                    lines.append(str(error))
    return lines
