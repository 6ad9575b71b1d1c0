"""Goals about the tasks of a project (Todoist)."""

from datetime import timedelta

from .dealings import single
from .plans import PROJECTS, TASKS, UPDATE, Plan, all_open, due, find, minutes, next_monday, overdue, plans, unique
from .registry import goal
from .saying import day
from .scene import Scene, Unavailable, Wish, call, done
from .snapshot import Row

SUBTASKS = "todoist.show_sub_tasks"


@goal(PROJECTS, TASKS)
def how_many_are_open(scene: Scene) -> Wish:
    level = scene.pick(("high", "low"))
    tasks, calls = all_open(scene)
    count = sum(task["priority"] == level for task in tasks)
    if not 1 < count < len(tasks):
        raise Unavailable("too few of that priority")
    return Wish(
        scene.say(
            f"How many unfinished tasks with {level} priority do I have in Todoist, across all my projects?",
            f"I am planning my week. How many open tasks with {level} priority are there in all my Todoist projects together?",
        ),
        [*calls, done(count)],
    )


@goal(PROJECTS, TASKS)
def fullest_project(scene: Scene) -> Wish:
    _, calls = all_open(scene)
    plan = single(plans(scene), lambda one: len(one.open))
    return Wish(
        scene.say(
            "Which of my Todoist projects has the most open tasks? Just its name, please.",
            "I want to make a dent in my to-do lists. Which Todoist project has the most unfinished tasks? Tell me its name.",
        ),
        [*calls, done(plan.name)],
    )


@goal(PROJECTS, TASKS)
def due_next(scene: Scene) -> Wish:
    tasks, calls = all_open(scene)
    today = scene.data.now.date()
    task = single(
        [task for task in tasks if (at := due(task)) is not None and at >= today], lambda one: str(one["due_date"]), largest=False
    )
    return Wish(
        scene.say(
            "Which of my unfinished Todoist tasks is due next, from today on? Ignore the overdue ones and give me just the title.",
            "Looking at all my Todoist projects, which open task has the earliest due date from today on? Just the title, please.",
            "What should I work on now? Give me the title of the unfinished Todoist task that is due soonest, leaving out "
            "anything overdue.",
        ),
        [*calls, done(task["title"])],
    )


def _parts(plan: Plan) -> list[tuple[str, list[Row]]]:
    """A project's sections by name, with their open tasks."""
    return [(section["name"], [task for task in tasks if not task["is_completed"]]) for section, tasks in plan.sections]


@goal(PROJECTS, TASKS)
def minutes_of_work_left(scene: Scene) -> Wish:
    plan = scene.pick(plan for plan in plans(scene) if plan.sections)
    name, tasks = scene.pick(one for one in _parts(plan) if len(one[1]) > 1)
    spent = minutes([task for task in tasks if task["duration"]])
    return Wish(
        scene.say(
            f'How many minutes of work are left in the "{name}" section of my Todoist project {plan.name}? Add up the '
            "durations of the open tasks; a task without one counts as zero.",
            f'I want to finish the "{name}" section of my Todoist project {plan.name} today. How many minutes will its open '
            "tasks take in total, going by their durations? Skip tasks that have none.",
        ),
        [*find(scene, plan), done(spent)],
    )


@goal(PROJECTS, TASKS)
def nobody_has_taken_it(scene: Scene) -> Wish:
    plan = scene.pick(plan for plan in plans(scene) if len(plan.row["collaborators"]) > 1)
    free = [task for task in plan.open if task["assignee_id"] is None]
    if len(free) != 1:
        raise Unavailable("not exactly one")
    return Wish(
        scene.say(
            f"One unfinished task in our Todoist project {plan.name} has not been assigned to anyone. What is its title?",
            f"Which open task in our shared Todoist project {plan.name} is not assigned to anyone yet? Just the title, please.",
        ),
        [*find(scene, plan), done(free[0]["title"])],
    )


@goal(PROJECTS, TASKS, UPDATE)
def caught_up_on_overdue_tasks(scene: Scene) -> Wish:
    late = [(plan, overdue(scene, plan)) for plan in plans(scene)]
    plan, rows = scene.pick(one for one in late if 0 < len(one[1]) < len(one[0].open))
    return Wish(
        scene.say(
            f"I have caught up on my Todoist project {plan.name}: everything overdue there is done now. Mark it as completed.",
            f"Please mark the overdue tasks in my Todoist project {plan.name} as completed. I did them yesterday.",
        ),
        [*find(scene, plan), *(call(UPDATE, task_id=row["task_id"], is_completed=True) for row in rows), done()],
    )


@goal(PROJECTS, TASKS, UPDATE)
def finished_a_section(scene: Scene) -> Wish:
    plan = scene.pick(plan for plan in plans(scene) if len(plan.sections) > 1)
    name, rows = scene.pick(one for one in _parts(plan) if one[1])
    return Wish(
        scene.say(
            f'Everything in the "{name}" section of my Todoist project {plan.name} is finished. Mark the tasks that are still '
            "open there as completed.",
            f'We are done with the "{name}" section of {plan.name} in Todoist. Mark its remaining tasks as completed.',
        ),
        [*find(scene, plan), *(call(UPDATE, task_id=row["task_id"], is_completed=True) for row in rows), done()],
    )


@goal(PROJECTS, TASKS, UPDATE)
def put_off_overdue_tasks(scene: Scene) -> Wish:
    late = [(plan, overdue(scene, plan)) for plan in plans(scene)]
    plan, rows = scene.pick(one for one in late if one[1])
    if scene.pick((True, False)):
        monday = next_monday(scene.data.now.date())
        dates = [monday.isoformat() for _ in rows]
        wordings = (
            f"I did not get around to the overdue tasks in my Todoist project {plan.name}. Make them due next Monday, {day(monday)}.",
            f"Move everything that is overdue in my Todoist project {plan.name} to {day(monday)}.",
        )
    else:
        moved = [at + timedelta(days=14) for row in rows if (at := due(row)) is not None]
        dates = [at.isoformat() for at in moved]
        wordings = (
            f"I am behind on my Todoist project {plan.name}. Push the due date of every overdue task there back by two weeks.",
            f"Give me two more weeks for each overdue task in my Todoist project {plan.name}, counted from its current due date.",
        )
    changes = [call(UPDATE, task_id=row["task_id"], due_date=at) for row, at in zip(rows, dates, strict=True)]
    return Wish(scene.say(*wordings), [*find(scene, plan), *changes, done()])


@goal(PROJECTS, TASKS, UPDATE)
def soonest_is_most_important(scene: Scene) -> Wish:
    plan = scene.pick(plans(scene))
    today = scene.data.now.date()
    rows = [task for task in plan.open if (at := due(task)) is not None and at >= today]
    last = today + timedelta(days=scene.pick((4, 7, 10)))
    soon = [task for task in rows if str(task["due_date"])[:10] <= last.isoformat() and task["priority"] != "high"]
    if not 0 < len(soon) < len(plan.open) or len(soon) > 5 or any(due(task) in (today, last) for task in rows):
        raise Unavailable("nothing to raise, or too much")
    until = day(last)
    return Wish(
        scene.say(
            f"In my Todoist project {plan.name}, set every open task that is due between today and {until} to high priority.",
            f"The open tasks in my Todoist project {plan.name} that are due from today through {until} come first now: set "
            "their priority to high.",
        ),
        [*find(scene, plan), *(call(UPDATE, task_id=row["task_id"], priority="high") for row in soon), done()],
    )


@goal(PROJECTS, TASKS, "todoist.create_task")
def task_before_another(scene: Scene) -> Wish:
    plan = scene.pick(plans(scene))
    today = scene.data.now.date()
    model = scene.pick(task for task in unique(plan.tasks) if not task["is_completed"] and (at := due(task)) is not None and at > today)
    ahead, title = scene.pick((1, 2)), f"Reminder: {model['title']}"
    at = due(model)
    if at is None or at - timedelta(days=ahead) < today or title in {task["title"] for task in plan.tasks}:
        raise Unavailable("it would be due in the past")
    section = next((one for one, tasks in plan.sections if model in tasks), None)
    place = {"section_id": section["id"]} if section else {}
    where = "in the same section as that task" if section else "outside of any section" if plan.sections else ""
    days = "one day" if ahead == 1 else "two days"
    new = call("todoist.create_task", project_id=plan.row["project_id"], title=title, due_date=str(at - timedelta(days=ahead)), **place)
    return Wish(
        scene.say(
            f'I must not forget about "{model["title"]}" in my Todoist project {plan.name}. Add a task titled "{title}" '
            f"{where}, due {days} before it.",
            f'Add a reminder for "{model["title"]}" to my Todoist project {plan.name}: a task titled "{title}" {where}, due '
            f"{days} earlier than the task itself.",
        ).replace(" , due", ", due"),
        [*find(scene, plan), new, done()],
    )


@goal(PROJECTS, TASKS, "todoist.delete_task")
def clear_out_completed_tasks(scene: Scene) -> Wish:
    plan = scene.pick(plan for plan in plans(scene) if 0 < len(plan.tasks) - len(plan.open) <= 5 and plan.open)
    rows = [task for task in plan.tasks if task["is_completed"]]
    return Wish(
        scene.say(
            f"My Todoist project {plan.name} is getting long. Delete the tasks in it that are already completed.",
            f"Delete every completed task from my Todoist project {plan.name}, so that only open tasks are left.",
        ),
        [*find(scene, plan), *(call("todoist.delete_task", task_id=row["task_id"]) for row in rows), done()],
    )


def _with_steps(scene: Scene) -> tuple[Plan, Row, list[Row]]:
    """A task with smaller steps, its project and the steps."""
    pairs = [(plan, task) for plan in plans(scene) for task in unique(plan.open) if task["num_sub_tasks"]]
    plan, task = scene.pick((plan, task) for plan, task in pairs if scene.data.rows(SUBTASKS, task_id=task["task_id"]))
    return plan, task, scene.data.rows(SUBTASKS, task_id=task["task_id"])


@goal(PROJECTS, TASKS, SUBTASKS)
def steps_left_of_a_task(scene: Scene) -> Wish:
    plan, task, steps = _with_steps(scene)
    left = [step for step in steps if not step["is_completed"]]
    if not left:
        raise Unavailable("all are done")
    title = task["title"]
    answer = left[0]["title"] if len(left) == 1 else len(left)
    asked = "Which subtask is not done yet" if len(left) == 1 else "How many subtasks are not done yet"
    form = "the title" if len(left) == 1 else "the number"
    return Wish(
        scene.say(
            f'{asked} under "{title}" in my Todoist project {plan.name}? Just {form}, please.',
            f'I am working on "{title}" from my Todoist project {plan.name}. {asked}? Just {form}, please.',
        ),
        [*find(scene, plan), call(SUBTASKS, task_id=task["task_id"]), done(answer)],
    )


@goal(PROJECTS, TASKS, SUBTASKS, "todoist.update_sub_task")
def finish_the_steps_of_a_task(scene: Scene) -> Wish:
    plan, task, steps = _with_steps(scene)
    left = [step for step in steps if not step["is_completed"]]
    if not left:
        raise Unavailable("all are done")
    return Wish(
        scene.say(
            f'All the subtasks of "{task["title"]}" in my Todoist project {plan.name} are done now. Check off the ones that '
            "are still open, but leave the task itself open.",
            f'Mark the remaining subtasks of "{task["title"]}" in my Todoist project {plan.name} as completed, but not the '
            "task itself: I will check that off later.",
        ),
        [
            *find(scene, plan),
            call(SUBTASKS, task_id=task["task_id"]),
            *(call("todoist.update_sub_task", sub_task_id=step["sub_task_id"], is_completed=True) for step in left),
            done(),
        ],
    )
