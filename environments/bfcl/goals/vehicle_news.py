"""Goals that tell others about the car: messages, tweets, tickets."""

from .messaging import send, tweet
from .registry import goal
from .scene import Scene
from .vehicle import CAR


@goal(CAR, needs=("engine",), topic="message", also=("MessageAPI",))
def message_on_departure(scene: Scene) -> str:
    scene.need(scene.facts.get("errand") not in ("airport", "work", "trip"))
    words = scene.say(
        "I'm leaving now, see you soon.", ("Just got in the car. Put the kettle on!", "errand=visit"), "I'm on my way, but a little late."
    )
    name, note = send(scene, words)
    return scene.say(
        f"Let {name} know that I'm coming. Send this message: '{words}'{note}",
        f'{name} is waiting for me, so please text: "{words}"{note}',
    )


@goal(CAR, needs=("engine",), topic="tweet", also=("TwitterAPI",))
def tweet_on_departure(scene: Scene) -> str:
    scene.suppose(errand="trip")
    words = scene.say("The road trip starts now!", "Bags packed, engine on, off we go.", "First stop: coffee. Then the mountains.")
    tag = scene.pick(("#RoadTrip", "#OnTheRoad", ""))
    tweet(scene, words, tag)
    tagged = f" with the hashtag {tag}" if tag else ""
    return scene.say(
        f"My friends want to follow the trip on Twitter. Please post '{words}'{tagged}.",
        f'Before I pull out, tweet "{words}"{tagged} for me.',
    )


@goal(CAR, needs=("filled",), topic="tweet", also=("TwitterAPI",))
def tweet_full_tank(scene: Scene) -> str:
    full = scene.last("filled")["full"]
    words = scene.say(
        ("Gas prices are a joke these days.", "gas=dear"),
        *(
            (
                ("Fueled up for the weekend. Where should I go?", "errand=open"),
                ("There goes my paycheck, into the gas tank.", "gas=dear"),
            )
            if full
            else ()
        ),
    )
    tweet(scene, words)
    return scene.say(f"Now post a tweet for me that says '{words}'", f'I have to tell my followers. Please tweet "{words}"')


@goal(CAR, needs=("tires",), topic="ticket", also=("TicketAPI",))
def ticket_for_tires(scene: Scene) -> str:
    scene.need(scene.service("TicketAPI").current_user and scene.just("tire_pressure", "tires_or_shop"))
    title, text = "Uneven tire pressure", "Please inspect the tires of my company car."
    scene.need(len(set(scene.last("tires")["found"])) > 1)
    priority = scene.pick((2, 3, 4))
    scene.suppose(car="company")
    scene.call("create_ticket", title=title, description=text, priority=priority)
    return scene.say(
        f"They aren't even, so the fleet team should have a look. Open a ticket at priority {priority} called '{title}' that says '{text}'",
        f"That needs fixing. Please file a priority {priority} ticket titled '{title}' and describe it like this: '{text}'",
    )


@goal(CAR, needs=("parked",), topic="message", also=("MessageAPI",))
def message_parked(scene: Scene) -> str:
    words = scene.say(
        "The car is locked, you can take the spare key.",
        "I left the car in our usual spot.",
        ("The car is parked. See you at the restaurant!", "errand=dinner"),
    )
    name, note = send(scene, words)
    return scene.say(f"Now let {name} know. The message is '{words}'{note}", f'Please write "{words}" to {name}.{note}')


@goal(CAR, needs=("destination",), topic="message", also=("MessageAPI",))
def message_destination(scene: Scene) -> str:
    words = f"I'm driving to {scene.last('destination')['address']} now. I'll call you from there."
    name, note = send(scene, words)
    return scene.say(f'{name} should know where I am. Send "{words}" to {name}, please.{note}')


@goal(CAR, needs=("shop",), topic="message", also=("MessageAPI",))
def message_shop(scene: Scene) -> str:
    words = scene.say(
        "I have to take the car to a tire shop first, so I'll be an hour late.",
        "I have some trouble with the car. Please start without me.",
    )
    name, note = send(scene, words)
    return scene.say(
        f'{name} expects me soon, so please send this: "{words}"{note}',
        f'This will take a while. Write to {name}: "{words}"{note}',
    )


@goal(CAR, needs=("outside",), topic="tweet", also=("TwitterAPI",))
def tweet_weather(scene: Scene) -> str:
    value = scene.last("outside")["value"]
    scene.need(scene.just("outside") and (value < 3 or value > 27))
    words = "Winter is not over yet!" if value < 3 else "What a scorcher. Who is up for ice cream?"
    tag = scene.pick(("#weather", ""))
    tweet(scene, words, tag)
    tagged = f" with the hashtag {tag}" if tag else ""
    return scene.say(f"I knew it. Tweet '{words}'{tagged}, please.", f"That deserves a tweet{tagged}. Post '{words}'")
