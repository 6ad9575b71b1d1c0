"""Goals around figures: the user's own, and those that other services gave."""

from .registry import goal
from .scene import Scene

SUMS = "MathAPI"
OWN = "own figures"
"""The topic of all sums with the user's own figures: one of them is enough in a story."""


_LONG_RESULTS = (
    *("average_spending", "spread", "range_of_bills", "total", "share", "mileage", "growth"),
    *("fare_share", "average_share_price", "share_of_characters", "tire_figures"),
)
"""Goals whose results have more digits than people want."""


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
        f"These are our heating costs for the last twelve months: {_listed(numbers)}. What's the minimum, the maximum and the mean?",
        f"I'm comparing apartments. The utility bills of this one were {_listed(numbers)}. Give me their minimum, maximum and mean.",
    )


@goal(SUMS, topic=OWN)
def total(scene: Scene) -> str:
    numbers = _cents(scene, 12, 240, scene.pick((6, 7, 8)))
    scene.keep("figure", value=scene.call("sum_values", numbers=numbers)["result"])
    return scene.say(
        f"I have to hand in my expenses. What do these receipts add up to: {_listed(numbers)} dollars?",
        f"We split the costs of our trip. Can you total {_listed(numbers)}?",
    )


@goal(SUMS, topic=OWN)
def two_bills(scene: Scene) -> str:
    one, other = _cents(scene, 1200, 9800, 2)
    scene.call("add", a=one, b=other)
    return scene.say(
        f"The roof cost me ${one} and the new windows ${other}. What's that together? I need it for the insurance form.",
        f"My two jobs paid {one} and {other} dollars last month. How much did I earn altogether?",
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
    scene.call("multiply", a=miles, b=days)
    return scene.say(
        f"For my tax return: my commute is {miles} miles there and back, and I did it on {days} days. How many miles are that in a year?",
        f"I bike {miles} kilometers to work and back, {days} days a year. What distance does that make?",
    )


@goal(SUMS, topic=OWN)
def growth(scene: Scene) -> str:
    rate, years = scene.pick((1.035, 1.042, 1.051, 1.0625)), scene.pick((8, 12, 15, 18))
    percent = f"{(rate - 1) * 100:.4g}"
    scene.keep("figure", value=scene.call("power", base=rate, exponent=years)["result"])
    return scene.say(
        f"My savings grow by {percent} percent a year, so by a factor of {rate}. What factor is that over {years} years, {rate} to "
        f"the power of {years}?",
        f"Rents here rise by {percent}% a year. By what factor do they grow in {years} years, in other words, what is {rate} to the "
        f"power of {years}?",
    )


@goal(SUMS, topic=OWN)
def doublings(scene: Scene) -> str:
    factor, digits = scene.pick((37, 52, 90, 140, 300)), scene.pick((5, 6, 8))
    scene.call("logarithm", value=factor, base=2, precision=digits)
    return scene.say(
        f"My channel has {factor} times as many viewers as in its first week. How many doublings is that? Give me the logarithm of "
        f"{factor} to base 2, with a "
        f"precision of {digits}.",
        f"A bacteria culture in our lab grew by a factor of {factor}. Please take the base 2 logarithm of {factor} with a precision "
        f"of {digits} digits, so that "
        "I know how often it doubled.",
    )


@goal(SUMS, topic=OWN)
def square_side(scene: Scene) -> str:
    area, digits = scene.pick((730, 415, 1250, 86, 560)), scene.pick((5, 6, 8))
    scene.call("square_root", number=area, precision=digits)
    return scene.say(
        f"Our new garden is a square of {area} square meters. How long is each side? {digits} digits are precise enough.",
        f"I'm fencing a square paddock of {area} square meters. Work out the square root to {digits} digits so that I know the side "
        "length.",
    )


@goal(SUMS, topic=OWN)
def homework(scene: Scene) -> str:
    number = -_cents(scene, 12, 480, 1)[0]
    scene.call("absolute_value", number=number)
    scene.call("power", base=number, exponent=2)
    return scene.say(
        f"I'm checking my daughter's math homework. What is the absolute value of {number}, and what is its square?",
        f"My son has to write down the absolute value and the square of {number} and doesn't trust my answers. Can you work out both?",
    )


@goal(SUMS, needs=("figure",), topic="rounding")
def rounded(scene: Scene) -> str:
    scene.need(scene.just(*_LONG_RESULTS))
    value, places = scene.last("figure")["value"], scene.pick((2, 3))
    scene.need(isinstance(value, float) and round(value, places) != value)
    scene.call("round_number", number=value, decimal_places=places)
    words = {2: "two", 3: "three"}[places]
    return scene.say(
        f"That's more digits than I need. Please round it to {words} decimal places.",
        f"Can you round that to {words} decimals for my notes?",
    )


@goal(SUMS, topic=OWN)
def own_units(scene: Scene) -> str:
    value, unit_in, unit_out, text = scene.pick(
        (
            (187.5, "km", "miles", "The hiking trail is 187.5 km long. How many miles is that? My American friends want to know."),
            (23.4, "kg", "lb", "My suitcase weighs 23.4 kg, but the airline gives its limit in lb. What's the weight in lb?"),
            (164, "lb", "kg", "My doctor abroad asks for my weight in kg. I weigh 164 lb, so what do I tell her?"),
            (31.7, "m", "ft", "The boat I want to rent is 31.7 m long. What's that in ft?"),
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
    value, unit_in, unit_out, text = scene.pick(
        (
            (0.235, "mm", "um", "The layer height of my 3D printer is set to 0.235 mm. How many um is that?"),
            (12.35, "km", "cm", "I'm building a model of a railway line of 12.35 kilometers. How many centimeters is that in reality?"),
            (48260, "mm", "m", "The plan gives the length of the fence as 48260 mm. What is that in m?"),
        )
    )  # fmt: skip
    scene.call("si_unit_conversion", value=value, unit_in=unit_in, unit_out=unit_out)
    return text
