"""Goals in which phone, Venmo and Todoist depend on one another."""

import re

from .alarms import alarms
from .dealings import balance, friends, listing, open_requests, other, payments, requests, single, spans, total
from .messages import SEND, TEXTS, chat, last_from, writers
from .people import Known, by_email, every_contact, known, somebody
from .plans import PROJECTS, TASKS, all_open, due, find, overdue, plans
from .registry import goal
from .saying import clock
from .scene import Scene, Unavailable, Wish, call, done

CONTACT, PAY, TASK = "phone.search_contacts", "venmo.create_transaction", "todoist.create_task"
PAYMENTS = "venmo.show_transactions"
RECEIVED, SENT = "venmo.show_received_payment_requests", "venmo.show_sent_payment_requests"
_MONEY = re.compile(r"\$\s?(\d+(?:\.\d{2})?)\b")
NUDGES = (
    "Did you see my request on Venmo?",
    "Please take a look at my Venmo request when you can.",
    "Just a reminder that my Venmo request is still open.",
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
    note = scene.pick(("As agreed", "What I owe you", "Here you go"))
    return Wish(
        scene.say(
            f'The last text that {one.my} sent me asks for money. Send that amount on Venmo, with the note "{note}".',
            f'Pay {one.my} on Venmo, with the note "{note}". The amount is in the last text I got from {one.my}.',
        ),
        [*chat(scene, one), call(PAY, receiver_email=one.email, amount=amount, description=note), done()],
    )


@goal(CONTACT, TEXTS, PAY, SEND)
def pay_half_of_what_was_texted_and_say_so(scene: Scene) -> Wish:
    one, amount = scene.pick(_claims(scene))
    if round(amount * 100) % 2:
        raise Unavailable("it cannot be halved")
    words = "You'll get the other half next month."
    return Wish(
        scene.say(
            f"The last text that {one.my} sent me asks for money, and I can only pay half of it now. Send that half on Venmo "
            f'without a note, then text {one.my}: "{words}"',
            f"Check how much {one.my} asked for in the last text to me, and send half of that on Venmo with no note. Then "
            f'text {one.my}: "{words}"',
        ),
        [
            *chat(scene, one),
            call(PAY, receiver_email=one.email, amount=round(amount * 100) // 2 / 100),
            call(SEND, phone_number=one.phone_number, message=words),
            done(),
        ],
    )


@goal(SENT, "todoist.create_project", TASK)
def todo_for_each_unpaid_request(scene: Scene) -> Wish:
    rows = requests(scene, "sent")
    if not 1 < len(rows) <= 5 or len({row["description"] for row in rows}) < len(rows) or not all(row["description"] for row in rows):
        raise Unavailable("too few requests, or too many")
    taken = {row["name"] for row in scene.data.rows(PROJECTS)}
    name = scene.pick(name for name in ("Owed To Me", "Money To Collect", "Paybacks") if name not in taken)
    made = scene.data.next_id("todoist.create_project", "project_id")
    return Wish(
        scene.say(
            f'I keep losing track of who owes me money. Create a Todoist project called "{name}" with one task for each Venmo '
            "request I sent that is still pending, from the oldest to the newest. Use the note of the request as the title.",
            f'Start a new Todoist project "{name}" and put every pending Venmo request of mine into it: one task each, titled '
            "exactly like the note of the request, in the order in which I sent them.",
        ),
        [
            *open_requests(scene, "sent"),
            call("todoist.create_project", name=name),
            *(call(TASK, project_id=made, title=row["description"]) for row in rows),
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
    return Wish(
        scene.say(
            f"Work out the total of what {what} on Venmo {span.words}, then text it to {one.my}: just the amount, written like $7.50.",
            f"Add up what {what} on Venmo {span.words} and text {one.my} just the total, written like $7.50.",
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
            f'Everyone who still has a pending Venmo request from me should get a text: "{words}" Their numbers are in my phone contacts.',
            f'Text everyone who has not responded to my Venmo requests yet: "{words}" One message per person is enough.',
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
    words = scene.pick(("Thanks for the Venmo payment!", "Your money has arrived, thank you.", "Got your payment, thanks!"))
    return Wish(
        scene.say(
            f'Text everyone who sent me money on Venmo this month: "{words}" One message per person is enough.',
            f'Send the text "{words}" once to each person who has paid me on Venmo this month.',
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
        ("Sorry, I can't pay that right now.", "Can we talk about that Venmo request first?", "I thought we had settled this in cash.")
    )
    return Wish(
        scene.say(
            f'Decline the largest request that is waiting for me on Venmo, and text the person who sent it: "{words}"',
            "I am not going to pay the biggest of the pending requests to me on Venmo. Decline it and text the person who "
            f'sent it: "{words}"',
        ),
        [
            *open_requests(scene, "received"),
            call("venmo.deny_payment_request", payment_request_id=row["payment_request_id"]),
            *every_contact(scene),
            call(SEND, phone_number=contact["phone_number"], message=words),
            done(),
        ],
    )


@goal(PROJECTS, TASKS, "phone.create_alarm")
def alarm_for_what_is_due_next(scene: Scene) -> Wish:
    tasks, calls = all_open(scene)
    today = scene.data.now.date()
    coming = [one for one in tasks if (at := due(one)) is not None and at >= today]
    task = single(coming, lambda one: str(one["due_date"]), largest=False)
    time = scene.pick(("16:30", "17:15", "18:45", "19:00"))
    if task["title"] in {row["label"] for row in alarms(scene)}:
        raise Unavailable("there is such an alarm")
    return Wish(
        scene.say(
            f"I keep putting off my to-dos. Set a one-time phone alarm for {clock(time)}, labeled with the title of the "
            "unfinished Todoist task that is due soonest from today on.",
            f"Remind me to work on the Todoist task that is due next: set a one-time alarm for {clock(time)} with its title "
            "as the label. Only count unfinished tasks due today or later.",
        ),
        [*calls, call("phone.create_alarm", time=time, label=task["title"]), done()],
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
            f"One task in our Todoist project {plan.name} is overdue. Text {one.my} its title and nothing else.",
            f"Send {one.my} a text with just the title of the overdue task in our Todoist project {plan.name}.",
        ),
        [*find(scene, plan), one.lookup, call(SEND, phone_number=one.phone_number, message=rows[0]["title"]), done()],
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
            f"I want to be even with {one.my}: altogether, {one.my} has sent me more on Venmo than I have sent back. Send the "
            'difference on Venmo, with the note "Settling up".',
            f"Settle up with {one.my} on Venmo. Compare all the payments between us and send back what I received beyond what "
            'I paid, with the note "Settling up".',
        ),
        [
            one.lookup,
            *listing([*out, *back], user_email=one.email),
            call(PAY, receiver_email=one.email, amount=owed / 100, description="Settling up"),
            done(),
        ],
    )
