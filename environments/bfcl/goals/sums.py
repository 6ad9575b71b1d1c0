"""Goals around figures: the user's own, and those that other services gave."""

from .registry import goal
from .scene import Scene

SUMS = "MathAPI"
OWN = "own figures"
"""The topic of all sums with the user's own figures: one of them is enough in a story."""


def _cents(scene: Scene, low: float, high: float, count: int) -> list[float]:
    """Amounts whose last digit is not 0, so that they are written as they are read."""
    return [(scene.rng.randrange(int(low * 10), int(high * 10)) * 10 + scene.rng.randrange(1, 10)) / 100 for _ in range(count)]


def _tenths(scene: Scene, low: float, high: float) -> float:
    return (scene.rng.randrange(int(low), int(high)) * 10 + scene.rng.randrange(1, 10)) / 10


def _listed(numbers: list[float]) -> str:
    return ", ".join(map(str, numbers[:-1])) + f" and {numbers[-1]}"


@goal(SUMS, topic=OWN)
def average_spending(scene: Scene) -> str:
    numbers = _cents(scene, 38, 96, scene.pick((6, 7, 8)))
    result = scene.call("mean", numbers=numbers)["result"]
    scene.keep("figure", value=result)
    return scene.say(
        f"My weekly grocery bills were {_listed(numbers)} dollars. What do I spend in a week on average?",
        f"I'm working out our budget. What's the average of these electricity bills: {_listed(numbers)}?",
    )


@goal(SUMS, topic=OWN)
def spread(scene: Scene) -> str:
    numbers = _cents(scene, 6.2, 8.9, scene.pick((6, 7, 8)))
    scene.keep("figure", value=scene.call("standard_deviation", numbers=numbers)["result"])
    return scene.say(
        f"My sleep tracker shows {_listed(numbers)} hours for the last nights. How much does that vary? I'm after the standard deviation.",
        f"We timed our 2K runs, in minutes: {_listed(numbers)}. What's the standard deviation of the times?",
    )


@goal(SUMS, topic=OWN)
def range_of_bills(scene: Scene) -> str:
    numbers = _cents(scene, 71, 138, 12)
    scene.call("min_value", numbers=numbers)
    scene.call("max_value", numbers=numbers)
    scene.keep("figure", value=scene.call("mean", numbers=numbers)["result"])
    return scene.say(
        f"Our heating costs last year were {_listed(numbers)}. What's the lowest, the highest and the average?",
        f"I'm comparing apartments. Utility bills here were {_listed(numbers)}. Give me the lowest, the highest and the average.",
    )


@goal(SUMS, topic=OWN)
def total(scene: Scene) -> str:
    numbers = _cents(scene, 12, 240, scene.pick((6, 7, 8)))
    scene.keep("sum", value=scene.call("sum_values", numbers=numbers)["result"])
    return scene.say(
        (f"I have to hand in my expenses. What do these receipts add up to: {_listed(numbers)} dollars?", "bills=own"),
        (f"My friends and I split the costs of our trip. What do {_listed(numbers)} dollars make in total?", "bills=shared"),
    )


@goal(SUMS, needs=("sum",), topic="own figures again")
def split_the_sum(scene: Scene) -> str:
    scene.need(scene.just("total"))
    scene.suppose(bills="shared")
    value, people = scene.last("sum")["value"], scene.pick((6, 7, 9, 11))
    scene.need(value == round(value, 2))
    scene.call("divide", a=value, b=people)
    return scene.say(
        f"There were {people} of us. What does each one owe?", f"Divide that among the {people} of us, please. How much is it for each?"
    )


@goal(SUMS, topic=OWN)
def two_bills(scene: Scene) -> str:
    one, other = _cents(scene, 1200, 9800, 2)
    scene.call("add", a=one, b=other)
    return scene.say(
        f"The roof cost me ${one} and the new windows ${other}. What's that together? The insurance form wants it to the cent.",
        f"My two jobs paid {one} and {other} dollars last month. How much did I earn altogether, to the cent?",
    )


@goal(SUMS, topic=OWN)
def odometer(scene: Scene) -> str:
    before = _tenths(scene, 21000, 64000)
    after = _tenths(scene, before + 700, before + 4000)
    scene.call("subtract", a=after, b=before)
    return scene.say(
        f"My odometer read {before} at the start of the year and it's at {after} now. How many miles have I driven in between?",
        f"Our power meter stood at {before} kilowatt hours on New Year's Day and shows {after} today. How much electricity have we "
        "used since then?",
    )


@goal(SUMS, topic=OWN)
def share(scene: Scene) -> str:
    whole = scene.rng.randrange(12000, 48000, 50)
    part = scene.rng.randrange(3000, whole - 2000, 25)
    scene.keep("figure", value=scene.call("percentage", part=part, whole=whole)["result"])
    return scene.say(
        f"I've paid back {part:,} dollars of my {whole:,} dollar loan. What percentage is that?",
        f"Our fundraiser has brought in ${part:,} of the ${whole:,} we need. What percentage of the goal is that?",
    )


@goal(SUMS, topic=OWN)
def mileage(scene: Scene) -> str:
    gallons = _tenths(scene, 8, 16)
    miles = _tenths(scene, gallons * 23, gallons * 37)
    scene.keep("figure", value=scene.call("divide", a=miles, b=gallons)["result"])
    return scene.say(
        f"I drove {miles} miles on {gallons} gallons of gas. How many miles to the gallon is that?",
        f"My last tank was {gallons} gallons and took me {miles} miles. What mileage do I get?",
    )


@goal(SUMS, topic=OWN)
def commute(scene: Scene) -> str:
    miles, days = _tenths(scene, 12, 39), scene.rng.randrange(181, 229)
    scene.keep("distance", value=scene.call("multiply", a=miles, b=days)["result"])
    return scene.say(
        (
            f"For my tax return: I drive {miles} miles a day to work, there and back together, and did so on {days} days. How many miles "
            "is that in total?",
            "commute=car",
        ),
        (
            f"I bike {miles} kilometers a day to work, there and back together, and I did so on {days} days last year. What distance does "
            "that make?",
            "commute=bike",
        ),
    )


@goal(SUMS, needs=("distance",), topic="own figures again")
def pay_for_the_commute(scene: Scene) -> str:
    scene.need(scene.just("commute"))
    scene.suppose(commute="car")
    value, rate = scene.last("distance")["value"], scene.pick((0.58, 0.67, 0.725))
    scene.need(value == round(value, 1))
    scene.call("multiply", a=value, b=rate)
    return scene.say(
        f"I can deduct ${rate} a mile. What does that come to?", f"The tax office grants ${rate} for each mile. How much is it in total?"
    )


@goal(SUMS, topic=OWN)
def growth(scene: Scene) -> str:
    rate, years = scene.pick((1.035, 1.042, 1.051, 1.0625)), scene.pick((8, 12, 15, 18))
    scene.keep("figure", value=scene.call("power", base=rate, exponent=years)["result"])
    return scene.say(
        f"My savings grow by a factor of {rate} a year. By what factor will they have grown in {years} years?",
        f"Every year, rents here are {rate} times what they were the year before. By what factor do they grow in {years} years?",
    )


@goal(SUMS, topic=OWN)
def doublings(scene: Scene) -> str:
    factor, digits = scene.pick((37, 52, 90, 140, 300)), scene.pick((5, 6, 8))
    scene.call("logarithm", value=factor, base=2, precision=digits)
    return scene.say(
        f"My channel has {factor} times as many viewers as in its first week. How many times has that number doubled? I need the answer "
        f"to {digits} significant digits.",
        f"A bacteria culture in our lab grew by a factor of {factor}. How many times did it double? The lab book wants {digits} "
        "significant digits.",
    )


@goal(SUMS, topic=OWN)
def square_side(scene: Scene) -> str:
    area, digits = scene.pick((730, 415, 1250, 86, 560)), scene.pick((5, 6, 8))
    scene.call("square_root", number=area, precision=digits)
    return scene.say(
        f"Our new garden is a square of {area} square meters. How long is each side? {digits} significant digits are precise enough.",
        f"I'm fencing a square paddock of {area} square meters. How long is one side of it, to {digits} significant digits?",
    )


@goal(SUMS, topic=OWN)
def own_units(scene: Scene) -> str:
    value, unit_in, unit_out, text = scene.pick(
        (
            (187.5, "km", "miles", "The hiking trail is 187.5 km long. How many miles is that? My American friends want to know."),
            (23.4, "kg", "lb", "My suitcase weighs 23.4 kg, but the airline gives its limit in lb. What's the weight in lb?"),
            (164, "lb", "kg", "My doctor abroad asks for my weight in kg. I weigh 164 lb, so what do I tell her?"),
            (9.35, "m", "ft", "The boat I want to rent is 9.35 m long. What's that in ft?"),
            (74.5, "in", "cm", "My desk is 74.5 in wide, but the shop lists everything in cm. What's the width in cm?"),
            (38.6, "celsius", "fahrenheit", "My thermometer shows 38.6 degrees Celsius. What's that in Fahrenheit? The nurse asks."),
            (425, "fahrenheit", "celsius", "The recipe says 425 degrees Fahrenheit, but my oven only shows Celsius. What should I set?"),
            (118, "yd", "m", "The field is 118 yd long, and the shop sells rope by the meter. What's the length in m?"),
        )
    )  # fmt: skip
    scene.call("imperial_si_conversion", value=value, unit_in=unit_in, unit_out=unit_out)
    return text


@goal(SUMS, topic=OWN)
def metric_units(scene: Scene) -> str:
    step, count = _tenths(scene, 61, 84), scene.rng.randrange(7013, 16987)
    length = scene.call("multiply", a=step, b=count)["result"]
    scene.keep("figure", value=scene.call("si_unit_conversion", value=length, unit_in="cm", unit_out="km")["result"])
    return scene.say(
        f"My step is {step} cm long, and I took {count} steps today. How many cm is that, and how many km? I keep losing a zero.",
        f"A wheel of my daughter's scooter covers {step} cm in one turn, and it made {count} turns. Work out the distance in cm, and then "
        "convert it to km for her school project.",
    )
