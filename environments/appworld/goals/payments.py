"""Goals about payments between friends (Venmo)."""

from collections import Counter, defaultdict

from .dealings import cents, friends, listing, other, part, payments, single, spans, total
from .people import Known, known, somebody
from .registry import goal
from .saying import money
from .scene import Scene, Unavailable, Wish, call, done, pages
from .snapshot import Row

LISTED, PAY, UPDATE = "venmo.show_transactions", "venmo.create_transaction", "venmo.update_transaction"
CONTACT, ASK = "phone.search_contacts", "venmo.create_payment_request"
THANKS = ("Thanks a lot!", "Got it, thank you.", "Much appreciated!")


@goal(LISTED)
def who_moved_the_most_money(scene: Scene) -> Wish:
    span, direction = scene.pick(spans(scene)), scene.pick(("sent", "received"))
    rows = payments(scene, direction, span)
    sums: dict[str, int] = defaultdict(int)
    for row in rows:
        sums[other(row, direction)["name"]] += cents(row["amount"])
    name = single(list(sums), sums.__getitem__)
    if max(Counter(other(row, direction)["name"] for row in rows).values()) == 1:
        raise Unavailable("nothing has to be added up")
    if direction == "sent":
        wordings = (
            f"Who did I send the most money to on Venmo {span.words}, adding up all the payments to each person? Give me the full name.",
            f"I am going over my Venmo spending. Who got the most money from me in total {span.words}? First and last name, please.",
        )
    else:
        wordings = (
            f"Who sent me the most money on Venmo {span.words}, adding up all the payments from each person? Give me the full name.",
            f"I am going over my Venmo payments. Who paid me the most in total {span.words}? First and last name, please.",
        )
    return Wish(scene.say(*wordings), [*listing(rows, direction=direction, **span.arguments), done(name)])


def _named_people(scene: Scene) -> list[tuple[str, str]]:
    """Names and addresses of those whom the user has had payments with; each name is one person's."""
    people = {(other(row, way)["name"], other(row, way)["email"]) for way in ("sent", "received") for row in payments(scene, way)}
    counts = Counter(name for name, _ in people)
    return sorted((name, email) for name, email in people if counts[name] == 1)


@goal(LISTED, "venmo.search_friends")
def difference_with_somebody(scene: Scene) -> Wish:
    name, email = scene.pick(_named_people(scene))
    if email not in friends(scene):
        raise Unavailable("not a friend")
    out = [row for row in payments(scene, "sent") if row["receiver"]["email"] == email]
    back = [row for row in payments(scene, "received") if row["sender"]["email"] == email]
    difference = cents(total(out)) - cents(total(back))
    if not out or not back or difference == 0:
        raise Unavailable("nothing to compare")
    more = "paid than I got back" if difference > 0 else "received than I paid"
    actions = [
        call("venmo.search_friends", query=name),
        *listing([*out, *back], user_email=email),
        done(abs(difference) / 100),
    ]
    return Wish(
        scene.say(
            f"{name} and I pay for each other all the time. On Venmo, how much more have I {more} altogether? Give me the "
            "difference in dollars and cents.",
            f"Counting all the Venmo payments between {name} and me, how much more have I {more}? In dollars, like 12.50, please.",
        ),
        actions,
    )


@goal(LISTED)
def spent_on_the_same_thing(scene: Scene) -> Wish:
    rows = payments(scene, "sent")
    counts = Counter(row["description"] for row in rows if row["description"])
    note = scene.pick(sorted(note for note, count in counts.items() if count > 1))
    same = [row for row in rows if row["description"] == note]
    if any(row["description"].lower() == note.lower() and row not in same for row in rows):
        raise Unavailable("the note is written in two ways")
    return Wish(
        scene.say(
            f'How much have I paid on Venmo so far for payments with the note "{note}"? Give me the total in dollars, like 12.50.',
            f'I am checking my expenses. What do all the Venmo payments I made with the note "{note}" add up to, in dollars, like 12.50?',
        ),
        [*listing(rows, direction="sent"), done(total(same))],
    )


@goal(LISTED)
def largest_payment_was_for(scene: Scene) -> Wish:
    span, direction = scene.pick(spans(scene)), scene.pick(("sent", "received"))
    rows = payments(scene, direction, span)
    which = scene.pick(("largest", "smallest"))
    row = single(rows, lambda one: one["amount"], largest=which == "largest")
    if not row["description"]:
        raise Unavailable("it has no note")
    verb = "made" if direction == "sent" else "received"
    return Wish(
        scene.say(
            f"What was the {which} payment I {verb} on Venmo {span.words} for? Just its note, please.",
            f"Of all the Venmo payments I {verb} {span.words}, what does the note on the {which} one say?",
        ),
        [*listing(rows, direction=direction, **span.arguments), done(row["description"])],
    )


@goal("venmo.search_friends", LISTED)
def friends_without_a_payment(scene: Scene) -> Wish:
    span = scene.pick(spans(scene))
    rows = payments(scene, "sent", span)
    paid = {row["receiver"]["email"] for row in rows}
    missing = friends(scene) - paid
    if not rows or not 0 < len(missing) < len(friends(scene)):
        raise Unavailable("all friends were paid, or none")
    return Wish(
        scene.say(
            f"How many of my Venmo friends did I not send any money to {span.words}?",
            f"Compare my Venmo friends with the payments I made {span.words}: how many of my friends got nothing from me?",
        ),
        [*pages("venmo.search_friends", len(friends(scene))), *listing(rows, direction="sent", **span.arguments), done(len(missing))],
    )


def _from(scene: Scene, direction: str) -> tuple[Known, list[Row]]:
    """Someone known whom the user has payments with, and these."""
    one = somebody(scene, {other(row, direction)["email"] for row in payments(scene, direction)} & friends(scene))
    return one, [row for row in payments(scene, direction) if other(row, direction)["email"] == one.email]


def _last(rows: list[Row]) -> Row:
    if len(rows) > 1 and rows[-1]["created_at"] == rows[-2]["created_at"]:
        raise Unavailable("two are the last")
    return rows[-1]


@goal(CONTACT, LISTED, PAY)
def give_half_of_it_back(scene: Scene) -> Wish:
    one, rows = _from(scene, "received")
    half = part(_last(rows)["amount"], 2)
    note = scene.pick(("Your half", "You paid too much", "Half of it back"))
    return Wish(
        scene.say(
            f"{one.my.capitalize()} paid me twice what was due in the latest Venmo payment to me. Send half of it back, with "
            f'the note "{note}".',
            f'Return half of the last Venmo payment that {one.my} sent me, with the note "{note}".',
        ),
        [
            one.lookup,
            *listing(rows, user_email=one.email, direction="received"),
            call(PAY, receiver_email=one.email, amount=half, description=note),
            done(),
        ],
    )


@goal(CONTACT, LISTED, PAY)
def pay_the_same_as_last_time(scene: Scene) -> Wish:
    one, rows = _from(scene, "sent")
    row = _last(rows)
    if not row["description"]:
        raise Unavailable("it has no note")
    return Wish(
        scene.say(
            f"It is time to pay {one.my} again. Send the same amount as in my last Venmo payment to {one.my}, with the same note.",
            f"Repeat my latest Venmo payment to {one.my}: same amount, same note.",
        ),
        [
            one.lookup,
            *listing(rows, user_email=one.email, direction="sent"),
            call(PAY, receiver_email=one.email, amount=row["amount"], description=row["description"]),
            done(),
        ],
    )


def _expense(scene: Scene) -> Row:
    """A payment that the user made, with a note that no other of theirs has."""
    rows = payments(scene, "sent")
    counts = Counter(row["description"].lower() for row in rows)
    return scene.pick(row for row in rows if row["description"] and counts[row["description"].lower()] == 1)


@goal(LISTED, CONTACT, ASK)
def ask_for_half_of_an_expense(scene: Scene) -> Wish:
    row = _expense(scene)
    one = somebody(scene, friends(scene) - {row["receiver"]["email"]})
    half, note = part(row["amount"], 2), row["description"]
    return Wish(
        scene.say(
            f'The Venmo payment "{note}" that I made was for {one.my} and me. Request half of that amount from {one.my}, with '
            "the same note.",
            f'{one.my.capitalize()} and I are splitting the cost of my Venmo payment "{note}" evenly. Send {one.my} a Venmo '
            "request for half of it, with the same note.",
        ),
        [
            *listing(payments(scene, "sent"), direction="sent"),
            one.lookup,
            call(ASK, user_email=one.email, amount=half, description=note),
            done(),
        ],
    )


@goal(LISTED, CONTACT, ASK)
def split_an_expense_in_three(scene: Scene) -> Wish:
    row = _expense(scene)
    third, note = part(row["amount"], 3), row["description"]
    first, second = scene.some([one for one in known(scene) if one.email in friends(scene) - {row["receiver"]["email"]}], 2, 2)
    if first.email == second.email:
        raise Unavailable("one person only")
    return Wish(
        scene.say(
            f'I paid for "{note}" on Venmo, and {first.my}, {second.my} and I are splitting it evenly. Request their shares '
            "from the two of them on Venmo, with the same note.",
            f'The Venmo payment "{note}" that I made is to be split three ways, between {first.my}, {second.my} and me. Send '
            "each of them a request for their share, with the same note.",
        ),
        [
            *listing(payments(scene, "sent"), direction="sent"),
            *(one.lookup for one in (first, second)),
            *(call(ASK, user_email=one.email, amount=third, description=note) for one in (first, second)),
            done(),
        ],
    )


@goal(CONTACT, LISTED, UPDATE)
def hide_payments_to_somebody(scene: Scene) -> Wish:
    one, rows = _from(scene, "sent")
    shown = [row for row in rows if not row["private"]]
    if not shown or len(shown) > 6:
        raise Unavailable("nothing to hide, or too much")
    return Wish(
        scene.say(
            f"Nobody needs to see what I pay {one.my} for. Make all the Venmo payments I have sent to {one.my} private.",
            f"Please make every Venmo payment I have sent to {one.my} private, and leave the notes as they are.",
        ),
        [
            one.lookup,
            *listing(rows, user_email=one.email, direction="sent"),
            *(call(UPDATE, transaction_id=row["transaction_id"], description=row["description"], private=True) for row in shown),
            done(),
        ],
    )


@goal(CONTACT, LISTED, UPDATE)
def correct_a_note(scene: Scene) -> Wish:
    one, rows = _from(scene, "sent")
    row, note = _last(rows), scene.pick(("Cinema tickets", "Spare keys", "Cleaning products", "Birthday present", "Bus fare"))
    if row["description"] == note:
        raise Unavailable("it says that")
    return Wish(
        scene.say(
            f'I put the wrong note on my last Venmo payment to {one.my}. Change it to "{note}".',
            f'Change the note on my most recent Venmo payment to {one.my} to "{note}".',
        ),
        [
            one.lookup,
            *listing(rows, user_email=one.email, direction="sent"),
            call(UPDATE, transaction_id=row["transaction_id"], description=note),
            done(),
        ],
    )


def _over(scene: Scene, rows: list[Row], most: int) -> tuple[int, list[Row]]:
    """A round amount which some of `rows` exceed, at most `most`, and these."""
    limit = scene.pick(n for n in (10, 15, 20, 25, 30, 40) if 0 < sum(row["amount"] > n for row in rows) <= min(most, len(rows) - 1))
    if any(row["amount"] == limit for row in rows):
        raise Unavailable("one is exactly on the limit")
    return limit, [row for row in rows if row["amount"] > limit]


@goal(LISTED, "venmo.like_transaction")
def like_larger_payments(scene: Scene) -> Wish:
    span = scene.pick(spans(scene))
    rows = payments(scene, "received", span)
    limit, large = _over(scene, rows, 4)
    if any(row["like_count"] for row in large):
        raise Unavailable("one may be liked already")
    return Wish(
        scene.say(
            f"Like every Venmo payment of more than {money(limit)} that I received {span.words}.",
            f"Each Venmo payment of over {money(limit)} that I received {span.words} deserves a like. Please add one to each of them.",
        ),
        [
            *listing(rows, direction="received", **span.arguments),
            *(call("venmo.like_transaction", transaction_id=row["transaction_id"]) for row in large),
            done(),
        ],
    )


@goal(LISTED, "venmo.create_transaction_comment")
def thank_under_a_payment(scene: Scene) -> Wish:
    span, words = scene.pick(spans(scene)), scene.pick(THANKS)
    rows = payments(scene, "received", span)
    which = scene.pick(("largest", "latest"))
    row = single(rows, lambda one: one["amount" if which == "largest" else "created_at"])
    return Wish(
        scene.say(
            f'Leave the comment "{words}" on the {which} payment that I received on Venmo {span.words}.',
            f'I want to say thank you for the {which} Venmo payment I received {span.words}. Comment on it with "{words}"',
        ),
        [
            *listing(rows, direction="received", **span.arguments),
            call("venmo.create_transaction_comment", transaction_id=row["transaction_id"], comment=words),
            done(),
        ],
    )
