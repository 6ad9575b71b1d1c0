"""Goals around the messages of a workspace: people, contacts, sending, looking back."""

from typing import Any

from ..decode import Call
from .registry import goal
from .scene import Scene

CHAT = "MessageAPI"

GENERAL = (
    "Can we move our meeting to 3 pm?",
    "Lunch on Friday? My treat.",
    "The meeting room on the second floor is ours from ten on.",
    "Thanks for covering for me yesterday.",
    "I will be out of office on Monday.",
    "Please bring your laptop charger tomorrow.",
    "Could you call me back this afternoon?",
    "I left the keys with the receptionist.",
    "Do you still have my umbrella?",
    "The plumber comes at noon, can you let him in?",
    "Did you get my email from this morning?",
    "Congratulations on your promotion!",
)
BY_CLASS = {
    "VehicleControlAPI": (
        "I am about to leave, see you in an hour.",
        "Shall I pick you up at the station?",
        "I am taking the car today, do you need a lift?",
        "Is there still a parking space near your office?",
        "Can you recommend a good garage?",
    ),
    "TravelAPI": (
        "Can you water my plants while I am travelling?",
        "I will be travelling next week, call me on my cell.",
        "Do you need anything from the airport?",
        "Which hotel did you stay at last time?",
        "I am planning a trip, do you want to come along?",
    ),
    "GorillaFileSystem": (
        "I am going through our files today, anything you need?",
        "The new folder structure takes some getting used to.",
        "Which of the drafts do you like best?",
        "Please keep your hands off the shared folder until tonight.",
        "When do you need the documents?",
    ),
    "TradingBot": (
        "Do you have ten minutes to talk about our investments?",
        "I am going over my portfolio today, any tips?",
        "The investment club meets on Tuesday at six.",
        "What do you think of tech stocks these days?",
    ),
}
"""What people write about, by what else they are busy with in a world."""


def quoted(scene: Scene, text: str) -> str:
    """A text in quotation marks that it does not hold itself."""
    mark = '"' if "'" in text else scene.pick("'\"")
    return f"{mark}{text}{mark}"


def user(scene: Scene) -> tuple[str, str]:
    """Name and id of the user: who is signed in, else the first person that no message went to, since the user sent those."""
    chat = scene.service(CHAT)
    receivers = {identity for message in chat.inbox for identity in message}
    people = [(name, identity) for name, identity in chat.user_map.items() if (chat.current_user or identity) == identity]
    free = [person for person in people if chat.current_user or person[1] not in receivers]
    scene.need(free)
    return free[0]


def introduce(scene: Scene) -> str:
    """Sign the user in, unless that is done; returns the sentence that says who the user is, with a space before it, or nothing."""
    if scene.service(CHAT).current_user:
        return ""
    name, identity = user(scene)
    if scene.chance(0.7):
        scene.call("message_login", user_id=identity)
        return scene.say(f" My user ID is {identity}.", f" I'm {identity} there.", f" In case you need to sign me in: I'm {identity}.")
    scene.call("get_user_id", user=name)
    scene.call("message_login", user_id=identity)
    return scene.say(f" I'm {name}, so sign me in first.", f" You have to log me in for that; I'm {name}.")


def contacts(scene: Scene) -> list[str]:
    """The names of the people other than the user."""
    mine = user(scene)[0]
    return [name for name in scene.service(CHAT).user_map if name not in (mine, "Colleague")]


def address(scene: Scene, name: str) -> str:
    """A person's id; found out by a call, unless it was found out before."""
    identity = str(scene.service(CHAT).user_map[name])
    added = any(person["name"] == name for person in scene.things.get("person", ()))
    if not added and Call("get_user_id", {"user": name}) not in [*scene.earlier(), *scene.calls]:
        scene.call("get_user_id", user=name)
    return identity


def readable(scene: Scene) -> list[dict[str, str]]:
    """The messages so far. Raises NotHere where the benchmark's own are not texts."""
    inbox = scene.service(CHAT).inbox
    scene.need(inbox and all(isinstance(text, str) for message in inbox for text in message.values()))
    return list(inbox)


def _texts(scene: Scene) -> list[str]:
    special = [text for owner, found in BY_CLASS.items() if scene.has(owner) for text in found]
    sent = {call.arguments.get("message") for call in scene.earlier()}
    return [text for text in (special * 2 + list(GENERAL)) if text not in sent]


def send(scene: Scene, name: str, text: str) -> None:
    """Send a text to a contact and leave the message behind."""
    scene.call("send_message", receiver_id=address(scene, name), message=text)
    scene.keep("message", name=name, text=text, turn=len(scene.turns))


def recent(scene: Scene, *goals: str) -> dict[str, Any]:
    """The message that the turn just before this one sent, which must be of one of these goals."""
    scene.need(scene.turns[-1].goal in goals)
    return scene.last("message")


@goal(CHAT, topic="message")
def send_a_message(scene: Scene) -> str:
    who = introduce(scene)
    name = scene.pick(contacts(scene))
    text = scene.pick(_texts(scene))
    send(scene, name, text)
    words = quoted(scene, text)
    if not who:
        scene.leave_out(
            f"Please send a message for me. It should say: {words}", scene.say(f"Oh, sorry, it's for {name}.", f"Send it to {name}.")
        )
    return scene.say(
        f"Could you message {name} for me? It should say: {words}{who}",
        f"Please let {name} know: {words}{who}",
        f"I need to get in touch with {name}. Send this: {words}{who}",
        f"Send {name} a quick message that says {words}{who}",
    )


@goal(CHAT, topic="message")
def message_two_people(scene: Scene) -> str:
    who = introduce(scene)
    first, second = scene.rng.sample(_two(scene), 2)
    text = scene.pick(
        ["The meeting starts at nine tomorrow.", "Dinner at my place on Saturday, seven o'clock.", "I am working from home today."]
    )
    send(scene, first, text)
    send(scene, second, text)
    words = quoted(scene, text)
    return scene.say(
        f"{first} and {second} should both hear this from me, {first} first: {words}{who}",
        f"Please send {first} and then {second} this message: {words}{who}",
    )


def _two(scene: Scene) -> list[str]:
    found = contacts(scene)
    scene.need(len(found) > 1)
    return found


@goal(CHAT, needs=("message",), topic="second message")
def add_a_line(scene: Scene) -> str:
    message = recent(scene, "send_a_message", "send_a_fact", "correct_the_message")
    texts = ["By the way, how was your weekend?", "And say hello to your family from me."]
    text = scene.pick(texts if scene.just("send_a_message") else [*texts, "Call me if anything is unclear."])
    send(scene, message["name"], text)
    words = quoted(scene, text)
    name = message["name"]
    return scene.say(
        f"I forgot something. Send {name} one more message: {words}",
        f"Follow up with another message to {name}: {words}",
    )


@goal(CHAT, needs=("message",), topic="second message")
def forward_to_another(scene: Scene) -> str:
    message = recent(scene, "send_a_fact", "correct_the_message", "message_two_people")
    sent = {kept["name"] for kept in scene.things["message"]}
    name = scene.pick(other for other in contacts(scene) if other not in sent)
    send(scene, name, message["text"])
    return scene.say(
        f"{name} should know about it too. Send {name} exactly the same message.",
        f"Please send the very same text to {name} as well.",
    )


_CORRECTIONS = (
    ("The review is on Wednesday at ten.", "The review is on Thursday at ten."),
    ("I will be there at five.", "I will be there at six."),
    ("The budget meeting is in room 12.", "The budget meeting is in room 21."),
    ("My train arrives at 8:15.", "My train arrives at 8:50."),
    ("We are four people for dinner on Saturday.", "We are five people for dinner on Saturday."),
)


@goal(CHAT, topic="message")
def send_a_fact(scene: Scene) -> str:
    who = introduce(scene)
    name = scene.pick(contacts(scene))
    wrong, right = scene.pick(_CORRECTIONS)
    send(scene, name, wrong)
    scene.last("message")["right"] = right
    words = quoted(scene, wrong)
    return scene.say(
        f"Please tell {name} in a message: {words}{who}",
        f"{name} is waiting for word from me. Send {name} {words}{who}",
        f"Drop {name} a message that reads {words}{who}",
    )


@goal(CHAT, needs=("message",), topic="take back")
def correct_the_message(scene: Scene) -> str:
    message = recent(scene, "send_a_fact")
    scene.call("delete_message", receiver_id=scene.service(CHAT).user_map[message["name"]])
    send(scene, message["name"], message["right"])
    words = quoted(scene, message["right"])
    return scene.say(
        f"Oops, I got that wrong. Delete the message and send {message['name']} this one instead: {words}",
        f"That was a mistake of mine. Take that message back, then send {words} in its place.",
    )


@goal(CHAT, needs=("message",), topic="take back")
def take_the_message_back(scene: Scene) -> str:
    message = recent(scene, "send_a_message", "send_a_fact")
    name = message["name"]
    scene.call("delete_message", receiver_id=scene.service(CHAT).user_map[name])
    scene.things["message"].pop()
    return scene.say(
        f"On second thought, I'd rather tell {name} in person. Please delete that message.",
        f"Oh no, I mixed up two people: that wasn't meant for {name} at all. Delete the message, please.",
        f"{name} just walked into my office, so that's settled. You can delete the message.",
    )


@goal(CHAT, topic="take back")
def delete_an_old_message(scene: Scene) -> str:
    scene.suppose(chat="old")
    scene.need(not scene.things.get("message") and not scene.called("send_message"))
    inbox = readable(scene)
    who = introduce(scene)
    ids = scene.service(CHAT).user_map
    name = scene.pick(name for name in contacts(scene) if any(ids[name] in message for message in inbox))
    scene.call("delete_message", receiver_id=address(scene, name))
    return scene.say(
        f"The last thing I wrote to {name} in the messaging app is out of date. Delete that message, please.{who}",
        f"I'd like to remove my latest message to {name}. It has been dealt with.{who}",
    )
