"""Prompts are bounded: the important parts are kept, and a note marks every cut."""

import re
from collections.abc import Sequence
from typing import Any

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coevolve import Action, Signal, Step, Trajectory
from coevolve.synthesizers.teacher.evidence import evidence, parting
from coevolve.synthesizers.teacher.rendering import cut, steps, transcript
from coevolve.testing import make_group, make_task, make_trajectory

LEFT_OUT = re.compile(r" \[\.\.\. (\d+) characters left out \.\.\.\] ")


def step(name: str, observation: str = "ok", error: str | None = None, **arguments: str) -> Step:
    return Step(Action(name, arguments), observation, observation, error)


def run(*names: str, score: float = 1.0, iteration: int = 1, index: int = 0, patterns: Sequence[str] = ()) -> Trajectory:
    """A trajectory of calls by name; a name that ends with `!` fails."""
    made = [step(name.rstrip("!"), f"did {name}", f"no {name}" if name.endswith("!") else None) for name in names]
    return make_trajectory("t", score, iteration=iteration, index=index, steps=made, patterns=patterns)


@settings(deadline=None)
@given(st.text(max_size=300), st.integers(0, 200))
def test_a_cut_text_keeps_its_ends_and_states_how_much_is_missing(text: str, chars: int) -> None:
    shown = cut(text, chars)
    assert len(shown) <= chars
    if len(text) <= chars:
        assert shown == text
    elif chars >= 60 and not LEFT_OUT.search(text):
        note = LEFT_OUT.search(shown)
        assert note is not None
        head, tail = shown[: note.start()], shown[note.end() :]
        assert head and tail and text.startswith(head) and text.endswith(tail)
        assert len(head) + int(note[1]) + len(tail) == len(text)


@settings(deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.integers(0, 400)), min_size=1, max_size=30), st.integers(300, 3000), st.integers(0, 40))
def test_of_a_long_trajectory_the_ends_and_the_focus_stay_and_the_rest_is_counted(
    made: list[tuple[bool, int]], chars: int, focus: int
) -> None:
    explored = [step("tool", "x" * size, "broken" if failed else None) for failed, size in made]
    shown = steps(explored, chars, focus)
    assert len(shown) <= chars
    numbers = [int(line.split(".")[0]) for line in shown.splitlines() if re.match(r"\d+\. tool ", line)]
    left = [(int(a), int(b)) for a, b in re.findall(r"left out: (\d+) in all, (\d+) of them failed\]", shown)]
    assert len(numbers) + sum(count for count, _ in left) == len(explored)
    assert numbers == sorted(set(numbers))
    hidden = [explored[n].error is not None for n in range(len(explored)) if n + 1 not in numbers]
    assert sum(failed for _, failed in left) == sum(hidden)
    wanted = {min(focus, len(explored) - 1) + 1}
    assert wanted <= set(numbers)
    if chars >= 1000:
        assert {1, len(explored)} <= set(numbers)


def test_the_first_failed_call_is_the_focus_by_default() -> None:
    explored = [step("tool", "x" * 200, "broken" if index == 20 else None) for index in range(40)]
    shown = steps(explored, 900)
    assert "21. tool {} -> FAILED: broken" in shown
    assert shown.startswith("1. tool") and "\n40. tool" in shown
    assert re.search(r"\[calls \d+ to 20 left out: \d+ in all, 0 of them failed\]|\n20\. tool", shown)


def test_steps_that_fit_are_rendered_whole() -> None:
    assert steps([step("a", "one", x="1"), step("b", "", "no\nsuch thing")], 500) == (
        '1. a {"x": "1"} -> one\n2. b {} -> FAILED: no such thing'
    )
    assert steps([], 500) == "(no call was made)"


def test_calls_that_changed_nothing_are_marked_also_where_their_results_are_cut() -> None:
    explored = [step("look", "one"), step("set", "done"), step("look", "x" * 900)]
    assert steps(explored[:2], 500, idle=(0,)) == "1. look {} -> one [changed nothing]\n2. set {} -> done"
    cut_short = steps(explored, 400, idle=(0, 2))
    assert cut_short.count("[changed nothing]") == 2 and cut_short.endswith("x [changed nothing]") and "left out" in cut_short


def test_a_transcript_ends_with_score_fault_and_last_words() -> None:
    told = attrs.evolve(run("a", score=0.0), fault="no_call", messages=({"role": "assistant", "content": "I would call b"},))
    assert transcript("An attempt:", told, 500).splitlines() == [
        "An attempt:",
        "1. a {} -> did a",
        "Ended: score 0, no_call; its last words: I would call b",
    ]


def boundary() -> Signal:
    return Signal("boundary", "t", 5, 1.0, {"scores": [1.0, 0.0], "successes": 1, "rollouts": 2})


def test_a_boundary_has_success_failure_and_their_first_difference() -> None:
    good, bad = run("a", "b", "c", iteration=5), run("a", "b", "d!", score=0.0, iteration=5, index=1)
    other = run("x", score=0.0, iteration=5, index=2)
    old = run("old", iteration=3)
    group = attrs.evolve(make_group("t", iteration=5), trajectories=(good, other, bad))
    shown = evidence(boundary(), [attrs.evolve(group, iteration=3, trajectories=(old,)), group], [], 2000)
    assert "1 of 2 attempts at iteration 5 succeeded." in shown
    assert "The first 2 calls are the same in both; they part at call 3." in shown
    success, failure = shown.split("An attempt that failed:")
    assert "3. c {} -> did c" in success and "score 1" in success
    assert "3. d {} -> FAILED: no d!" in failure and "score 0" in failure
    assert "old" not in shown and "1. x" not in shown
    assert parting(good.steps, bad.steps) == 2


def test_a_boundary_of_progress_without_a_success_shows_the_attempts_that_did_most_and_least() -> None:
    first, second, third = (
        attrs.evolve(run(name, score=0.0, iteration=5, index=n), progress=p)
        for n, (name, p) in enumerate([("near", 0.25), ("far", 0.75), ("none", 0.0)])
    )
    group = attrs.evolve(make_group("t", iteration=5), trajectories=(first, second, third))
    signal = Signal("boundary", "t", 5, 1.0, {"of": "progress", "progress": [0.25, 0.75, 0.0], "successes": 0, "rollouts": 3})
    shown = evidence(signal, [group], [], 2000)
    furthest, least = shown.split("The attempt that did least:")
    assert "0 of 3 attempts at iteration 5 succeeded." in furthest and "The attempt that got furthest, and failed:" in furthest
    assert "1. far {}" in furthest and "1. none {}" in least and "1. near {}" not in shown and "succeeded:" not in shown
    solved = attrs.evolve(group, trajectories=(attrs.evolve(second, score=1.0, progress=1.0), third))
    assert "An attempt that succeeded:" in evidence(signal, [solved], [], 2000)


@pytest.mark.parametrize(
    ("good", "bad", "said"),
    [
        ("abc", "ab", "The attempt that failed makes only the first 2 of the 3 calls: it stopped there."),
        ("abc", "", "The attempt that failed makes only the first 0 of the 3 calls: it stopped there."),
        ("ab", "abcd", "The attempt that failed makes all 2 calls of the one that succeeded, and then 2 more."),
        ("ab", "ab", "Both make the same calls, 2 in all."),
        ("ab", "xy", "The first 0 calls are the same in both; they part at call 1."),
    ],
)
def test_an_attempt_that_is_the_beginning_of_the_other_only_stopped_early(good: str, bad: str, said: str) -> None:
    group = attrs.evolve(make_group("t", iteration=5), trajectories=(run(*good, iteration=5), run(*bad, score=0.0, iteration=5, index=1)))
    shown = evidence(boundary(), [group], [], 2000)
    assert said in shown and ("they part" in shown) == ("they part" in said)


@pytest.mark.parametrize("kind", ["boundary", "forgetting", "rare", "another"])
@pytest.mark.parametrize(
    "known", [{}, {"successes": None, "counts": None, "recent": None, "now": None}, {"rollouts": 4, "observations": 9}]
)
def test_evidence_that_a_signal_lacks_is_not_printed(kind: str, known: dict[str, Any]) -> None:
    group = attrs.evolve(make_group("t", iteration=5), trajectories=(run("a", iteration=5), run("b", score=0.0, iteration=5, index=1)))
    shown = evidence(Signal(kind, "t", 5, 1.0, known), [group], [], 2000)
    assert shown.splitlines()[0].startswith(("The first 0 calls", "An attempt that shows it:", "The earlier success itself"))
    assert not re.search(r"None|not known|not told|attempts at iteration|observations", shown) and "1. a {}" in shown
    assert evidence(Signal(kind, "t", 5, 1.0, known), [], [], 2000).strip(), "never an empty prompt"


def test_the_first_difference_of_long_attempts_is_never_cut() -> None:
    same = [f"same{n}" for n in range(60)]
    good, bad = run(*same, "right", *same, iteration=5), run(*same, "wrong!", *same, score=0.0, iteration=5, index=1)
    shown = evidence(boundary(), [attrs.evolve(make_group("t", iteration=5), trajectories=(good, bad))], [], 2000)
    assert len(shown) <= 2000
    assert "61. right" in shown and "61. wrong" in shown and "left out:" in shown


def test_forgetting_has_the_earlier_success_or_a_note_that_it_is_missing() -> None:
    signal = Signal("forgetting", "t", 9, 1.0, {"recent": [1.0, 0.5], "now": 0.0})
    now = attrs.evolve(make_group("t", iteration=9), trajectories=(run("b!", score=0.0, iteration=9),))
    before = attrs.evolve(make_group("t", iteration=4), trajectories=(run("good", iteration=4), run("bad", score=0.0, iteration=4)))
    shown = evidence(signal, [before, now], [], 2000)
    assert "Mean scores of the attempts before: 1, 0.5. Now: 0.0." in shown
    earlier, later = shown.split("An attempt now, that failed:")
    assert "An earlier attempt that succeeded:\n1. good" in earlier and "1. b {} -> FAILED" in later
    assert "1. bad" not in shown
    alone = evidence(signal, [now], [], 2000)
    assert "The earlier success itself is not at hand." in alone and "1. b" in alone


def test_rare_has_the_pattern_and_its_neighbours() -> None:
    signal = Signal("rare", "t", 9, 0.5, {"counts": {"a>b": 1}, "observations": 900})
    own = attrs.evolve(
        make_group("t", iteration=9),
        trajectories=(run("usual", iteration=9, patterns=["c>d"]), run("seldom", iteration=9, index=1, patterns=["a>b", "c>d", "e>f"])),
    )

    def other(name: str, *patterns: str) -> object:
        return attrs.evolve(make_group(make_task(name), iteration=8), trajectories=(run(name, iteration=8, patterns=patterns),))

    others = [other("far", "e>f", "g>h", "i>j"), other("near", "c>d", "e>f"), other("none", "x>y"), other("nearer", "a>b", "c>d", "e>f")]
    shown = evidence(signal, [own], others, 3000)  # type: ignore[arg-type]
    assert "Rare among 900 observations: a>b (1 times)" in shown
    assert "1. seldom" in shown and "1. usual" not in shown
    assert "Do nearer." in shown and "Do near." in shown and shown.index("Do nearer.") < shown.index("Do near.")
    assert "Do far." not in shown and "Do none." not in shown


def test_infrastructure_faults_are_not_evidence() -> None:
    broken = attrs.evolve(make_group("t", [None], iteration=5, steps=[step("hidden")]))
    assert "hidden" not in evidence(boundary(), [broken], [], 1000)
    assert evidence(None, [broken], [], 1000) == "No attempt is at hand."


@settings(deadline=None, max_examples=60)
@given(
    st.sampled_from(["boundary", "forgetting", "rare", "another"]),
    st.lists(st.tuples(st.booleans(), st.integers(0, 30), st.integers(0, 300)), max_size=4),
    st.integers(0, 3000),
)
def test_evidence_keeps_to_its_room(kind: str, attempts: list[tuple[bool, int, int]], chars: int) -> None:
    made = tuple(
        make_trajectory("t", float(good), iteration=5, index=n, steps=[step("s", "y" * size)] * count, patterns=["p"])
        for n, (good, count, size) in enumerate(attempts)
    )
    group = attrs.evolve(make_group("t", iteration=5), trajectories=made)
    assert len(evidence(Signal(kind, "t", 5, 1.0, {"counts": {"p": 1}}), [group], [group], chars)) <= chars
