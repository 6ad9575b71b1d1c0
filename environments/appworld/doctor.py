"""What is missing or broken, cheaply (`doctor`) and thoroughly (`examine`)."""

from coevolve import UserError

from . import home
from .data_checks import lacking, verify
from .setup import constraints, generator, marker

SETUP = "run: coevolve env setup appworld"


def doctor() -> list[str]:
    """Looks at files only: well under a second."""
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
    here = {kind: says for kind in home.KINDS if (says := marker(home.root(kind))) is not None}
    if not here:
        lines.append(f"there is no data; {SETUP} (a tiny invented world), or with --set data=download or --set data=PATH for the benchmark")
    for kind, says in here.items():
        where = home.root(kind)
        again = SETUP + ("" if kind == "tiny" else " --set data=PATH")
        if says.get("data") != home.DATA:
            lines.append(f"the {kind} data is of version {says.get('data')}, not {home.DATA}; {again}")
        elif kind == "tiny" and says.get("generator") != generator():
            lines.append(f"the tiny world was made by another version of this package; {again}")
        elif problems := lacking(where):
            lines.append(f"the {kind} data is damaged: {problems[0]}; {again}")
    return lines


def examine() -> list[str]:
    """`doctor`, then the engine's own verification of every data root: seconds for the tiny world, minutes for the benchmark."""
    lines = doctor()
    if not lines:
        for kind in home.KINDS:
            if marker(home.root(kind)) is not None:
                try:
                    verify(home.root(kind))
                except UserError as error:
                    lines.append(str(error))
    return lines
