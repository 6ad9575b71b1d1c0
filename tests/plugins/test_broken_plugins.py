"""Third-party plugins that are broken in every way: each is named with its distribution and error, and the others work."""

import json
from collections.abc import Callable

import pytest

from coevolve import UserError
from coevolve.core.cli.main import main
from coevolve.core.registry import load_plugins

GOOD = """
from attrs import frozen
from coevolve import hookimpl

@frozen
class GoodOptions:
    share: float = 0.25

class Good:
    name = "good"
    Options = GoodOptions

    def __init__(self, options):
        self.options = options

    def detect(self, groups, history):
        return []

@hookimpl
def coevolve_signals():
    return [Good]
"""

BROKEN = {
    "missing_import": ("import a_library_that_is_not_there", "ModuleNotFoundError: No module named 'a_library_that_is_not_there'"),
    "syntax": ("def f(:", "SyntaxError"),
    "leaves": ("raise SystemExit(1)", "SystemExit: 1"),
    "misspelt": (GOOD.replace("coevolve_signals", "coevolve_signal"), "coevolve_signal is not a hook (did you mean 'coevolve_signals'?)"),
    "unmarked": (GOOD.replace("@hookimpl\n", ""), "coevolve_signals is not marked with @hookimpl"),
    "empty": ("x = 1", "it implements no hook"),
    "argument": (
        "from coevolve import hookimpl\n@hookimpl\ndef coevolve_evaluated(iteraton): pass",
        "coevolve_evaluated takes no argument 'iteraton' (did you mean 'iteration'?)",
    ),
    "default": (
        "from coevolve import hookimpl\n@hookimpl\ndef coevolve_evaluated(iteration=0): pass",
        "coevolve_evaluated: the argument 'iteration' must have no default",
    ),
    "raises": ("from coevolve import hookimpl\n@hookimpl\ndef coevolve_signals(): return 1 / 0", "ZeroDivisionError: division by zero"),
    "wrapper": ("from coevolve import hookimpl\n@hookimpl(wrapper=True)\ndef coevolve_signals(): return (yield)", "is a hook wrapper"),
    "specname": (
        "from coevolve import hookimpl\n@hookimpl(specname='coevolve_sampler')\ndef offer(): return []",
        "coevolve_sampler is not a hook (did you mean 'coevolve_samplers'?)",
    ),
    "twice": (
        GOOD + "\n@hookimpl(specname='coevolve_signals')\ndef more():\n    return [Good]\n",
        "coevolve_signals is implemented twice",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_plugin_is_named_and_takes_no_other_down(name: str, install: Callable[..., str]) -> None:
    source, text = BROKEN[name]
    install(name, source)
    install("good", GOOD)
    install("zzz_good", GOOD.replace('"good"', '"zzz"'))
    registry = load_plugins()
    broken = next(record for record in registry.records if record.name == name)
    assert (broken.distribution, broken.version) == (f"coevolve-{name}", "1.2.3")
    assert broken.error is not None and text in broken.error and "\n" not in broken.error
    assert registry.component("signal", "good").name == "good"
    assert registry.component("signal", "zzz").name == "zzz"
    assert registry.component("sampler", "uniform").name == "uniform"
    assert [record.name for record in registry.records if record.error and not record.name.startswith("coevolve.")] == [name]


def test_the_command_lists_good_and_broken_ones_and_exits_1(install: Callable[..., str], capsys: pytest.CaptureFixture[str]) -> None:
    install("good", GOOD, version="7.8.9")
    install("bad", "import a_library_that_is_not_there")
    assert main(["plugins"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert "good (coevolve-good 7.8.9): signal:good" in lines
    assert "bad (coevolve-bad 1.2.3): BROKEN: ModuleNotFoundError: No module named 'a_library_that_is_not_there'" in lines
    assert main(["plugins", "--json"]) == 1
    found = {record["name"]: record for record in json.loads(capsys.readouterr().out)["plugins"]}
    assert found["good"]["components"] == ["signal:good"] and found["good"]["error"] is None
    assert found["bad"]["distribution"] == "coevolve-bad" and found["bad"]["error"]


def test_without_the_broken_one_the_command_exits_0(install: Callable[..., str], capsys: pytest.CaptureFixture[str]) -> None:
    install("bad", "import a_library_that_is_not_there")
    assert main(["plugins", "--block-plugin", "bad"]) == 0
    assert "BROKEN" not in capsys.readouterr().out


def test_a_name_that_two_plugins_offer(install: Callable[..., str], capsys: pytest.CaptureFixture[str]) -> None:
    install("mine", GOOD)
    install("yours", GOOD)
    registry = load_plugins()
    with pytest.raises(UserError) as caught:
        registry.component("signal", "good")
    line = str(caught.value)
    assert "mine (coevolve-mine 1.2.3)" in line and "yours (coevolve-yours 1.2.3)" in line
    assert "--block-plugin mine or --block-plugin yours" in line
    assert registry.component("signal", "rare").name == "rare"
    assert main(["plugins"]) == 1
    assert f"CONFLICT: {line}" in capsys.readouterr().out
    assert load_plugins(block=["yours"]).distribution("signal", "good") == "coevolve-mine 1.2.3"
    chosen = ["config", "--set", 'signals.names=["good"]']
    assert main(chosen) == 2
    assert "is offered by" in capsys.readouterr().err
    assert main([*chosen, "--block-plugin", "mine"]) == 0
    assert 'block = [\n    "mine",\n]' in capsys.readouterr().out


def test_a_third_party_cannot_silently_replace_a_default(install: Callable[..., str]) -> None:
    install("other", GOOD.replace('"good"', '"rare"'))
    with pytest.raises(UserError, match=r"coevolve.signals.rare \(coevolve .*other \(coevolve-other 1.2.3\)"):
        load_plugins().component("signal", "rare")
    assert load_plugins(block=["coevolve.signals.rare"]).distribution("signal", "rare") == "coevolve-other 1.2.3"


def test_two_plugins_of_one_name(install: Callable[..., str]) -> None:
    install("first", GOOD, plugin="same")
    install("second", GOOD, plugin="same")
    records = [record for record in load_plugins().records if record.name == "same"]
    assert [record.error for record in records] == [None, "another plugin has the name 'same' already"]


def test_a_broken_plugin_is_mentioned_where_its_component_is_missed(install: Callable[..., str]) -> None:
    install("bad", "import a_library_that_is_not_there")
    with pytest.raises(UserError, match=r"broken plugins skipped: [0-9]+, see `coevolve plugins`"):
        load_plugins().component("signal", "nowhere")
