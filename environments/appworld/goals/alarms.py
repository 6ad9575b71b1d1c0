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
BEFOREHAND = ("Get ready", "Heads-up", "Almost time")
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
            f"Which alarm is the {which} one to go off on {day.capitalize()}s? Tell me just its label, and ignore alarms that "
            "are switched off.",
            f"I am planning my {day.capitalize()}s. What is the label of the {which} alarm that goes off on my phone that "
            "day? Alarms that are off do not count.",
        ),
        [*every_alarm(scene), done(row["label"])],
    )


@goal(LISTED)
def days_with_an_alarm(scene: Scene) -> Wish:
    free = [day for day in WEEK if not ringing(scene, day)]
    if not 1 <= len(free) < len(WEEK):
        raise Unavailable("there is an alarm on every day, or on none")
    return Wish(
        scene.say(
            "On how many days of the week do none of my alarms go off? Alarms that are switched off do not count.",
            "I would like a quiet day. How many days of the week have no alarm on my phone at all, not counting the alarms "
            "that are switched off?",
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
    day = scene.pick(day for day in WEEK[:5] if ringing(scene, day))
    rows = [row for row in ringing(scene, day) if len(row["repeat_days"]) > 1]
    if not rows:
        raise Unavailable("no alarm rings on other days too")
    if any(day in (row["repeat_days"] or ()) and row not in rows for row in alarms(scene)):
        raise Unavailable("an alarm rings on that day alone, or is off")
    return Wish(
        scene.say(
            f"I will be out of town every {day.capitalize()} from now on, so none of my alarms should go off on "
            f"{day.capitalize()}s anymore. Leave their other days as they are.",
            f"I want one quiet day a week. Take {day.capitalize()} out of every alarm that goes off that day, and keep the other days.",
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
            f'I need my "{row["label"]}" alarm again: switch it back on, and have it go off on {day.capitalize()}s in '
            "addition to its usual days.",
            f'Please turn my "{row["label"]}" alarm back on and add {day.capitalize()} to the days it already has.',
        ),
        [*every_alarm(scene), call(UPDATE, alarm_id=row["alarm_id"], enabled=True, repeat_days=wanted), done()],
    )


@goal(LISTED, UPDATE)
def shorten_snoozing(scene: Scene) -> Wish:
    limit = scene.pick(n for n in (5, 10, 15) if 0 < sum(row["snooze_minutes"] > n for row in alarms(scene)) < len(alarms(scene)))
    rows = [row for row in alarms(scene) if row["snooze_minutes"] > limit]
    return Wish(
        scene.say(
            f"I lose too much time snoozing. No alarm on my phone should snooze for more than {limit} minutes: cut the longer "
            f"ones down to {limit}, even those that are switched off.",
            f"Go through all my alarms, active or not, and wherever the snooze is longer than {limit} minutes, set it to {limit}.",
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
            "I keep my phone in my pocket these days. Make sure that every alarm that is switched on vibrates; leave the "
            "others as they are.",
            "I often miss my alarms. Turn on vibration for every active alarm that does not have it yet.",
        ),
        [*every_alarm(scene), *(call(UPDATE, alarm_id=row["alarm_id"], vibration=True) for row in rows), done()],
    )


@goal(LISTED, "phone.delete_alarm")
def delete_idle_alarms(scene: Scene) -> Wish:
    rows = [row for row in alarms(scene) if not row["enabled"]]
    if not 0 < len(rows) < len(alarms(scene)):
        raise Unavailable("all alarms are on, or none")
    return Wish(
        scene.say(
            "My list of alarms is cluttered. Delete every alarm that is switched off.",
            "Clean up the alarms on my phone, please: the ones that are switched off can go for good.",
            "I have no use for the alarms that I turned off. Delete them from my phone and keep the ones that are on.",
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
            f'I need some warning before "{row["label"]}": set another alarm {ahead} minutes ahead of it, on the same days, '
            f'labeled "{label}".',
            f'Add an alarm labeled "{label}" that goes off {ahead} minutes before my "{row["label"]}" alarm, on the same days.',
        ),
        [*every_alarm(scene), new, done()],
    )


__all__ = ["alarms", "at", "every_alarm", "named", "of_minute"]
