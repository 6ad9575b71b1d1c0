"""Goals about text and voice messages."""

import re
from collections.abc import Sequence
from datetime import timedelta

from coevolve import Action

from .alarms import at, of_minute
from .people import Known, contacts, known
from .registry import goal
from .saying import day
from .scene import Scene, Unavailable, Wish, call, done, pages
from .snapshot import Row

CONTACT = "phone.search_contacts"
TEXTS, VOICES = "phone.search_text_messages", "phone.search_voice_messages"
SEND = "phone.send_text_message"
_DAY = re.compile(r"\b(?:mon|tues|wednes|thurs|fri|satur|sun)day\b|\btomorrow\b", re.IGNORECASE)
_CLOCK = re.compile(r"\b\d{1,2}:\d{2}\b")
REPLIES = ("I will call you back tonight.", "Thanks for letting me know!", "Sorry, I only just saw this.", "Can we talk about it tomorrow?")
REMINDERS = ("Get going", "Time to get ready", "Do not forget")


def messages(scene: Scene, name: str = TEXTS, one: Known | None = None) -> Sequence[Row]:
    """All messages (with one person), the oldest first; other messages between the user and the user are left out."""
    mine = scene.data.me["phone_number"]
    rows = [row for row in scene.data.rows(name) if row["sender"]["phone_number"] != row["receiver"]["phone_number"]]
    both = {mine, one.phone_number} if one else None
    rows = [row for row in rows if both is None or {row["sender"]["phone_number"], row["receiver"]["phone_number"]} == both]
    return sorted(rows, key=lambda row: row["sent_at"])


def received(scene: Scene, name: str = TEXTS, one: Known | None = None) -> list[Row]:
    """Those of `messages` that the user got."""
    return [row for row in messages(scene, name, one) if row["receiver"]["phone_number"] == scene.data.me["phone_number"]]


def chat(scene: Scene, one: Known, name: str = TEXTS) -> list[Action]:
    """The calls that find the person and list the messages with them."""
    return [one.lookup, *pages(name, len(messages(scene, name, one)), phone_number=one.phone_number)]


def last_from(scene: Scene, one: Known, name: str = TEXTS) -> Row:
    """The last message that the user got from a person. Raises Unavailable when there is none."""
    rows = received(scene, name, one)
    if not rows:
        raise Unavailable(f"no message from {one.my}")
    return rows[-1]


def writers(scene: Scene, name: str = TEXTS) -> list[Known]:
    """Those known from whom the user has a message."""
    return [one for one in known(scene) if received(scene, name, one)]


def clock_in(text: str) -> str:
    """The time that a text names, as HH:MM. Raises Unavailable when it names none, or several."""
    found = _CLOCK.findall(text)
    if len(found) != 1:
        raise Unavailable("not exactly one time in it")
    return f"{found[0]:0>5}"


def speakers_of_a_time(scene: Scene) -> list[tuple[Known, str]]:
    """Those whose last text to the user names a time, and this time."""
    found = []
    for one in writers(scene):
        if len(_CLOCK.findall(last_from(scene, one)["message"])) == 1:
            found.append((one, clock_in(last_from(scene, one)["message"])))
    return found


@goal(TEXTS)
def who_wrote_last(scene: Scene) -> Wish:
    rows = received(scene)
    if len(rows) < 2 or rows[-1]["sent_at"] == rows[-2]["sent_at"]:
        raise Unavailable("there is not one last text")
    return Wish(
        scene.say(
            "Who sent me the last text message I received? Give me the full name.",
            "My phone buzzed and I did not look. Who sent the latest text message to me? First and last name, please.",
        ),
        [*pages(TEXTS, len(messages(scene))), done(rows[-1]["sender"]["name"])],
    )


@goal(TEXTS)
def texts_since_a_day(scene: Scene) -> Wish:
    since = scene.data.now.date() - timedelta(days=scene.pick(range(2, 12)))
    count = sum(row["sent_at"][:10] >= since.isoformat() for row in received(scene))
    if not 1 < count < len(received(scene)):
        raise Unavailable("too few texts since then")
    return Wish(
        scene.say(
            f"How many texts have I received since {day(since)}, including that day? Do not count the ones I sent.",
            f"I was offline for a while. How many text messages did I receive on {day(since)} or later?",
        ),
        [*pages(TEXTS, len(messages(scene))), done(count)],
    )


@goal(CONTACT, TEXTS)
def time_that_was_texted(scene: Scene) -> Wish:
    one, time = scene.pick(speakers_of_a_time(scene))
    return Wish(
        scene.say(
            f"{one.my.capitalize()} mentioned a time in the last text to me. What time is it? Write it in 24-hour format, like 14:05.",
            f"What time did {one.my} give in the last text to me? Just the time in 24-hour format, like 14:05.",
        ),
        [*chat(scene, one), done(time)],
    )


@goal(TEXTS, SEND)
def answer_the_last_text(scene: Scene) -> Wish:
    rows, words = received(scene), scene.pick(REPLIES)
    if len(rows) < 2 or rows[-1]["sent_at"] == rows[-2]["sent_at"]:
        raise Unavailable("there is not one last text")
    return Wish(
        scene.say(
            f'Reply to the person who texted me last: "{words}"',
            f'I have not answered the latest text message I received. Write back "{words}"',
        ),
        [*pages(TEXTS, len(messages(scene))), call(SEND, phone_number=rows[-1]["sender"]["phone_number"], message=words), done()],
    )


@goal(CONTACT, TEXTS, "phone.delete_text_message")
def delete_what_somebody_wrote(scene: Scene) -> Wish:
    one = scene.pick(writers(scene))
    return Wish(
        scene.say(
            f"Delete all the texts on my phone that {one.my} sent me. Keep the ones I wrote.",
            f"I do not want to keep the text messages I got from {one.my}. Delete them from my phone, but leave the ones I sent.",
        ),
        [
            *chat(scene, one),
            *(call("phone.delete_text_message", text_message_id=row["text_message_id"]) for row in received(scene, TEXTS, one)),
            done(),
        ],
    )


@goal(CONTACT, TEXTS, "phone.create_alarm")
def alarm_ahead_of_a_texted_time(scene: Scene) -> Wish:
    one, time = scene.pick(speakers_of_a_time(scene))
    ahead, label = scene.pick((10, 15, 20, 30, 45)), scene.pick(REMINDERS)
    minute = at({"time": time}) - ahead
    if minute < 0 or _DAY.search(last_from(scene, one)["message"]):
        raise Unavailable("a one-time alarm would ring on another day")
    return Wish(
        scene.say(
            f"{one.my.capitalize()} mentioned a time in the last text to me. Set a one-time alarm for {ahead} minutes before "
            f'it, labeled "{label}".',
            f"I must not miss what {one.my} texted me about last. Please set a one-time alarm for {ahead} minutes before the "
            f'time in that text and label it "{label}".',
        ),
        [*chat(scene, one), call("phone.create_alarm", time=of_minute(minute), label=label), done()],
    )


@goal(CONTACT, TEXTS, SEND)
def text_those_who_have_been_silent(scene: Scene) -> Wish:
    rows = received(scene)
    heard = {row["sender"]["phone_number"] for row in rows}
    silent = [row for row in contacts(scene) if row["phone_number"] not in heard]
    if not rows or not 0 < len(silent) <= 4:
        raise Unavailable("everybody has written, or hardly anybody")
    words = scene.pick(("How are you these days?", "It has been a while. Shall we meet soon?", "I hope you are doing well!"))
    count = len(scene.data.rows(CONTACT))
    return Wish(
        scene.say(
            f'Some of my phone contacts have never sent me a text. Text each of them: "{words}"',
            f'Send the text "{words}" to everyone in my phone contacts who has never sent me a text message.',
        ),
        [
            *pages(CONTACT, count),
            *pages(TEXTS, len(messages(scene))),
            *(call(SEND, phone_number=row["phone_number"], message=words) for row in silent),
            done(),
        ],
    )
