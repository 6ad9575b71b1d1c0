"""Ways to tell others about what happened, for goals of other services."""

from .scene import Scene


def send(scene: Scene, text: str) -> tuple[str, str]:
    """Send a message to a colleague who is known by name: the name, and a sentence, with a space before it, that says who the user is.

    That sentence is empty where the user is logged in.
    """
    box = scene.service("MessageAPI")
    people, note = dict(box.user_map), ""
    if box.current_user is None:
        own = scene.pick(people)
        scene.call("message_login", user_id=people[own])
        note = f" My own user ID is {people[own]}."
    name = scene.pick(name for name, known in people.items() if known != box.current_user and name != "Colleague")
    receiver = scene.call("get_user_id", user=name)["user_id"]
    scene.call("send_message", receiver_id=receiver, message=text)
    scene.keep("message", name=name, text=text, turn=len(scene.turns))
    return name, note


def tweet(scene: Scene, text: str, tag: str = "") -> None:
    """Post a tweet, with a hashtag or without. The goal is not offered where that would need a password."""
    scene.need(scene.service("TwitterAPI").authenticated)
    tags = {"tags": [tag]} if tag else {}
    posted = scene.call("post_tweet", content=text, **tags)
    scene.keep("tweet", id=posted["id"], text=text, turn=len(scene.turns), **tags)
