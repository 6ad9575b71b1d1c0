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
            f"I can spend {money(budget)} on the payment requests that are waiting for me on Venmo. If I pay the smallest "
            "first and work my way up, how many can I pay in full?",
            f"How many of the open Venmo requests to me could I pay in full with {money(budget)}, taking the smallest ones first?",
            f"Say I set {money(budget)} aside for the Venmo requests that are waiting for me. What is the largest number of "
            "them that I could pay in full?",
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
            "How many dollars are other people still supposed to pay me on Venmo? Add up all the requests I sent that are "
            "still pending, and give the amount like 12.50.",
            "What is the total of the Venmo payment requests that I sent and that are still pending? Give me the amount in "
            "dollars, like 12.50.",
            "If everyone paid the Venmo requests I sent that are still pending, how much would I get altogether, in dollars, like 12.50?",
        ),
        [*open_requests(scene, "sent"), done(total(rows))],
    )


@goal(RECEIVED, ACCEPT)
def accept_one_request(scene: Scene) -> Wish:
    rows = _waiting(scene)
    what, row = scene.pick(
        (
            ("smallest", single(rows, lambda one: one["amount"], largest=False)),
            ("largest", single(rows, lambda one: one["amount"])),
            ("most recent", single(rows, lambda one: one["created_at"])),
        )
    )
    return Wish(
        scene.say(
            f"Pay the {what} of the payment requests waiting for me on Venmo. The others can wait.",
            f"Several people have asked me for money on Venmo. Approve just the {what} request for now and leave the others pending.",
        ),
        [*open_requests(scene, "received"), call(ACCEPT, payment_request_id=row["payment_request_id"]), done()],
    )


@goal(RECEIVED, DECLINE)
def decline_larger_requests(scene: Scene) -> Wish:
    rows = _waiting(scene)
    limit = _limit(scene, rows)
    return Wish(
        scene.say(
            f"Money is tight this month. Decline every pending Venmo request to me that asks for more than {money(limit)}.",
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
            f"Clear the payment requests waiting for me on Venmo: approve those below {money(limit)} and decline all the others.",
            f"Go through the pending requests I have received on Venmo. Approve anything under {money(limit)} and decline "
            "anything over that.",
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
            "People forget to pay me. Send a Venmo reminder for each of my pending requests that I sent before this month.",
            f"For every Venmo request I sent before {begin:%B} that is still pending, send a reminder on Venmo.",
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
    what, key, largest = scene.pick(
        (
            ("that I sent first", "created_at", False),
            ("with the smallest amount", "amount", False),
            ("that I sent last", "created_at", True),
        )
    )
    row = single(rows, lambda one: one[key], largest=largest)
    return Wish(
        scene.say(
            f"I was paid in cash yesterday, so cancel one of my pending Venmo requests: the one {what}.",
            f"Of the payment requests I sent on Venmo that are still pending, withdraw the one {what}.",
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
            f'I asked for twice what I am owed in my pending Venmo request "{note}". Please cut it in half.',
            f'Cut the amount of my pending Venmo request "{note}" in half.',
        )
    else:
        less = scene.pick(n for n in (2, 3, 4, 5) if n < row["amount"] / 2)
        amount = (cents(row["amount"]) - 100 * less) / 100
        wordings = (
            f'I already got {money(less)} in cash, so lower my pending Venmo request "{note}" by that amount.',
            f'Reduce the amount of my pending Venmo request "{note}" by {money(less)}.',
        )
    change = call("venmo.update_payment_request", payment_request_id=row["payment_request_id"], amount=amount)
    return Wish(scene.say(*wordings), [*open_requests(scene, "sent"), change, done()])
