"""Goals around the messages of a workspace: people, contacts, sending, looking back."""

from typing import Any

from ..decode import Call
from .registry import goal
from .scene import Scene
from .trading import BROKER, FAMOUS, broker, quote

CHAT = "MessageAPI"
NEW_PEOPLE = ("Priya", "Tomas", "Ingrid", "Omar", "Mei", "Lucia", "Henrik", "Amara", "Yusuf", "Nadia")

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
        f"Please send the same message to {first} and then to {second}: {words}{who}",
    )


def _two(scene: Scene) -> list[str]:
    found = contacts(scene)
    scene.need(len(found) > 1)
    return found


@goal(CHAT, needs=("message",), topic="second message")
def add_a_line(scene: Scene) -> str:
    message = recent(scene, "send_a_message", "send_a_fact", "correct_the_message")
    text = scene.pick(["Call me if anything is unclear.", "By the way, how was your weekend?", "And say hello to your family from me."])
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
        f"{name} just walked into my office, so that's settled. You can delete the message again.",
    )


@goal(CHAT, topic="take back")
def delete_an_old_message(scene: Scene) -> str:
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


@goal(CHAT, topic="sent")
def messages_so_far(scene: Scene) -> str:
    inbox = scene.service(CHAT).inbox
    scene.need(inbox and all(isinstance(text, str) or _plain(text) for message in inbox for text in message.values()))
    who = introduce(scene)
    scene.call("view_messages_sent")
    if scene.called("send_message"):
        return scene.say(
            "Now show me all the messages I've sent, I want to be sure I haven't forgotten anyone.",
            "And what have I sent in total so far? List all my sent messages.",
        )
    return scene.say(
        f"I can't remember what I've written to whom. Show me all the messages I've sent.{who}",
        f"What messages have I sent from the messaging app so far?{who}",
        f"Before I write anything new, list everything I've sent in the messaging app.{who}",
    )


def _plain(text: Any) -> bool:
    return isinstance(text, list) and all(isinstance(part, str) for part in text)


@goal(CHAT, topic="search")
def search_for_a_word(scene: Scene) -> str:
    scene.need(not scene.called("send_message"))
    words = {word.strip(".,!?") for message in readable(scene) for text in message.values() for word in text.split()}
    word = scene.pick(sorted(words & {"upload", "file", "connect", "travels"}))
    who = introduce(scene)
    scene.call("search_messages", keyword=word)
    return scene.say(
        f"There was a message with the word '{word}' in it. Search my messages for that word, please.{who}",
        f"Can you search the messages for '{word}'? I need to know whom that went to.{who}",
        f"Somewhere in my messages I used the word '{word}'. Find those messages.{who}",
    )


@goal(CHAT, topic="stats")
def message_statistics(scene: Scene) -> str:
    who = introduce(scene)
    scene.call("get_message_stats")
    return scene.say(
        f"I feel like I spend all day in the messaging app. How many messages have I received, and how many contacts are involved?{who}",
        f"Give me my message statistics: received messages and number of contacts.{who}",
        f"For my weekly report I need the messaging statistics, that is how many messages I received and from how many contacts.{who}",
    )


@goal(CHAT, topic="contact")
def welcome_a_new_contact(scene: Scene) -> str:
    chat = scene.service(CHAT)
    who = introduce(scene)
    name = scene.pick(name for name in NEW_PEOPLE if name not in chat.user_map)
    added = scene.call("add_contact", user_name=name)
    scene.keep("person", name=name, id=added["user_id"], turn=len(scene.turns))
    text = scene.pick(
        ["Welcome to the team!", "Nice to meet you, looking forward to working together.", "Good to have you with us. Ask me anything."]
    )
    send(scene, name, text)
    words = quoted(scene, text)
    return scene.say(
        f"{name} has just joined us. Add {name} to the contacts in the messaging app and send the message {words}{who}",
        f"We have a new colleague, {name}. Please add {name} as a contact, then write: {words}{who}",
        f"Please make {name} a contact of mine in the messaging workspace and say hello with {words}{who}",
    )


@goal(CHAT, topic="contact")
def add_a_contact(scene: Scene) -> str:
    chat = scene.service(CHAT)
    name = scene.pick(name for name in NEW_PEOPLE if name not in chat.user_map)
    added = scene.call("add_contact", user_name=name)
    scene.keep("person", name=name, id=added["user_id"], turn=len(scene.turns))
    return scene.say(
        f"{name} from the Lisbon office isn't in my messaging contacts yet. Please add {name}.",
        f"I've just met {name} and we'll work together from now on. Add {name} to the contacts of our messaging workspace.",
        f"Put {name} on the contact list of the messaging app, please. We start a project together next week.",
    )


@goal(CHAT, needs=("person",), topic="message")
def write_to_the_new_contact(scene: Scene) -> str:
    person = scene.last("person")
    scene.need(not any(message["name"] == person["name"] for message in scene.things.get("message", ())))
    who = introduce(scene)
    text = scene.pick(
        [
            "Great meeting you! When can we start?",
            "You can write to me here any time.",
            "Do you have time for a first call on Monday?",
        ]
    )
    send(scene, person["name"], text)
    words = quoted(scene, text)
    return scene.say(
        f"Now send {person['name']} a first message: {words}{who}",
        f"And write to {person['name']} right away, please: {words}{who}",
    )


@goal(CHAT, topic="people")
def who_is_there(scene: Scene) -> str:
    scene.need(not scene.called("send_message"))
    scene.call("list_users")
    return scene.say(
        "Who's in our messaging workspace? I want to see all the names.",
        "Give me the list of people I can write to in the messaging app.",
        "I'm new here. Who are the users of the messaging workspace?",
    )


@goal(CHAT, topic="id")
def ask_for_an_id(scene: Scene) -> str:
    name = scene.pick(name for name in contacts(scene) if not scene.things.get("person") and not scene.called("add_contact"))
    scene.need(Call("get_user_id", {"user": name}) not in scene.earlier())
    scene.call("get_user_id", user=name)
    return scene.say(
        f"What's {name}'s user ID in the messaging workspace? The help desk is asking me for it.",
        f"I have to fill in a form with {name}'s messaging user ID. Can you look it up?",
        f"Look up the user ID of {name} in the messaging app, please. I need it for our team directory.",
    )


@goal(CHAT, topic="session")
def sign_in_to_messages(scene: Scene) -> str:
    chat = scene.service(CHAT)
    scene.need(not chat.current_user)
    identity = user(scene)[1]
    scene.call("message_login", user_id=identity)
    scene.keep("chat session")
    return scene.say(
        f"Sign me in to the messaging app, please. My user ID is {identity}.",
        f"I'd like to be reachable this afternoon, so log me in to the messaging workspace as {identity}.",
    )


@goal(CHAT, needs=("chat session",), topic="session check")
def check_the_chat_session(scene: Scene) -> str:
    scene.need(scene.turns[-1].goal == "sign_in_to_messages")
    scene.call("message_get_login_status")
    return scene.say(
        "The app still looks strange on my screen. Can you double-check my login status there?",
        "Did that really work? Check the login status once more, please.",
    )


@goal(CHAT, needs=("order",), topic="message", also=(BROKER,))
def tell_about_the_order(scene: Scene) -> str:
    order = scene.last("order")
    scene.need(order["turn"] == len(scene.turns) - 1)
    who = introduce(scene)
    name = scene.pick(contacts(scene))
    verb = {"Buy": "buy", "Sell": "sell"}[order["side"]]
    company = order["stock"]
    text = scene.pick(
        [
            f"I have placed an order to {verb} {order['amount']} shares of {company}.",
            f"Just so you know, I put in an order today to {verb} {order['amount']} {company} shares.",
        ]
    )
    send(scene, name, text)
    words = quoted(scene, text)
    return scene.say(
        f"{name} and I run this portfolio together. Send {name} the message {words}{who}",
        f"I promised {name} to say when I trade. Please send {name}: {words}{who}",
    )


@goal(CHAT, needs=("booking",), topic="message", also=("TravelAPI",))
def tell_about_the_booking(scene: Scene) -> str:
    scene.need(not scene.called("cancel_booking"))
    who = introduce(scene)
    name = scene.pick(contacts(scene))
    text = scene.pick(["My flight is booked!", "It is settled, I have booked my flight.", "Guess who has a plane ticket now!"])
    send(scene, name, text)
    words = quoted(scene, text)
    return scene.say(
        f"{name} has been waiting to hear whether I'm flying. Send {name} {words}{who}",
        f"Let {name} know right away with this message: {words}{who}",
    )


@goal(CHAT, topic="message", also=(BROKER,))
def send_a_price(scene: Scene) -> str:
    who = introduce(scene)
    name = scene.pick(contacts(scene))
    stocks = broker(scene).stocks
    symbol = scene.pick(s for s in FAMOUS if s in stocks and f"{stocks[s]['price']:.2f}" == str(stocks[s]["price"]))
    price = quote(scene, symbol)["price"]
    company = FAMOUS[symbol]
    send(scene, name, f"{company} is at ${price} right now.")
    words = quoted(scene, f"{company} is at $PRICE right now.")
    return scene.say(
        f"{name} asks about {company} stock. Look up the price and write to {name}: {words} Put the price where it says PRICE.{who}",
        f"Find out what a share of {company} costs and message {name} {words} Replace PRICE with the figure you find.{who}",
    )
