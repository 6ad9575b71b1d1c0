"""Goals around booked flights: booking, paying, invoices, insurance, help, cancellation."""

from typing import Any

from attrs import frozen

from .registry import goal
from .scene import Scene
from .travel import CLASSES, TRAVEL, Flight, airport, look_up, priced, route, some_day, two_days, with_article


@frozen
class Payment:
    """What a paid call needs, and how the user makes it known."""

    token: str
    card: str
    with_card: str
    """A phrase after a verb: "with my card 'primary'"."""
    token_note: str
    """A sentence, with a space before it, that says the access token; empty when it is known."""


def token(scene: Scene) -> tuple[str, str]:
    """The access token, and the sentence that says it, with a space before it; empty when an earlier turn made it known."""
    value = scene.service(TRAVEL).access_token
    scene.need(value and scene.service(TRAVEL).token_expires_in)
    if scene.things.get("token"):
        return value, ""
    scene.keep("token", value=value)
    return value, scene.say(
        f" My access token is '{value}'.", f" Here is my access token: '{value}'.", f" Use my access token '{value}' for it."
    )


def payment(scene: Scene, day: str) -> Payment:
    """A card that the user may pay with for a flight on a day, and the token. A card whose data were shown is still valid on that day."""
    value, note = token(scene)
    cards = scene.service(TRAVEL).credit_card_list
    shown = scene.called("get_all_credit_cards")
    if scene.things.get("card"):
        card = scene.last("card")
        scene.need(not shown or _valid(cards[card["id"]], day))
        return Payment(value, card["id"], card["said"], note)
    card_id = scene.pick(cards)
    scene.need(not shown or _valid(cards[card_id], day))
    known = shown or any("card_id" in call.arguments for call in scene.earlier())
    digits = last_digits(cards, card_id)
    if digits and not known and _valid(cards[card_id], day) and scene.chance(0.7):
        scene.call("get_all_credit_cards")
        words = scene.say(
            f"with my saved card that ends in {digits}",
            f"with the card in my profile that ends in {digits}",
            f"with my stored credit card, the one ending in {digits}",
        )
    else:
        words = scene.say(f"with my card '{card_id}'", f"with the card saved as '{card_id}'")
    scene.keep("card", id=card_id, said=scene.say("with the same card", "with that card"))
    return Payment(value, card_id, words, note)


def last_digits(cards: dict[str, dict[str, Any]], card_id: str) -> str:
    """The last four digits of a card's number, by which people name it; empty where they do not tell one card from the others."""
    ends = {name: str(card.get("card_number", ""))[-4:] for name, card in cards.items()}
    end = ends[card_id]
    return end if end.isdecimal() and end not in card_id and list(ends.values()).count(end) == 1 else ""


def _valid(card: dict[str, Any], day: str) -> bool:
    """Whether a card, as the service shows it, has not expired on a day."""
    month, slash, year = str(card.get("expiry_date") or card.get("expiration_date") or "").partition("/")
    return not slash or f"20{year[-2:]}-{month}" >= day[:7]


def book(scene: Scene, flight: Flight) -> Payment:
    """Book a flight and keep the booking."""
    scene.suppose(year="now")
    travel = scene.service(TRAVEL)
    cost = scene.peek("get_flight_cost", **flight.arguments())["travel_cost_list"][0]
    scene.need(travel.budget_limit is None or cost <= travel.budget_limit or not scene.called("set_budget_limit"))
    paid = payment(scene, flight.day)
    booking = scene.call("book_flight", access_token=paid.token, card_id=paid.card, **flight.arguments())
    scene.keep("booking", id=booking["booking_id"], flight=flight)
    return paid


def _no_flight_yet(scene: Scene) -> None:
    """Whoever asked for a fare books that flight, not another one."""
    scene.need(not any(scene.things.get(kind) for kind in ("flight", "offers", "airport")))


def booked(scene: Scene) -> dict[str, Any]:
    """The booking that an earlier turn made, if it was not cancelled."""
    booking = scene.last("booking")
    scene.need(booking["id"] in scene.service(TRAVEL).booking_record)
    return booking


@goal(TRAVEL, needs=("flight",), topic="book")
def book_that_flight(scene: Scene) -> str:
    scene.need(scene.just("fare", "fare_from_there", "fare_in_currency", "fare_share"))
    paid = book(scene, scene.last("flight")["flight"])
    if scene.facts.get("approval") == "boss":
        return scene.say(
            f"She's fine with it. Please book that flight {paid.with_card}.{paid.token_note}",
            f"My boss has said yes, so book it and pay {paid.with_card}.{paid.token_note}",
        )
    return scene.say(
        f"That works for me. Please book that flight {paid.with_card}.{paid.token_note}",
        f"Good, I'll take it. Book it and pay {paid.with_card}.{paid.token_note}",
        f"Okay, let's do it: reserve that seat for me and pay {paid.with_card}.{paid.token_note}",
        f"I've decided to go. Could you book exactly that flight and pay {paid.with_card}?{paid.token_note}",
    )


@goal(TRAVEL, needs=("offers",), topic="book")
def book_one_of_them(scene: Scene) -> str:
    scene.need(scene.just("fare_by_class", "fare_by_day"))
    offers = scene.last("offers")
    dear = offers["by"] == "class" and scene.chance(0.4)
    flight: Flight = offers["dear" if dear else "cheap"]
    paid = book(scene, flight)
    if offers["by"] == "day":
        return scene.say(
            f"Then book the cheaper day for me and pay {paid.with_card}.{paid.token_note}",
            f"The cheaper one it is. Please book it {paid.with_card}.{paid.token_note}",
        )
    seat = CLASSES[flight.seat].replace(" ", "-")
    if dear:
        return scene.say(
            (f"I've earned it: book the {seat} seat and pay {paid.with_card}.{paid.token_note}", "trip=leisure"),
            (f"The company pays, so reserve the {seat} seat and put it through {paid.with_card}.{paid.token_note}", "trip=business"),
        )
    return scene.say(
        f"Economy will do. Please book that one {paid.with_card}.{paid.token_note}",
        (f"I'd rather save the money: book me the economy seat and pay {paid.with_card}.{paid.token_note}", "trip=leisure"),
    )


@goal(TRAVEL, topic="book")
def book_flight_now(scene: Scene) -> str:
    _no_flight_yet(scene)
    origin, target = route(scene)
    look_up(scene, origin, target)
    flight = Flight(origin, target, some_day(scene), scene.pick(CLASSES))
    paid = book(scene, flight)
    start, end, seat = airport(origin), airport(target), CLASSES[flight.seat]
    said = scene.say(
        (
            f"I have to be at a conference, so please book me a flight from {start} to {end} on {flight.when}, {seat}. Pay "
            f"{paid.with_card}.{paid.token_note}",
            "trip=business",
        ),
        f"Book me from {start} to {end} on {flight.when} in {seat}, please, and pay {paid.with_card}. I already know what it "
        f"costs.{paid.token_note}",
        (
            f"My grandmother turns 90 and I'm going: get me a seat in {seat} from {start} to {end} for {flight.when} and pay "
            f"{paid.with_card}.{paid.token_note}",
            "trip=family",
        ),
    )
    if scene.facts.get("trip") != "family":
        scene.leave_out(
            f"Please book me {with_article(seat)} flight from {start} to {end} and pay {paid.with_card}.{paid.token_note}",
            scene.say(f"I have to travel on {flight.when}.", f"The flight should be on {flight.when}."),
        )
    return said


@goal(TRAVEL, topic="book")
def book_the_cheaper_day(scene: Scene) -> str:
    _no_flight_yet(scene)
    one, other = two_days(scene)
    paid = book(scene, min((one, other), key=lambda flight: flight.cost))
    start, end, seat = airport(one.origin), airport(one.target), CLASSES[one.seat]
    return scene.say(
        f"I need to get from {start} to {end}, either on {one.when} or on {other.when}. Find out which day is cheaper in {seat} and "
        "book that one "
        f"{paid.with_card}.{paid.token_note}",
        f"Please check what {seat} from {start} to {end} costs on {one.when} and on {other.when}, then book the cheaper of the two "
        f"{paid.with_card}.{paid.token_note}",
    )


@goal(TRAVEL, topic="book")
def book_if_affordable(scene: Scene) -> str:
    _no_flight_yet(scene)
    origin, target = route(scene)
    look_up(scene, origin, target)
    flight = priced(scene, Flight(origin, target, some_day(scene), scene.pick(CLASSES)))
    start, end, seat = airport(origin), airport(target), CLASSES[flight.seat]
    a_seat = with_article(seat)
    limit = round(flight.cost * scene.pick((0.8, 1.2, 1.4)) / 50) * 50
    scene.need(limit != flight.cost and limit > 0)
    if limit < flight.cost:
        scene.keep("flight", flight=flight)
        value, note = scene.service(TRAVEL).access_token, ""
        card = scene.pick(scene.service(TRAVEL).credit_card_list)
        if not scene.things.get("token"):
            scene.keep("token", value=value)
            note = f" My access token is '{value}'."
        words = scene.last("card")["said"] if scene.things.get("card") else f"with my card '{card}'"
        scene.keep("card", id=card, said="with the card I mentioned")
    else:
        paid = book(scene, flight)
        words, note = paid.with_card, paid.token_note
    return scene.say(
        f"If {a_seat} seat from {start} to {end} on {flight.when} costs at most ${limit:,}, book it {words}; if it's more, just tell "
        "me the "
        f"fare.{note}",
        f"Check the fare from {start} to {end} on {flight.when} in {seat}. Anything up to ${limit:,} is fine: in that case book it "
        f"{words}. If it's "
        f"more than that, don't book.{note}",
    )


@goal(TRAVEL, needs=("booking",), topic="invoice")
def invoice(scene: Scene) -> str:
    value, note = token(scene)
    scene.call("retrieve_invoice", access_token=value, booking_id=booked(scene)["id"])
    return scene.say(
        f"My accountant will ask for it: can you get me the invoice for that booking?{note}",
        f"Please pull up the invoice for the flight you just booked, I want to file it right away.{note}",
        f"Can I see the invoice for the flight? I'd like to check what I was charged.{note}",
    )


@goal(TRAVEL, needs=("booking",), topic="insurance")
def insurance(scene: Scene) -> str:
    booking = booked(scene)
    paid = payment(scene, booking["flight"].day)
    kind, why = scene.pick(
        (
            ("cancellation", "I may have to call it off on short notice"),
            ("medical", "I don't want to take a risk with my health while I'm away"),
            ("baggage", "I'm carrying expensive camera gear"),
            ("comprehensive", "I'd rather be on the safe side"),
        )
    )
    cost = scene.pick((45, 60, 85, 120, 150))
    scene.call(
        "purchase_insurance",
        access_token=paid.token,
        insurance_type=kind,
        booking_id=booking["id"],
        insurance_cost=cost,
        card_id=paid.card,
    )
    scene.leave_out(
        f"{why}. Could you insure that trip for me and pay {paid.with_card}?{paid.token_note}",
        f"Take the {kind} insurance, it costs ${cost}.",
    )
    return scene.say(
        f"{why}, so please add the {kind} insurance for ${cost} to that booking and pay {paid.with_card}.{paid.token_note}",
        f"Could you also buy the ${cost} {kind} insurance for that trip, paid {paid.with_card}? {why}.{paid.token_note}",
    )


@goal(TRAVEL, needs=("booking",), topic="cancel")
def cancel(scene: Scene) -> str:
    value, note = token(scene)
    booking = booked(scene)
    scene.call("cancel_booking", access_token=value, booking_id=booking["id"])
    return scene.say(
        (f"I won't have to travel after all, since everything was moved online. Please cancel that flight.{note}", "trip=business"),
        (f"I can't get the days off after all. Can you cancel the booking you just made?{note}", "trip=leisure"),
        *(
            (f"The party has been called off, so I'm staying home. Please cancel that flight.{note}",)
            if scene.facts.get("trip") == "family"
            else ()
        ),
        f"I got the dates wrong and can't travel that day after all. Please cancel the reservation.{note}",
    )


@goal(TRAVEL, topic="cards")
def saved_cards(scene: Scene) -> str:
    cards = scene.service(TRAVEL).credit_card_list
    scene.need(len(cards) and not scene.things.get("card"))
    scene.call("get_all_credit_cards")
    card = scene.pick(cards)
    if digits := last_digits(cards, card):
        scene.keep("card", id=card, said=f"with the one that ends in {digits}")
    return scene.say(
        "Which credit cards do I have saved for travel bookings? I want to be sure the old one is gone.",
        "I can't remember what I stored in my travel profile. Can you show me the cards that are saved there?",
        "Before I book anything, what payment cards are on file for me?",
    )


@goal(TRAVEL, topic="cards")
def new_card(scene: Scene) -> str:
    travel = scene.service(TRAVEL)
    value, note = token(scene)
    number = scene.pick(("4929381332664295", "5413330089010434", "4716258050958645", "5264810966944441"))
    year, month, code = scene.rng.randrange(2028, 2031), scene.rng.randrange(1, 13), scene.rng.randrange(112, 988)
    holder = f"{travel.user_first_name} {travel.user_last_name}"
    expiry = f"{month:02}/{year}"
    card = scene.call(
        "register_credit_card",
        access_token=value,
        card_number=number,
        expiration_date=expiry,
        cardholder_name=holder,
        card_verification_number=code,
    )
    scene.leave_out(
        f"Please add my new credit card to my travel account: number {number}, valid until {expiry}, in the name of {holder}.{note}",
        f"Sorry, I forgot the security code. It's {code}.",
    )
    scene.keep("card", id=card["card_id"], said="with the card I just added")
    return scene.say(
        f"My bank sent me a new credit card. Please add it to my travel account: number {number}, valid until {expiry}, security code "
        f"{code}, in the "
        f"name of {holder}.{note}",
        f"I'd like to pay for my trips with another card from now on. It's {number}, expires {expiry}, verification number {code}, "
        "and the name on it is "
        f"{holder}. Can you register it?{note}",
    )


@goal(TRAVEL, topic="balance")
def card_balance(scene: Scene) -> str:
    value, note = token(scene)
    if scene.things.get("card"):
        scene.need(scene.called("book_flight", "register_credit_card"))
        card = scene.last("card")["id"]
        scene.call("get_credit_card_balance", access_token=value, card_id=card)
        if scene.called("cancel_booking"):
            return scene.say(
                f"Did I get the money back? What's the balance of that card now?{note}",
                f"What's on that card now that the trip is off?{note}",
            )
        if scene.called("book_flight"):
            return scene.say(
                f"How much is left on that card now?{note}", f"What's the balance of that card now that the ticket is paid?{note}"
            )
        return scene.say(f"And what balance does that card have?{note}", f"How much money is on the new card?{note}")
    card = scene.pick(scene.service(TRAVEL).credit_card_list)
    scene.call("get_credit_card_balance", access_token=value, card_id=card)
    scene.keep("card", id=card, said="with that card")
    return scene.say(
        f"I'm putting a trip together. What's the balance on my card '{card}'?{note}",
        f"How much money is left on the card saved as '{card}'? I don't want a payment to bounce.{note}",
    )
