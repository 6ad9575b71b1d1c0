"""Sums with figures that other services gave: pressures, distances, fares, share prices, counts of characters."""

from .registry import goal
from .scene import Scene, joined
from .sums import SUMS
from .vehicle import CAR

_FAMOUS = {"AAPL": "Apple", "GOOG": "Google", "TSLA": "Tesla", "MSFT": "Microsoft", "NVDA": "Nvidia", "AMZN": "Amazon"}
"""Companies whose symbols everybody knows."""


@goal(SUMS, needs=("tires",), topic="tire figures", also=(CAR,))
def tire_figures(scene: Scene) -> str:
    scene.need(scene.just("tire_pressure", "tires_or_shop"))
    found = scene.last("tires")["found"]
    scene.need(len(set(found)) > 1)
    if scene.chance(0.5):
        scene.keep("figure", value=scene.call("standard_deviation", numbers=found)["result"])
        return scene.say("How uneven are they? Give me the standard deviation of the four pressures.")
    scene.call("mean", numbers=found)
    return scene.say(
        "What's the average pressure of the four? My logbook only has room for one figure.", "And what do the four come to on average?"
    )


@goal(SUMS, needs=("outside",), topic="units", also=(CAR,))
def outside_in_fahrenheit(scene: Scene) -> str:
    scene.need(scene.just("outside"))
    value = scene.last("outside")["value"]
    scene.call("imperial_si_conversion", value=value, unit_in="celsius", unit_out="fahrenheit")
    return scene.say("What's that in Fahrenheit?", "I don't have a feeling for Celsius. Can you convert that to Fahrenheit?")


@goal(SUMS, needs=("route",), topic="units", also=(CAR,))
def route_in_miles(scene: Scene) -> str:
    scene.need(scene.just("distance"))
    km = scene.last("route")["km"]
    scene.call("imperial_si_conversion", value=km, unit_in="km", unit_out="miles")
    return scene.say("And how many miles is that?", "My odometer counts miles, so please convert that distance.")


@goal(SUMS, needs=("route",), topic="range", also=(CAR,))
def range_in_miles(scene: Scene) -> str:
    scene.need(scene.just("distance"))
    km = scene.last("route")["km"]
    scene.need(not any(call.name == "imperial_si_conversion" for call in scene.earlier()))
    miles = scene.call("imperial_si_conversion", value=km, unit_in="km", unit_out="miles")["result"]
    scene.keep("range", enough=scene.call("estimate_drive_feasibility_by_mileage", distance=miles)["canDrive"])
    return scene.say("Convert that to miles, please, and tell me whether the fuel in my tank is enough for it.")


@goal(SUMS, needs=("flight",), topic="share", also=("TravelAPI",))
def fare_share(scene: Scene) -> str:
    scene.need(scene.just("fare", "fare_from_there"))
    flight = scene.last("flight")["flight"]
    saved = int(flight.cost * scene.pick((1.7, 2.3, 3.1)) // 50 * 50) + 75
    scene.suppose(trip="leisure")
    scene.need(flight.cost * 100 % saved)
    scene.keep("figure", value=scene.call("percentage", part=flight.cost, whole=saved)["result"])
    return scene.say(f"I've put aside ${saved:,} for the whole vacation. What percentage of that would this ticket eat up?")


@goal(SUMS, topic="share prices", also=("TradingBot",))
def average_share_price(scene: Scene) -> str:
    known = [symbol for symbol in _FAMOUS if symbol in scene.service("TradingBot").stocks]
    scene.need(len(known) >= 3)
    chosen = scene.rng.sample(known, scene.pick((3, len(known))))
    prices = [scene.call("get_stock_info", symbol=symbol)["price"] for symbol in chosen]
    scene.keep("figure", value=scene.call("mean", numbers=prices)["result"])
    names = joined([f"{_FAMOUS[symbol]} ({symbol})" for symbol in chosen])
    return scene.say(
        f"I'm writing a piece about tech stocks. Look up the current share prices of {names}, and work out their average for me.",
        f"What are shares of {names} trading at, and what's the average of those prices? It's for our investment club.",
    )


@goal(SUMS, topic="share prices", also=("TradingBot",))
def cost_of_shares(scene: Scene) -> str:
    symbol = scene.pick(symbol for symbol in _FAMOUS if symbol in scene.service("TradingBot").stocks)
    price, count = scene.call("get_stock_info", symbol=symbol)["price"], scene.pick((13, 27, 35, 46, 64))
    scene.call("multiply", a=price, b=count)
    name = f"{_FAMOUS[symbol]} ({symbol})"
    return scene.say(
        (f"If I bought {count} shares of {name} at today's price, how much money would I need?", "cash=plenty"),
        f"My uncle wants to give me {count} {name} shares. What are they worth at the current price?",
    )


@goal(SUMS, topic="text figures", also=("GorillaFileSystem",))
def share_of_characters(scene: Scene) -> str:
    folder = scene.service("GorillaFileSystem")._current_dir.contents
    texts = {name: len(item.content) for name, item in folder.items() if hasattr(item, "content") and item.content}
    scene.need(len(texts) > 1)
    short, long = sorted(scene.rng.sample(sorted(texts), 2), key=texts.__getitem__)
    part, whole = (scene.call("wc", file_name=name, mode="c")["count"] for name in (short, long))
    scene.need(part < whole and part * 100 % whole)
    scene.keep("figure", value=scene.call("percentage", part=part, whole=whole)["result"])
    return scene.say(
        f"I want '{short}' to be much shorter than '{long}'. Count the characters in both and tell me what percentage of the longer "
        "text the shorter one comes to.",
        f"'{short}' should be a summary of '{long}'. How many characters does each have, and what percentage of the longer text is "
        "the shorter one?",
    )
