"""Goals around driving: fuel, distances, tires, navigation, speed."""

from typing import Any

from .registry import goal
from .scene import Scene
from .vehicle import CAR

ROUTES = (
    ("Rivermist", "Stonebrook"),
    ("Maplecrest", "Silverpine"),
    ("Shadowridge", "Sunset Valley"),
    ("Oakendale", "Willowbend"),
    ("Crescent Hollow", "Autumnville"),
    ("San Francisco", "Rivermist"),
    ("San Francisco", "Silverpine"),
    ("Silverpine", "Oakendale"),
    ("Stonebrook", "San Francisco"),
)
"""Cities whose distance the service knows."""
ADDRESSES = (
    "48 Harbor Lane, Monterey, CA",
    "1710 Juniper Street, Boulder, CO",
    "25 Mill Road, Burlington, VT",
    "903 Cedar Avenue, Ashland, OR",
    "312 Lakeview Drive, Madison, WI",
    "67 Orchard Street, Ithaca, NY",
)
_TANK = 50.0
_SHOW_FUEL = ("displayCarStatus", "fillFuelTank", "startEngine")


def _level_known(scene: Scene) -> bool:
    if any(call.name in _SHOW_FUEL and call.arguments.get("option", "fuel") == "fuel" for call in scene.before):
        return True
    return bool(scene.things.get("fuel")) and scene.last("fuel")["level"] == scene.service(CAR).fuelLevel


def _read_level(scene: Scene) -> float:
    """The fuel in the tank; it is read from the car unless an earlier turn showed it."""
    if not _level_known(scene):
        scene.call("displayCarStatus", option="fuel")
    level: float = scene.service(CAR).fuelLevel
    scene.keep("fuel", level=level)
    return level


def _add(scene: Scene, gallons: float) -> None:
    scene.suppose(place="car", spot="station")
    scene.keep("fuel", level=scene.call("fillFuelTank", fuelAmount=gallons)["fuelLevel"])
    scene.keep("filled", full=scene.service(CAR).fuelLevel >= _TANK - 1)


@goal(CAR, topic="fuel level")
def fuel_left(scene: Scene) -> str:
    scene.need(not _level_known(scene) and scene.facts.get("errand") != "none")  # who does not drive does not ask
    _read_level(scene)
    return scene.say(
        ("How much fuel do I have left in the tank? I'd like to know if I have to stop on the way home.", "driver=me errand=home"),
        ("My teenager had the car all weekend. What's the fuel level?", "car=own"),
        "What does the fuel gauge say at the moment?",
    )


@goal(CAR, topic="fuel level")
def fuel_in_liters(scene: Scene) -> str:
    scene.need(scene.facts.get("errand") != "none")
    known = _level_known(scene)
    level = _read_level(scene)
    scene.need(level > 0)
    scene.call("gallon_to_liter", gallon=level)
    if known:
        return scene.say(
            "And how many liters of fuel are in the tank? I grew up with the metric system.", "What's the fuel level in liters?"
        )
    return scene.say(
        "How many liters of gas are in the tank at the moment? I grew up with the metric system.",
        (
            "My cousin from Germany is borrowing the car and asks how full the tank is, in liters. What can I tell him?",
            "driver=other car=own",
        ),
    )


@goal(CAR, topic="refuel")
def fill_up(scene: Scene) -> str:
    scene.need(scene.service(CAR).engine_state != "running" and scene.service(CAR).fuelLevel < 45)
    scene.need(not _level_known(scene))
    _add(scene, _TANK - _read_level(scene))
    return scene.say(
        ("I have a long drive ahead. Check the fuel level and fill the tank all the way up, please.", "driver=me errand=drive"),
        ("We're at the gas station. See how much fuel is left and top the tank off, I want it completely full.", "place=car"),
        ("Gas is cheap today. What's the fuel level? Whatever it is, fill the car up to the brim.", "gas=cheap"),
    )


@goal(CAR, topic="refuel")
def add_gallons(scene: Scene) -> str:
    car = scene.service(CAR)
    scene.need(car.engine_state != "running")
    gallons = scene.pick(amount for amount in (5, 8, 10, 12, 15, 20, 25) if car.fuelLevel + amount <= _TANK)
    _add(scene, gallons)
    scene.leave_out("We're at the pump. Please put some gas in the car.", f"{gallons} gallons, please.")
    return scene.say(
        f"I only have some cash on me, so just put {gallons} gallons of gas in.",
        (f"Please add {gallons} gallons to the tank, that should last until payday.", "driver=me"),
        f"We've stopped for gas. {gallons} more gallons will do, please fill them in.",
    )


@goal(CAR, topic="refuel")
def add_liters(scene: Scene) -> str:
    car = scene.service(CAR)
    scene.need(car.engine_state != "running")
    liters = scene.pick(amount for amount in (10, 15, 20, 30, 35, 45, 55) if car.fuelLevel + amount * 0.264172 <= _TANK)
    gallons = scene.call("liter_to_gallon", liter=liters)["gallon"]
    _add(scene, round(gallons, 1))
    return scene.say(
        *(
            (
                f"I've brought a canister with {liters} liters of gas. Add that to the tank; the system takes gallons, so convert it and "
                "round to one decimal.",
            )
            if liters <= 20
            else ()
        ),
        f"Please put {liters} liters of gas in the car. The pump counts in gallons, so convert it first and round to a tenth of a gallon.",
    )


@goal(CAR, needs=("fuel",), topic="refuel")
def refuel_after_look(scene: Scene) -> str:
    car = scene.service(CAR)
    scene.need(scene.just("fuel_left", "fuel_in_liters") and car.engine_state != "running" and car.fuelLevel < 30)
    if scene.chance(0.5):
        _add(scene, _TANK - _read_level(scene))
        return scene.say(
            ("That won't get me far. Fill the tank all the way up, please.", "driver=me"),
            "Then please fill it up completely, there's a station right here.",
        )
    gallons = scene.pick((8, 10, 12, 15, 18))
    _add(scene, gallons)
    return scene.say(
        f"I'd feel better with a bit more. Put in another {gallons} gallons, please.",
        (f"Okay, then add {gallons} gallons. That should do for this week.", "driver=me"),
    )


@goal(CAR, topic="conversion")
def liters_needed(scene: Scene) -> str:
    scene.need(scene.first)
    liters = scene.pick((42, 48, 55, 62))
    scene.call("liter_to_gallon", liter=liters)
    return scene.say(
        f"A French travel blog says that the mountain loop takes about {liters} liters of fuel. How many gallons is that?",
        f"The brochure of a car that I'd like to buy says that its tank holds {liters} liters. What's that in gallons?",
        f"A friend in Canada says she burns {liters} liters of gas a week. How many gallons is that?",
    )


@goal(CAR, topic="distance")
def distance(scene: Scene) -> str:
    pair = list(scene.pick(ROUTES))
    scene.rng.shuffle(pair)
    start, end = pair
    codes = [scene.call("get_zipcode_based_on_city", city=city)["zipcode"] for city in pair]
    found = scene.call("estimate_distance", cityA=codes[0], cityB=codes[1])["distance"]
    scene.keep("route", start=start, end=end, km=found)
    return scene.say(
        (f"I'm thinking of driving from {start} to {end} this weekend. How far is it?", "errand=weekend"),
        (f"How long is the drive from {start} to {end}, in kilometers?", "errand=drive"),
        (f"My sister lives in {end} and I'm in {start}. What's the distance between the two?", "errand=sister"),
    )


@goal(CAR, topic="range")
def range_for_miles(scene: Scene) -> str:
    scene.need(not _level_known(scene))
    scene.suppose(driver="me")
    miles = scene.pick((60, 90, 140, 180, 230, 260, 320, 410))
    _read_level(scene)
    scene.keep("range", enough=scene.call("estimate_drive_feasibility_by_mileage", distance=miles)["canDrive"])
    return scene.say(
        (f"My parents live {miles} miles away. What's the fuel level, and will it take me there without a stop?", "errand=parents"),
        (
            f"I have a {miles}-mile drive tonight and the stations will be closed. What's the fuel level, and is that enough?",
            "errand=drive",
        ),
        (f"How much fuel is in the tank, and can the car still do {miles} miles on that?", "errand=drive"),
    )


@goal(CAR, needs=("range",), topic="refuel")
def fill_up_for_trip(scene: Scene) -> str:
    scene.need(scene.just("range_for_miles", "range_in_miles"))
    scene.need(not scene.last("range")["enough"] and scene.service(CAR).engine_state != "running")
    _add(scene, _TANK - _read_level(scene))
    return scene.say(
        "I thought so. Then fill the tank to the top before I leave.",
        "Then let's not risk it: fill it up completely, please.",
    )


@goal(CAR, topic="range")
def fill_if_needed(scene: Scene) -> str:
    car = scene.service(CAR)
    scene.need(car.engine_state != "running" and not scene.called("fillFuelTank"))
    scene.suppose(driver="me")
    miles = scene.pick(miles for miles in (120, 170, 240, 330, 450) if abs(miles - 20 * car.fuelLevel) > 5)
    scene.need(not _level_known(scene))
    level = _read_level(scene)
    if not scene.call("estimate_drive_feasibility_by_mileage", distance=miles)["canDrive"]:
        _add(scene, _TANK - level)
    return scene.say(
        (
            f"I have to drive {miles} miles tomorrow. Tell me the fuel level and if it's enough for that. If it isn't, fill the "
            "tank all the way up.",
            "errand=tomorrow",
        ),
        (
            f"The cabin is {miles} miles from here. What's the fuel level, and can I get there with it? If not, please fill the tank to "
            "the top.",
            "errand=cabin",
        ),
    )


@goal(CAR, topic="tires")
def tire_pressure(scene: Scene) -> str:
    running = scene.service(CAR).engine_state == "running"
    scene.keep("tires", found=_tires(scene))
    scene.suppose(place="car")
    return scene.say(
        *(() if running else (("It got cold overnight, so please check my tire pressures before I leave.", "weather=cold"),)),
        "The steering feels a bit off. What's the pressure in each of my tires?",
        "The car pulls to one side. How are the tire pressures?",
    )


@goal(CAR, topic="tires")
def tires_or_shop(scene: Scene) -> str:
    found = _tires(scene)
    limit = scene.pick((30, 32, 34))
    scene.need(all(value != limit for value in found))
    if min(found) < limit:
        scene.keep("shop", place=scene.call("find_nearest_tire_shop")["shopLocation"])
    scene.keep("tires", found=found)
    return scene.say(
        f"Please check my tires. If any of them is under {limit} psi, find out where the nearest tire shop is.",
        (
            f"I want at least {limit} psi in every tire for the trip. Check them, and if one is lower than that, look up the closest tire "
            "shop for me.",
            "errand=trip",
        ),
    )


def _tires(scene: Scene) -> list[float]:
    shown: dict[str, Any] = scene.call("check_tire_pressure")
    return [value for name, value in shown.items() if name.endswith("TirePressure")]


@goal(CAR, topic="shop")
def tire_shop(scene: Scene) -> str:
    scene.need(not scene.things.get("shop"))
    scene.keep("shop", place=scene.call("find_nearest_tire_shop")["shopLocation"])
    if scene.things.get("tires"):
        return scene.say(
            "I'd like a professional to look at them. Where's the nearest tire shop?",
            "Okay. Where is the closest tire shop, in case I need it?",
        )
    return scene.say(
        "I think I've run over a nail. Where's the closest tire shop?",
        ("It's time for winter tires. Which tire shop is nearest to me?", "weather=cold"),
    )


@goal(CAR, needs=("shop",), topic="navigation")
def drive_to_shop(scene: Scene) -> str:
    scene.need(scene.just("tires_or_shop", "tire_shop"))
    scene.call("set_navigation", destination=scene.last("shop")["place"])
    return scene.say("Take me there: set the navigation to that shop.", "Great, put its address into the navigation, please.")


@goal(CAR, topic="navigation")
def navigate(scene: Scene) -> str:
    address = scene.pick(ADDRESSES)
    scene.call("set_navigation", destination=address)
    scene.suppose(place="car", driver="me")
    scene.keep("destination", address=address)
    said = scene.say(
        (f"I'm visiting an old friend. Set the navigation to '{address}', please.", "errand=visit"),
        (f"I don't know the way, so could you guide me to {address}?", "errand=elsewhere"),
        (f"The wedding is at '{address}'. Please enter that as my destination.", "errand=wedding"),
    )
    if scene.facts["errand"] == "visit":
        scene.leave_out("I'm visiting an old friend. Please set the navigation.", f"She lives at {address}, and I'm late already.")
    return said


@goal(CAR, topic="cruise")
def cruise(scene: Scene) -> str:
    car = scene.service(CAR)
    scene.need(car.engine_state == "running" and car.parkingBrakeStatus == "released" and car.cruiseStatus != "active")
    scene.need(not scene.called("setCruiseControl", "get_current_speed"))
    scene.need(car.brakePedalStatus == "released")
    scene.suppose(place="car", driver="me")
    speed, gap = scene.pick((45, 55, 60, 65, 70)), scene.pick((40, 60, 80, 100))
    scene.call("setCruiseControl", speed=speed, activate=True, distanceToNextVehicle=gap)
    scene.leave_out(
        "I'm on the highway now. Turn on the cruise control, please.", f"{speed} mph, and keep {gap} meters to the car in front."
    )
    return scene.say(
        f"I'm on the highway now. Turn on cruise control at {speed} mph and keep {gap} meters to the car in front.",
        f"Traffic is flowing, so set the cruise control to {speed} miles per hour with a gap of {gap} meters to the next vehicle.",
    )


@goal(CAR, topic="speed")
def speed(scene: Scene) -> str:
    car = scene.service(CAR)
    scene.need(car.engine_state == "running" and car.parkingBrakeStatus == "released" and car.brakePedalStatus == "released")
    scene.need(not scene.called("setCruiseControl", "get_current_speed") and car.cruiseStatus != "active")
    scene.call("get_current_speed")
    return scene.say(
        "There's a speed camera around here. How fast am I going right now?",
        "My speedometer is in the sun and I can't read it. What's my current speed?",
    )
