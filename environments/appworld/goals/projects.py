"""Goals about sharing and sorting the work in projects (Todoist)."""

from .dealings import single
from .people import known
from .plans import PROJECTS, TASKS, Plan, all_open, find, overdue, plans
from .registry import goal
from .scene import Scene, Unavailable, Wish, call, done, pages

LABELS, CONTACT = "todoist.search_labels", "phone.search_contacts"
NUDGES = ("Any news on this?", "Do you need help with this?", "When will this be done?", "Could you have a look at this today?")


@goal(PROJECTS, TASKS, "todoist.update_project")
def favorite_the_fullest_project(scene: Scene) -> Wish:
    _, calls = all_open(scene)
    plan = single(plans(scene), lambda one: len(one.open))
    if plan.row["is_favorite"]:
        raise Unavailable("it is a favorite")
    return Wish(
        scene.say(
            "Make the Todoist project in which I have the most unfinished tasks a favorite, so that it is at hand.",
            "I want quick access to what keeps me busiest: mark the Todoist project with the most open tasks as a favorite.",
            "Which Todoist project has the most left to do? Add that one to my favorites.",
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
            f"Assign to {one.my} whatever is still to be done in our Todoist project {plan.name} and has not been given to anyone.",
            f"{one.my.capitalize()} has time for more work. Hand over the open tasks in our Todoist project {plan.name} that nobody has "
            "been assigned to.",
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
            f'Post the comment "{words}" on each task in our Todoist project {plan.name} that is overdue.',
            f'Things are late in our Todoist project {plan.name}. Ask "{words}" in a comment on every overdue task.',
        ),
        [
            *find(scene, plan),
            *(call("todoist.post_task_comment", task_id=row["task_id"], content=words) for row in rows),
            done(),
        ],
    )


@goal(PROJECTS, TASKS, LABELS, "todoist.add_label_to_task")
def label_the_quick_ones(scene: Scene) -> Wish:
    labels = scene.data.rows(LABELS)
    plan, label = scene.pick(plans(scene)), scene.pick(labels)
    limit = scene.pick((15, 20, 30, 45))
    timed = [task for task in plan.open if task["duration"] and task["duration_unit"] == "minutes"]
    name = label["name"]
    quick = [task for task in timed if task["duration"] < limit and name not in {one["name"] for one in task["labels"]}]
    if not 0 < len(quick) <= 4 or any(task["duration"] == limit for task in timed):
        raise Unavailable("nothing to label")
    if any(task["duration"] and task["duration_unit"] != "minutes" for task in plan.open):
        raise Unavailable("it depends on how long a day is")
    return Wish(
        scene.say(
            f'Put my label "{name}" on the open tasks in my Todoist project {plan.name} that should take less than {limit} minutes.',
            f'In Todoist, what takes under {limit} minutes in {plan.name} and is not done yet should carry the label "{name}". Add it.',
        ),
        [
            *find(scene, plan),
            *pages(LABELS, len(labels)),
            *(call("todoist.add_label_to_task", task_id=task["task_id"], label_id=label["label_id"]) for task in quick),
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
            f'I have dealt with everything that carries the label "{name}" in Todoist, in all projects. Tick it off.',
            f'Mark all my open Todoist tasks with the label "{name}" as completed, whatever project they are in.',
        ),
        [*calls, *(call("todoist.update_task", task_id=task["task_id"], is_completed=True) for task in rows), done()],
    )
