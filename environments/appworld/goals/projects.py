"""Goals about sharing and sorting the work in projects (Todoist)."""

from .dealings import single
from .people import known
from .plans import PROJECTS, TASKS, Plan, all_open, find, overdue, plans
from .registry import goal
from .scene import Scene, Unavailable, Wish, call, done

LABELS, CONTACT = "todoist.search_labels", "phone.search_contacts"
NUDGES = ("Any news on this?", "This is overdue. Do you need help with it?", "When do you think this will be done?")


@goal(PROJECTS, TASKS, "todoist.update_project")
def favorite_the_fullest_project(scene: Scene) -> Wish:
    _, calls = all_open(scene)
    plan = single(plans(scene), lambda one: len(one.open))
    if plan.row["is_favorite"]:
        raise Unavailable("it is a favorite")
    return Wish(
        scene.say(
            "Make the Todoist project with the most open tasks a favorite, so that I can get to it quickly.",
            "I want quick access to what keeps me busiest: mark the Todoist project with the most unfinished tasks as a favorite.",
        ),
        [*calls, call("todoist.update_project", project_id=plan.row["project_id"], is_favorite=True), done()],
    )


def _shared(scene: Scene) -> list[Plan]:
    return [plan for plan in plans(scene) if len(plan.row["collaborators"]) > 1]


def _members(plan: Plan) -> set[str]:
    return {person["email"] for person in plan.row["collaborators"]}


@goal(PROJECTS, TASKS, CONTACT, "todoist.assign_or_unassign_task")
def give_the_rest_to_somebody(scene: Scene) -> Wish:
    plan = scene.pick(_shared(scene))
    one = scene.pick(one for one in known(scene) if one.email in _members(plan))
    rows = [task for task in plan.open if task["assignee_id"] is None]
    if not 0 < len(rows) <= 5:
        raise Unavailable("nothing to assign, or too much")
    return Wish(
        scene.say(
            f"Assign every open task in our Todoist project {plan.name} that has not been assigned to anyone yet to {one.my}.",
            f"{one.my.capitalize()} has time for more work. In our Todoist project {plan.name}, hand over the open tasks that "
            "are not assigned to anyone.",
        ),
        [
            *find(scene, plan),
            one.lookup,
            *(call("todoist.assign_or_unassign_task", task_id=row["task_id"], assignee_email=one.email) for row in rows),
            done(),
        ],
    )


@goal(PROJECTS, TASKS, "todoist.post_task_comment")
def ask_about_overdue_work(scene: Scene) -> Wish:
    late = [(plan, overdue(scene, plan)) for plan in _shared(scene)]
    plan, rows = scene.pick(one for one in late if 0 < len(one[1]) <= 4)
    words = scene.pick(NUDGES)
    return Wish(
        scene.say(
            f'Post the comment "{words}" on every overdue task in our Todoist project {plan.name}.',
            f'Things are running late in our Todoist project {plan.name}. Leave the comment "{words}" on each overdue task.',
        ),
        [
            *find(scene, plan),
            *(call("todoist.post_task_comment", task_id=row["task_id"], content=words) for row in rows),
            done(),
        ],
    )


@goal(PROJECTS, TASKS, "todoist.update_task")
def done_with_a_label(scene: Scene) -> Wish:
    tasks, calls = all_open(scene)
    names = sorted({label["name"] for task in tasks for label in task["labels"]})
    name = scene.pick(names)
    rows = [task for task in tasks if name in {label["name"] for label in task["labels"]}]
    if not 0 < len(rows) <= 5:
        raise Unavailable("too many")
    return Wish(
        scene.say(
            f'I have taken care of everything labeled "{name}" in Todoist, in all my projects. Mark those tasks as completed.',
            f'Mark all my open Todoist tasks with the label "{name}" as completed, whatever project they are in.',
        ),
        [*calls, *(call("todoist.update_task", task_id=task["task_id"], is_completed=True) for task in rows), done()],
    )
