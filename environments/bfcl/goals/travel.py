"""Goals around flights before they are booked: airports, fares, other currencies."""

import datetime
from typing import Any

from attrs import frozen

from .registry import goal
from .scene import NotHere, Scene

TRAVEL = "TravelAPI"
CITIES = {
    "SFO": "San Francisco",
    "LAX": "Los Angeles",
    "JFK": "New York",
    "ORD": "Chicago",
    "BOS": "Boston",
    "CIA": "Rome",
    "HND": "Tokyo",
    "PEK": "Beijing",
    "HKG": "Hong Kong",
    "LHR": "London",
    "CDG": "Paris",
}
"""Airports whose codes people know, so that they need no lookup, and their cities."""
TOWNS = {
    "RMS": "Rivermist",
    "SBK": "Stonebrook",
    "MPC": "Maplecrest",
    "SVP": "Silverpine",
    "SHD": "Shadowridge",
    "SSV": "Sunset Valley",
    "OKD": "Oakendale",
    "WLB": "Willowbend",
    "CRH": "Crescent Hollow",
    "ATV": "Autumnville",
    "PHV": "Pinehaven",
    "GFD": "Greenfield",
}
"""Airports of towns that exist in the benchmark only: their codes must be looked up."""
CLASSES = {"economy": "economy", "business": "business class", "first": "first class"}
CURRENCIES = {
    "EUR": "euros",
    "JPY": "yen",
    "GBP": "British pounds",
    "CAD": "Canadian dollars",
    "AUD": "Australian dollars",
    "INR": "Indian rupees",
    "BRL": "Brazilian reais",
    "MXN": "Mexican pesos",
}
_FIRST_DAY = datetime.date(2026, 12, 7)


@frozen
class Flight:
    """A flight as the service's functions name it; `cost` in dollars."""

    origin: str
    target: str
    day: str
    seat: str
    cost: float = 0.0

    @property
    def when(self) -> str:
        """The day in words."""
        return day_words(self.day)

    @property
    def where(self) -> str:
        """The city that it goes to."""
        return place(self.target)

    def arguments(self) -> dict[str, Any]:
        """The arguments of the functions for fares and bookings."""
        return {"travel_from": self.origin, "travel_to": self.target, "travel_date": self.day, "travel_class": self.seat}


def place(code: str) -> str:
    """The name of a city or town."""
    return CITIES.get(code) or TOWNS[code]


def airport(code: str) -> str:
    """An airport as a request names it: with its code where that is known outside of the benchmark."""
    return f"{CITIES[code]} ({code})" if code in CITIES else f"the airport closest to {TOWNS[code]}"


def day_words(day: str) -> str:
    """A day as people write it: "March 5, 2027"."""
    date = datetime.date.fromisoformat(day)
    return f"{date:%B} {date.day}, {date.year}"


def some_day(scene: Scene) -> str:
    """A day within about nine months."""
    return (_FIRST_DAY + datetime.timedelta(days=scene.rng.randrange(270))).isoformat()


def look_up(scene: Scene, *codes: str) -> None:
    """Find out the codes of airports that nobody knows by heart, unless that was done."""
    for code in codes:
        found = any(call.arguments.get("location") == TOWNS.get(code) for call in [*scene.earlier(), *scene.calls])
        if code in TOWNS and not found:
            scene.call("get_nearest_airport_by_city", location=TOWNS[code])


def route(scene: Scene, origin: str | None = None) -> tuple[str, str]:
    """Two airports between which there are flights."""
    airports = [*CITIES, *CITIES, *TOWNS]
    for _ in range(60):
        pair = origin or scene.rng.choice(airports), scene.rng.choice(airports)
        try:
            scene.peek("get_flight_cost", travel_from=pair[0], travel_to=pair[1], travel_date="2027-01-01", travel_class="economy")
        except NotHere:
            continue
        return pair
    raise NotHere("no flights")


def _nothing_booked(scene: Scene) -> None:
    """Questions for fares come before a booking: after it they would be about another trip."""
    scene.need(not scene.things.get("booking"))


def priced(scene: Scene, flight: Flight) -> Flight:
    """Ask for the fare of a flight."""
    scene.suppose(year="now")
    cost = scene.call("get_flight_cost", **flight.arguments())["travel_cost_list"]
    scene.need(len(cost) == 1)
    return Flight(flight.origin, flight.target, flight.day, flight.seat, cost[0])


@goal(TRAVEL, topic="fare")
def fare(scene: Scene) -> str:
    _nothing_booked(scene)
    origin, target = route(scene)
    look_up(scene, origin, target)
    flight = priced(scene, Flight(origin, target, some_day(scene), scene.pick(CLASSES)))
    scene.keep("flight", flight=flight)
    start, end, seat = airport(origin), airport(target), CLASSES[flight.seat]
    said = scene.say(
        f"What would {with_article(seat)} seat from {start} to {end} on {flight.when} cost me?",
        (
            f"I'm toying with the idea of a few days in {flight.where}. What is the fare from {start} to {end} on {flight.when} in {seat}?",
            "trip=leisure",
        ),
        f"For {flight.when} I need to get from {start} to {end}. How much is the flight in {seat}?",
        (
            f"My boss wants a figure before she approves my trip: how much is {with_article(seat)} ticket from {start} to {end} on "
            f"{flight.when}?",
            "trip=business approval=boss",
        ),
    )
    if scene.facts.get("approval") != "boss":
        scene.leave_out(f"How much is {with_article(seat)} ticket from {start} to {end}?", f"I want to fly on {flight.when}.")
    return said


@goal(TRAVEL, topic="fare")
def fare_by_class(scene: Scene) -> str:
    _nothing_booked(scene)
    origin, target = route(scene)
    look_up(scene, origin, target)
    day = some_day(scene)
    better = scene.pick(("business", "first"))
    cheap, dear = (priced(scene, Flight(origin, target, day, seat)) for seat in ("economy", better))
    scene.keep("offers", cheap=cheap, dear=dear, by="class")
    start, end = airport(origin), airport(target)
    return scene.say(
        (
            f"I'm flying from {start} to {end} on {day_words(day)} and wonder if I should treat myself. What does {CLASSES[better]} cost, "
            "and what would I pay in economy?",
            "trip=leisure",
        ),
        f"How big is the gap between economy and {CLASSES[better]} on a flight from {start} to {end} on {day_words(day)}? Give me "
        "both fares.",
        (
            f"Can you compare the economy and {CLASSES[better].replace(' ', '-')} fares from {start} to {end} for {day_words(day)}? My "
            "company may pay for the better seat.",
            "trip=business",
        ),
    )


@goal(TRAVEL, topic="fare")
def fare_by_day(scene: Scene) -> str:
    _nothing_booked(scene)
    flights = two_days(scene)
    scene.keep("offers", cheap=min(flights, key=lambda one: one.cost), dear=max(flights, key=lambda one: one.cost), by="day")
    one, other = flights
    start, end, seat = airport(one.origin), airport(one.target), CLASSES[one.seat]
    return scene.say(
        f"I can fly from {start} to {end} on {one.when} or on {other.when}. Which of the two days is cheaper in {seat}?",
        f"My dates are flexible: would {with_article(seat)} seat from {start} to {end} cost less on {one.when} or on {other.when}?",
        f"Could you compare the fares from {start} to {end} for {one.when} and {other.when}? I'd travel in {seat} and take the "
        "cheaper day.",
    )


def two_days(scene: Scene) -> tuple[Flight, Flight]:
    """The same flight on two days, at different fares."""
    origin, target = route(scene)
    look_up(scene, origin, target)
    day = some_day(scene)
    later = (datetime.date.fromisoformat(day) + datetime.timedelta(days=scene.rng.randrange(1, 6))).isoformat()
    seat = scene.pick(CLASSES)
    flights = priced(scene, Flight(origin, target, day, seat)), priced(scene, Flight(origin, target, later, seat))
    scene.need(flights[0].cost != flights[1].cost)
    return flights


@goal(TRAVEL, needs=("flight",), topic="currency")
def fare_in_currency(scene: Scene) -> str:
    scene.need(scene.just("fare", "fare_from_there"))
    flight: Flight = scene.last("flight")["flight"]
    currency = scene.pick(CURRENCIES)
    scene.call("compute_exchange_rate", base_currency="USD", target_currency=currency, value=flight.cost)
    money = CURRENCIES[currency]
    return scene.say(
        f"And what does that come to in {money}? That's what my account runs on.",
        f"I think in {money}, so please convert that fare for me.",
        f"How much is that in {money}?",
        (f"My client reimburses me in {money}. Please convert the fare you found.", "trip=business"),
    )


@goal(TRAVEL, topic="currency")
def leftover_money(scene: Scene) -> str:
    currency = scene.pick(CURRENCIES)
    value = scene.pick((3700, 8450, 12600) if currency in ("JPY", "INR", "MXN") else (135, 260, 385, 740))
    scene.call("compute_exchange_rate", base_currency=currency, target_currency="USD", value=value)
    money = f"{value:,} {CURRENCIES[currency]}"
    scene.leave_out(f"How many US dollars do I get for the {CURRENCIES[currency]} in my drawer?", f"It's {value:,} in total.")
    return scene.say(
        f"I still have {money} from my last vacation. How many US dollars would I get for that?",
        f"My hotel abroad came to {money}. What's that in US dollars? I need it for my expense report.",
        f"A friend owes me {money}, but she wants to pay me back in US dollars. How much is that?",
    )


@goal(TRAVEL, topic="airports")
def airports(scene: Scene) -> str:
    _nothing_booked(scene)
    scene.need(not any(scene.things.get(kind) for kind in ("flight", "offers", "airport")))
    scene.call("list_all_airports")
    return scene.say(
        *((("Before I plan anything: what airports can be booked here?", "trip=leisure"),) if scene.first else ()),
        ("Which airports do you serve? I'd like to see the whole list before I decide where to go.", "trip=leisure"),
        ("I'm looking for ideas for my next vacation. Can you show me all the airports I could fly to?", "trip=leisure"),
    )


@goal(TRAVEL, topic="fare")
def closest_airport(scene: Scene) -> str:
    _nothing_booked(scene)
    code = scene.pick(code for code in TOWNS if code != "GFD")
    scene.call("get_nearest_airport_by_city", location=TOWNS[code])
    scene.keep("airport", code=code)
    town = TOWNS[code]
    return scene.say(
        f"I've just moved to {town}. Which airport is closest to me now?",
        (f"I'm staying with family in {town} for a while. What's the closest airport?", "trip=leisure"),
        f"Which airport would I fly from if I live in {town}?",
    )


@goal(TRAVEL, needs=("airport",), topic="fare from there")
def fare_from_there(scene: Scene) -> str:
    origin, target = route(scene, scene.last("airport")["code"])
    look_up(scene, target)
    flight = priced(scene, Flight(origin, target, some_day(scene), scene.pick(CLASSES)))
    scene.keep("flight", flight=flight)
    seat, end = CLASSES[flight.seat], airport(target)
    return scene.say(
        f"Good to know. How much is a flight from there to {end} on {flight.when} in {seat}?",
        f"Then I'd leave from there. What does {with_article(seat)} ticket to {end} cost on {flight.when}?",
        f"And what would I pay to fly from that airport to {end} on {flight.when}, {seat}?",
    )


def with_article(seat: str) -> str:
    """A class of travel before a noun: "an economy", "a first-class"."""
    words = seat.replace(" ", "-")
    return f"an {words}" if words[0] == "e" else f"a {words}"
