"""Goals around the car's climate control, the weather outside, and notes on its display."""

from .registry import goal
from .scene import Scene
from .vehicle import CAR


def weather(value: float) -> str:
    """What people call a temperature outside, in degrees Celsius."""
    return "cold" if value < 10 else "warm" if value > 20 else "mild"


@goal(CAR, topic="climate")
def set_climate(scene: Scene) -> str:
    scene.need(not scene.things.get("outside"))
    car = scene.service(CAR)
    mode = scene.pick(("cool", "heat"))
    degrees = scene.pick(range(18, 22) if mode == "cool" else range(21, 25))
    fan = scene.pick((20, 30, 40, 60, 70, 80))
    scene.need(degrees != car.acTemperature)
    scene.call("adjustClimateControl", temperature=degrees, fanSpeed=fan, mode=mode)
    scene.suppose(weather="warm" if mode == "cool" else "cold", place="car")
    what = "cooled down" if mode == "cool" else "heated"
    scene.leave_out(f"I'd like the car {what}, please.", f"Make it {degrees} °C, with the fan at {fan} percent.")
    if mode == "cool":
        return scene.say(
            f"It's stuffy in the car. Set the climate control to cool, {degrees} °C, with the fan at {fan} percent.",
            f"The car has been in the sun all day. Could you cool the cabin to {degrees} degrees Celsius with the fan at {fan}%?",
        )
    return scene.say(
        f"My hands are freezing. Put the heating on at {degrees} °C and the fan at {fan} percent.",
        f"Could you heat the cabin to {degrees} degrees Celsius, with a fan speed of {fan}%? The baby is on board.",
    )


@goal(CAR, topic="climate")
def set_temperature(scene: Scene) -> str:
    degrees = scene.pick(degrees for degrees in (19, 20, 21, 22, 23) if degrees != scene.service(CAR).acTemperature)
    scene.suppose(place="car")
    scene.call("adjustClimateControl", temperature=degrees)
    return scene.say(
        f"The cabin never feels right. Set it to {degrees} °C on auto with the fan at 50 percent, please.",
        f"I like it at {degrees} degrees Celsius. Put the climate control on auto with the fan at 50 percent.",
    )


@goal(CAR, topic="climate")
def set_fahrenheit(scene: Scene) -> str:
    degrees, fan = scene.pick((66, 68, 70, 72, 74)), scene.pick((30, 40, 60, 75))
    scene.suppose(place="car")
    scene.call("adjustClimateControl", temperature=degrees, unit="fahrenheit", fanSpeed=fan, mode="auto")
    return scene.say(
        f"I'd be comfortable at {degrees} degrees Fahrenheit. Put the climate control on auto for that, with the fan at {fan} percent.",
        f"My passengers are American and asked for {degrees} °F. Use automatic mode and a fan speed of {fan}%, please.",
    )


@goal(CAR, topic="climate")
def defrost(scene: Scene) -> str:
    scene.need(not scene.things.get("outside"))
    degrees = scene.pick((23, 24, 25, 26))
    scene.call("adjustClimateControl", temperature=degrees, fanSpeed=100, mode="defrost")
    scene.suppose(weather="cold", place="car")
    return scene.say(
        (f"The windshield is iced over and I want to leave. Run the defroster at {degrees} °C with the fan on full.", "spot=home"),
        f"I can't see a thing through the fogged-up windshield. Switch to defrost at {degrees} degrees Celsius, fan at 100 percent.",
    )


@goal(CAR, topic="outside")
def outside(scene: Scene) -> str:
    value = scene.call("get_outside_temperature_from_google")["outsideTemperature"]
    scene.keep("outside", value=value)
    scene.suppose(weather=weather(value))
    on_the_way = scene.called("startEngine", "set_navigation")
    return scene.say(
        "Do I need a coat? Look up on Google what the temperature is outside right now.",
        "How warm is it outside at the moment? You can ask Google.",
        *(
            ()
            if on_the_way
            else (
                (
                    "I'd like to walk instead of taking the car. What does Google say about the outside temperature?",
                    "errand=none place=away",
                ),
            )
        ),
    )


@goal(CAR, needs=("outside",), topic="climate")
def climate_for_that_weather(scene: Scene) -> str:
    scene.need(scene.just("outside", "outside_in_fahrenheit"))
    scene.suppose(place="car")
    value = scene.last("outside")["value"]
    fan = scene.pick((30, 40, 60))
    scene.need(value < 14 or value > 23)
    if value < 14:
        degrees = scene.pick((21, 22, 23))
        scene.call("adjustClimateControl", temperature=degrees, fanSpeed=fan, mode="heat")
        return scene.say(
            f"I'd rather have it warm inside, then. Heat the car to {degrees} °C with the fan at {fan} percent.",
            f"Then turn the heating on: {degrees} degrees Celsius, fan at {fan}%.",
        )
    degrees = scene.pick((19, 20, 21))
    scene.call("adjustClimateControl", temperature=degrees, fanSpeed=fan, mode="cool")
    return scene.say(
        f"I'd like it cooler than that inside. Switch on the cooling at {degrees} °C with the fan at {fan} percent.",
        f"In that case, switch on the cooling: {degrees} degrees Celsius, fan at {fan}%.",
    )


@goal(CAR, topic="climate")
def climate_by_weather(scene: Scene) -> str:
    scene.need(not scene.called("get_outside_temperature_from_google"))
    value = scene.call("get_outside_temperature_from_google")["outsideTemperature"]
    limit, fan = scene.pick((12, 15, 18)), scene.pick((30, 40, 60))
    scene.need(abs(value - limit) > 1)
    scene.suppose(weather=weather(value), place="car")
    mode, degrees = ("heat", 22) if value < limit else ("cool", 20)
    scene.call("adjustClimateControl", temperature=degrees, fanSpeed=fan, mode=mode)
    return scene.say(
        f"Check on Google how warm it is outside. If it's below {limit} °C, heat the car to 22 °C, otherwise cool it to 20 °C. Either "
        f"way, run the fan at {fan} percent.",
        f"I want the cabin to be pleasant. If Google says that it's below {limit} °C outside, heat it to 22 °C; if it's warmer than that, "
        f"cool it to 20 °C. Fan at {fan}% in both cases.",
    )


@goal(CAR, needs=("tires",), topic="note")
def note_about_the_tires(scene: Scene) -> str:
    scene.need(scene.just("tire_pressure", "tires_or_shop", "tire_figures"))
    note = scene.pick(("Check the tires again on Friday", "Tire pressure checked, next check in two weeks"))
    scene.call("display_log", messages=[note])
    scene.leave_out("Leave me a reminder on the car's screen, please.", f"It should say '{note}'.")
    return scene.say(
        f"I shouldn't lose sight of that. Leave me a note on the car's screen: '{note}'",
        f'Please show the message "{note}" on the car\'s screen so that I remember.',
    )


@goal(CAR, needs=("filled",), topic="note")
def note_about_the_tank(scene: Scene) -> str:
    scene.need(scene.chance(0.4))  # otherwise it would follow on every second refuelling
    scene.suppose(driver="other", car="own")
    full = scene.last("filled")["full"]
    first = "The tank is full, have a good trip!" if full else "I put some gas in, have a good trip!"
    second = scene.pick(("The parking ticket is in the glove box", "The spare key is in the kitchen drawer"))
    if scene.chance(0.4):
        scene.call("display_log", messages=[first, second])
        return scene.say(
            f"My brother takes the car next. Show him these two messages on its screen, in this order: '{first}' and '{second}'."
        )
    scene.call("display_log", messages=[first])
    return scene.say(
        f'My wife drives next. Leave her a message on the car\'s screen: "{first}"',
        f"My daughter is borrowing the car. Show this message on its screen: '{first}'",
    )
