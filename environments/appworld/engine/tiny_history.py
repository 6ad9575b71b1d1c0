"""What the tiny world's people have written, paid, asked for and planned: our own text, added to what `tiny_world` stores.

The numbers and dates differ between people, so that "the last", "the largest" and "in total" have one answer each. Nothing here may change
the answer of a task in `tiny_scenarios`: no payment that a main user received is of May, and each sender has one pending request.
"""

from dataclasses import dataclass
from typing import Any

from appworld.common.datetime import DateTime

from .tiny_world import ELENA, INGRID, MAIN, MARTA, RAHUL, TOMAS, YUKI, Person

WEEKEND = ("saturday", "sunday")
DAILY = ("monday", "tuesday", "wednesday", "thursday", "friday", *WEEKEND)
ALARMS = {
    MARTA: (
        ("Gym", "06:15", ("tuesday", "thursday"), True, 10, False),
        ("Farmers market", "08:20", WEEKEND, True, 5, True),
        ("Take out the bins", "20:45", ("thursday",), False, 5, True),
    ),
    TOMAS: (
        ("Swim practice", "06:30", ("tuesday", "thursday", "saturday"), True, 5, True),
        ("Call mother", "17:00", ("sunday",), True, 15, False),
        ("Night bus", "23:15", ("friday",), False, 10, True),
    ),
    YUKI: (
        ("Trash day", "07:15", ("tuesday",), True, 10, True),
        ("Yoga", "08:30", WEEKEND, True, 15, False),
        ("Medication", "22:00", DAILY, False, 5, True),
    ),
}
"""More alarms: label, time, days, enabled, minutes of snooze, vibration."""
TEXTS = (
    (TOMAS, ELENA, 8, "I have the parking receipt here if you need it."),
    (RAHUL, MARTA, 9, "Thanks for covering my shift!"),
    (MARTA, TOMAS, 10, "The cabin is booked, it comes to $85.00 for each of us."),
    (INGRID, YUKI, 10, "I bought the paper for both of us, you owe me $19.20."),
    (INGRID, TOMAS, 11, "Your parcel is at my place, come by after 19:00."),
    (TOMAS, INGRID, 11, "Thank you, I will be there at 19:30."),
    (ELENA, MARTA, 12, "Dinner at our parents' house is on Sunday at 18:30. Can you bring dessert?"),
    (RAHUL, YUKI, 12, "Could you feed my fish from Friday until Monday?"),
    (YUKI, TOMAS, 13, "Lunch on Saturday at 12:45?"),
    (RAHUL, TOMAS, 14, "Please send me $38.50 for the internet bill when you can."),
    (YUKI, MARTA, 14, "I found your umbrella, it is at my place."),
    (INGRID, MARTA, 15, "You still owe me $14.60 for the pizza on Saturday."),
    (MARTA, INGRID, 15, "Right, you will have it this week."),
    (ELENA, TOMAS, 16, "Can you let me have the slides before Monday? The room is booked for 14:15."),
    (ELENA, YUKI, 16, "The cleaner was here, your share is $45.00."),
    (TOMAS, MARTA, 17, "Are you coming to the quiz night on Thursday? It starts at 20:15."),
    (RAHUL, MARTA, 17, "The client meeting was moved to Friday at 10:30."),
    (INGRID, YUKI, 17, "The workshop was moved to room 214, it begins at 09:45."),
)
"""Text messages: from whom, to whom, day of this May, text."""
VOICES = (
    (ELENA, MARTA, 7, "Please bring the spare key along on Sunday, ours is lost."),
    (INGRID, MARTA, 13, "The plumber will be here on Tuesday at 08:15, please let him in."),
    (RAHUL, TOMAS, 12, "We are out of coffee and dish soap, can you get some on the way home?"),
    (ELENA, TOMAS, 15, "The customer wants two more pages in the draft by Wednesday."),
    (ELENA, YUKI, 9, "The landlord will look at the heating on Monday at 16:45, please be at home."),
    (INGRID, YUKI, 14, "Please take your headphones out of the top drawer at work."),
)
"""Voice messages, as TEXTS."""
SENT = (
    (MARTA, ELENA, 15.0, "Birthday flowers", 4, 12),
    (MARTA, YUKI, 30.0, "Yarn", 4, 20),
    (MARTA, INGRID, 48.0, "Electricity", 4, 28),
    (MARTA, ELENA, 22.5, "Museum tickets", 5, 3),
    (MARTA, TOMAS, 12.0, "Quiz night", 5, 5),
    (MARTA, RAHUL, 9.5, "Lunch", 5, 10),
    (MARTA, INGRID, 51.2, "Electricity", 5, 12),
    (TOMAS, RAHUL, 26.4, "Groceries", 4, 18),
    (TOMAS, ELENA, 11.25, "Coffee", 4, 25),
    (TOMAS, RAHUL, 33.15, "Groceries", 5, 6),
    (TOMAS, INGRID, 20.0, "Plant sitting", 5, 10),
    (TOMAS, ELENA, 14.0, "Taxi", 5, 11),
    (TOMAS, YUKI, 17.8, "Lunch", 5, 14),
    (YUKI, ELENA, 45.0, "Cleaner", 4, 16),
    (YUKI, TOMAS, 25.0, "Concert", 4, 22),
    (YUKI, INGRID, 27.3, "Train", 4, 27),
    (YUKI, MARTA, 40.0, "Ceramics class", 4, 29),
    (YUKI, ELENA, 12.6, "Groceries", 5, 4),
    (YUKI, INGRID, 13.9, "Lunch", 5, 8),
    (YUKI, RAHUL, 8.0, "Fish food", 5, 9),
    (MARTA, INGRID, 18.6, "Detergent", 4, 15),
    (ELENA, MARTA, 19.0, "Birthday dinner", 4, 13),
    (ELENA, MARTA, 27.9, "Garden chairs", 4, 22),
    (RAHUL, MARTA, 18.0, "Printer ink", 4, 26),
    (RAHUL, TOMAS, 42.6, "Rent difference", 4, 29),
    (RAHUL, TOMAS, 12.9, "Light bulbs", 4, 17),
    (ELENA, YUKI, 20.0, "Vacuum cleaner", 4, 24),
    (ELENA, YUKI, 33.3, "Groceries", 4, 18),
    (YUKI, ELENA, 16.2, "Groceries", 4, 28),
)
"""More payments: from whom, to whom, dollars, note, month and day."""
REQUESTED = (
    (YUKI, RAHUL, 14.2, "Postage", 4, 19, None),
    (MARTA, YUKI, 28.4, "Theatre", 4, 21, None),
    (YUKI, ELENA, 20.0, "Vacuum cleaner", 4, 23, "approved"),
    (TOMAS, INGRID, 35.0, "Ladder", 4, 24, None),
    (MARTA, RAHUL, 18.0, "Printer ink", 4, 25, "approved"),
    (TOMAS, RAHUL, 50.0, "Deposit", 4, 28, "denied"),
    (MARTA, TOMAS, 16.0, "Board game", 5, 2, None),
    (TOMAS, MARTA, 23.0, "Camping gas", 5, 8, None),
    (YUKI, TOMAS, 31.0, "Boat hire", 5, 11, None),
    (TOMAS, YUKI, 12.5, "Book", 5, 15, None),
    (MARTA, ELENA, 10.0, "Cinema", 5, 16, None),
    (YUKI, MARTA, 9.6, "Seedlings", 5, 17, None),
)
"""More payment requests: from whom, to whom, dollars, note, month and day, what came of it."""


@dataclass(frozen=True)
class Item:
    """A task in a project: `due` is a day of this May."""

    title: str
    priority: str = "medium"
    due: int | None = None
    done: bool = False
    section: str | None = None
    label: str | None = None
    assignee: Person | None = None
    minutes: int | None = None
    parts: tuple[tuple[str, bool], ...] = ()
    comment: str = ""


@dataclass(frozen=True)
class Plan:
    """A project: `partner` works on it too, and writes the comments."""

    name: str
    items: tuple[Item, ...]
    partner: Person | None = None
    favorite: bool = False


PLANS = {
    MARTA: (
        Plan(
            "Spring Party",
            (
                Item("Send the invitations", "high", 12, True, "Before the party", minutes=30),
                Item("Order the drinks", "high", 20, False, "Before the party", "errand", parts=(("Juice", False), ("Ice", True))),
                Item("Rent chairs", "low", 16, False, "Before the party", "call", minutes=15),
                Item("Make a playlist", "low", section="Before the party", minutes=45),
                Item("Decorate the garden", "medium", 27, False, "On the day", minutes=90),
                Item("Light the grill", "medium", 27, False, "On the day", minutes=20),
            ),
        ),
        Plan(
            "Team Site",
            (
                Item("Fix the search page", "high", 17, False, assignee=RAHUL, minutes=120, comment="It is slow only on phones."),
                Item("Write the release notes", "medium", 22, False, assignee=MARTA, minutes=40),
                Item("Update the contact form", "low", 30, False, comment="Please keep the old address in it."),
                Item("Check the broken links", "medium", 15, True, assignee=RAHUL),
            ),
            partner=RAHUL,
            favorite=True,
        ),
    ),
    TOMAS: (
        Plan(
            "Lisbon Trip",
            (
                Item("Renew the passport", "high", 10, True, "Papers", "errand"),
                Item("Print the tickets", "medium", 24, False, "Papers", minutes=10),
                Item("Book the airport train", "high", 15, False, "Bookings", "online", minutes=20),
                Item("Reserve a table", "low", 26, False, "Bookings", "call", minutes=5),
                Item("Pack the suitcase", "low", 28, False, parts=(("Charger", False), ("Sunscreen", False), ("Swimsuit", True))),
            ),
        ),
        Plan(
            "Quarterly Report",
            (
                Item("Collect the sales numbers", "high", 16, False, assignee=ELENA, minutes=60, comment="April is still missing."),
                Item("Draw the charts", "medium", 19, False, assignee=TOMAS, minutes=75),
                Item("Proofread the summary", "medium", 23, False, comment="It should fit on one page."),
                Item("Ask for the logo", "low", 12, True, assignee=ELENA),
            ),
            partner=ELENA,
            favorite=True,
        ),
    ),
    YUKI: (
        Plan(
            "Herb Garden",
            (
                Item("Buy basil seeds", "low", 11, True, "Shopping", "errand", minutes=25),
                Item("Find a watering can", "medium", 17, False, "Shopping", "errand", minutes=35),
                Item("Order gravel", "high", 21, False, "Shopping", "online", minutes=10),
                Item("Paint the planters", "low", 29, False, "Work", parts=(("Sanding", True), ("Primer", False))),
                Item("Mix the soil", "medium", 22, False, "Work", minutes=30),
            ),
        ),
        Plan(
            "Exhibition",
            (
                Item("Choose the frames", "high", 14, False, assignee=INGRID, minutes=50, comment="Black ones would be best."),
                Item("Write the labels", "low", 25, False, assignee=YUKI, minutes=80),
                Item("Invite the press", "high", 26, False, comment="The list from last year is out of date."),
                Item("Measure the walls", "medium", 9, True, assignee=INGRID),
            ),
            partner=INGRID,
            favorite=True,
        ),
    ),
}
LABELS = {MARTA: ("errand", "call"), TOMAS: ("errand", "online", "call"), YUKI: ("errand", "online")}


def add_history(apps: Any) -> None:
    """Store all of this in `apps`, which `tiny_world.populate` has filled; run it with the clock frozen as for that."""
    for kind, messages in (("Text", TEXTS), ("Voice", VOICES)):
        for number, (sender, receiver, day, words) in enumerate(messages):
            _message(apps.phone, kind, sender, receiver, DateTime(2023, 5, day, 9 + day % 9, 2 * number, 0), words)
    for sender, receiver, dollars, note, month, day in SENT:
        _dealing(apps.venmo.Transaction, sender, receiver, dollars, note, DateTime(2023, month, day, 18, 15, 0))
    for sender, receiver, dollars, note, month, day, outcome in REQUESTED:
        ended = {f"{outcome}_at": DateTime(2023, month, day + 1, 8, 0, 0)} if outcome else {}
        _dealing(apps.venmo.PaymentRequest, sender, receiver, dollars, note, DateTime(2023, month, day, 18, 45, 0), **ended)
    for person in MAIN:
        for label, time, days, enabled, snooze, vibration in ALARMS[person]:
            apps.phone.Alarm.create_save(
                user_id=person.number,
                time=time,
                repeat_days=list(days),
                label=label,
                enabled=enabled,
                snooze_minutes=snooze,
                vibration=vibration,
            )
        labels = {name: apps.todoist.Label.create_save(user_id=person.number, name=name, color="blue").id for name in LABELS[person]}
        for plan in PLANS[person]:
            _plan(apps.todoist, person, plan, labels)


def _message(phone: Any, kind: str, sender: Person, receiver: Person, when: DateTime, words: str) -> None:
    shared = phone[f"Global{kind}Message"].create_save(sender_id=sender.number, receiver_id=receiver.number, message=words, created_at=when)
    for person in (sender, receiver):
        phone[f"User{kind}Message"].create_save(**{f"global_{kind.lower()}_message_id": shared.id}, user_id=person.number, created_at=when)


def _dealing(model: Any, sender: Person, receiver: Person, dollars: float, note: str, when: DateTime, **more: DateTime) -> None:
    model.create_save(
        sender_id=sender.number, receiver_id=receiver.number, amount=dollars, description=note, created_at=when, updated_at=when, **more
    )


def _plan(todoist: Any, owner: Person, plan: Plan, labels: dict[str, int]) -> None:
    project = todoist.Project.create_save(user_id=owner.number, name=plan.name)
    for person in (owner, plan.partner):
        if person is not None:
            favorite = plan.favorite and person is owner
            todoist.ProjectCollaboratorLink.create_save(project_id=project.id, user_id=person.number, is_favorite=favorite)
    names = list(dict.fromkeys(item.section for item in plan.items if item.section))
    sections = {name: todoist.Section.create_save(project_id=project.id, name=name, order_index=at).id for at, name in enumerate(names)}
    for index, item in enumerate(plan.items):
        task = todoist.Task.create_save(
            project_id=project.id,
            section_id=sections[item.section] if item.section else None,
            user_id=owner.number,
            title=item.title,
            priority=item.priority,
            due_date=DateTime(2023, 5, item.due, 0, 0, 0) if item.due else None,
            is_completed=item.done,
            duration=item.minutes,
            duration_unit="minutes" if item.minutes else None,
            order_index=index,
            assignee_id=item.assignee.number if item.assignee else None,
            assigner_id=owner.number if item.assignee else None,
        )
        if item.label:
            todoist.TaskLabelLink.create_save(task_id=task.id, label_id=labels[item.label])
        for place, (title, done) in enumerate(item.parts):
            todoist.SubTask.create_save(task_id=task.id, title=title, priority="medium", is_completed=done, order_index=place)
        if item.comment and plan.partner is not None:
            todoist.TaskComment.create_save(task_id=task.id, user_id=plan.partner.number, content=item.comment)
