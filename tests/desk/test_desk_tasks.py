"""The desk's splits, scoring, composing and keys."""

import random
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice

import pytest

from coevolve import Action, Environment, Outcome, Step, Task, Trajectory, UserError
from coevolve.core.registry import load_plugins
from coevolve.core.run.held_out import check_first_tasks, first_tasks
from coevolve.core.settings.config import resolve
from coevolve.core.settings.sources import setting_sources
from coevolve.environments.desk import Desk
from coevolve.environments.desk.generator import SHAPES, generate, held_out, random_plan
from coevolve.environments.desk.tools import TOOLS
from coevolve.environments.desk.wording import FRAMES, HELD_OUT_FRAMES, solve

DESK = Desk(Desk.Options())
SPLITS = ("train", "dev", "test")


def _run(task: Task, actions: Sequence[Action]) -> tuple[list[Step], float]:
    steps: list[Step] = []
    with DESK.open(task) as episode:
        for text in DESK.script(actions):
            steps.extend(episode.step(text).steps)
        return steps, episode.score()


def _framed(task: Task, frames: Sequence[str]) -> bool:
    """Whether the request could be in one of the frames, judged by the fixed words at the frame's ends."""
    return any(task.query.startswith(f.partition("{")[0]) and task.query.endswith(f.rpartition("}")[2]) and f[0] != "{" for f in frames)


def test_it_is_an_environment() -> None:
    assert isinstance(DESK, Environment)
    assert DESK.splits() == SPLITS
    assert [len(DESK.tasks(s)) for s in SPLITS] == [64, 200, 800]


def test_an_unknown_split_names_the_known_ones() -> None:
    with pytest.raises(UserError, match=r"no split 'tset'.*'test'"):
        DESK.tasks("tset")


@pytest.mark.parametrize("split", SPLITS)
def test_the_tasks_follow_from_the_seed_and_a_longer_split_begins_with_the_shorter(split: str) -> None:
    again = Desk(Desk.Options(train=300, dev=300, test=900)).tasks(split)
    assert tuple(again[: len(DESK.tasks(split))]) == tuple(DESK.tasks(split))
    assert Desk(Desk.Options(seed=1)).tasks(split) != DESK.tasks(split)


def test_the_splits_are_disjoint_by_family_and_the_test_families_are_the_held_out_ones() -> None:
    families = {split: {DESK.keys(t).family or "" for t in islice(generate(split, 0), 500)} for split in SPLITS}
    assert all(held_out(f) for f in families["test"])
    assert not any(held_out(f) for f in families["train"] | families["dev"])
    assert not families["train"] & families["dev"]


def test_a_pool_is_drawn_by_the_runs_seed_from_a_larger_train_split_without_families_of_held_out_tasks() -> None:
    registry = load_plugins()

    def pool(run: int, environment: int, train: int = 256) -> list[Task]:
        settings = [f"seed={run}", f"environment.seed={environment}", f"environment.train={train}"]
        config = resolve(registry, setting_sources("desk", None, settings))
        desk = registry.make("environment", config.environment)
        found = first_tasks(config, desk)
        assert check_first_tasks(config, registry, desk, desk.tasks("test")) == 0
        return found

    drawn = pool(1, 31)
    assert len({task.id for task in drawn}) == len({task.query for task in drawn}) == 64
    assert drawn == pool(1, 31)
    assert {task.id for task in drawn} != {task.id for task in pool(2, 31)}
    assert not {task.query for task in drawn} & {task.query for task in pool(1, 32)}
    assert pool(1, 31, train=64) == pool(2, 31, train=64) == list(Desk(Desk.Options(seed=31)).tasks("train"))


def test_the_test_split_has_its_own_frames() -> None:
    assert not set(FRAMES) & set(HELD_OUT_FRAMES)
    for split in ("train", "dev"):
        assert all(_framed(t, FRAMES) and not _framed(t, HELD_OUT_FRAMES) for t in DESK.tasks(split))
    assert not any(_framed(t, FRAMES) for t in DESK.tasks("test"))


def test_the_splits_have_equal_shares_of_call_counts() -> None:
    shares = {
        split: [sum(len(t.solution) - 1 == n for t in tasks) / len(tasks) for n in (1, 2, 3, 4)]
        for split in SPLITS
        if (tasks := list(islice(generate(split, 0), 500)))
    }
    for split in ("train", "dev"):
        assert shares[split] == pytest.approx(shares["test"], abs=0.07)


@pytest.mark.parametrize("split", SPLITS)
def test_every_solution_scores_1_in_at_most_five_completions_and_nothing_less_does(split: str) -> None:
    for task in DESK.tasks(split):
        assert 2 <= len(DESK.script(task.solution)) <= 5
        assert _run(task, task.solution)[1] == 1.0
        assert _run(task, ())[1] == 0.0
        for left_out in range(len(task.solution) - 1):
            partial = [a for i, a in enumerate(task.solution) if i != left_out]
            changes = TOOLS[task.solution[left_out].name].gives is None
            assert _run(task, partial)[1] == (0.0 if changes else 1.0), "lookups may be skipped by a guess, actions never"


def test_a_wrong_answer_a_missing_done_and_a_refused_call_on_the_way_score_0() -> None:
    task = next(t for t in DESK.tasks("dev") if "answer" in t.solution[-1].arguments)
    *calls, done = task.solution
    assert _run(task, [*calls, Action("done", {"answer": "@nobody"})])[1] == 0.0
    assert _run(task, [*calls, Action("done")])[1] == 0.0
    assert _run(task, [Action("calendar.fly"), *calls, done])[1] == 0.0
    with DESK.open(task) as episode:
        for text in DESK.script(task.solution)[:-1]:
            episode.step(text)
        assert episode.score() == 0.0


def test_a_task_whose_own_solution_is_refused_cannot_be_solved() -> None:
    bad = Task("bad", "desk", "move it", solution=(Action("calendar.move", {"meeting": "board", "date": "soon"}), Action("done")))
    assert _run(bad, bad.solution)[1] == 0.0


def test_an_episode_ends_at_its_limit_with_a_fault() -> None:
    with Desk(Desk.Options(calls=3)).open(DESK.tasks("dev")[0]) as episode:
        seen = [episode.step("calendar.meeting_date meeting=board as=iso") for _ in range(4)]
    assert [o.done for o in seen] == [False, False, True, True]
    assert [o.fault for o in seen] == [None, None, "too_many_calls", None]
    assert seen[3].steps == ()


def test_restore_goes_back_and_leaves_the_snapshot_usable() -> None:
    task = next(t for t in DESK.tasks("train") if len(t.solution) == 5)
    texts = DESK.script(task.solution)
    with DESK.open(task) as episode:
        episode.step(texts[0])
        snapshot, state = episode.snapshot(), episode.state()
        for _ in range(2):
            for wrong in ("rooms.reserve room=aspen", "nonsense here"):
                episode.step(wrong)
            assert episode.state() != state
            episode.restore(snapshot)
            assert episode.state() == state
            for text in texts[1:]:
                episode.step(text)
            assert episode.score() == 1.0
            episode.restore(snapshot)


def test_episodes_in_threads_do_not_touch_each_other() -> None:
    tasks = list(DESK.tasks("test")[:200]) * 2
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda t: _run(t, t.solution)[1], tasks)) == [1.0] * len(tasks)


@pytest.mark.parametrize("shape", [*SHAPES, "simple, simple", "source action, answer"])
def test_composed_tasks_are_worded_opened_and_solved(shape: str) -> None:
    rng = random.Random(shape)
    for i in range(30):
        start = DESK.tasks("train")[i]
        steps, _ = _run(start, solve(random_plan(rng, shape), start.payload["seed"]))
        task = DESK.compose(start, steps, f"made-{i}")
        assert task is not None
        assert task.origin.parents == (start.id,)
        assert _framed(task, FRAMES) and not _framed(task, HELD_OUT_FRAMES)
        assert _run(task, task.solution)[1] == 1.0
        assert task.solution == tuple(step.action for step in steps)


def test_composing_leaves_out_failed_calls_and_unneeded_lookups() -> None:
    start = DESK.tasks("train")[0]
    walk = [
        Action("calendar.fly"),
        Action("shop.item", {"order": "desk", "as": "sku"}),
        Action("notes.place", {"note": "idea", "as": "airport"}),
        Action("travel.cancel", {"trip": "winter"}),
    ]
    task = DESK.compose(start, _run(start, walk)[0], "t")
    assert task is not None
    assert [a.name for a in task.solution] == ["travel.cancel", "done"]
    assert task.intent == "cancel the winter trip"


def test_composing_uses_a_given_query_and_refuses_what_it_cannot_word() -> None:
    start = DESK.tasks("train")[0]
    three = _run(start, [Action("travel.cancel", {"trip": t}) for t in ("winter", "spring", "summer")])[0]
    assert DESK.compose(start, three, "t") is None
    asked = DESK.compose(start, three, "t", query="Cancel my trips of winter, spring and summer.")
    assert asked is not None and asked.query.startswith("Cancel my") and _run(asked, asked.solution)[1] == 1.0
    assert DESK.compose(start, [], "t") is None
    assert DESK.compose(start, _run(start, [Action("travel.fly")])[0], "t") is None


def test_keys_tell_tasks_apart_and_do_not_depend_on_the_query() -> None:
    tasks = [t for split in SPLITS for t in DESK.tasks(split)]
    keys = [DESK.keys(t) for t in tasks]
    assert len({k.actions for k in keys}) == len(tasks)
    start = tasks[0]
    again = DESK.compose(start, _run(start, start.solution)[0], "again", query="other words")
    assert again is not None and DESK.keys(again) == keys[0]


def test_patterns_are_the_links_also_when_the_taker_refused() -> None:
    walk = [
        Action("notes.writer", {"note": "idea", "as": "email"}),
        Action("contacts.birthday", {"person": "?", "as": "us"}),
        Action("travel.train", {"date": "?"}),
    ]
    start = DESK.tasks("train")[0]
    person = _run(start, walk[:1])[0][0].result
    walk[1] = Action("contacts.birthday", {"person": person, "as": "us"})
    walk[2] = Action("travel.train", {"date": _run(start, walk[:2])[0][1].result})
    steps, _ = _run(start, walk)
    assert steps[2].error is not None
    trajectory = Trajectory(start.id, 1, 0, (), tuple(steps), Outcome.COMPLETED, 0.0)
    links = ("notes.writer>contacts.birthday", "contacts.birthday>travel.train")
    assert DESK.patterns(trajectory) == links
    assert Desk(Desk.Options(patterns="tools")).patterns(trajectory) == tuple(a.name for a in walk)
    assert Desk(Desk.Options(patterns="both")).patterns(trajectory) == (*links, *(a.name for a in walk))


def test_the_description_names_kinds_and_no_required_form() -> None:
    tools = {t.name: t for t in DESK.describe().tools}
    assert set(tools) == set(TOOLS)
    train = tools["travel.train"]
    assert train.parameters["properties"] == {"date": {"type": "string", "format": "date"}}
    assert tools["contacts.birthday"].returns == {"type": "string", "format": "date"}
    assert tools["contacts.birthday"].parameters["required"] == ["person", "as"]
    takers = {(t.takes, t.reads) for t in TOOLS.values() if t.takes}
    for tool in tools.values():
        wanted = {reads for kind, reads in takers if kind == TOOLS[tool.name].takes}
        assert not wanted & set(tool.description.split())


def test_the_manual_is_an_option() -> None:
    episode = Desk(Desk.Options(manual=True)).open(DESK.tasks("dev")[0])
    assert [m["role"] for m in episode.messages] == ["system", "user"]
    assert all(name in episode.messages[0]["content"] for name in TOOLS)
    assert len(DESK.open(DESK.tasks("dev")[0]).messages) == 1
