"""Goals that settle support tickets."""

from .file_view import quoted
from .registry import goal
from .scene import Scene
from .tickets import TICKETS, changed, keep_ticket, old_ticket, open_one, that, the_ticket

_RESOLUTIONS = (
    "Settled with the requester by phone.",
    "Answered by email; the requester is satisfied.",
    "Taken care of and confirmed by the requester.",
)


@goal(TICKETS, needs=("ticket",), topic="ticket done")
def resolve_my_ticket(scene: Scene) -> str:
    ticket, about, it = open_one(scene)
    scene.call("resolve_ticket", ticket_id=ticket["id"], resolution=about.fix)
    fix = quoted(scene, about.fix)
    scene.leave_out(f"I could solve it myself. Resolve {it} with a note, please.", f"The note should say {fix}")
    return scene.say(
        f"Never mind, I solved it myself. Mark {it} as resolved with the note {fix}",
        f"Good news: I don't need support for that any more. Resolve {it}, and give {fix} as the resolution.",
    )


@goal(TICKETS, needs=("ticket",), topic="ticket done")
def close_my_ticket(scene: Scene) -> str:
    ticket, _, it = open_one(scene)
    scene.call("close_ticket", ticket_id=ticket["id"])
    return scene.say(
        f"A colleague tells me that this has been reported already, so close {it}.",
        f"Forget it, the matter sorted itself out. You can close {it}.",
    )


@goal(TICKETS, needs=("ticket",), topic="ticket done")
def resolve_what_was_read(scene: Scene) -> str:
    ticket = the_ticket(scene)
    scene.need(not ticket["own"])
    text = scene.pick(_RESOLUTIONS)
    scene.call("resolve_ticket", ticket_id=ticket["id"], resolution=text)
    said, it = quoted(scene, text), that(scene, ticket)
    if scene.called("edit_ticket"):
        return scene.say(
            f"I've just heard that it's settled. Resolve {it} with the note {said}",
            f"That went faster than I thought, it's done. Set {it} to resolved and record {said} as the resolution.",
        )
    return scene.say(
        f"Thanks. That has been taken care of in the meantime, so resolve {it} with the note {said}",
        f"I've dealt with that one now. Set {it} to resolved and record {said} as the resolution.",
    )


@goal(TICKETS, needs=("ticket",), topic="ticket status")
def take_the_ticket_on(scene: Scene) -> str:
    ticket = the_ticket(scene)
    scene.need(not ticket["own"] and not scene.called("close_ticket", "resolve_ticket"))
    status = scene.pick(("In Progress", "On Hold", "Waiting for Customer"))
    reason = {
        "In Progress": "I'm on it.",
        "On Hold": "We can't do anything about it this week.",
        "Waiting for Customer": "I've sent the reporter a question.",
    }[status]
    scene.call("edit_ticket", ticket_id=ticket["id"], updates={"status": status})
    it = that(scene, ticket)
    return scene.say(
        f"{reason} Change the status of {it} to '{status}'.",
        f'{reason} So please set the status of {it} to "{status}".',
    )


@goal(TICKETS, topic="ticket done")
def resolve_a_ticket(scene: Scene) -> str:
    ticket, text = old_ticket(scene), scene.pick(_RESOLUTIONS)
    scene.call("resolve_ticket", ticket_id=ticket["id"], resolution=text)
    keep_ticket(scene, ticket, own=False)
    number, said = ticket["id"], quoted(scene, text)
    scene.leave_out(f"I've dealt with support ticket {number}. Mark it as resolved and add a note.", f"The note is {said}")
    return scene.say(
        f"Ticket {number} is done. Please resolve it and put down this as the resolution: {said}",
        f"I've dealt with support ticket {number}. Mark it as resolved with the note {said}",
    )


@goal(TICKETS, topic="ticket done")
def close_a_ticket(scene: Scene) -> str:
    ticket = old_ticket(scene)
    scene.call("close_ticket", ticket_id=ticket["id"])
    keep_ticket(scene, ticket, own=False)
    number = ticket["id"]
    scene.leave_out("Can you close a support ticket for me? The matter is settled.", f"It's number {number}.")
    return scene.say(
        f"Nobody needs ticket {number} any longer. Can you close it?",
        f"The matter in ticket {number} is settled, so close that ticket, please.",
        f"Close support ticket number {number} for me. It's been answered by phone.",
    )


@goal(TICKETS, needs=("ticket",), topic="ticket look")
def see_that_it_is_done(scene: Scene) -> str:
    ticket = the_ticket(scene)
    scene.need(not ticket["own"] and changed(scene, ticket))
    scene.call("get_ticket", ticket_id=ticket["id"])
    it = that(scene, ticket)
    return scene.say(
        f"Show me the record of {it} now, so that I can see the change went through.",
        f"Bring up {it}, please. I want to see its status for myself.",
    )
