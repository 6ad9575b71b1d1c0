"""Goals about text and voice messages."""

import re
from collections.abc import Sequence
from datetime import timedelta

from coevolve import Action

from .alarms import at, every_alarm, named, of_minute
from .people import Known, contacts, known
from .registry import goal
from .saying import day
from .scene import Scene, Unavailable, Wish, call, done, pages
from .snapshot import Row

CONTACT = "phone.search_contacts"
TEXTS, VOICES = "phone.search_text_messages", "phone.search_voice_messages"
SEND = "phone.send_text_message"
_CLOCK = re.compile(r"\b\d{1,2}:\d{2}\b")
REPLIES = ("I will call you back tonight.", "Thanks for letting me know!", "Sorry, I only just saw this.", "Can we talk about it tomorrow?")
REMINDERS = ("Set off", "Get going", "Time to leave", "Do not forget")


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
            "Who sent me the most recent text message that I have received? I only need the full name.",
            "From whom is the newest text that I have gotten? Answer with first and last name.",
            "My phone buzzed and I did not look. Who is the sender of the latest text message to me? First and last name, please.",
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
            f"How many texts have people sent me since {day(since)}, that day included? Leave out the ones that I wrote myself.",
            f"Count the text messages that I received on or after {day(since)} for me.",
        ),
        [*pages(TEXTS, len(messages(scene))), done(count)],
    )


@goal(CONTACT, TEXTS)
def time_that_was_texted(scene: Scene) -> Wish:
    one, time = scene.pick(speakers_of_a_time(scene))
    return Wish(
        scene.say(
            f"There is a time in the last text that {one.my} sent me. Which one? Write it like 14:05.",
            f"When do I have to be there, going by the last text from {one.my}? Just the time, in the form 14:05.",
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
            f'I have not answered the latest text message that I got. Write back "{words}"',
        ),
        [*pages(TEXTS, len(messages(scene))), call(SEND, phone_number=rows[-1]["sender"]["phone_number"], message=words), done()],
    )


@goal(CONTACT, TEXTS, SEND)
def forward_a_text(scene: Scene) -> Wish:
    one = scene.pick(writers(scene))
    to = scene.pick(other for other in known(scene) if other.email != one.email)
    return Wish(
        scene.say(
            f"Forward the last text that I got from {one.my} to {to.my}, word for word.",
            f"{to.my.capitalize()} should see what {one.my} wrote to me last. Send that on as a text with exactly the same wording.",
        ),
        [
            *chat(scene, one),
            to.lookup,
            call(SEND, phone_number=to.phone_number, message=last_from(scene, one)["message"]),
            done(),
        ],
    )


@goal(CONTACT, VOICES, SEND)
def pass_on_a_voice_message(scene: Scene) -> Wish:
    one = scene.pick(writers(scene, VOICES))
    to = scene.pick(other for other in known(scene) if other.email != one.email)
    return Wish(
        scene.say(
            f"{one.my.capitalize()} left me a voice message that {to.my} should know about. "
            f"Send {to.my} the newest one as a text, word for word.",
            f"Please text {to.my} exactly what {one.my} said in the last voice message to me.",
        ),
        [
            *chat(scene, one, VOICES),
            to.lookup,
            call(SEND, phone_number=to.phone_number, message=last_from(scene, one, VOICES)["message"]),
            done(),
        ],
    )


@goal(CONTACT, TEXTS, "phone.delete_text_message")
def delete_what_somebody_wrote(scene: Scene) -> Wish:
    one = scene.pick(writers(scene))
    return Wish(
        scene.say(
            f"Delete all the texts on my phone that {one.my} has sent me. Whatever I wrote myself stays.",
            f"I do not want to keep the text messages that I got from {one.my}. Remove them, but not my own ones.",
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
    if minute < 0:
        raise Unavailable("it would ring the day before")
    return Wish(
        scene.say(
            f'In the last text to me {one.my} named a time. Set an alarm {ahead} minutes before it, without repeat, labeled "{label}".',
            f"I must not miss what {one.my} texted me about last. Please set a one-time alarm for {ahead} minutes before the time in "
            f'that message and call it "{label}".',
        ),
        [*chat(scene, one), call("phone.create_alarm", time=of_minute(minute), label=label), done()],
    )


@goal(CONTACT, TEXTS, "phone.show_alarms", "phone.update_alarm")
def reuse_an_alarm_for_an_appointment(scene: Scene) -> Wish:
    (one, time), row = scene.pick(speakers_of_a_time(scene)), scene.pick(named(scene))
    if row["time"] == time:
        raise Unavailable("it rings then")
    return Wish(
        scene.say(
            f'I have no need for the alarm "{row["label"]}" any more. Reuse it for the appointment in the last text from {one.my}: '
            'change its time to the one in the text and its label to "Appointment", and leave the rest.',
            f'{one.my.capitalize()} named a time in the last text to me. Let my alarm "{row["label"]}" ring then instead, and rename it to '
            '"Appointment"; everything else about it stays.',
        ),
        [
            *chat(scene, one),
            *every_alarm(scene),
            call("phone.update_alarm", alarm_id=row["alarm_id"], time=time, label="Appointment"),
            done(),
        ],
    )


@goal(CONTACT, TEXTS, SEND)
def text_those_who_have_been_silent(scene: Scene) -> Wish:
    rows = received(scene)
    heard = {row["sender"]["phone_number"] for row in rows}
    silent = [row for row in contacts(scene) if row["phone_number"] not in heard]
    if not rows or not 0 < len(silent) <= 4:
        raise Unavailable("everybody has written, or hardly anybody")
    words = scene.pick(("How are you these days?", "It has been a while. Shall we meet soon?", "I hope that you are well!"))
    count = len(scene.data.rows(CONTACT))
    return Wish(
        scene.say(
            f'Some of my contacts have never sent me a text. Text each of them "{words}"',
            f'Send the text "{words}" to everyone in my contacts from whom I have not received a single text message so far.',
        ),
        [
            *pages(CONTACT, count),
            *pages(TEXTS, len(messages(scene))),
            *(call(SEND, phone_number=row["phone_number"], message=words) for row in silent),
            done(),
        ],
    )
