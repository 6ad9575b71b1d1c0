"""The tiny world's scenarios: requests, the code that carries them out, and what must have come of it.

In a block, `<name>` stands for a value of the variant, written as Python. `changes` says, in the engine's models, which records a right
solution adds (the fields that count) and which it changes (field to new value, None for any). A scenario without it is a question.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .tiny_world import ALARMS, KNOWN, LIBRARY, MARTA, NOTES, PAYMENTS, PLAYLISTS, REQUESTS, SONGS, TOMAS, YUKI, Person

Changes = dict[str, dict[str, Any]]


@dataclass(frozen=True)
class Variant:
    """Who asks, the values of the request, and the answer (None where nothing is asked)."""

    person: Person
    values: dict[str, Any]
    answer: Any = None


@dataclass(frozen=True)
class Scenario:
    """A kind of request with its three variants."""

    name: str
    split: str
    difficulty: int
    instruction: str
    blocks: tuple[str, ...]
    variants: tuple[Variant, Variant, Variant]
    changes: Callable[[Any, Variant], Changes] | None = None


def _login(app: str) -> str:
    user = "phone_number" if app == "phone" else "email"
    return f"""profile = apis.supervisor.show_profile()
passwords = {{row["account_name"]: row["password"] for row in apis.supervisor.show_account_passwords()}}
{app} = apis.{app}.login(username=profile["{user}"], password=passwords["{app}"])["access_token"]"""


def _more(app: str) -> str:
    return _login(app).splitlines()[-1]


def _added(*records: dict[str, Any], updated: dict[str, dict[str, Any]] | None = None) -> dict[str, Any]:
    return {"added": list(records), "updated": updated or {}}


def _updated(**records: dict[str, Any]) -> dict[str, Any]:
    return {"added": [], "updated": records}


def _known(person: Person, relationship: str) -> Person:
    return KNOWN[person][relationship]


_CONTACT = "person = apis.phone.search_contacts(relationship=<relationship>, access_token=phone)[0]"


def _longest(person: Person, playlist: str) -> Variant:
    songs = [SONGS[number - 1] for number in PLAYLISTS[person][playlist]]
    return Variant(person, {"playlist": playlist}, max(songs, key=lambda song: song[2])[0])


LONGSONG = Scenario(
    "longsong",
    "train",
    1,
    "What is the title of the longest song on my Spotify playlist {playlist}?",
    (
        _login("spotify"),
        """playlists = apis.spotify.show_playlist_library(access_token=spotify)
playlist = next(entry for entry in playlists if entry["title"] == <playlist>)
songs = [apis.spotify.show_song(song_id=song_id) for song_id in playlist["song_ids"]]
longest = max(songs, key=lambda song: song["duration"])
print(longest["title"], longest["duration"])""",
        'apis.supervisor.complete_task(answer=longest["title"])',
    ),
    (_longest(MARTA, "Morning Run"), _longest(TOMAS, "Desk Focus"), _longest(YUKI, "Late Train")),
)


def _paid(apps: Any, variant: Variant) -> Changes:
    sender, receiver, amount = variant.person, _known(variant.person, variant.values["relationship"]), variant.values["amount"]
    return {
        "venmo.Transaction": _added(
            {
                "sender_id": sender.number,
                "receiver_id": receiver.number,
                "amount": amount,
                "description": variant.values["note"],
                "private": False,
                "payment_card_digits": None,
            }
        ),
        "venmo.Notification": _added({"user_id": receiver.number}),
        "venmo.User": _balances(apps, sender, receiver, amount),
    }


def _balances(apps: Any, sender: Person, receiver: Person, amount: float) -> dict[str, Any]:
    found = {}
    for person, change in ((sender, -amount), (receiver, amount)):
        user = apps.venmo.User.find_one(email=person.email)
        found[str(user.id)] = {"venmo_balance": round(user.venmo_balance + change, 2)}
    return {"added": [], "updated": found}


PAYBACK = Scenario(
    "payback",
    "train",
    1,
    'Please send ${amount} to my {relationship} on Venmo, with the note "{note}". The number is in my phone\'s contacts.',
    (
        _login("phone"),
        _CONTACT,
        f"""{_more("venmo")}
apis.venmo.create_transaction(receiver_email=person["email"], amount=<amount>, description=<note>, access_token=venmo)
apis.supervisor.complete_task()""",
    ),
    (
        Variant(MARTA, {"amount": 18.5, "relationship": "coworker", "note": "Sandwiches"}),
        Variant(TOMAS, {"amount": 42.0, "relationship": "neighbor", "note": "Ladder rental"}),
        Variant(YUKI, {"amount": 27.25, "relationship": "roommate", "note": "Curtains"}),
    ),
    _paid,
)


def _ticked(apps: Any, variant: Variant) -> Changes:
    task = apps.todoist.Task.find_one(user_id=variant.person.number, title=variant.values["title"])
    return {"todoist.Task": _updated(**{str(task.id): {"is_completed": True}})}


TICKOFF = Scenario(
    "tickoff",
    "train",
    1,
    'I am done with "{title}". Tick it off in my Todoist project {project}.',
    (
        _login("todoist"),
        """projects = apis.todoist.show_projects(access_token=todoist)
project = next(entry for entry in projects if entry["name"] == <project>)
found = apis.todoist.show_tasks(project_id=project["project_id"], access_token=todoist)
task = next(entry for entry in found["no_section_tasks"] if entry["title"] == <title>)""",
        """apis.todoist.update_task(task_id=task["task_id"], is_completed=True, access_token=todoist)
apis.supervisor.complete_task()""",
    ),
    (
        Variant(MARTA, {"project": "Balcony Garden", "title": "Repair the trellis"}),
        Variant(TOMAS, {"project": "Kitchen Repair", "title": "Choose new tiles"}),
        Variant(YUKI, {"project": "Photo Book", "title": "Sort summer pictures"}),
    ),
    _ticked,
)


def _open(person: Person, note: str) -> Variant:
    return Variant(person, {"note": note}, NOTES[person][note].count("[ ]"))


OPENITEMS = Scenario(
    "openitems",
    "train",
    1,
    "How many items on my note {note} are not ticked off yet?",
    (
        _login("simple_note"),
        """found = apis.simple_note.search_notes(query=<note>, access_token=simple_note)
note = apis.simple_note.show_note(note_id=found[0]["note_id"], access_token=simple_note)
print(note["content"])""",
        'apis.supervisor.complete_task(answer=note["content"].count("[ ]"))',
    ),
    (_open(MARTA, "Camping List"), _open(TOMAS, "Grocery List"), _open(YUKI, "Studio Supplies")),
)


def _later(person: Person, label: str, minutes: int) -> Variant:
    return Variant(person, {"label": label, "minutes": minutes})


def _moved(apps: Any, variant: Variant) -> Changes:
    alarm = apps.phone.Alarm.find_one(user_id=variant.person.number, label=variant.values["label"])
    hours, minutes = map(int, ALARMS[variant.person][variant.values["label"]].split(":"))
    at = 60 * hours + minutes + variant.values["minutes"]
    return {"phone.Alarm": _updated(**{str(alarm.id): {"time": f"{at // 60:02d}:{at % 60:02d}"}})}


LATEALARM = Scenario(
    "latealarm",
    "dev",
    2,
    'Move my phone alarm "{label}" by {minutes} minutes, to later.',
    (
        _login("phone"),
        """alarm = next(entry for entry in apis.phone.show_alarms(access_token=phone) if entry["label"] == <label>)
hours, minutes = map(int, alarm["time"].split(":"))
at = 60 * hours + minutes + <minutes>""",
        """apis.phone.update_alarm(alarm_id=alarm["alarm_id"], time=f"{at // 60:02d}:{at % 60:02d}", access_token=phone)
apis.supervisor.complete_task()""",
    ),
    (_later(MARTA, "Water the plants", 25), _later(TOMAS, "Take vitamins", 70), _later(YUKI, "Feed the cat", 15)),
    _moved,
)


def _got(person: Person, relationship: str) -> Variant:
    sender = _known(person, relationship)
    return Variant(person, {"relationship": relationship}, sum(dollars for who, dollars, _, _ in PAYMENTS[person] if who is sender))


GOTMONEY = Scenario(
    "gotmoney",
    "dev",
    2,
    "How many dollars has my {relationship} sent me on Venmo this month, in total?",
    (
        _login("phone"),
        f"{_CONTACT}\n{_more('venmo')}",
        """received = apis.venmo.show_transactions(
    user_email=person["email"], direction="received", min_created_at="2023-05-01", access_token=venmo
)
total = sum(entry["amount"] for entry in received)
apis.supervisor.complete_task(answer=total)""",
    ),
    (_got(MARTA, "sister"), _got(TOMAS, "roommate"), _got(YUKI, "coworker")),
)


def _artist_songs(variant: Variant) -> list[int]:
    artist = variant.values["artist_number"]
    return [number for number in LIBRARY[variant.person] if SONGS[number - 1][1] == artist]


def _by_artist(person: Person, artist: str, number: int, **values: Any) -> Variant:
    return Variant(person, {"artist": artist, "artist_number": number, **values})


def _liked(apps: Any, variant: Variant) -> Changes:
    songs = _artist_songs(variant)
    return {
        "spotify.SongLike": _added(*({"user_id": variant.person.number, "song_id": song} for song in songs)),
        "spotify.Song": _updated(**{str(song): {"like_count": 1} for song in songs}),
    }


_LIBRARY = """library = apis.spotify.show_song_library(page_limit=20, access_token=spotify)
songs = [song for song in library if any(artist["name"] == <artist> for artist in song["artists"])]"""

LIKESONGS = Scenario(
    "likesongs",
    "test_normal",
    2,
    "Like all the songs by {artist} that are in my Spotify song library.",
    (
        _login("spotify"),
        _LIBRARY,
        """for song in songs:
    apis.spotify.like_song(song_id=song["song_id"], access_token=spotify)
apis.supervisor.complete_task()""",
    ),
    (
        _by_artist(MARTA, "Ada Quill", 3),
        _by_artist(TOMAS, "Static Meadow", 4),
        _by_artist(YUKI, "The Paper Kites of Oslo", 1),
    ),
    _liked,
)


def _pinned(apps: Any, variant: Variant) -> Changes:
    note = apps.simple_note.Note.find_one(user_id=variant.person.number, title=variant.values["note"])
    return {"simple_note.Note": _updated(**{str(note.id): {"pinned": True}})}


PINNOTE = Scenario(
    "pinnote",
    "test_normal",
    1,
    "Pin my note {note} so that I find it at once.",
    (
        _login("simple_note"),
        "note = apis.simple_note.search_notes(query=<note>, access_token=simple_note)[0]",
        """apis.simple_note.update_note(note_id=note["note_id"], pinned=True, access_token=simple_note)
apis.supervisor.complete_task()""",
    ),
    (Variant(MARTA, {"note": "Book Ideas"}), Variant(TOMAS, {"note": "Gift Ideas"}), Variant(YUKI, {"note": "Haiku Drafts"})),
    _pinned,
)


def _approved(apps: Any, variant: Variant) -> Changes:
    sender = _known(variant.person, variant.values["relationship"])
    amount, note = next((dollars, note) for who, dollars, note in REQUESTS[variant.person] if who is sender)
    request = apps.venmo.PaymentRequest.find_one(sender_id=sender.number, receiver_id=variant.person.number)
    paid = {"sender_id": variant.person.number, "receiver_id": sender.number, "amount": amount, "description": note}
    return {
        "venmo.PaymentRequest": _updated(**{str(request.id): {"approved_at": None}}),
        "venmo.Transaction": _added(paid),
        "venmo.Notification": _added({"user_id": sender.number}),
        "venmo.User": _balances(apps, variant.person, sender, amount),
    }


APPROVE = Scenario(
    "approve",
    "test_challenge",
    2,
    "My {relationship} has asked me for money on Venmo. Approve that request and leave the others alone.",
    (
        _login("phone"),
        f"{_CONTACT}\n{_more('venmo')}",
        """requests = apis.venmo.show_received_payment_requests(status="pending", access_token=venmo)
request = next(entry for entry in requests if entry["sender"]["email"] == person["email"])
apis.venmo.approve_payment_request(payment_request_id=request["payment_request_id"], access_token=venmo)
apis.supervisor.complete_task()""",
    ),
    (
        Variant(MARTA, {"relationship": "roommate"}),
        Variant(TOMAS, {"relationship": "coworker"}),
        Variant(YUKI, {"relationship": "neighbor"}),
    ),
    _approved,
)


def _listed(apps: Any, variant: Variant) -> Changes:
    number = max(playlist.id for playlist in apps.spotify.Playlist.all()) + 1
    return {
        "spotify.Playlist": _added({"title": variant.values["title"], "user_id": variant.person.number, "is_public": False}),
        "spotify.PlaylistSong": _added(*({"playlist_id": number, "song_id": song} for song in _artist_songs(variant))),
    }


NEWLIST = Scenario(
    "newlist",
    "test_challenge",
    3,
    "Make a Spotify playlist called {title} with all the songs by {artist} that are in my song library.",
    (
        _login("spotify"),
        _LIBRARY,
        """playlist = apis.spotify.create_playlist(title=<title>, access_token=spotify)
for song in songs:
    apis.spotify.add_song_to_playlist(playlist_id=playlist["playlist_id"], song_id=song["song_id"], access_token=spotify)
apis.supervisor.complete_task()""",
    ),
    (
        _by_artist(MARTA, "Ada Quill", 3, title="Evenings"),
        _by_artist(TOMAS, "Neon Harbour", 2, title="Sunny Side"),
        _by_artist(YUKI, "The Paper Kites of Oslo", 1, title="Window Seat"),
    ),
    _listed,
)

SCENARIOS = (LONGSONG, PAYBACK, TICKOFF, OPENITEMS, LATEALARM, GOTMONEY, LIKESONGS, PINNOTE, APPROVE, NEWLIST)
