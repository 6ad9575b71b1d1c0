"""Goals around the parked car and its cabin: doors, engine, brakes, lights, climate, what it reports."""

from .registry import goal
from .scene import Scene, Wording

CAR = "VehicleControlAPI"
DOORS = {"driver": "driver's door", "passenger": "passenger door", "rear_left": "rear left door", "rear_right": "rear right door"}
QUESTIONS: dict[str, tuple[Wording, ...]] = {
    "battery": (
        "The car cranked slowly this morning. What voltage does the battery show?",
        ("It's been freezing at night, so I'd like to know how the battery is doing. What's its voltage?", "weather=cold"),
    ),
    "doors": (
        ("I'm not sure that I locked everything. Which of the car's doors are locked?", "place=away"),
        "Can you tell me how the doors of my car are right now, locked or unlocked?",
    ),
    "climate": (
        "What is the climate control set to at the moment?",
        "My wife said the cabin felt odd yesterday. What are the current settings of the air conditioning?",
    ),
    "headlights": (
        ("Did I leave the headlights on?", "place=away"),
        ("Someone at the office said a car in the lot has its lights on. Are my headlights on?", "place=away"),
    ),
    "parkingBrake": (
        ("I walked away from the car and can't remember setting the parking brake. Is it on?", "place=away"),
        ("Is my car's parking brake on? I left in a hurry.", "place=away"),
    ),
    "engine": (
        ("I'm back in the house and not sure what I did: is the car's engine running?", "place=away"),
        ("Is the engine of my car on right now? I got out in a hurry.", "place=away"),
    ),
}


_PARKED = ("park_and_leave", "lock_all", "lock_the_rest", "unlock_some", "set_the_brake", "parking_brake", "ask_about_the_car")
"""Goals of somebody who is not about to drive."""


_UNLOCKING = (
    (
        ["rear_left", "rear_right"],
        (
            "The kids are waiting at the car. Unlock both rear doors for them.",
            "I need to strap in two child seats, so please unlock the two back doors.",
        ),
    ),
    (
        ["passenger"],
        (
            "My friend is standing next to the car in the rain. Unlock the passenger door for her, please.",
            "Please unlock the front passenger door, I left my bag on that seat.",
        ),
    ),
    (
        ["driver"],
        (
            "I'm walking up to the car. Unlock the driver's door for me, please.",
            "Could you unlock the driver's door? My hands are full.",
        ),
    ),
)


@goal(CAR, topic="question")
def ask_about_the_car(scene: Scene) -> str:
    car = scene.service(CAR)
    touched = {
        "doors": scene.called("lockDoors"),
        "climate": scene.called("adjustClimateControl"),
        "headlights": scene.called("setHeadlights"),
        "parkingBrake": scene.called("activateParkingBrake"),
        "battery": scene.called("startEngine"),
        "engine": scene.called("startEngine") or car.engine_state == "running",
    }
    notable = [
        *(["headlights"] if car.headLightStatus == "on" else []),
        *(["doors"] if car.remainingUnlockedDoors else []),
        *(["parkingBrake"] if car.parkingBrakeStatus == "released" else []),
    ]
    options = [*QUESTIONS, *notable, *notable] if scene.first else ["battery", "climate"]
    option = scene.pick(option for option in options if not touched[option])
    shown = scene.call("displayCarStatus", option=option)
    if option == "headlights" and shown["headlightStatus"] == "on":
        scene.keep("lights on")
    if option == "doors" and "unlocked" in shown["doorStatus"].values():
        scene.keep("doors open")
    if option == "parkingBrake" and shown["parkingBrakeStatus"] == "released":
        scene.keep("brake off")
    return scene.say(*QUESTIONS[option])


@goal(CAR, needs=("lights on",), topic="headlights")
def lights_off(scene: Scene) -> str:
    scene.need(scene.just("ask_about_the_car"))
    scene.call("setHeadlights", mode="off")
    return scene.say(
        "Oh dear. Please switch them off before the battery dies.", ("Then turn them off for me, it's broad daylight.", "time=day")
    )


@goal(CAR, needs=("doors open",), topic="doors")
def lock_the_rest(scene: Scene) -> str:
    scene.need(scene.just("ask_about_the_car"))
    scene.need(scene.service(CAR).remainingUnlockedDoors)
    scene.call("lockDoors", unlock=False, door=_unlocked(scene))
    return scene.say("Then please lock every door that's still open.", "That won't do, my laptop is in there. Lock all the doors, please.")


@goal(CAR, needs=("brake off",), topic="parking brake")
def set_the_brake(scene: Scene) -> str:
    scene.need(scene.just("ask_about_the_car"))
    scene.call("activateParkingBrake", mode="engage")
    return scene.say("Good thing I asked. Set it, please.", "Then please put it on before the car rolls away.")


@goal(CAR, topic="headlights")
def headlights(scene: Scene) -> str:
    car = scene.service(CAR)
    turn_on = car.headLightStatus == "off"
    scene.call("setHeadlights", mode="on" if turn_on else "off")
    if turn_on:
        return scene.say(
            ("It's getting dark out here. Turn my headlights on, please.", "time=night place=car"),
            "There's thick fog ahead. Could you switch the headlights on?"
            if car.engine_state == "running"
            else ("I've dropped my keys somewhere in front of the car. Turn on the headlights, please.", "time=night place=car"),
            ("I can hardly see the driveway. Put the car's headlights on for me.", "time=night place=car spot=home"),
        )
    return scene.say(
        ("The sun is up, so I don't need the headlights any more. Please turn them off.", "time=day place=car"),
        ("Could you switch my headlights off? I've reached a well-lit garage.", "place=car spot=garage"),
    )


@goal(CAR, topic="doors")
def lock_all(scene: Scene) -> str:
    scene.need(scene.service(CAR).engine_state != "running" and not scene.called("set_navigation"))
    closed = [door for door in DOORS if door not in _unlocked(scene)]
    scene.call("lockDoors", unlock=False, door=_unlocked(scene))
    scene.keep("parked")
    scene.suppose(place="away")
    if closed:
        return scene.say(
            "I think some of my car's doors are still unlocked. Please make sure that all four are locked.",
            ("Could you lock whatever doors of the car are still open? I'm going to bed.", "time=night errand=none"),
        )
    return scene.say(
        "I walked away from the car without locking it. Can you lock all the doors?",
        ("There have been break-ins in our street. Lock all four doors of my car, please.", "errand=none"),
        "Please lock the whole car for me, every door.",
    )


@goal(CAR, topic="doors")
def park_and_leave(scene: Scene) -> str:
    car = scene.service(CAR)
    scene.need(car.engine_state != "running" and car.parkingBrakeStatus == "released")
    scene.need(not scene.called("activateParkingBrake", "set_navigation"))
    scene.call("lockDoors", unlock=False, door=_unlocked(scene))
    scene.call("activateParkingBrake", mode="engage")
    scene.keep("parked")
    scene.suppose(place="away")
    return scene.say(
        ("I've parked on a slope and am off to see a friend. Lock all the doors and set the parking brake, please.", "errand=visit"),
        ("The car stays here overnight, so put on the parking brake and lock every door.", "errand=none"),
        ("I'm leaving the car at the trailhead for the day. Could you lock it up completely and engage the parking brake?", "errand=hike"),
    )


@goal(CAR, topic="doors")
def unlock_some(scene: Scene) -> str:
    car = scene.service(CAR)
    scene.need(car.engine_state != "running" and not scene.called("lockDoors"))
    doors, texts = scene.pick(_UNLOCKING)
    scene.need(all(car.doorStatus[door] == "locked" for door in doors))
    scene.call("lockDoors", unlock=True, door=doors)
    scene.suppose(place="away")
    return scene.say(*texts)


@goal(CAR, topic="engine")
def start_engine(scene: Scene) -> str:
    car = scene.service(CAR)
    scene.need(car.engine_state != "running" and car.fuelLevel > 0)
    scene.need(not any(turn.goal in _PARKED for turn in scene.turns))
    locking = bool(_unlocked(scene, anyway=True))
    if locking:
        scene.call("lockDoors", unlock=False, door=_unlocked(scene))
    if car.brakePedalStatus != "pressed" or car._brakePedalForce != 1000.0:
        scene.call("pressBrakePedal", pedalPosition=1.0)
    started = scene.call("startEngine", ignitionMode="START")
    scene.suppose(place="car", driver="me")
    scene.keep("engine", fuel=started["fuelLevel"])
    scene.keep("fuel", level=started["fuelLevel"])
    if locking:
        return scene.say(
            "We're all in and ready to go. Lock the doors and start the car, please.",
            ("Time to leave for work. Please lock up all the doors and get the engine running.", "errand=work"),
            "I'd like to set off now. Lock all the doors, please, and start the engine.",
        )
    return scene.say(
        "I'm sitting in the car and ready to go. Start the engine, please.",
        ("Could you get the engine running for me? I'm off to the airport.", "errand=airport"),
        "Time to leave. Please start the car.",
    )


@goal(CAR, needs=("engine",), topic="pedal")
def let_go_of_the_pedal(scene: Scene) -> str:
    car = scene.service(CAR)
    scene.need(car.brakePedalStatus == "pressed")
    both = car.parkingBrakeStatus == "engaged"
    if both:
        scene.call("activateParkingBrake", mode="release")
    scene.call("releaseBrakePedal")
    if not scene.just("start_engine"):
        return scene.say(
            "Everything is set. Take off the parking brake and release the brake pedal, I want to pull out."
            if both
            else "Everything is set. Release the brake pedal now, I want to pull out."
        )
    if both:
        return scene.say(
            "The engine sounds fine, so let's roll: release the parking brake and let go of the brake pedal.",
            "Good. Now take off the parking brake and release the brake pedal, I want to pull out.",
        )
    return scene.say(
        "The engine sounds fine. Release the brake pedal now so that I can roll out of the driveway.",
        "Good, it's running. You can let go of the brake pedal, I'm pulling out.",
    )


@goal(CAR, topic="parking brake")
def parking_brake(scene: Scene) -> str:
    car = scene.service(CAR)
    scene.need(not scene.called("activateParkingBrake"))
    if car.parkingBrakeStatus == "engaged":
        scene.need(car.engine_state == "running")
        scene.call("activateParkingBrake", mode="release")
        return scene.say(
            "I'm about to pull out of the garage. Please release the parking brake.", "Off we go: take the parking brake off, please."
        )
    scene.need(car.engine_state != "running")
    scene.call("activateParkingBrake", mode="engage")
    scene.suppose(place="car", spot="street")
    return scene.say(
        "The street is steeper than I thought. Please put the parking brake on.",
        "I'm about to change a wheel. Engage the parking brake for me first, please.",
        "Please set the parking brake, I'm parked next to a ditch.",
    )


@goal(CAR, topic="pedal")
def brake_lights(scene: Scene) -> str:
    car = scene.service(CAR)
    scene.need(
        car.brakePedalStatus == "released" and not scene.called("releaseBrakePedal", "startEngine") and car.engine_state != "running"
    )
    half = scene.chance(0.5)
    scene.call("pressBrakePedal", pedalPosition=0.5 if half else 1.0)
    scene.keep("pedal")
    scene.suppose(place="car", spot="garage")
    how = "halfway" if half else "all the way"
    return scene.say(
        f"My mechanic is standing behind the car to watch the brake lights. Press the brake pedal {how} down and keep it there.",
        f"I'm checking my brake lights in the garage window. Could you hold the brake pedal {how} down?",
    )


@goal(CAR, needs=("pedal",), topic="pedal release")
def release_after_the_test(scene: Scene) -> str:
    scene.need(scene.just("brake_lights"))
    scene.need(scene.service(CAR).brakePedalStatus == "pressed")
    scene.call("releaseBrakePedal")
    return scene.say(
        "The lights work, thanks. You can let go of the brake pedal now.", "All good, both of them light up. Release the pedal, please."
    )


def _unlocked(scene: Scene, anyway: bool = False) -> list[str]:
    """The doors that are not locked. Raises NotHere when there is none, unless that is said to be fine."""
    status = scene.service(CAR).doorStatus
    doors = [door for door in DOORS if status[door] == "unlocked"]
    scene.need(doors or anyway)
    return doors
