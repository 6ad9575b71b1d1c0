"""What goals over several apps read from a snapshot: people the user knows, projects, payment requests, and the calls that look them up."""

from collections.abc import Sequence

from coevolve import Action

from .scene import Scene, Unavailable, call, pages
from .snapshot import Row


def people(scene: Scene) -> list[tuple[str, Row]]:
    """What the user calls somebody ("sister") and the contact, for those relationships that only one contact has."""
    rows = scene.data.rows("phone.search_contacts")
    named = [(relationship, row) for row in rows for relationship in row["relationships"]]
    relationships = [relationship for relationship, _ in named]
    return [(name, row) for name, row in named if relationships.count(name) == 1 and row["phone_number"] != scene.data.me["phone_number"]]


def find_person(relationship: str) -> Action:
    """The call that finds the one contact with a relationship."""
    return call("phone.search_contacts", relationship=relationship)


def text(contact: Row, message: str) -> Action:
    """The call that sends a text message to a contact."""
    return call("phone.send_text_message", phone_number=contact["phone_number"], message=message)


def projects(scene: Scene, least: int = 0) -> list[tuple[Row, list[Row]]]:
    """The user's projects without sections, each with its open tasks in order; those with at least `least` of them."""
    rows = scene.data.rows("todoist.show_projects")
    names = [row["name"] for row in rows]
    found = []
    for row in rows:
        listed = scene.data.one("todoist.show_tasks", project_id=row["project_id"])
        tasks = [task for task in listed["no_section_tasks"] if not task["is_completed"]]
        whole = not any(section.get("tasks") for section in listed["sections"])
        if whole and not row["is_archived"] and names.count(row["name"]) == 1 and len(tasks) >= least:
            found.append((row, tasks))
    return found


def find_projects(scene: Scene) -> list[Action]:
    """The calls that list the user's projects."""
    return pages("todoist.show_projects", len(scene.data.rows("todoist.show_projects")))


def find_tasks(project: Row, tasks: Sequence[Row]) -> Action:
    """The call that lists a project's tasks; `tasks` are the open ones among them."""
    return call(
        "todoist.show_tasks", project_id=project["project_id"], **({} if len(tasks) == project["num_tasks"] else {"is_completed": False})
    )


def requests(scene: Scene) -> list[Row]:
    """The payment requests that wait for the user, smallest first. Raises Unavailable when amounts or first names are not unlike."""
    rows = [row for row in scene.data.rows("venmo.show_received_payment_requests") if not row["approved_at"] and not row["denied_at"]]
    names, amounts = {first_name(row["sender"]) for row in rows}, {row["amount"] for row in rows}
    if not 2 <= len(rows) <= 6 or len(names) < len(rows) or len(amounts) < len(rows):
        raise Unavailable("the payment requests cannot be told apart")
    return sorted(rows, key=lambda row: float(row["amount"]))


def find_requests(rows: Sequence[Row]) -> list[Action]:
    """The calls that list the payment requests which wait for the user."""
    return pages("venmo.show_received_payment_requests", len(rows), status="pending")


def first_name(user: Row) -> str:
    """The first name of somebody whom Venmo names in full."""
    return str(user["name"]).split()[0]
