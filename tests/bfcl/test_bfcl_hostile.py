"""What a model may write is data: nothing in it runs, leaks out of the episode, or takes long."""

import decimal
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import attrs
import mpmath  # type: ignore[import-untyped]
import pytest

from coevolve import Task
from coevolve.environments.bfcl.call_bounds import MAX_TREE_DEPTH
from coevolve.environments.bfcl.decode import Call
from coevolve.environments.bfcl.environment import Bfcl
from coevolve.environments.bfcl.release import CLASSES
from coevolve.environments.bfcl.simulated_apis import ERROR, Start, fresh

NEST = 150
CALL = "<tool_call>\n%s\n</tool_call>"
HOSTILE = {
    "import": "[__import__('os').system('touch CANARY')]",
    "import as argument": "[echo(content=__import__('os').system('touch CANARY'))]",
    "import with keyword": "[echo(content=__import__(name='os'))]",
    "statement": "import os; os.system('touch CANARY')",
    "open": "[open('CANARY', 'w')]",
    "open as argument": "[echo(content=open(file='CANARY', mode='w'))]",
    "eval": '[eval(\'open("CANARY", "w")\')]',
    "exec": '[exec(object=\'open("CANARY", "w")\')]',
    "exit": "[exit()]",
    "kill": "[kill(pid=1)]",
    "os.kill": "[os.kill(pid=1, sig=9)]",
    "print": "[print('x')]",
    "setattr": "[setattr(pwd, 'x', 1)]",
    "dunder class": "[echo(content=''.__class__)]",
    "dunder call": "[''.__class__.__mro__[1].__subclasses__()]",
    "dunder init": "[__init__()]",
    "private method": "[_load_scenario(scenario={'root': 'x'})]",
    "method of instance": "[echo.__globals__(a=1)]",
    "class attribute": "[GorillaFileSystem.ls(a=True)]",
    "api description": "[_api_description()]",
    "patch the checker": "[scoring.passes(world=1)]",
    "lambda": "[(lambda: open('CANARY', 'w'))()]",
    "lambda argument": "[echo(content=lambda: open('CANARY', 'w'))]",
    "walrus": "[echo(content=(x := 1))]",
    "await": "[await ls()]",
    "yield": "[(yield ls())]",
    "comprehension bomb": "[echo(content=[x for x in range(10**9) for y in range(10**9)])]",
    "comprehension of calls": "[ls() for _ in range(10**9)]",
    "generator": "[mean(numbers=(x for x in iter(int, 1)))]",
    "star arguments": "[echo(*[1, 2, 3])]",
    "double star": "[echo(**{'content': 'x'})]",
    "double star twice": "[echo(**{'a': 1}, **{'b': 2})]",
    "f-string": "[echo(content=f\"{__import__('os').system('touch CANARY')}\")]",
    "format": "[echo(content='{0.__class__.__mro__}'.format(1))]",
    "subscript": "[echo(content=[1, 2][__import__('os').system('touch CANARY')])]",
    "percent": "[echo(content='%1000000000d' % 1)]",
    "power operator": "[add(a=10**10**10, b=1)]",
    "power tower": "[add(a=9**9**9**9, b=1)]",
    "negative tower": "[add(a=(-9)**9**9, b=1)]",
    "product": "[add(a=" + "*".join(["9" * 400] * 40) + ", b=1)]",
    "shift": "[add(a=1 << 10**10, b=1)]",
    "string product": "[echo(content='x' * 10**10)]",
    "list product": "[mean(numbers=[1] * 10**10)]",
    "power": "[power(base=10, exponent=1000000000)]",
    "negative power": "[power(base=-7, exponent=1000000000)]",
    "power of itself": "[power(base=" + "9" * 4000 + ", exponent=" + "9" * 4000 + ")]",
    "tiny power": "[power(base=10, exponent=-1000000000)]",
    "float power": "[power(base=1e308, exponent=1e308)]",
    "precision of logarithm": "[logarithm(value=2, base=10, precision=1000000000)]",
    "precision as text": "[logarithm(value=2, base=10, precision='1000000000')]",
    "number as text": "[logarithm(value='1e999999999', base=10, precision=10)]",
    "number as pair": "[logarithm(value=(1, 999999999), base=10, precision=10)]",
    "precision of root": "[square_root(number=2, precision=999999999999)]",
    "rounding": "[round_number(number=5, decimal_places=-1000000000)]",
    "long integer": "[add(a=" + "9" * 10_000 + ", b=1)]",
    "long hexadecimal": "[add(a=0x" + "f" * 16_000 + ", b=1)]",
    "long text": "[echo(content='" + "x" * 20_000 + "')]",
    "megabytes": "[echo(content='" + "x" * 5_000_000 + "')]",
    "many calls": "[" + "ls()," * 3_000 + "]",
    "many elements": "[mean(numbers=[" + "1," * 8_000 + "])]",
    "deep lists": "[echo(content=" + "[" * NEST + "]" * NEST + ")]",
    "deeper lists": "[echo(content=" + "[" * 7_000 + "]" * 7_000 + ")]",
    "open brackets": "[" * 16_000,
    "deep parentheses": "[echo(content=" + "(" * 7_000 + "1" + ")" * 7_000 + ")]",
    "deep dictionaries": "[echo(content=" + "{1:" * NEST + "1" + "}" * NEST + ")]",
    "open dictionaries": "{" * 3_000,
    "deep calls": "[" + "ls(a=" * NEST + "1" + ")" * NEST + "]",
    "deep lambdas": "[" + "lambda:" * 2_000 + "1]",
    "long attribute": "[a" + ".a" * 8_000 + "()]",
    "long sum": "[add(a=" + "1+" * 3_000 + "1, b=1)]",
    "long negation": "[add(a=" + "-" * 10_000 + "1, b=1)]",
    "long not": "[add(a=" + "not " * 4_000 + "1, b=1)]",
    "long string concatenation": "[echo(content=" + "'a' " * 3_000 + ")]",
    "surrogate": "[echo(content='\ud800')]",
    "escaped surrogate": "[echo(content='\\ud800', file_name='\\udfff')]",
    "null": "[echo(content='a\x00b')]",
    "escaped null": "[mkdir(dir_name='a\\x00b')]",
    "control characters": "[echo(content='\x1b[2J\x07')]",
    "right to left": "[\u202eecho(content='x')]",
    "bad escape": "[echo(content='\\d\\N')]",
    "odd escape": "[echo(content='\\q\\777')]",
    "bytes": "[echo(content=b'\\xff')]",
    "complex": "[absolute_value(number=1e308j)]",
    "not a number": "[mean(numbers=[1e999, -1e999])]",
    "cycle by cp": "[cp(source='document', destination='document'), find(), du(), ls()]",
    "cycle by mv": "[mv(source='document', destination='document'), find(), du(), ls()]",
    "unhashable": "[send_message(receiver_id=['USR001'], message={'a': 1, 'b': [2]})]",
    "unhashable key": "[edit_ticket(ticket_id=1, updates={[1]: 2})]",
    "wrong types": "[cd(folder=5), grep(file_name=['a'], pattern=1), tail(file_name='a', lines='x'), cp(source={'a': 1}, destination=2)]",
    "self": "[ls(self=1)]",
    "mutable default": "[post_tweet(content='x'), mention(tweet_id=3, mentioned_usernames=['@x'])]",
    "doors": "[lockDoors(unlock=True, door='driver')]",
    "infinite difference": "[add(a=1 - 1e999, b=1e999 - 1e999)]",
    "infinite in list": "[mean(numbers=[1, [1e999]])]",
    "modulo of infinity": "[add(a=1e999 % 2, b=1 // 1e999)]",
    "division by zero": "[add(a=1 / 0, b=1 % 0)]",
    "power of zero": "[add(a=0 ** -1, b=1)]",
    "complex power": "[add(a=(-1) ** 0.5, b=1)]",
    "empty dictionary": "[edit_ticket(ticket_id=1, updates={})]",
    "nested empty dictionary": "[edit_ticket(ticket_id=1, updates={'a': {'b': {}}, 'c': 1e999})]",
    "quote in key": "[edit_ticket(ticket_id=1, updates={\"'): __import__('os').system('touch CANARY') or ('\": 1})]",
    "backslash in key": "[edit_ticket(ticket_id=1, updates={'a\\\\': 1})]",
    "call as key": "[edit_ticket(ticket_id=1, updates={open('CANARY', 'w'): 1})]",
    "call of call": "[open('CANARY', 'w')(a=1)]",
    "call of subscript": "[[open][0](file='CANARY', mode='w')]",
    "conditional": "[ls() if open('CANARY', 'w') else pwd()]",
    "comparison": "[ls(a=1 < open('CANARY', 'w'))]",
    "boolean operator": "[ls(a=False or open('CANARY', 'w'))]",
    "set": "[mean(numbers={1, open('CANARY', 'w')})]",
    "slice": "[echo(content='x'[open('CANARY', 'w'):])]",
    "globals": "[globals()['__builtins__']['eval'](source='1')]",
    "builtins": "[__builtins__.eval(source='1')]",
    "name of a keyword": "[ls(**{'self': 1, '__class__': 2})]",
    "reference to the reference": "[GorillaFileSystem_ground_truth_instance.ls()]",
    "thought": "<think>" + "</think>" * 2_000 + "[ls()]",
    "only a thought": "<think>[touch(file_name='CANARY')]",
    "brackets": "[" * 3_000 + "]" * 3_000,
    "quotes": "'" * 16_000,
    "backticks": "`" * 16_000,
    "comment": "[ls(a=True # " + "x" * 10_000 + "\n)]",
    "line continuation": "[ls(\\\n" * 1_000 + ")]",
    "tabs": "[\t\tls(\n\t a=True)\n]",
    "unicode name": "[ｌｓ()]",
    "unicode digits": "[add(a=١, b=2)]",
    "walrus in keyword": "[ls(a=(b := True))]",
    "long name": "[" + "x" * 16_000 + "()]",
    "many keywords": "[ls(" + ", ".join(f"k{n}=1" for n in range(900)) + ")]",
    "tag": CALL % '{"name": "ls", "arguments": {}}',
}
"""In prompt mode."""
CALLS = {
    "import": CALL % '{"name": "__import__(\'os\').system", "arguments": {"command": "touch CANARY"}}',
    "code as name": CALL % '{"name": "open(\'CANARY\', \'w\') or ls", "arguments": {}}',
    "code as key": CALL % '{"name": "ls", "arguments": {"a=open(\'CANARY\', \'w\'), b": 1}}',
    "code as arguments": CALL % '{"name": "ls", "arguments": "__import__(\'os\').system(\'touch CANARY\')"}',
    "exit": CALL % '{"name": "exit", "arguments": {}}',
    "private": CALL % '{"name": "_load_scenario", "arguments": {"scenario": {}}}',
    "dunder": CALL % '{"name": "__init__", "arguments": {}}',
    "list as name": CALL % '{"name": ["ls"], "arguments": {}}',
    "number as name": CALL % '{"name": 1e999, "arguments": {}}',
    "null": CALL % '{"name": null, "arguments": null}',
    "not a number": CALL % '{"name": "mean", "arguments": {"numbers": [NaN, Infinity, -Infinity, {"a": NaN}]}}',
    "long integer": CALL % ('{"name": "add", "arguments": {"a": ' + "9" * 12_000 + ', "b": 1}}'),
    "large power": CALL % '{"name": "power", "arguments": {"base": 10, "exponent": 1000000000}}',
    "precision": CALL % '{"name": "square_root", "arguments": {"number": 2, "precision": 1e9}}',
    "deep": CALL % ('{"name": "echo", "arguments": {"content": ' + "[" * 7_000 + "]" * 7_000 + "}}"),
    "deep text": CALL % ('{"name": "echo", "arguments": "' + "[" * 14_000 + '"}'),
    "open tags": "<tool_call>\n" * 1_300,
    "closing tags": "\n</tool_call>" * 1_100,
    "many calls": (CALL % '{"name": "ls", "arguments": {}}\n') * 250,
    "megabytes": CALL % ('{"name": "echo", "arguments": {"content": "' + "x" * 5_000_000 + '"}}'),
    "surrogate": CALL % '{"name": "echo", "arguments": {"content": "\\ud800", "\\udfff": 1}}',
    "null character": CALL % '{"name": "mkdir", "arguments": {"dir_name": "a\\u0000b"}}',
    "duplicate keys": CALL % '{"name": "ls", "name": "open", "arguments": {"file": "CANARY", "mode": "w"}}',
    "self": CALL % '{"name": "ls", "arguments": {"self": 1}}',
    "prompt mode": "[__import__('os').system('touch CANARY')]",
}
"""In function-call mode."""


@pytest.fixture(scope="module")
def crowded(bfcl: Bfcl) -> Task:
    """The first task, with every service at hand."""
    task = bfcl.tasks("all")[0]
    return attrs.evolve(task, payload={**task.payload, "involved_classes": list(CLASSES)})


@pytest.mark.timeout(20)
@pytest.mark.parametrize(("mode", "name"), [*(("prompt", name) for name in HOSTILE), *(("fc", name) for name in CALLS)])
def test_hostile_text_has_no_effect_outside_its_episode(
    mode: str, name: str, make: Callable[..., Bfcl], crowded: Task, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bfcl, text = make(mode=mode), (HOSTILE if mode == "prompt" else CALLS)[name]
    monkeypatch.chdir(tmp_path)
    precision, digits, environ, modules = decimal.getcontext().prec, mpmath.mp.dps, dict(os.environ), set(sys.modules)
    with bfcl.open(crowded) as untouched, bfcl.open(crowded) as episode:
        observation = episode.step(text)
        for step in observation.steps:
            json.dumps([step.action.name, dict(step.action.arguments), step.observation, step.result, step.error], allow_nan=False)
            assert len(step.observation) < 100_000
        episode.restore(episode.snapshot())
        assert len(episode.state()) == 32
        while not observation.done:
            observation = episode.step("[]")
        assert episode.score() == 0.0
        assert untouched.state() == bfcl.open(crowded).state()
    assert list(tmp_path.iterdir()) == []
    assert (decimal.getcontext().prec, mpmath.mp.dps, dict(os.environ)) == (precision, digits, environ)
    assert {module for module in sys.modules if module not in modules and module in ("bfcl_eval", "antigravity")} == set()
    with bfcl.open(bfcl.tasks("all")[0]) as after:
        for answer in bfcl.script(bfcl.tasks("all")[0].solution):
            after.step(answer)
        assert after.score() == 1.0


def test_there_are_enough_hostile_texts() -> None:
    assert len(HOSTILE) >= 100
    assert len(set(HOSTILE.values())) == len(HOSTILE)
    assert len(set(CALLS.values())) == len(CALLS) >= 25


@pytest.mark.timeout(60)
def test_copies_of_copies_neither_hang_nor_make_a_cycle(bfcl: Bfcl, crowded: Task) -> None:
    """Copies share subdirectories, so each round doubles the tree; and a directory can reach itself through a shared one."""
    rounds = ["cp(source='a', destination='b')", "mv(source='b', destination='a')", "find()", "du()"] * 40
    share = ["mkdir(dir_name='p')", "cd(folder='p')", "mkdir(dir_name='d')", "cd(folder='..')", "cp(source='p', destination='s')"]
    knot = ["mv(source='s', destination='p')", "cd(folder='p')", "mv(source='s', destination='d')", "find()", "du()"]
    deep = ["mkdir(dir_name='n')", "cd(folder='n')"] * (2 * MAX_TREE_DEPTH) + ["cd(folder='..')", "find()"]
    for lines in (["mkdir(dir_name='a')", *rounds], [*share, *knot], deep):
        with bfcl.open(crowded) as episode:
            seen = []
            for start in range(0, len(lines), 50):
                seen += [step.observation for step in episode.step("[" + ", ".join(lines[start : start + 50]) + "]").steps]
            assert any(text.startswith(ERROR) for text in seen), lines[0]
            episode.restore(episode.snapshot())
            episode.state()
            episode.step("[]")
            assert episode.score() == 0.0


def test_the_guarded_results_are_those_of_the_unguarded_calls(bfcl: Bfcl) -> None:
    world = fresh(bfcl.apis, Start(("MathAPI",), "{}"))
    limit = world.execute(Call("power", {"base": 10, "exponent": 5_000})).text
    assert "4300 digits" in limit
    assert world.execute(Call("power", {"base": 10, "exponent": 10**9})).text == limit
    assert world.execute(Call("power", {"base": -1, "exponent": 10**9})).text == '{"result": 1}'
    assert world.execute(Call("round_number", {"number": 1234, "decimal_places": -(10**9)})).text == '{"result": 0}'
    assert world.execute(Call("round_number", {"number": 1.25, "decimal_places": 10**9})).text == '{"result": 1.25}'


def test_arguments_and_defaults_are_not_shared_between_episodes(bfcl: Bfcl, crowded: Task) -> None:
    calls = "[authenticate_twitter(username='analyst_pro', password='Kj8#mP9$vL2'), post_tweet(content='x'), "
    calls += "mention(tweet_id=3, mentioned_usernames=['@a'])]"
    for _ in range(2):
        with bfcl.open(crowded) as episode:
            episode.step(calls)
            assert json.loads(episode.step("[get_tweet(tweet_id=3)]").steps[0].observation)["mentions"] == ["@a"]
            assert json.loads(episode.step("[post_tweet(content='y')]").steps[0].observation)["mentions"] == []


def test_an_answer_has_a_deadline_and_a_bound_on_its_results(bfcl: Bfcl, crowded: Task, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("coevolve.environments.bfcl.episode.MAX_RESULTS", 60)
    with bfcl.open(crowded) as episode:
        assert [step.error is None for step in episode.step("[pwd(), ls(), ls(), pwd()]").steps] == [True, True, False, False]
    monkeypatch.setattr("coevolve.environments.bfcl.episode.MAX_SECONDS", -1.0)
    with bfcl.open(crowded) as episode:
        before = episode.state()
        (step,) = episode.step("[mkdir(dir_name='late')]").steps
        assert step.error is not None and step.error.startswith(ERROR)
        assert episode.state() == before
