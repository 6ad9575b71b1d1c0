"""The tiny world's people and what they own: our own text, stored with the engine's own models.

Three main users, whose requests the tasks are, and three others they know. The main users own things of the same kinds with different
names and numbers, so that the variants of a scenario differ in person and in value.
"""

from dataclasses import dataclass
from typing import Any

from appworld.common.datetime import DateTime

NOW = DateTime(2023, 5, 18, 12, 0, 0)
"""When every task takes place."""
EARLIER = DateTime(2023, 4, 3, 9, 30, 0)
"""When all that is not dated was made."""
PASSWORD_APPS = ("spotify", "venmo", "phone", "simple_note", "todoist")
"""The apps in which everyone has an account."""


@dataclass(frozen=True)
class Person:
    """Someone with an account in every app of the tiny world; `number` is their place in `PEOPLE`, from 1."""

    number: int
    first_name: str
    last_name: str
    sex: str
    birthday: str

    @property
    def email(self) -> str:
        return f"{self.first_name}.{self.last_name}@gmail.com".lower()

    @property
    def phone_number(self) -> str:
        return f"555010{self.number:04d}"

    def password(self, app: str) -> str:
        return f"{self.first_name[:2].lower()}-{app}-{self.number * 7919}"

    @property
    def names(self) -> dict[str, Any]:
        return {"first_name": self.first_name, "last_name": self.last_name}


MARTA = Person(1, "Marta", "Lindqvist", "female", "1988-03-14")
TOMAS = Person(2, "Tomas", "Okafor", "male", "1991-11-02")
YUKI = Person(3, "Yuki", "Brandt", "female", "1985-07-23")
ELENA = Person(4, "Elena", "Petrov", "female", "1979-01-30")
RAHUL = Person(5, "Rahul", "Castell", "male", "1994-09-09")
INGRID = Person(6, "Ingrid", "Moreau", "female", "1990-05-05")
MAIN = (MARTA, TOMAS, YUKI)
PEOPLE = (*MAIN, ELENA, RAHUL, INGRID)

KNOWN = {
    MARTA: {"sister": ELENA, "coworker": RAHUL, "roommate": INGRID},
    TOMAS: {"coworker": ELENA, "roommate": RAHUL, "neighbor": INGRID},
    YUKI: {"roommate": ELENA, "neighbor": RAHUL, "coworker": INGRID},
}
"""Whom a main user calls what; the other two main users are friends."""

ARTISTS = (("The Paper Kites of Oslo", "folk"), ("Neon Harbour", "pop"), ("Ada Quill", "jazz"), ("Static Meadow", "rock"))
SONGS = (
    ("Lantern Street", 1, 204),
    ("Half a Map", 1, 251),
    ("Quiet Ferry", 1, 187),
    ("Glasshouse", 2, 199),
    ("Tide Tables", 2, 233),
    ("Copper Sky", 2, 178),
    ("Blue Ledger", 3, 312),
    ("Slow Elevator", 3, 287),
    ("Nine Umbrellas", 3, 264),
    ("Gravel and Gold", 4, 221),
    ("Winter Antenna", 4, 243),
    ("Borrowed Engine", 4, 256),
)
"""Title, artist (from 1), seconds."""
PLAYLISTS = {
    MARTA: {"Morning Run": (1, 4, 10, 6), "Rainy Sunday": (7, 3, 9)},
    TOMAS: {"Desk Focus": (8, 2, 5), "Road Trip": (10, 11, 12, 4)},
    YUKI: {"Kitchen Dance": (4, 6, 5), "Late Train": (9, 12, 2, 3)},
}
LIBRARY = {MARTA: (1, 2, 4, 7, 8), TOMAS: (5, 4, 9, 10, 11), YUKI: (2, 3, 1, 9, 6, 12)}
"""Songs in each song library (from 1)."""

PROJECTS = {
    MARTA: {
        "Balcony Garden": ("Buy tomato seeds", "Repair the trellis", "Order potting soil"),
        "Taxes": ("Scan receipts", "Call the office"),
    },
    TOMAS: {
        "Kitchen Repair": ("Measure the counter", "Choose new tiles", "Return the faucet"),
        "Marathon": ("Book the hotel", "Buy shoes"),
    },
    YUKI: {
        "Photo Book": ("Pick the cover", "Sort summer pictures", "Write captions"),
        "Moving": ("Cancel the internet", "Label the boxes"),
    },
}
NOTES = {
    MARTA: {
        "Camping List": "[x] tent\n[ ] stove\n[ ] lamp\n[x] rope\n[ ] matches",
        "Book Ideas": "A lighthouse that moves.\nTwo rivals, one bakery.",
    },
    TOMAS: {"Grocery List": "[ ] rice\n[x] lemons\n[ ] yogurt\n[x] basil", "Gift Ideas": "Chess set for the roommate.\nTea for mother."},
    YUKI: {
        "Studio Supplies": "[ ] ink\n[ ] paper\n[ ] tape\n[x] brushes\n[ ] twine",
        "Haiku Drafts": "First snow on the bridge.\nNobody has crossed.",
    },
}
ALARMS = {
    MARTA: {"Water the plants": "07:40", "Standup": "09:15"},
    TOMAS: {"Take vitamins": "08:05", "Evening stretch": "21:30"},
    YUKI: {"Feed the cat": "06:50", "Piano practice": "18:20"},
}
PAYMENTS = {
    MARTA: ((ELENA, 24.5, "Train tickets", 4), (ELENA, 13.25, "Lunch", 11), (RAHUL, 40.0, "Concert", 7), (ELENA, 8.0, "Coffee beans", 16)),
    TOMAS: ((RAHUL, 31.75, "Electricity", 2), (RAHUL, 12.5, "Pizza", 9), (INGRID, 18.0, "Paint", 13), (ELENA, 27.0, "Parking", 15)),
    YUKI: ((INGRID, 16.4, "Taxi", 3), (RAHUL, 22.0, "Museum", 6), (INGRID, 9.35, "Printing", 14), (ELENA, 30.0, "Internet", 17)),
}
"""Received payments: from whom, dollars, note, day of this May."""
REQUESTS = {
    MARTA: ((RAHUL, 21.0, "Team dinner"), (INGRID, 35.5, "Cleaning supplies")),
    TOMAS: ((ELENA, 17.75, "Farewell gift"), (RAHUL, 44.0, "Water bill")),
    YUKI: ((INGRID, 26.25, "Workshop fee"), (RAHUL, 19.0, "Light bulbs")),
}
"""Pending payment requests: from whom, dollars, note."""


def populate(apps: Any) -> None:
    """Store everything in `apps`, an empty model collection of all apps; run it with the clock frozen at `EARLIER`."""
    for person in PEOPLE:
        _accounts(apps, person)
    _music(apps.spotify)
    for person in MAIN:
        _phone(apps.phone, person)
        _money(apps.venmo, person)
        _notes_and_projects(apps, person)


def _accounts(apps: Any, person: Person) -> None:
    if person in MAIN:
        apps.admin.MainUser.create_save(
            **person.names, email=person.email, phone_number=person.phone_number, birthday=person.birthday, sex=person.sex
        )
        for app in PASSWORD_APPS:
            apps.admin.AccountPassword.create_save(main_user_id=person.number, account_name=app, password=person.password(app))
    for app in PASSWORD_APPS:
        contact = {"phone_number": person.phone_number} if app == "phone" else {"email": person.email, "verified": True}
        more = {"venmo_balance": 400.0 + 25 * person.number} if app == "venmo" else {}
        apps[app].User.create_save(**person.names, **contact, **more, password=person.password(app))


def _music(spotify: Any) -> None:
    for name, genre in ARTISTS:
        spotify.Artist.create_save(name=name, genre=genre)
    for number, (title, artist, seconds) in enumerate(SONGS, start=1):
        spotify.Song.create_save(
            title=title,
            artist_ids=[artist],
            duration=seconds,
            genre=ARTISTS[artist - 1][1],
            release_date=DateTime(2015 + number % 7, number, 10),
            play_count=100 * number,
        )
    for person in MAIN:
        spotify.MusicPlayer.create_save(user_id=person.number, queue_song_ids=list(LIBRARY[person][:2]), cursor_position=0)
        for song in LIBRARY[person]:
            spotify.UserLibrarySong.create_save(user_id=person.number, song_id=song)
        for title, songs in PLAYLISTS[person].items():
            playlist = spotify.Playlist.create_save(user_id=person.number, title=title)
            for song in songs:
                spotify.PlaylistSong.create_save(playlist_id=playlist.id, song_id=song)


def _phone(phone: Any, owner: Person) -> None:
    known = {**KNOWN[owner], **{f"friend {other.number}": other for other in MAIN if other is not owner}}
    for relationship, person in known.items():
        phone.Contact.create_save(
            user_id=owner.number,
            **person.names,
            email=person.email,
            phone_number=person.phone_number,
            relationships=[relationship.split()[0]],
            birthday=person.birthday,
        )
    for label, time in ALARMS[owner].items():
        days = ["monday", "wednesday", "friday"]
        phone.Alarm.create_save(
            user_id=owner.number, time=time, repeat_days=days, label=label, enabled=True, snooze_minutes=5, vibration=True
        )


def _money(venmo: Any, owner: Person) -> None:
    for other in PEOPLE:
        if other is not owner:
            venmo.Friendship.create_save(user_id=owner.number, friend_id=other.number)
    for sender, dollars, note, day in PAYMENTS[owner]:
        when = DateTime(2023, 5, day, 10, 0, 0)
        venmo.Transaction.create_save(
            sender_id=sender.number, receiver_id=owner.number, amount=dollars, description=note, created_at=when, updated_at=when
        )
    for sender, dollars, note in REQUESTS[owner]:
        venmo.PaymentRequest.create_save(sender_id=sender.number, receiver_id=owner.number, amount=dollars, description=note)


def _notes_and_projects(apps: Any, owner: Person) -> None:
    for title, content in NOTES[owner].items():
        apps.simple_note.Note.create_save(user_id=owner.number, title=title, content=content, tags=["lists" if "[" in content else "ideas"])
    for name, titles in PROJECTS[owner].items():
        project = apps.todoist.Project.create_save(user_id=owner.number, name=name)
        apps.todoist.ProjectCollaboratorLink.create_save(project_id=project.id, user_id=owner.number)
        for index, title in enumerate(titles):
            apps.todoist.Task.create_save(project_id=project.id, user_id=owner.number, title=title, priority="medium", order_index=index)
