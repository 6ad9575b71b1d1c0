"""Synthesized tasks in the real engine: their folders, their scoring, their keys, and what the execution validator finds."""

import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import attrs
import pytest

from coevolve import Action, CandidateTask, Step, Task, TaskPool, perform
from coevolve.environments.appworld.engine.synthesize import write_task
from coevolve.environments.appworld.environment import AppWorld
from coevolve.environments.appworld.script import reference_block
from coevolve.plugins.validators.execution import Execution, ExecutionOptions

pytestmark = pytest.mark.slow

Named = Sequence[tuple[str, dict[str, Any]]]

LIKE: Named = [("spotify.search_songs", {"query": "Winter Antenna"}), ("spotify.like_song", {"song_id": 11})]
LOOK: Named = [("spotify.search_songs", {"query": "Nine Umbrellas"}), ("spotify.show_song", {"song_id": 9})]
PAY: Named = [
    ("phone.search_contacts", {"relationship": "sister"}),
    ("venmo.create_transaction", {"receiver_email": "elena.petrov@gmail.com", "amount": 2.5, "description": "Tea"}),
]


def steps(named: Named) -> list[Step]:
    return [Step(Action(name, arguments), "") for name, arguments in named]


@pytest.fixture(scope="module")
def start(environment: AppWorld) -> Task:
    return next(task for task in environment.tasks("train") if task.id == "payback_1")


@pytest.fixture(scope="module")
def made(environment: AppWorld, start: Task) -> dict[str, Task]:
    found = {name: environment.compose(start, steps(named), name) for name, named in (("like", LIKE), ("look", LOOK), ("pay", PAY))}
    return {name: task for name, task in found.items() if task is not None}


def score(environment: AppWorld, task: Task, solution: Sequence[Action] | None = None) -> float:
    with environment.open(task) as episode:
        list(perform(episode, environment.script(task.solution if solution is None else solution)))
        return episode.score()


def test_composed_tasks_are_scored_by_the_engine(environment: AppWorld, made: dict[str, Task]) -> None:
    assert sorted(made) == ["like", "look", "pay"]
    for task in made.values():
        assert json.loads(json.dumps(task.payload)) == task.payload
    done, wrong = Action("supervisor.complete_task", {}), Action("supervisor.complete_task", {"answer": "no"})
    question, errand = made["look"], made["pay"]
    tried: list[tuple[Task, Sequence[Action], float]] = [
        *((task, task.solution, 1.0) for task in made.values()),
        *((errand, actions, 0.0) for actions in ([], [done], errand.solution[:-1], [*errand.solution[:-1], wrong])),
        *((question, actions, 0.0) for actions in ([done], question.solution[:-1], [*question.solution[:-1], wrong])),
    ]
    with ThreadPoolExecutor(3) as threads:
        found = list(threads.map(lambda one: score(environment, one[0], one[1]), tried))
    assert found == [expected for _, _, expected in tried]


def test_the_new_request_is_the_one_that_the_agent_gets(environment: AppWorld, made: dict[str, Task]) -> None:
    with environment.open(made["look"]) as episode:
        assert made["look"].query in episode.messages[-1]["content"]
        seen = episode.step("```python\nprint(apis.supervisor.show_active_task()['instruction'])\n```")
        assert made["look"].query in seen.messages[0]["content"]


def test_another_way_to_the_same_end_is_accepted_and_one_change_more_is_not(environment: AppWorld, made: dict[str, Task]) -> None:
    undone = [("spotify.set_volume", {"volume": 9}), ("spotify.set_volume", {"volume": 5})]
    liked = [("spotify.like_song", {"song_id": 2}), ("spotify.unlike_song", {"song_id": 2})]
    end = made["like"].solution[-1]
    for more in (undone, liked):
        assert score(environment, made["like"], [*(Action(*one) for one in more), *made["like"].solution]) == 1.0
    assert score(environment, made["like"], [Action(*liked[0]), *made["like"].solution]) == 0.0
    assert score(environment, made["like"], [Action("spotify.like_song", {"song_id": 10}), end]) == 0.0
    assert score(environment, made["pay"], made["pay"].solution[1:]) == 1.0  # the lookup is not part of the end


def test_the_order_of_changes_does_not_matter(environment: AppWorld, start: Task) -> None:
    one = [("venmo.create_transaction", {"receiver_email": "elena.petrov@gmail.com", "amount": 2.5})]
    other = [("venmo.create_transaction", {"receiver_email": "rahul.castell@gmail.com", "amount": 4.0})]
    task = environment.compose(start, steps([*one, *other]), "both")
    assert task is not None and [action.name for action in task.solution][:2] == ["venmo.create_transaction"] * 2
    first, second, end = task.solution
    assert score(environment, task, [second, first, end]) == 1.0
    assert environment.keys(task).end_state == environment.keys(attrs.evolve(task, solution=(second, first, end))).end_state


def test_no_task_comes_of_failing_or_empty_steps(environment: AppWorld, start: Task) -> None:
    useless: list[Named] = [
        [("venmo.create_transaction", {"receiver_email": "elena.petrov@gmail.com", "amount": 5000.0})],
        [("supervisor.complete_task", {})],
        [*LIKE, ("supervisor.complete_task", {"status": "fail"})],
        [("spotify.set_volume", {"volume": 9}), ("spotify.set_volume", {"volume": 5})],
    ]
    for named in useless:
        assert environment.compose(start, steps(named), "none") is None


def test_a_bare_completion_never_meets_a_reference(environment: AppWorld, start: Task) -> None:
    payload = {"start": start.id, "code": [], "reference": {"diff": {}, "answer": None}}
    task = Task("bare", "appworld", "Do nothing.", solution=(Action("supervisor.complete_task", {}),), payload=payload)
    assert score(environment, task) == 0.0


def test_held_out_tasks_have_keys_and_show_no_solution(environment: AppWorld) -> None:
    held_out = [task for task in environment.tasks("test_normal") if task.id.startswith("likesongs")]
    keys = [environment.keys(task) for task in held_out]
    assert len({key.family for key in keys}) == 1
    assert len({key.actions for key in keys}) == len({key.end_state for key in keys}) == 3
    assert all("apis" not in json.dumps([dict(action.arguments) for action in task.solution]) for task in held_out)
    assert all(reference_block(task.id).startswith("# reference") for task in held_out)


def test_the_folder_is_whole_and_ids_are_checked(environment: AppWorld, made: dict[str, Task], tmp_path: Path) -> None:
    task = made["pay"]
    given = (task.query, task.payload["code"], task.payload["reference"])
    folder = write_task(environment.root, "payback_1", "new1_1", *given, into=tmp_path)
    assert folder == tmp_path / "new1_1"
    assert {path.name for path in folder.iterdir()} == {"dbs", "ground_truth", "specs.json"}
    assert {path.name for path in (folder / "dbs").iterdir()} == {p.name for p in (environment.root / "data/tasks/payback_1/dbs").iterdir()}
    assert json.loads((folder / "specs.json").read_text())["instruction"] == task.query
    labels = json.loads((folder / "ground_truth/test_data.json").read_text())
    code = (folder / "ground_truth/evaluation.py").read_text()
    assert [label["label"] for label in labels].count("no_op_pass") == 1 and len(labels) == 2 + len(task.payload["reference"]["diff"])
    assert "import coevolve" not in code and "from ." not in code
    compile(code, "evaluation.py", "exec")
    for name in ("../x_1", "no-number", "a_b_1"):
        with pytest.raises(ValueError, match="name_1"):
            write_task(environment.root, "payback_1", name, *given, into=tmp_path)
    for begin in ("nothere_1", "../../etc_1"):
        with pytest.raises(LookupError, match="no task"):
            write_task(environment.root, begin, "new2_1", *given, into=tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["new1_1"]


@pytest.mark.parametrize(
    "reasons",
    [
        ("accepted", "held_out_end_state"),
        pytest.param(("call_failed", "not_solved", "duplicate_text", "duplicate_actions"), marks=pytest.mark.nightly),
    ],
)
def test_the_validator_admits_what_is_new_and_refuses_the_rest_for_its_reason(
    environment: AppWorld, start: Task, made: dict[str, Task], reasons: Sequence[str]
) -> None:
    """A small part of benchmarks/appworld_synthesis.py."""
    held_out = [task for task in environment.tasks("test_normal") if task.id == "likesongs_1"]
    copied = environment.compose(
        start,
        steps([("spotify.like_song", {"song_id": 7}), ("spotify.like_song", {"song_id": 8})]),
        "copied",
        "Thumbs up for numbers seven and eight.",
    )
    assert copied is not None
    like, look = made["like"], made["look"]
    bare = {"start": start.id, "code": [], "reference": {"diff": {}, "answer": None}}
    candidates = {
        "accepted": look,
        "call_failed": attrs.evolve(
            look, id="f", query="Find the lamp.", solution=(Action("execute", {"code": "lamp"}), look.solution[-1])
        ),
        "not_solved": attrs.evolve(look, id="n", query="Look at it, and that is all.", payload=bare),
        "duplicate_text": attrs.evolve(like, id="t", query=f"please {like.query.upper()}"),
        "duplicate_actions": attrs.evolve(like, id="a", query="Show some love for number eleven."),
        "held_out_end_state": copied,
    }
    validator, pool = Execution(ExecutionOptions(mutations=1)), TaskPool((start, like))
    verdicts = {name: validator.validate(CandidateTask(candidates[name]), environment, pool, held_out) for name in reasons}
    assert {name: verdict.reason for name, verdict in verdicts.items()} == {name: name for name in reasons}, verdicts
