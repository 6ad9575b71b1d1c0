"""Goals in which phone, Venmo and Todoist depend on one another."""

import re

from .alarms import alarms
from .dealings import balance, friends, listing, open_requests, other, payments, requests, single, spans, total
from .messages import SEND, TEXTS, VOICES, chat, last_from, writers
from .people import Known, by_email, contacts, every_contact, known, next_birthday, somebody
from .plans import PROJECTS, TASKS, Plan, all_open, due, every_project, find, overdue, plans, unique
from .registry import goal
from .saying import clock, money
from .scene import Scene, Unavailable, Wish, call, done
from .snapshot import Row

CONTACT, PAY, TASK = "phone.search_contacts", "venmo.create_transaction", "todoist.create_task"
PAYMENTS = "venmo.show_transactions"
RECEIVED, SENT = "venmo.show_received_payment_requests", "venmo.show_sent_payment_requests"
_MONEY = re.compile(r"\$\s?(\d+(?:\.\d{2})?)\b")
NUDGES = (
    "Did you see my request on Venmo?",
    "Please have a look at my Venmo request when you can.",
    "A small reminder: my Venmo request is still open.",
)


def _claims(scene: Scene) -> list[tuple[Known, float]]:
    """Those whose last text to the user names one sum of money that the user can pay, and this sum."""
    found = []
    for one in writers(scene):
        sums = _MONEY.findall(last_from(scene, one)["message"])
        if len(sums) == 1 and one.email in friends(scene) and 0 < float(sums[0]) <= balance(scene):
            found.append((one, float(sums[0])))
    return found


@goal(CONTACT, TEXTS, PAY)
def pay_what_was_texted(scene: Scene) -> Wish:
    one, amount = scene.pick(_claims(scene))
    note = scene.pick(("As agreed", "My share", "Here you go"))
    return Wish(
        scene.say(
            f'{one.my.capitalize()} texted me how much I have to pay. Send that amount on Venmo, with the note "{note}".',
            f'Pay {one.my} on Venmo what the last text to me asks for, and write "{note}" as the note.',
        ),
        [*chat(scene, one), call(PAY, receiver_email=one.email, amount=amount, description=note), done()],
    )


@goal(CONTACT, TEXTS, PAY, SEND)
def pay_half_of_what_was_texted_and_say_so(scene: Scene) -> Wish:
    one, amount = scene.pick(_claims(scene))
    if round(amount * 100) % 2:
        raise Unavailable("it cannot be halved")
    words = "You will get the other half next month."
    return Wish(
        scene.say(
            f"I can only pay half of the sum that {one.my} named in the last text to me. Send that half on Venmo without a note, "
            f'and then text {one.my}: "{words}"',
            f'On Venmo, send {one.my} half of the amount in the last text to me, with no note. Also reply by text: "{words}"',
        ),
        [
            *chat(scene, one),
            call(PAY, receiver_email=one.email, amount=round(amount * 100) // 2 / 100),
            call(SEND, phone_number=one.phone_number, message=words),
            done(),
        ],
    )


def _project(scene: Scene) -> Plan:
    """A project of the user alone."""
    return scene.pick(plan for plan in plans(scene) if len(plan.row["collaborators"]) < 2)


@goal(SENT, PROJECTS, TASK)
def todo_for_each_unpaid_request(scene: Scene) -> Wish:
    plan, rows = _project(scene), requests(scene, "sent")
    if not 1 < len(rows) <= 5 or len({row["description"] for row in rows}) < len(rows) or not all(row["description"] for row in rows):
        raise Unavailable("too few requests, or too many")
    return Wish(
        scene.say(
            f"I keep losing sight of who owes me money. For every Venmo request of mine that is still open, add a task to my Todoist "
            f"project {plan.name}, with the request's note as the title.",
            f"Put a reminder into my Todoist project {plan.name} for each payment request that I sent on Venmo and that is still "
            "unanswered: one task each, titled exactly like the note of the request.",
        ),
        [
            *open_requests(scene, "sent"),
            *every_project(scene),
            *(call(TASK, project_id=plan.row["project_id"], title=row["description"]) for row in rows),
            done(),
        ],
    )


@goal(RECEIVED, PROJECTS, TASK)
def todo_for_the_largest_debt(scene: Scene) -> Wish:
    plan = _project(scene)
    row = single(requests(scene, "received"), lambda one: one["amount"])
    title = f"Pay {row['sender']['name']}"
    return Wish(
        scene.say(
            "Find out whose open request on Venmo asks me for the most money. Then add a task to my Todoist project "
            f'{plan.name} with the title "Pay" and that person\'s full name, like "Pay John Doe".',
            f"I cannot pay the largest of the requests waiting for me on Venmo today. Put it into my Todoist project {plan.name} as a task "
            'titled "Pay FULL NAME", with the name of the person who sent it.',
        ),
        [
            *open_requests(scene, "received"),
            *every_project(scene),
            call(TASK, project_id=plan.row["project_id"], title=title),
            done(),
        ],
    )


@goal(CONTACT, TEXTS, PROJECTS, TASK)
def todo_from_a_text(scene: Scene) -> Wish:
    one, plan = scene.pick(writers(scene)), _project(scene)
    return Wish(
        scene.say(
            f"I do not want to forget what {one.my} texted me last. Add it to my Todoist project {plan.name} as a task, word for word.",
            f"Turn the last text from {one.my} into a task of my Todoist project {plan.name}; its title is the message exactly as it is.",
        ),
        [
            *chat(scene, one),
            *every_project(scene),
            call(TASK, project_id=plan.row["project_id"], title=last_from(scene, one)["message"]),
            done(),
        ],
    )


@goal(CONTACT, VOICES, PROJECTS, TASK)
def todo_from_a_voice_message(scene: Scene) -> Wish:
    one, plan = scene.pick(writers(scene, VOICES)), _project(scene)
    return Wish(
        scene.say(
            f"{one.my.capitalize()} left me a voice message. Make a high-priority task of it in my Todoist project {plan.name}; "
            "the title is what was said, word for word.",
            f"Add what {one.my} said in the last voice message to me to {plan.name} on Todoist, word for word as the title of a task, "
            "and give it high priority.",
        ),
        [
            *chat(scene, one, VOICES),
            *every_project(scene),
            call(TASK, project_id=plan.row["project_id"], title=last_from(scene, one, VOICES)["message"], priority="high"),
            done(),
        ],
    )


@goal(CONTACT, PAYMENTS, SEND)
def text_somebody_the_total(scene: Scene) -> Wish:
    span, direction = scene.pick(spans(scene)), scene.pick(("sent", "received"))
    one = somebody(scene, {other(row, direction)["email"] for row in payments(scene, direction, span)})
    rows = [row for row in payments(scene, direction, span) if other(row, direction)["email"] == one.email]
    if len(rows) < 2:
        raise Unavailable("nothing to add up")
    what = f"I sent {one.my}" if direction == "sent" else f"{one.my} sent me"
    asked = "I sent them" if direction == "sent" else "they sent me"
    return Wish(
        scene.say(
            f"{one.my.capitalize()} asked me how much {asked} on Venmo {span.words}. Work out the total and text it to them: just the "
            "amount with two decimals, like $7.50.",
            f"Add up what {what} on Venmo {span.words} and send {one.my} the sum as a text message that holds only the amount, "
            "written like $7.50.",
        ),
        [
            one.lookup,
            *listing(rows, user_email=one.email, direction=direction, **span.arguments),
            call(SEND, phone_number=one.phone_number, message=f"${total(rows):.2f}"),
            done(),
        ],
    )


@goal(SENT, CONTACT, SEND)
def text_those_who_have_not_paid(scene: Scene) -> Wish:
    rows = requests(scene, "sent")
    people = {row["receiver"]["email"]: by_email(scene, row["receiver"]["email"]) for row in rows}
    if not 1 < len(people) <= 5:
        raise Unavailable("too few people, or too many")
    words = scene.pick(NUDGES)
    return Wish(
        scene.say(
            f'Everyone who still has an open Venmo request from me should get a text: "{words}" Their numbers are in my contacts.',
            f'Who has not answered my payment requests on Venmo yet? Text each of them "{words}"',
        ),
        [
            *open_requests(scene, "sent"),
            *every_contact(scene),
            *(call(SEND, phone_number=row["phone_number"], message=words) for row in people.values()),
            done(),
        ],
    )


@goal(PAYMENTS, CONTACT, SEND)
def thank_those_who_paid(scene: Scene) -> Wish:
    span = spans(scene)[0]
    rows = payments(scene, "received", span)
    people = {row["sender"]["email"]: by_email(scene, row["sender"]["email"]) for row in rows}
    if not 1 < len(people) <= 5:
        raise Unavailable("too few people, or too many")
    words = scene.pick(("Thank you for paying me back!", "Your payment has arrived, thank you.", "Thanks for the money!"))
    return Wish(
        scene.say(
            f'Text everyone who sent me money on Venmo this month "{words}" One message for each person is enough.',
            f'Send the text "{words}" to each person from whom I have received a Venmo payment this month, once.',
        ),
        [
            *listing(rows, direction="received", **span.arguments),
            *every_contact(scene),
            *(call(SEND, phone_number=row["phone_number"], message=words) for row in people.values()),
            done(),
        ],
    )


@goal(RECEIVED, "venmo.deny_payment_request", CONTACT, SEND)
def decline_the_largest_and_explain(scene: Scene) -> Wish:
    row = single(requests(scene, "received"), lambda one: one["amount"])
    contact = by_email(scene, row["sender"]["email"])
    words = scene.pick(
        ("Sorry, I cannot pay that right now.", "Can we talk about that request first?", "I thought we had settled this in cash.")
    )
    return Wish(
        scene.say(
            f'Decline the largest request that is waiting for me on Venmo, and text the person who sent it: "{words}"',
            f'The biggest of my open Venmo requests is not right. Turn it down and let its sender know by text: "{words}"',
        ),
        [
            *open_requests(scene, "received"),
            call("venmo.deny_payment_request", payment_request_id=row["payment_request_id"]),
            *every_contact(scene),
            call(SEND, phone_number=contact["phone_number"], message=words),
            done(),
        ],
    )


@goal(PROJECTS, TASKS, RECEIVED, "venmo.approve_payment_request", "venmo.deny_payment_request")
def accept_a_request_if_a_task_is_done(scene: Scene) -> Wish:
    plan = scene.pick(plan for plan in plans(scene) if len(plan.row["collaborators"]) > 1)
    one = somebody(scene, {person["email"] for person in plan.row["collaborators"]})
    task, rows = scene.pick(unique(plan.tasks)), requests(scene, "received")
    row = scene.pick(row for row in rows if row["sender"]["email"] == one.email and row["description"])
    note, title = row["description"], task["title"]
    if row["amount"] > balance(scene) or sum(other["description"] == note for other in rows) > 1:
        raise Unavailable("too little money, or two such requests")
    verb = "approve" if task["is_completed"] else "deny"
    return Wish(
        scene.say(
            f'Our deal is that {one.my} gets the money for "{note}" once "{title}" in our Todoist project {plan.name} is ticked off. '
            "Check that, and accept the open request on Venmo if it is; otherwise decline it.",
            f'{one.my.capitalize()} wants money for "{note}" from me on Venmo. If "{title}" is done in our Todoist project {plan.name}, '
            "accept that request; if not, decline it.",
        ),
        [
            *find(scene, plan),
            *open_requests(scene, "received"),
            call(f"venmo.{verb}_payment_request", payment_request_id=row["payment_request_id"]),
            done(),
        ],
    )


@goal(PROJECTS, TASKS, "phone.create_alarm")
def alarm_for_what_is_due_next(scene: Scene) -> Wish:
    tasks, calls = all_open(scene)
    today = scene.data.now.date()
    coming = [one for one in tasks if (at := due(one)) is not None and at >= today]
    task = single(coming, lambda one: str(one["due_date"]), largest=False)
    at = due(task)
    time = scene.pick(("08:00", "09:30", "17:15", "19:00"))
    if at is None or (at - today).days > 6 or task["title"] in {row["label"] for row in alarms(scene)}:
        raise Unavailable("it is too far away")
    return Wish(
        scene.say(
            f"Of my unfinished Todoist tasks, one is due first from today on. Set an alarm for {clock(time)} that repeats on the day of "
            "the week on which it is due, labeled with its title.",
            f"What is due next in Todoist, not counting what is done or overdue? Set a phone alarm for it at {clock(time)}, repeating on "
            "the weekday of its due date, and use the title of the task as the label.",
        ),
        [*calls, call("phone.create_alarm", time=time, repeat_days=[f"{at:%A}".lower()], label=task["title"]), done()],
    )


@goal(PROJECTS, TASKS, CONTACT, SEND)
def text_somebody_the_overdue_task(scene: Scene) -> Wish:
    plan = scene.pick(plan for plan in plans(scene) if len(plan.row["collaborators"]) > 1)
    one = somebody(scene, {person["email"] for person in plan.row["collaborators"]})
    rows = overdue(scene, plan)
    if len(rows) != 1:
        raise Unavailable("not exactly one")
    return Wish(
        scene.say(
            f"One task in our Todoist project {plan.name} is overdue. Text its title to {one.my}, with nothing else in the message.",
            f"Send {one.my} a text with just the title of the task that is overdue in our Todoist project {plan.name}.",
        ),
        [*find(scene, plan), one.lookup, call(SEND, phone_number=one.phone_number, message=rows[0]["title"]), done()],
    )


@goal(CONTACT, PAY)
def birthday_money(scene: Scene) -> Wish:
    today, amount = scene.data.now.date(), scene.pick((15, 20, 25, 30))
    row: Row = single(contacts(scene), lambda one: next_birthday(one, today), largest=False)
    if row["email"] not in friends(scene) or amount > balance(scene):
        raise Unavailable("no account, or too little money")
    return Wish(
        scene.say(
            f'Send {money(amount)} on Venmo to whoever in my contacts has a birthday next, with the note "Happy birthday".',
            f"Look up whose birthday is the next among the people in my phone and give that person {money(amount)} on Venmo. "
            'The note should say "Happy birthday".',
        ),
        [*every_contact(scene), call(PAY, receiver_email=row["email"], amount=amount, description="Happy birthday"), done()],
    )


@goal(PAYMENTS, CONTACT, PAY)
def settle_up_with_somebody(scene: Scene) -> Wish:
    one = scene.pick(one for one in known(scene) if one.email in friends(scene))
    out = [row for row in payments(scene, "sent") if row["receiver"]["email"] == one.email]
    back = [row for row in payments(scene, "received") if row["sender"]["email"] == one.email]
    owed = round(100 * total(back)) - round(100 * total(out))
    if not out or not 0 < owed <= 100 * balance(scene):
        raise Unavailable("nothing is owed")
    return Wish(
        scene.say(
            f"Let us be even: {one.my} has sent me more on Venmo over time than I have sent back. Pay {one.my} the difference, with the "
            'note "Settling up".',
            f'Settle up with {one.my} on Venmo. Compare all payments between us and send what I got too much, with the note "Settling up".',
        ),
        [
            one.lookup,
            *listing([*out, *back], user_email=one.email),
            call(PAY, receiver_email=one.email, amount=owed / 100, description="Settling up"),
            done(),
        ],
    )
