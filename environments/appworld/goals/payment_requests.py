"""Goals about payment requests (Venmo)."""

from .dealings import balance, cents, open_requests, part, requests, single, total
from .registry import goal
from .saying import money
from .scene import Scene, Unavailable, Wish, call, done
from .snapshot import Row

RECEIVED, SENT = "venmo.show_received_payment_requests", "venmo.show_sent_payment_requests"
ACCEPT, DECLINE = "venmo.approve_payment_request", "venmo.deny_payment_request"


def _waiting(scene: Scene, least: int = 2) -> list[Row]:
    """The open requests to the user, when there are enough of them and the user can pay them all."""
    rows = requests(scene, "received")
    if len(rows) < least or total(rows) > balance(scene):
        raise Unavailable("too few requests, or too little money")
    return rows


def _limit(scene: Scene, rows: list[Row], most: int = 4) -> int:
    """A round amount with requests on both sides of it, and none on it."""
    amounts = [row["amount"] for row in rows]
    return scene.pick(
        n for n in (10, 15, 20, 25, 30, 40) if n not in amounts and 0 < sum(a > n for a in amounts) < len(amounts) <= most + 1
    )


@goal(RECEIVED)
def requests_within_a_budget(scene: Scene) -> Wish:
    amounts = sorted(cents(row["amount"]) for row in requests(scene, "received"))
    sums = [sum(amounts[: count + 1]) for count in range(len(amounts))]
    budget = scene.pick(n for n in range(20, 130, 10) if 0 < sum(one < 100 * n for one in sums) < len(sums) and 100 * n not in sums)
    return Wish(
        scene.say(
            f"I can spend {money(budget)} on the payment requests that are waiting for me on Venmo. If I start with the smallest and go on "
            "upwards, how many of them can I pay?",
            f"How many of my open Venmo requests could I accept with {money(budget)}, taking the cheapest ones first?",
            f"Say I put {money(budget)} aside for what people want from me on Venmo right now. What is the largest number of open requests "
            "that I could pay with that?",
        ),
        [*open_requests(scene, "received"), done(sum(one < 100 * budget for one in sums))],
    )


@goal(SENT)
def others_still_owe_me(scene: Scene) -> Wish:
    rows = requests(scene, "sent")
    if len(rows) < 2:
        raise Unavailable("too few requests")
    return Wish(
        scene.say(
            "How many dollars am I still waiting for on Venmo, counting all my requests that nobody has accepted or declined yet?",
            "What do the payment requests add up to that I sent on Venmo and that are still open? The number of dollars is enough.",
            "If everybody accepted the Venmo requests of mine that are still open, how many dollars would I get altogether?",
        ),
        [*open_requests(scene, "sent"), done(total(rows))],
    )


@goal(RECEIVED, ACCEPT)
def accept_one_request(scene: Scene) -> Wish:
    rows = _waiting(scene)
    what, row = scene.pick(
        (
            ("the smallest", single(rows, lambda one: one["amount"], largest=False)),
            ("the largest", single(rows, lambda one: one["amount"])),
            ("the most recent", single(rows, lambda one: one["created_at"])),
        )
    )
    return Wish(
        scene.say(
            f"Accept {what} of the payment requests that I have open on Venmo. The others can wait.",
            f"Several people want money from me on Venmo. Pay {what} of these requests for now and do not touch the rest.",
        ),
        [*open_requests(scene, "received"), call(ACCEPT, payment_request_id=row["payment_request_id"]), done()],
    )


@goal(RECEIVED, DECLINE)
def decline_larger_requests(scene: Scene) -> Wish:
    rows = _waiting(scene)
    limit = _limit(scene, rows)
    return Wish(
        scene.say(
            f"I am short of money this month. Decline every open Venmo request that asks me for more than {money(limit)}.",
            f"Turn down the payment requests waiting for me on Venmo that are over {money(limit)}; I will decide about the others later.",
        ),
        [
            *open_requests(scene, "received"),
            *(call(DECLINE, payment_request_id=row["payment_request_id"]) for row in rows if row["amount"] > limit),
            done(),
        ],
    )


@goal(RECEIVED, ACCEPT, DECLINE)
def settle_all_requests(scene: Scene) -> Wish:
    rows = _waiting(scene)
    limit = _limit(scene, rows)
    return Wish(
        scene.say(
            f"Clear my open payment requests on Venmo: accept those below {money(limit)} and decline all others.",
            f"Go through what people want from me on Venmo. Anything under {money(limit)} gets paid, anything above that gets declined.",
        ),
        [
            *open_requests(scene, "received"),
            *(call(ACCEPT if row["amount"] < limit else DECLINE, payment_request_id=row["payment_request_id"]) for row in rows),
            done(),
        ],
    )


@goal(SENT, "venmo.remind_payment_request")
def remind_of_old_requests(scene: Scene) -> Wish:
    begin = scene.data.now.date().replace(day=1)
    rows = requests(scene, "sent")
    old = [row for row in rows if row["created_at"][:10] < begin.isoformat()]
    if not 0 < len(old) < len(rows) or len(old) > 4:
        raise Unavailable("all requests are old, or none")
    return Wish(
        scene.say(
            f"If any of my Venmo requests from before {begin:%B} are still unanswered, send those people a reminder there.",
            "People forget to pay me. Send a Venmo reminder for each of my open requests that I sent before this month.",
            f"Remind everyone on Venmo who has not reacted to a request that I sent before the beginning of {begin:%B}.",
        ),
        [
            *open_requests(scene, "sent"),
            *(call("venmo.remind_payment_request", payment_request_id=row["payment_request_id"]) for row in old),
            done(),
        ],
    )


@goal(SENT, "venmo.delete_payment_request")
def take_a_request_back(scene: Scene) -> Wish:
    rows = requests(scene, "sent")
    what, key, largest = scene.pick((("oldest", "created_at", False), ("smallest", "amount", False), ("newest", "created_at", True)))
    row = single(rows, lambda one: one[key], largest=largest)
    return Wish(
        scene.say(
            f"I was given that money in cash yesterday, so take back the {what} of my Venmo requests that are still unanswered.",
            f"Of the payment requests that I sent on Venmo and that are still open, withdraw the {what} one.",
        ),
        [*open_requests(scene, "sent"), call("venmo.delete_payment_request", payment_request_id=row["payment_request_id"]), done()],
    )


@goal(SENT, "venmo.update_payment_request")
def ask_for_less(scene: Scene) -> Wish:
    rows = requests(scene, "sent")
    row = scene.pick(row for row in rows if sum(one["description"] == row["description"] for one in rows) == 1 and row["description"])
    note = row["description"]
    if scene.pick((True, False)):
        amount = part(row["amount"], 2)
        wordings = (
            f'I asked for too much with my open Venmo request "{note}": only half of that amount is due. Please correct it.',
            f'Cut my open Venmo request "{note}" in half.',
        )
    else:
        less = scene.pick(n for n in (2, 3, 4, 5) if n < row["amount"] / 2)
        amount = (cents(row["amount"]) - 100 * less) / 100
        wordings = (
            f'I got {money(less)} of it in cash already, so lower my open Venmo request "{note}" by that amount.',
            f'Reduce what I am asking for in my open Venmo request "{note}" by {money(less)}.',
        )
    change = call("venmo.update_payment_request", payment_request_id=row["payment_request_id"], amount=amount)
    return Wish(scene.say(*wordings), [*open_requests(scene, "sent"), change, done()])
