"""The contract, over the tiny world and the real engine."""

import json
from pathlib import Path

import pytest

from coevolve import Action, Outcome, RolloutGroup, Task, Trajectory, UserError
from coevolve.environments.appworld import episode as episodes
from coevolve.environments.appworld.data_checks import SPLITS
from coevolve.environments.appworld.environment import AppWorld, AppWorldOptions
from coevolve.environments.appworld.episode import PARTIAL, progress
from coevolve.environments.appworld.protocol import code_of
from coevolve.testing import check_environment

pytestmark = pytest.mark.slow

SHOW = Action("spotify.show_song", {"song_id": 1})


@pytest.mark.parametrize("splits", [("train",), pytest.param(("train", "test_normal"), marks=pytest.mark.nightly)])
def test_the_contract_is_kept(environment: AppWorld, monkeypatch: pytest.MonkeyPatch, splits: tuple[str, ...]) -> None:
    """With a task that contains its solution; nightly also with one whose solution is held out."""
    monkeypatch.setattr(AppWorld, "splits", lambda _: splits)
    check_environment(environment, sample=1)


def test_held_out_tasks_show_neither_solution_nor_answer(environment: AppWorld) -> None:
    assert environment.splits() == SPLITS
    train = environment.tasks("train")
    assert train and all(action.name == "execute" for task in train for action in task.solution)
    for split in SPLITS[1:]:
        tasks = environment.tasks(split)
        assert tasks
        for task in tasks:
            assert task.solution == (Action("reference", {"task": task.id}),) and task.payload == {}
    with pytest.raises(UserError, match="did you mean 'train'"):
        environment.tasks("trian")


def test_a_held_out_reference_is_carried_out_and_not_shown(environment: AppWorld) -> None:
    task = environment.tasks("test_normal")[0]
    with environment.open(task) as episode:
        (text,) = environment.script(task.solution)
        seen = episode.step(text)
        assert seen.done and seen.fault is None and episode.score() == 1.0
        assert [step.action for step in seen.steps] == list(task.solution) and seen.messages[0]["content"].count("carried out") == 1
        assert environment.compose(task, seen.steps, "copy", "Do that.") is None, "nothing is made of a held-out solution"


def test_a_solution_scores_and_nothing_does_not(environment: AppWorld) -> None:
    task = environment.tasks("train")[0]
    with environment.open(task) as episode:
        start = episode.state()
        texts = environment.script(task.solution)
        seen = [episode.step(text) for text in texts]
        assert [one.done for one in seen] == [False] * (len(texts) - 1) + [True]
        assert [step.action.name for one in seen for step in one.steps if step.action.name == "execute"] == ["execute"] * len(texts)
        inner = [step for step in seen[0].steps if step.action.name != "execute"]
        assert seen[0].steps[0].action.arguments["calls"] == len(inner) > 0
        assert episode.score() == 1.0
        assert episode.metrics() == {"task_goal_completion": 1.0, "tests_passed": 1.0} and episode.progress() == 1.0
    with environment.open(task) as episode:
        assert episode.state() == start
        for _ in range(environment.options.max_interactions):
            seen_nothing = episode.step("I would rather not.")
        assert seen_nothing.done and seen_nothing.fault == f"not completed in {environment.options.max_interactions} turns"
        assert episode.score() == 0.0 and episode.metrics()["tests_passed"] > 0.0, "the bare share pays for doing nothing"


def test_an_explorers_call_is_one_step_and_needs_no_token(environment: AppWorld) -> None:
    names = {tool.name for tool in environment.describe().tools}
    assert SHOW.name in names and not [name for name in names if name.startswith(("admin.", "api_docs.")) or name.endswith(".login")]
    assert all("access_token" not in tool.parameters["properties"] for tool in environment.describe().tools)
    with environment.open(environment.tasks("train")[0]) as episode:
        for action in (SHOW, Action("venmo.show_venmo_balance", {}), Action("spotify.show_song", {"song_id": 10**6})):
            (text,) = environment.script([action])
            seen = episode.step(text)
            (step,) = seen.steps
            assert step.action == action and (step.error is None) == isinstance(step.result, dict)
    with pytest.raises(ValueError, match="no API"):
        environment.script([Action("spotify.nothing", {})])


def test_a_snapshot_is_the_whole_episode(environment: AppWorld) -> None:
    task = environment.tasks("train")[0]
    first, *rest = environment.script(task.solution)
    with environment.open(task) as episode:
        episode.step(first)
        saved, state = episode.snapshot(), episode.state()
        ends = []
        for _ in range(2):
            ends.append(([episode.step(text) for text in rest], episode.state(), episode.score()))
            episode.restore(saved)
            assert episode.state() == state
        assert ends[0] == ends[1] and ends[0][2] == 1.0


def test_long_output_is_cut_with_a_note(environment: AppWorld) -> None:
    with environment.open(environment.tasks("train")[0]) as episode:
        seen = episode.step("```python\nprint('x' * 50_000)\n```")
        assert len(seen.steps[0].observation) < environment.options.output_limit + 100
        assert "characters left out" in seen.messages[0]["content"]


def test_files_for_the_leaderboard_can_be_had(environment: AppWorld, tmp_path: Path) -> None:
    task = environment.tasks("train")[0]
    with environment.open(task) as episode:
        for text in environment.script(task.solution):
            episode.step(text)
        episode.export(tmp_path / task.id)
    assert (tmp_path / task.id / "logs" / "api_calls.jsonl").stat().st_size > 0
    assert len(list((tmp_path / task.id / "dbs").glob("*.jsonl"))) == 12


def test_unknown_tasks_are_the_users_error(environment: AppWorld) -> None:
    for name in ("nowhere_1", "../train", ""):
        with pytest.raises(UserError, match="cannot be opened"):
            environment.open(Task(name, "appworld", "?"))


def test_patterns_say_app_api_and_success(environment: AppWorld) -> None:
    with environment.open(environment.tasks("train")[0]) as episode:
        code = "apis.spotify.show_song(song_id=1)\ntry:\n    apis.spotify.show_song(song_id=10**6)\nexcept Exception:\n    pass"
        steps = episode.step(f"```python\n{code}\n```").steps
    assert environment.patterns(rollout("t", 0.0, steps)) == ("spotify.show_song:ok", "spotify.show_song:err")
    assert [step.error for step in steps] == [None, None, None], "a refusal that the code deals with is not a failure"


def rollout(task_id: str, score: float | None, steps: tuple = ()) -> Trajectory:  # type: ignore[type-arg]
    return Trajectory(task_id, 1, 0, (), steps, Outcome.COMPLETED if score is not None else Outcome.INFRASTRUCTURE_FAULT, score)


def test_a_scenario_counts_whole_or_not_at_all(environment: AppWorld) -> None:
    tasks = environment.tasks("dev")

    def groups(scores: list[float | None]) -> list[RolloutGroup]:
        return [RolloutGroup(task, 1, (rollout(task.id, score),)) for task, score in zip(tasks, scores, strict=False)]

    assert environment.aggregates(groups([1.0] * 6)) == {"scenario_goal_completion": 1.0, "scenarios": 2.0}
    assert environment.aggregates(groups([1.0, 1.0, 0.49, 1.0, 1.0, 1.0])) == {"scenario_goal_completion": 0.5, "scenarios": 2.0}
    assert environment.aggregates(groups([1.0, None, 1.0, 1.0])) == {"scenario_goal_completion": 0.0, "scenarios": 1.0}
    assert environment.aggregates(groups([1.0, 1.0])) == {}, "two of three variants are not a scenario"


def report(passes: str, failures: str) -> dict[str, object]:
    """Tests by label: f stands for one that doing nothing fails, p for one that it passes."""
    labels = {"f": "no_op_fail", "p": "no_op_pass"}
    made = {name: [{"label": labels[one]} for one in marks] for name, marks in (("passes", passes), ("failures", failures))}
    return {**made, "success": not failures, "num_tests": len(passes + failures)}


@pytest.mark.parametrize(
    ("passes", "failures", "share"), [("ffp", "", 1.0), ("fp", "f", 0.5), ("pp", "ff", 0.0), ("ff", "p", 0.0), ("", "", 0.0)]
)
def test_partial_reward_does_not_pay_for_doing_nothing(
    environment: AppWorld, monkeypatch: pytest.MonkeyPatch, passes: str, failures: str, share: float
) -> None:
    found = report(passes, failures)
    assert progress(found) == share
    monkeypatch.setattr(episodes.AppWorldEpisode, "_evaluation", lambda self: found)
    partial = AppWorld(AppWorldOptions(data="tiny", partial=True))
    partial._worlds = environment.worlds
    with partial.open(partial.tasks("train")[0]) as episode:
        assert episode.score() == (1.0 if found["success"] and found["num_tests"] else PARTIAL * share) or not found["num_tests"]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("```python\nprint(1)\n```", "print(1)"),
        ("Let me see.\n```py\na\nb\n```\nand\n```python\nc\n```", "a\nb"),
        ("```\nx = 1\n```", "x = 1"),
        ("```python\nprint(1)", "print(1)"),
        ("print(1)", None),
        ("```python\n\n```", None),
        ("```json\n{}\n```", None),
        ("```python print(1)```", None),
        ("", None),
    ],
)
def test_the_first_block_counts(text: str, code: str | None) -> None:
    assert code_of(text) == code


def test_results_say_what_they_were_got_with(environment: AppWorld) -> None:
    found = environment.provenance()
    assert found["benchmark"] != "AppWorld" and found["appworld"] and json.dumps(dict(found))
