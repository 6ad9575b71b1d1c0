"""Goals around files and support tickets."""

import random
from itertools import islice

import pytest
from goal_stories import admission, known, stories_with

from coevolve.environments.bfcl.decode import Call
from coevolve.environments.bfcl.environment import Bfcl
from coevolve.environments.bfcl.goals.file_view import Seen, where
from coevolve.environments.bfcl.goals.registry import KnownGoal
from coevolve.environments.bfcl.goals.scene import NotHere, Scene, Turn
from coevolve.environments.bfcl.goals.story import MODULES, known_goals
from coevolve.environments.bfcl.goals.tickets import that
from coevolve.environments.bfcl.realizer import Made, word
from coevolve.environments.bfcl.request_lint import fault_in
from coevolve.environments.bfcl.simulated_apis import Start, fresh

WORDED = {one.owner for one in known_goals()} | {"MathAPI", "MessageAPI", "TwitterAPI"}
GOALS = [
    one
    for one in known(*(name for name in MODULES if name.startswith(("files", "tickets"))))
    if set(one.also) <= WORDED  # a goal that takes up a booking needs the goals that book
]
CLASSES = ("GorillaFileSystem", "TicketAPI")
CALLS = (
    Call("pwd", {}),
    Call("ls", {"a": True}),
    Call("cd", {"folder": "drafts"}),
    Call("mkdir", {"dir_name": "New"}),
    Call("touch", {"file_name": "a.txt"}),
    Call("echo", {"content": "It's here.", "file_name": "a.txt"}),
    Call("cat", {"file_name": "a.txt"}),
    Call("find", {"path": "docs", "name": "rep"}),
    Call("wc", {"file_name": "a.txt", "mode": "w"}),
    Call("sort", {"file_name": "a.txt"}),
    Call("grep", {"file_name": "a.txt", "pattern": "x"}),
    Call("du", {"human_readable": True}),
    Call("tail", {"file_name": "a.txt", "lines": 3}),
    Call("diff", {"file_name1": "a.txt", "file_name2": "b.txt"}),
    Call("mv", {"source": "a.txt", "destination": "Old"}),
    Call("cp", {"source": "a.txt", "destination": "Old"}),
    Call("rm", {"file_name": "a.txt"}),
    Call("rmdir", {"dir_name": "Old"}),
    Call("create_ticket", {"title": "Noise", "priority": 3, "description": "It rattles."}),
    Call("get_ticket", {"ticket_id": 12}),
    Call("close_ticket", {"ticket_id": 12}),
    Call("resolve_ticket", {"ticket_id": 12, "resolution": "Tightened it."}),
    Call("get_user_tickets", {"status": "Open"}),
    Call("ticket_login", {"username": "me_x", "password": "pw"}),
    Call("ticket_get_login_status", {}),
    Call("logout", {}),
)


@pytest.mark.parametrize("wanted", GOALS, ids=lambda one: one.name)
def test_a_goal_occurs_and_its_task_is_admitted(bfcl: Bfcl, wanted: KnownGoal) -> None:
    found = list(islice(stories_with(bfcl, wanted), 3))
    assert len(found) == 3
    verdicts = [admission(bfcl, *one) for one in found]
    assert all(verdict.accepted for verdict in verdicts), [
        (verdict.detail, one[1].query) for verdict, one in zip(verdicts, found, strict=True)
    ]


def test_every_function_is_called_by_a_goal(bfcl: Bfcl) -> None:
    functions = {function.name for function in bfcl.apis.functions.values() if function.owner in CLASSES}
    called: set[str] = set()
    for seed in range(40):
        for task in bfcl.tasks("train"):
            if set(task.payload["involved_classes"]) & set(CLASSES):
                called |= {action.name for goal in bfcl.goals(task, seed, 25) for action in goal.actions}
        if functions <= called:
            break
    assert functions - called == set()


@pytest.mark.parametrize("call", CALLS, ids=str)
def test_the_realizer_words_a_call(call: Call) -> None:
    text = word([Made(call, {}, True)])
    assert text is not None and fault_in(text, [call]) is None
    assert all(str(value) in text for name, value in call.arguments.items() if name not in ("a", "mode", "human_readable"))


def scene_of(bfcl: Bfcl, number: int) -> Scene:
    task = next(task for task in bfcl.tasks("train") if task.id == f"multi_turn_base_{number}")
    return Scene(fresh(bfcl.apis, Start.of(task.payload)), random.Random(3))


def test_a_place_is_named_once_the_user_has_left_the_first_folder(bfcl: Bfcl) -> None:
    scene = scene_of(bfcl, 41)
    assert where(scene, ("initial_directory",)) == " in initial_directory"
    scene.call("cd", folder="initial_directory")
    assert where(scene, (), new=True) == " in 'initial_directory'"


def test_texts_that_are_placeholders_or_hard_to_quote_are_not_passed_on() -> None:
    assert Seen("a.txt", "Two birds were seen.", ()).presentable
    texts = ("Old draft content.", "Ends with a blank ", "Two\nlines of it", "He said 'no' to it", "One")
    assert not [text for text in texts if Seen("a.txt", text, ()).presentable]
    assert not Seen("a.jpg", "Two birds were seen.", ()).legible


def test_a_ticket_is_told_apart_from_others_of_the_story(bfcl: Bfcl) -> None:
    scene = scene_of(bfcl, 106)
    mine, other = {"own": True, "turn": 0, "id": 2}, {"own": False, "turn": 0, "id": 1}
    assert that(scene, mine) == "that ticket"
    scene.turns += [Turn("open_a_ticket", "", ()), Turn("list_my_tickets", "", ())]
    assert (that(scene, mine), that(scene, other)) == ("the ticket you opened for me", "ticket 1")


def test_an_answer_no_is_a_result_but_a_refusal_ends_a_goal(bfcl: Bfcl) -> None:
    scene = scene_of(bfcl, 156)
    assert scene.call("ticket_get_login_status") == {"login_status": False}
    with pytest.raises(NotHere):
        scene.call("logout")
