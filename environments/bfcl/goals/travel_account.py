"""Goals around the traveler's account: sign-in, identity, budget, history, help, and telling others about a trip."""

from .messaging import send, tweet
from .registry import goal
from .scene import Scene
from .travel import CURRENCIES, TRAVEL, day_words
from .travel_booking import booked, token

_WISHES = (
    ("I don't eat meat", "Please add a vegetarian meal to this booking."),
    ("I use a wheelchair", "I need wheelchair assistance at both airports."),
    ("I'm taking my cello along", "I will bring a cello on board. Please confirm that there is room for it."),
    ("I never got the confirmation", "I have not received a confirmation e-mail for this booking. Please send it again."),
    ("I have long legs", "Please give me a seat with extra leg room if one is left."),
    ("My guide dog travels with me", "I am traveling with a guide dog. Please note this on my booking."),
)


@goal(TRAVEL, topic="sign-in")
def sign_in(scene: Scene) -> str:
    travel = scene.service(TRAVEL)
    scene.need(scene.first and travel.user_first_name)
    number = scene.rng.randrange(1000, 9999)
    client, secret, refresh = f"tripdesk-{number}", f"harbor-{number * 7 % 9973}-maple", f"rt-{number * 31 % 99991}"
    first, last = travel.user_first_name, travel.user_last_name
    made = scene.call(
        "authenticate_travel",
        client_id=client,
        client_secret=secret,
        refresh_token=refresh,
        grant_type="read_write",
        user_first_name=first,
        user_last_name=last,
    )
    scene.keep("token", value=made["access_token"])
    return scene.say(
        f"Please sign me in to the travel service again, I'm {first} {last}. Client ID '{client}', client secret '{secret}', "
        f"refresh token '{refresh}'; I need access for reading and writing.",
        "My old session is about to run out. Can you log me in to the travel site again? "
        f"My name is {first} {last}, the client ID is '{client}', its secret '{secret}', and my refresh token '{refresh}'. "
        "I want access for reading and writing.",
    )


@goal(TRAVEL, topic="sign-in")
def signed_in(scene: Scene) -> str:
    scene.need(scene.first)
    scene.call("travel_get_login_status")
    return scene.say(
        "Am I still signed in to the travel service?",
        "Quick question before I start planning: is my session with the travel site still active?",
        "I was away from my desk for a while. Can you check if I'm still logged in for travel bookings?",
    )


@goal(TRAVEL, topic="identity", alone=False)
def verify_me(scene: Scene) -> str:
    travel = scene.service(TRAVEL)
    scene.need(not scene.called("book_flight"))
    birth = f"{scene.rng.randrange(1958, 2000)}-{scene.rng.randrange(1, 13):02}-{scene.rng.randrange(1, 29):02}"
    passport = f"US{scene.rng.randrange(1000000, 9999999)}"
    name = f"{travel.user_first_name} {travel.user_last_name}"
    scene.call(
        "verify_traveler_information",
        first_name=travel.user_first_name,
        last_name=travel.user_last_name,
        date_of_birth=birth,
        passport_number=passport,
    )
    scene.leave_out(
        f"Can you check that I'm cleared to travel? I'm {name}, born on {day_words(birth)}.", f"My passport number is {passport}."
    )
    return scene.say(
        f"Before I book, please make sure my details are accepted: {name}, born {day_words(birth)}, passport number {passport}.",
        f"I renewed my passport and want to know if I can travel with it. It's {passport}, issued to {name}, date of birth "
        f"{day_words(birth)}. Can you "
        "verify that?",
        f"Can you check that I'm cleared to travel? I'm {name}, I was born on {day_words(birth)}, and my passport is {passport}.",
    )


@goal(TRAVEL, topic="budget")
def budget(scene: Scene) -> str:
    value, note = token(scene)
    scene.need(not scene.called("book_flight"))
    amount = scene.pick((900, 1200, 1500, 1800, 2400, 3000, 3600))
    scene.need(amount != scene.service(TRAVEL).budget_limit)
    scene.call("set_budget_limit", access_token=value, budget_limit=amount)
    scene.leave_out(f"I spend too much on traveling. Please set a limit to my travel budget.{note}", f"Let's say ${amount:,}.")
    return scene.say(
        (f"I tend to overspend on vacation. Please set my travel budget to ${amount:,}.{note}", "trip=leisure"),
        (f"My manager approved {amount:,} dollars for travel this quarter, so set that as my limit.{note}", "trip=business"),
        f"Can you cap my travel spending at ${amount:,}?{note}",
    )


@goal(TRAVEL, topic="budget")
def budget_in_currency(scene: Scene) -> str:
    value, note = token(scene)
    scene.need(not scene.called("book_flight"))
    currency = scene.pick(("EUR", "GBP", "CAD", "AUD"))
    amount = scene.pick((950, 1300, 1750, 2200, 2600))
    limit = scene.call("compute_exchange_rate", base_currency=currency, target_currency="USD", value=amount)["exchanged_value"]
    scene.call("set_budget_limit", access_token=value, budget_limit=limit)
    money = f"{amount:,} {CURRENCIES[currency]}"
    return scene.say(
        f"I've put aside {money} for traveling. Work out what that is in US dollars and make it my budget limit.{note}",
        (
            f"The grant for my research trip is {money}, but the budget is kept in US dollars. Please convert it and set the limit to "
            f"that amount.{note}",
            "trip=business",
        ),
    )


@goal(TRAVEL, topic="fiscal year")
def fiscal_year(scene: Scene) -> str:
    scene.need(scene.first)
    scene.call("get_budget_fiscal_year")
    scene.suppose(year="past", trip="business")
    return scene.say(
        "I'm filling in my expense report: which fiscal year does our travel budget belong to?",
        "What fiscal year is the travel budget on record for? Finance wants to know.",
        "Accounting asked me to name the budget's fiscal year. Can you look up which one the travel system has?",
    )


@goal(TRAVEL, topic="history")
def history(scene: Scene) -> str:
    value, note = token(scene)
    scene.need(scene.service(TRAVEL).booking_record)
    scene.call("get_booking_history", access_token=value)
    if scene.called("book_flight"):
        return scene.say(
            f"Show me everything I have booked now, so that I can put it in my calendar.{note}",
            f"And what does my list of bookings look like now?{note}",
        )
    return scene.say(
        f"What trips do I have booked at the moment? I'm losing track.{note}",
        f"Please show me my booking history, I want to see what's coming up.{note}",
        f"My partner asked which flights I've already reserved. Can you look up all my bookings?{note}",
    )


@goal(TRAVEL, topic="support")
def support_for_known_booking(scene: Scene) -> str:
    scene.need(not scene.things.get("booking"))
    booking = scene.pick(name for name in scene.service(TRAVEL).booking_record if any(c.isdigit() for c in name))
    why, wish = scene.pick(_WISHES)
    scene.call("contact_customer_support", booking_id=booking, message=wish)
    scene.leave_out(f"I need to send a note to customer support about my booking {booking}.", f"It should read: '{wish}'")
    return scene.say(
        f"{why}. For my booking {booking}, please write to customer support: '{wish}'",
        f'Could you contact customer support about booking {booking} for me? {why}, so tell them: "{wish}"',
    )


@goal(TRAVEL, needs=("booking",), topic="support")
def support_for_new_booking(scene: Scene) -> str:
    booking = booked(scene)
    why, wish = scene.pick(_WISHES)
    scene.need("confirmation" not in why or len(scene.turns) > 1)
    scene.call("contact_customer_support", booking_id=booking["id"], message=wish)
    return scene.say(
        f"{why}, so please send customer support this note about the booking: '{wish}'",
        f'{why}. Could you write to customer support about that booking? The message is "{wish}"',
    )


@goal(TRAVEL, needs=("booking",), topic="message", also=("MessageAPI",))
def tell_colleague(scene: Scene) -> str:
    flight = booked(scene)["flight"]
    words = scene.say(
        f"I'm flying to {flight.where} on {flight.when}.",
        f"My flight to {flight.where} is booked for {flight.when}.",
    )
    name, note = send(scene, words)
    return scene.say(
        f"Please let {name} know about it. Just write: '{words}'{note}",
        f'{name} asked about my travel plans. Can you send this message: "{words}"{note}',
    )


@goal(TRAVEL, needs=("booking",), topic="tweet", also=("TwitterAPI",))
def tweet_trip(scene: Scene) -> str:
    flight = booked(scene)["flight"]
    month = flight.when.split()[0]
    words = scene.say(
        (f"{flight.where}, here I come! Who has tips for good food there?", "trip=leisure"),
        (f"Flying to {flight.where} in {month}. What should I not miss?", "trip=leisure"),
        (f"My ticket to {flight.where} is booked. I can't wait for {month}!", "trip=leisure"),
        (f"Flying to {flight.where} for work in {month}. Where do I get a good coffee?", "trip=business"),
        (f"I will see my whole family in {flight.where} in {month}!", "trip=family"),
    )
    tag = scene.pick(("#TravelPlans", "#OnTheRoad", ""))
    tweet(scene, words, tag)
    tagged = f" with the hashtag {tag}" if tag else ""
    return scene.say(
        f"My followers love my trips, so post a tweet{tagged} that says '{words}'",
        f'I want to share the news on Twitter. Please post "{words}"{tagged}.',
    )
