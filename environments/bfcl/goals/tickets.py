"""Goals around the support tickets."""

from typing import Any

from .file_view import quoted
from .registry import GOALS, goal
from .scene import NotHere, Scene
from .ticket_subjects import Subject, subject, subject_called

TICKETS = "TicketAPI"
_ACCOUNTS = (("jpark", "Nimbus-42"), ("mlopez", "Harbor!77"), ("t.weber", "Lanterns8"), ("akhan", "Quartz_19"))
"""User names and passwords; the service takes any."""
_LISTS = ("list_my_tickets", "list_my_open_tickets", "read_a_ticket")
"""Goals after which "that ticket" could be another one."""
_PRIORITIES = {1: "priority 1, the lowest", 2: "priority 2", 3: "priority 3", 4: "priority 4", 5: "priority 5, the highest"}


def priority_words(priority: int) -> str:
    """A priority as people say it; the service's scale goes from 1 to 5, the highest."""
    return _PRIORITIES[priority]


def signed_in(scene: Scene) -> bool:
    """Whether a user is logged in to the ticket service."""
    return bool(scene.service(TICKETS).current_user)


def sign_in(scene: Scene) -> str:
    """Log in where the user is not yet; the sentence with the credentials, with a blank before it. NotHere after a log-out."""
    if signed_in(scene):
        return ""
    if scene.called("logout"):
        raise NotHere("the user has just logged out")
    name, password = scene.pick(_ACCOUNTS)
    scene.call("ticket_login", username=name, password=password)
    return scene.say(
        f" You can log in to the ticket system as {quoted(scene, name)} with the password {quoted(scene, password)}.",
        f" My ticket login is {quoted(scene, name)}, password {quoted(scene, password)}.",
    )


def old_ticket(scene: Scene) -> dict[str, Any]:
    """A ticket of the world that the user can know by its number, and that is not done with."""
    scene.need(not scene.called("logout"))
    queue = scene.service(TICKETS).ticket_queue
    own = {thing["id"] for thing in scene.things.get("ticket", []) if thing["own"]}
    tickets = [ticket for ticket in queue if ticket.get("id") is not None and ticket["id"] not in own]
    return scene.pick(ticket for ticket in tickets if str(ticket.get("status", "")).lower() not in ("closed", "resolved"))


def keep_ticket(scene: Scene, ticket: dict[str, Any], own: bool, **facts: Any) -> None:
    """Remember a ticket: `own` ones were opened in this story."""
    scene.keep(
        "ticket", id=ticket["id"], title=ticket.get("title", ""), priority=ticket.get("priority"), own=own, turn=len(scene.turns), **facts
    )


def the_ticket(scene: Scene) -> dict[str, Any]:
    """The newest ticket of the story. Raises NotHere when there is none, or when the user is done with tickets."""
    scene.need(not scene.called("logout"))
    return scene.last("ticket")


def changed(scene: Scene, ticket: dict[str, Any]) -> bool:
    """Whether an earlier turn changed a ticket that was there: only then is there something new to see."""
    names = ("edit_ticket", "close_ticket", "resolve_ticket")
    return any(call.name in names and call.arguments["ticket_id"] == ticket["id"] for call in scene.earlier())


def that(scene: Scene, ticket: dict[str, Any]) -> str:
    """How the user refers to a ticket of an earlier turn: "that ticket" while nothing else was talked about."""
    since = scene.turns[ticket["turn"] + 1 :]
    if all(GOALS[turn.goal].owner == TICKETS and turn.goal not in _LISTS for turn in since):
        return "that ticket"
    return "the ticket you opened for me" if ticket["own"] else f"ticket {ticket['id']}"


def open_one(scene: Scene) -> tuple[dict[str, Any], Subject, str]:
    """The newest ticket of the story, still open, opened by the user about a known subject, and the words for it."""
    kept = the_ticket(scene)
    about = subject_called(kept["title"])
    ticket = next((ticket for ticket in scene.service(TICKETS).ticket_queue if ticket.get("id") == kept["id"]), None)
    if not kept["own"] or about is None or ticket is None or ticket["status"] != "Open":
        raise NotHere("no open ticket of the user's")
    return ticket, about, that(scene, kept)


@goal(TICKETS, topic="open ticket")
def open_a_ticket(scene: Scene) -> str:
    about, priority = subject(scene), scene.pick((2, 3, 4, 5))
    login = sign_in(scene)
    ticket = scene.call("create_ticket", title=about.title, description=about.text, priority=priority)
    keep_ticket(scene, ticket, own=True)
    title, text, level = quoted(scene, about.title), quoted(scene, about.text), priority_words(priority)
    scene.leave_out(
        f"I'd like support to look into something. Please open a ticket at {level}.{login}", f"Title it {title} and describe it as {text}"
    )
    return scene.say(
        f"I'd like support to look into something. Open a ticket titled {title} with the description {text} It's {level}.{login}",
        f"Please file a support ticket called {title} for me. Describe it as {text} and give it {level}.{login}",
        f"I have a problem to report to support. The ticket should be titled {title}, say {text} and have {level}.{login}",
        f"I need support to look at something, so create a ticket at {level}. Call it {title} and describe it like this: {text}{login}",
    )


@goal(TICKETS, topic="open ticket")
def open_a_bare_ticket(scene: Scene) -> str:
    about, priority = subject(scene), scene.pick((1, 2, 3))
    login = sign_in(scene)
    ticket = scene.call("create_ticket", title=about.title, priority=priority)
    keep_ticket(scene, ticket, own=True, bare=True)
    title, level = quoted(scene, about.title), priority_words(priority)
    return scene.say(
        f"Open a support ticket titled {title} with {level}. Leave the description empty for now; I'm still gathering the details.{login}",
        f"Before I forget, create a ticket called {title} at {level}. I'll send the description later.{login}",
    )


@goal(TICKETS, needs=("ticket",), topic="ticket edit text")
def describe_the_ticket(scene: Scene) -> str:
    ticket, about, it = open_one(scene)
    scene.need(scene.last("ticket").get("bare"))
    scene.call("edit_ticket", ticket_id=ticket["id"], updates={"description": about.text})
    text = quoted(scene, about.text)
    return scene.say(
        f"Here's the description for {it}: {text}",
        f"Now I have the details. Set the description of {it} to {text}",
    )


@goal(TICKETS, needs=("ticket",), topic="ticket edit text")
def add_what_is_known_now(scene: Scene) -> str:
    ticket, about, it = open_one(scene)
    scene.need(not scene.last("ticket").get("bare"))
    scene.call("edit_ticket", ticket_id=ticket["id"], updates={"description": about.more})
    text = quoted(scene, about.more)
    return scene.say(
        f"I was too brief. The description of {it} should read {text}",
        f"I looked into the problem some more. Change the description of {it} to {text}",
    )


@goal(TICKETS, needs=("ticket",), topic="ticket edit title")
def retitle_the_ticket(scene: Scene) -> str:
    ticket, about, it = open_one(scene)
    scene.call("edit_ticket", ticket_id=ticket["id"], updates={"title": about.clearer})
    title = quoted(scene, about.clearer)
    return scene.say(
        f"The title of {it} could be clearer. Change it to {title}.",
        f"On second thought, {title} is a better title for {it}. Please update it.",
    )


@goal(TICKETS, needs=("ticket",), topic="ticket priority")
def raise_the_priority(scene: Scene) -> str:
    kept = the_ticket(scene)
    scene.need(isinstance(kept["priority"], int) and kept["priority"] < 4)
    if kept["own"]:
        open_one(scene)
    scene.need(not scene.called("close_ticket", "resolve_ticket"))
    priority = scene.pick(number for number in (4, 5) if number > kept["priority"])
    scene.call("edit_ticket", ticket_id=kept["id"], updates={"priority": priority})
    level, it = priority_words(priority), that(scene, kept)
    scene.leave_out(f"The priority of {it} isn't right any more. Can you change it?", f"Give it {level}.")
    return scene.say(
        f"It's more pressing than I thought. Raise {it} to {level}.",
        f"My boss is asking about it now. Give {it} {level}.",
        f"I need an answer sooner. Can you set {it} to {level}?",
    )


@goal(TICKETS, needs=("ticket",), topic="ticket look")
def show_the_ticket(scene: Scene) -> str:
    ticket = the_ticket(scene)
    scene.need(ticket["own"] and changed(scene, ticket))
    scene.call("get_ticket", ticket_id=ticket["id"])
    it = that(scene, ticket)
    return scene.say(
        f"Pull up {it}, please. I want to see exactly how it's recorded.",
        f"Show me {it} as it is in the system now, so I can double-check it.",
        f"Can you look up {it} and give me all its details?",
    )


@goal(TICKETS, topic="ticket look")
def read_a_ticket(scene: Scene) -> str:
    ticket = old_ticket(scene)
    scene.call("get_ticket", ticket_id=ticket["id"])
    keep_ticket(scene, ticket, own=False)
    number = ticket["id"]
    scene.leave_out("I need to see what's in a support ticket that somebody asked me about.", f"It's ticket number {number}.")
    return scene.say(
        f"What's ticket {number} about? I have to talk to the person who reported it.",
        f"Can you bring up support ticket {number} and tell me how it stands?",
        f"Somebody asked me about ticket number {number}. Show me what's in it.",
    )


@goal(TICKETS, topic="my tickets")
def list_my_tickets(scene: Scene) -> str:
    scene.need(signed_in(scene) and len(scene.peek("get_user_tickets")) > 0)
    scene.call("get_user_tickets")
    return scene.say(
        "Which tickets have I opened so far? List all of them, whatever their status.",
        "Give me an overview of all the support tickets that I've filed.",
        "I've lost track of my support requests. Show me all the tickets in my name.",
    )


@goal(TICKETS, topic="my tickets")
def list_my_open_tickets(scene: Scene) -> str:
    scene.need(signed_in(scene) and len(scene.peek("get_user_tickets", status="Open")) > 0)
    scene.call("get_user_tickets", status="Open")
    return scene.say(
        "Which of my support tickets are still open?",
        "I have a call with support in a minute. List my tickets with the status open, only those.",
    )


@goal(TICKETS, topic="ticket login")
def sign_in_if_needed(scene: Scene) -> str:
    scene.need(scene.first and not signed_in(scene))
    name, password = scene.pick(_ACCOUNTS)
    scene.call("ticket_get_login_status")
    scene.call("ticket_login", username=name, password=password)
    user, secret = quoted(scene, name), quoted(scene, password)
    return scene.say(
        f"Am I still logged in to the ticket system? If I'm not, log me in as {user} with the password {secret}.",
        f"Check whether I'm signed in to the support ticket system, and if not, sign me in. I'm {user}, the password is {secret}.",
    )


@goal(TICKETS, needs=("ticket",), topic="ticket log out")
def sign_me_out(scene: Scene) -> str:
    scene.need(signed_in(scene) and scene.called("edit_ticket", "close_ticket", "resolve_ticket"))
    scene.call("logout")
    return scene.say(
        "That's all I need from support. Log me out of the ticket system, please; this is a shared computer.",
        "I'm done with the tickets for today. Please sign me out of the ticket system.",
    )
