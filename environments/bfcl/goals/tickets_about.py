"""Support tickets about what the user did with another service."""

from .file_view import quoted
from .registry import goal
from .scene import Scene
from .tickets import TICKETS, keep_ticket, priority_words, sign_in

_ORDER = (
    ("Confirmation for order {}", "I need the confirmation as a PDF for my records."),
    ("Fees of order {}", "Please tell me which fees apply."),
    ("Tax form for order {}", "My accountant needs the tax form for it."),
)


@goal(TICKETS, needs=("order",), also=("TradingBot",), topic="open ticket")
def ticket_about_the_order(scene: Scene) -> str:
    order, (title, text), priority = scene.last("order"), scene.pick(_ORDER), scene.pick((2, 3, 4))
    scene.need(not scene.called("cancel_order"))
    login = sign_in(scene)
    ticket = scene.call("create_ticket", title=title.format(order["id"]), description=text, priority=priority)
    keep_ticket(scene, ticket, own=True)
    form, said, level = quoted(scene, title.format("N")), quoted(scene, text), priority_words(priority)
    return scene.say(
        f"Something else about that order: open a support ticket titled {form}, with the order's number for the N. "
        f"Describe it as {said} and give it {level}.{login}",
        f"I need support's help with that order. Create a ticket called {form}, where N is its order number, "
        f"at {level}, and put {said} in the description.{login}",
    )
