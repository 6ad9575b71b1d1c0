"""Support tickets about what the user did with another service."""

from .file_view import quoted
from .registry import goal
from .scene import Scene
from .tickets import TICKETS, keep_ticket, priority_words, sign_in

_ORDER = (
    ("Confirmation needed", "Please send me the confirmation of my latest order as a PDF."),
    ("Question about fees", "Please tell me which fees apply to my latest order."),
    ("Tax form", "My accountant needs the tax form for my latest order."),
)
_BOOKING = (
    ("Extra legroom", "What does a seat with extra legroom cost on the flight that I have just booked?"),
    ("Special meal", "Please arrange a vegetarian meal on the flight that I have just booked."),
    ("Bicycle as luggage", "Can I take a bicycle on the flight that I have just booked?"),
)


def _ticket(scene: Scene, texts: tuple[tuple[str, str], ...]) -> tuple[str, str, str, str]:
    """Open a ticket with one of the texts: its title, its description, its priority in words, and the sentence with the login."""
    (title, text), priority = scene.pick(texts), scene.pick((2, 3, 4))
    login = sign_in(scene)
    ticket = scene.call("create_ticket", title=title, description=text, priority=priority)
    keep_ticket(scene, ticket, own=True)
    return quoted(scene, title), quoted(scene, text), priority_words(priority), login


@goal(TICKETS, needs=("order",), also=("TradingBot",), topic="open ticket")
def ticket_about_the_order(scene: Scene) -> str:
    scene.need(scene.called("place_order") and not scene.called("cancel_order"))
    title, text, level, login = _ticket(scene, _ORDER)
    scene.leave_out(f"I need support's help with that order. Can you open a ticket at {level}?{login}", f"Call it {title} and write {text}")
    return scene.say(
        f"I need support's help with that order. Open a ticket titled {title} at {level} that says {text}{login}",
        f"One more thing about the order: file a support ticket called {title} with {level}, and describe it as {text}{login}",
    )


@goal(TICKETS, needs=("booking",), also=("TravelAPI",), topic="open ticket")
def ticket_about_the_booking(scene: Scene) -> str:
    scene.need(scene.called("book_flight") and not scene.called("cancel_booking"))
    title, text, level, login = _ticket(scene, _BOOKING)
    scene.leave_out(f"I have a request for that flight. Can you open a ticket at {level}?{login}", f"Call it {title} and write {text}")
    return scene.say(
        f"I have a request for that flight. Open a support ticket titled {title} at {level} that says {text}{login}",
        f"While we're at that booking, file a support ticket called {title} with {level}, and describe it as {text}{login}",
    )
