"""Goals about alarms."""

from collections import Counter
from collections.abc import Sequence

from coevolve import Action

from .registry import goal
from .saying import clock
from .scene import Scene, Unavailable, Wish, call, done, pages
from .snapshot import Row

WEEK = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
LISTED = "phone.show_alarms"
UPDATE = "phone.update_alarm"
BEFOREHAND = ("Leave the house", "Get ready", "Pack the bag", "Wind down", "Clear the desk")
"""Labels of new alarms that ring before another one."""


def alarms(scene: Scene) -> Sequence[Row]:
    return scene.data.rows(LISTED)


def every_alarm(scene: Scene) -> list[Action]:
    """The calls that list all alarms."""
    return pages(LISTED, len(alarms(scene)))


def named(scene: Scene) -> list[Row]:
    """Alarms that their label tells from all others."""
    counts = Counter(str(row["label"]).lower() for row in alarms(scene))
    return [row for row in alarms(scene) if row["label"] and counts[row["label"].lower()] == 1]


def at(row: Row) -> int:
    """The minute of the day at which an alarm rings."""
    hour, minute = map(int, row["time"].split(":")[:2])
    return 60 * hour + minute


def of_minute(minute: int) -> str:
    """
    >>> of_minute(425)
    '07:05'
    """
    return f"{minute // 60:02d}:{minute % 60:02d}"


def ringing(scene: Scene, day: str) -> list[Row]:
    """The alarms that are switched on and ring on a day of the week, in order. Raises Unavailable when two ring at once."""
    rows = sorted((row for row in alarms(scene) if row["enabled"] and day in (row["repeat_days"] or ())), key=at)
    if len({at(row) for row in rows}) < len(rows):
        raise Unavailable("two alarms ring at once")
    return rows


def _busy_day(scene: Scene) -> tuple[str, list[Row]]:
    return scene.pick((day, rows) for day in WEEK if len(rows := ringing(scene, day)) > 1)


@goal(LISTED)
def first_or_last_alarm_of_a_day(scene: Scene) -> Wish:
    day, rows = _busy_day(scene)
    which = scene.pick(("first", "last"))
    row = rows[0 if which == "first" else -1]
    if not row["label"]:
        raise Unavailable("it has no label")
    return Wish(
        scene.say(
            f"Which of my alarms is the {which} to ring on {day.capitalize()}s? Tell me its label, and ignore those that are off.",
            f"I am planning my {day.capitalize()}s. What is the {which} alarm on my phone called that goes off on that day of the week? "
            "Alarms that are off do not count.",
        ),
        [*every_alarm(scene), done(row["label"])],
    )


@goal(LISTED)
def minutes_between_alarms(scene: Scene) -> Wish:
    day, rows = _busy_day(scene)
    return Wish(
        scene.say(
            f"How many minutes lie between my first and my last alarm on {day.capitalize()}s? Only those that are switched on count.",
            f"On {day.capitalize()}s, how much time is there between the first and the last alarm that goes off on my phone? "
            "Give me the number of minutes.",
        ),
        [*every_alarm(scene), done(at(rows[-1]) - at(rows[0]))],
    )


@goal(LISTED)
def days_with_an_alarm(scene: Scene) -> Wish:
    free = [day for day in WEEK if not ringing(scene, day)]
    if not 1 <= len(free) < len(WEEK):
        raise Unavailable("there is an alarm on every day, or on none")
    return Wish(
        scene.say(
            "On how many days of the week does no alarm of mine ring at all, the way they are set now?",
            "I would like to know how many days of the week I can sleep in: on how many does none of my alarms go off? "
            "An alarm that is switched off does not go off.",
            "Count the days of the week on which my phone stays quiet, that is, on which no alarm is set to go off at the moment.",
        ),
        [*every_alarm(scene), done(len(free))],
    )


@goal(LISTED, UPDATE)
def switch_off_early_alarms(scene: Scene) -> Wish:
    working = [row for row in alarms(scene) if row["enabled"]]
    hour = scene.pick(h for h in range(6, 12) if 1 < sum(at(row) < 60 * h for row in working) < len(working))
    early = [row for row in working if at(row) < 60 * hour]
    when = clock(f"{hour:02d}:00")
    return Wish(
        scene.say(
            f"I am on night shift for a while. Please switch off every alarm of mine that rings before {when}.",
            f"My vacation has begun and I want to sleep in. Turn off all my alarms that go off before {when}.",
        ),
        [*every_alarm(scene), *(call(UPDATE, alarm_id=row["alarm_id"], enabled=False) for row in early), done()],
    )


@goal(LISTED, UPDATE)
def switch_off_a_days_alarms(scene: Scene) -> Wish:
    day = scene.pick(day for day in WEEK if ringing(scene, day))
    rows = [row for row in ringing(scene, day) if len(row["repeat_days"]) > 1]
    if not rows:
        raise Unavailable("no alarm rings on other days too")
    if any(day in (row["repeat_days"] or ()) and row not in rows for row in alarms(scene)):
        raise Unavailable("an alarm rings on that day alone, or is off")
    return Wish(
        scene.say(
            f"I have {day.capitalize()}s off from now on, so nothing should ring on that day any more. "
            "Change my alarms accordingly, but leave the other days as they are.",
            f"Starting next week I do not work on {day.capitalize()}s. Take that day out of each alarm that is on and rings then, "
            "and keep the other days.",
        ),
        [
            *every_alarm(scene),
            *(call(UPDATE, alarm_id=row["alarm_id"], repeat_days=[one for one in row["repeat_days"] if one != day]) for row in rows),
            done(),
        ],
    )


@goal(LISTED, UPDATE)
def bring_an_alarm_back(scene: Scene) -> Wish:
    row = scene.pick(row for row in named(scene) if not row["enabled"] and 1 <= len(row["repeat_days"] or ()) < len(WEEK))
    day = scene.pick(day for day in WEEK if day not in row["repeat_days"])
    wanted = [one for one in WEEK if one in row["repeat_days"] or one == day]
    return Wish(
        scene.say(
            f'I need my alarm "{row["label"]}" again: switch it back on, and let it ring on {day.capitalize()}s in addition to its usual '
            "days.",
            f'Please turn my "{row["label"]}" alarm on again and let it ring on {day.capitalize()}s too.',
        ),
        [*every_alarm(scene), call(UPDATE, alarm_id=row["alarm_id"], enabled=True, repeat_days=wanted), done()],
    )


@goal(LISTED, UPDATE)
def shorten_snoozing(scene: Scene) -> Wish:
    limit = scene.pick(n for n in (5, 10, 15) if 0 < sum(row["snooze_minutes"] > n for row in alarms(scene)) < len(alarms(scene)))
    rows = [row for row in alarms(scene) if row["snooze_minutes"] > limit]
    return Wish(
        scene.say(
            f"I lose too much time snoozing. No alarm on my phone should allow more than {limit} minutes of it: cut those that do down to "
            f"{limit}, even if they are off at the moment.",
            f"Go through all my alarms, active or not, and where the snooze is longer than {limit} minutes, set it to {limit}.",
        ),
        [*every_alarm(scene), *(call(UPDATE, alarm_id=row["alarm_id"], snooze_minutes=limit) for row in rows), done()],
    )


@goal(LISTED, UPDATE)
def make_alarms_vibrate(scene: Scene) -> Wish:
    rows = [row for row in alarms(scene) if row["enabled"] and not row["vibration"]]
    if not 0 < len(rows) < len(alarms(scene)):
        raise Unavailable("all alarms vibrate, or none")
    return Wish(
        scene.say(
            "I keep my phone in my pocket these days. Make sure that each alarm that is on vibrates; the others can stay as they are.",
            "I often do not hear my alarms. Add vibration to all alarms that are switched on and lack it.",
            "Some of my active alarms do not vibrate, and I miss them at work. Change that for all of them.",
        ),
        [*every_alarm(scene), *(call(UPDATE, alarm_id=row["alarm_id"], vibration=True) for row in rows), done()],
    )


@goal(LISTED, UPDATE)
def ring_on_the_same_days(scene: Scene) -> Wish:
    row, model = scene.some(named(scene), 2, 2)
    if not row["repeat_days"] or not model["repeat_days"] or set(row["repeat_days"]) == set(model["repeat_days"]):
        raise Unavailable("they ring on the same days")
    return Wish(
        scene.say(
            f'From next week "{row["label"]}" takes place on the same days as "{model["label"]}". '
            f'Adjust the days of my "{row["label"]}" alarm, but keep its time.',
            f'Let my "{row["label"]}" alarm ring on exactly the days on which "{model["label"]}" rings.',
        ),
        [*every_alarm(scene), call(UPDATE, alarm_id=row["alarm_id"], repeat_days=list(model["repeat_days"])), done()],
    )


@goal(LISTED, "phone.delete_alarm")
def delete_idle_alarms(scene: Scene) -> Wish:
    rows = [row for row in alarms(scene) if not row["enabled"]]
    if not 0 < len(rows) < len(alarms(scene)):
        raise Unavailable("all alarms are on, or none")
    return Wish(
        scene.say(
            "My list of alarms is cluttered. Delete whatever is switched off there.",
            "Clean up the alarms on my phone, please: those that are not active can go for good.",
            "I have no use for alarms that I turned off. Remove them from my phone and keep only those that are on.",
        ),
        [*every_alarm(scene), *(call("phone.delete_alarm", alarm_id=row["alarm_id"]) for row in rows), done()],
    )


@goal(LISTED, "phone.create_alarm")
def alarm_ahead_of_another(scene: Scene) -> Wish:
    row = scene.pick(row for row in named(scene) if row["enabled"] and row["repeat_days"])
    ahead, label = scene.pick((15, 20, 25, 40, 45, 50)), scene.pick(BEFOREHAND)
    if at(row) < ahead or label in {one["label"] for one in alarms(scene)}:
        raise Unavailable("it would ring the day before, or is there")
    new = call("phone.create_alarm", time=of_minute(at(row) - ahead), repeat_days=list(row["repeat_days"]), label=label)
    return Wish(
        scene.say(
            f'I need a warning before "{row["label"]}": set another alarm {ahead} minutes ahead of it, on the same days, called "{label}".',
            f'Add an alarm "{label}" that goes off {ahead} minutes before my "{row["label"]}" alarm, whenever that one rings.',
        ),
        [*every_alarm(scene), new, done()],
    )


__all__ = ["alarms", "at", "every_alarm", "named", "of_minute"]
