"""Goals around the people of a workspace, its stored messages, and news of other services."""

from typing import Any

from ..decode import Call
from .messages import CHAT, contacts, introduce, quoted, readable, send, user
from .registry import goal
from .scene import Scene
from .trading import BROKER, FAMOUS, broker, quote

NEW_PEOPLE = ("Priya", "Tomas", "Ingrid", "Omar", "Mei", "Lucia", "Henrik", "Amara", "Yusuf", "Nadia")


@goal(CHAT, topic="sent")
def messages_so_far(scene: Scene) -> str:
    scene.suppose(chat="old")
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
    scene.suppose(chat="old")
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
    scene.suppose(chat="old")
    who = introduce(scene)
    scene.call("get_message_stats")
    return scene.say(
        f"I feel like I spend all day in the messaging app. How many messages have I received, and how many contacts are involved?{who}",
        f"How busy is my inbox in the messaging app? Tell me how many messages and how many contacts there are.{who}",
        f"For my weekly report I need two figures from the messaging app: how many messages I got and how many contacts I dealt with.{who}",
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
        ("I'm new here. Who are the users of the messaging workspace?", "chat=new"),
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
            f"I have placed an order to {verb} some {company} shares, {order['amount']} in total.",
            f"Just so you know, I put in an order today to {verb} {order['amount']} {company} shares.",
        ]
    )
    send(scene, name, text)
    words = quoted(scene, text)
    return scene.say(
        f"{name} and I run this portfolio together. Send {name} the message {words}{who}",
        f"I promised to tell {name} whenever I trade. Please send {name}: {words}{who}",
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
