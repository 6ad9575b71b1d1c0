"""A user's projects and tasks (Todoist), and the calls that list them."""

from collections import Counter
from collections.abc import Sequence
from datetime import date, timedelta

from attrs import frozen

from coevolve import Action

from .scene import Scene, Unavailable, call, pages
from .snapshot import Row

PROJECTS, TASKS, UPDATE = "todoist.show_projects", "todoist.show_tasks", "todoist.update_task"


@frozen
class Plan:
    """A project with its tasks."""

    row: Row
    tasks: Sequence[Row]
    """All tasks, those without a section first."""
    sections: Sequence[tuple[Row, Sequence[Row]]]
    """Each section that has tasks, with these."""

    @property
    def name(self) -> str:
        return str(self.row["name"])

    @property
    def open(self) -> list[Row]:
        """The tasks that are not completed."""
        return [task for task in self.tasks if not task["is_completed"]]

    @property
    def listing(self) -> Action:
        """The call that lists the tasks."""
        return call(TASKS, project_id=self.row["project_id"])


def plans(scene: Scene) -> list[Plan]:
    """The user's projects that are not archived and whose name is theirs alone, with the tasks that were read."""
    rows = [row for row in scene.data.rows(PROJECTS) if not row.get("is_archived")]
    counts = Counter(row["name"].lower() for row in rows)
    found = []
    for row in rows:
        if counts[row["name"].lower()] == 1:
            listed = scene.data.one(TASKS, project_id=row["project_id"])
            known = {section["id"]: section for section in row["sections"]}
            sections = [(known[section["section_id"]], section["tasks"]) for section in listed["sections"]]
            tasks = [*listed["no_section_tasks"], *(task for _, inner in sections for task in inner)]
            found.append(Plan(row, tasks, sections))
    return found


def every_project(scene: Scene) -> list[Action]:
    """The calls that list the projects."""
    return pages(PROJECTS, len(scene.data.rows(PROJECTS)))


def find(scene: Scene, plan: Plan) -> list[Action]:
    """The calls that find a project and list its tasks."""
    return [*every_project(scene), plan.listing]


def all_open(scene: Scene) -> tuple[list[Row], list[Action]]:
    """The open tasks of all projects, and the calls that list these. Raises Unavailable where there are too many projects."""
    own = plans(scene)
    if len(own) != len(scene.data.rows(PROJECTS)) or not 1 < len(own) <= 8:
        raise Unavailable("too many projects")
    return [task for plan in own for task in plan.open], [*every_project(scene), *(plan.listing for plan in own)]


def unique(tasks: Sequence[Row]) -> list[Row]:
    """Those that their title tells from the others."""
    counts = Counter(task["title"].lower() for task in tasks)
    return [task for task in tasks if counts[task["title"].lower()] == 1]


def due(task: Row) -> date | None:
    return date.fromisoformat(task["due_date"][:10]) if task["due_date"] else None


def overdue(scene: Scene, plan: Plan) -> list[Row]:
    """Open tasks whose day has passed."""
    return [task for task in plan.open if (at := due(task)) is not None and at < scene.data.now.date()]


def next_monday(today: date) -> date:
    return today + timedelta(days=7 - today.weekday())


def minutes(tasks: Sequence[Row]) -> int:
    """The minutes that tasks take together. Raises Unavailable when one has no duration."""
    factor = {"minutes": 1, "hours": 60}
    if not all(task["duration"] and task["duration_unit"] in factor for task in tasks):
        raise Unavailable("a duration is missing")
    spent: float = sum(task["duration"] * factor[task["duration_unit"]] for task in tasks)
    return round(spent)
