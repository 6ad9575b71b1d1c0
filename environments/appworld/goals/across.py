"""Goals over several apps: what is found in one is used in another."""

from datetime import date

from . import apps, writing
from . import listening as music
from .registry import goal
from .saying import clock, day, days
from .scene import Scene, Unavailable, Wish, call, done, pages

_PLAYLISTS, _LIBRARY, _SONG = "spotify.show_playlist_library", "spotify.show_song_library", "spotify.show_song"
_NEW_NOTE, _SEARCH, _SHOW = "simple_note.create_note", "simple_note.search_notes", "simple_note.show_note"
_CONTACTS, _TEXT = "phone.search_contacts", "phone.send_text_message"
_PROJECTS, _TASKS, _NEW_TASK = "todoist.show_projects", "todoist.show_tasks", "todoist.create_task"
_REQUESTS = "venmo.show_received_payment_requests"
_SUPERLATIVES = (
    ("most played", "play_count", True),
    ("longest", "duration", True),
    ("oldest", "release_date", False),
    ("newest", "release_date", True),
)
_EXCUSES = ("I will pay you on Friday.", "You will get your money tomorrow, promised!", "Sorry for the wait, I will pay you tonight.")


@goal(_PLAYLISTS, _SONG, _NEW_NOTE)
def note_of_a_playlist(scene: Scene) -> Wish:
    playlist = scene.pick(row for row in music.playlists(scene, 2) if len(row["song_ids"]) <= 12)
    songs = music.songs_on(scene, playlist)
    title = writing.fresh_title(scene, f"{playlist['title']} Songs", f"Songs of {playlist['title']}", f"{playlist['title']} Backup")
    query = scene.say(
        f"Write the song titles of my Spotify playlist {playlist['title']} down in a new note called {title}, "
        "one title a line, in the playlist's order.",
        f"In case I lose my {playlist['title']} playlist on Spotify: save its song titles in a note named {title}. "
        "One per line, in the same order, and nothing else in it.",
    )
    made = call(_NEW_NOTE, title=title, content="\n".join(song["title"] for song in songs))
    return Wish(query, [*music.find_playlists(scene), call("spotify.show_playlist", playlist_id=playlist["playlist_id"]), made, done()])


@goal(_PLAYLISTS, _SONG, _NEW_NOTE)
def note_of_the_best_songs(scene: Scene) -> Wish:
    rows = music.playlists(scene, 2)
    if not 2 <= len(rows) <= 4 or len(rows) != len(scene.data.rows(_PLAYLISTS)):
        raise Unavailable("there are too few or too many playlists")
    word, field, largest = scene.pick(
        (("most played", "play_count", True), ("longest", "duration", True), ("oldest", "release_date", False))
    )
    songs = [music.songs_on(scene, row) for row in rows]
    best = [music.only(each, lambda song: song[field], largest) for each in songs]
    lines = sorted(f"{row['title']}: {song['title']}" for row, song in zip(rows, best, strict=True))
    title = writing.fresh_title(scene, "Playlist Notes", "My Playlists", "Playlist Highlights")
    query = scene.say(
        f"Make a note called {title} that has, for each of my Spotify playlists, its {word} song. One line for each playlist in "
        'alphabetical order, written like "Party Mix: Some Song".',
        f"For each of my Spotify playlists, find the {word} song and put it into a new note titled {title}: one line a playlist, as in "
        '"Party Mix: Some Song", sorted by the name of the playlist.',
    )
    looked = [action for each in songs for action in music.look_at(each)]
    return Wish(query, [*music.find_playlists(scene), *looked, call(_NEW_NOTE, title=title, content="\n".join(lines)), done()])


@goal(_LIBRARY, _NEW_NOTE)
def note_of_the_library_artists(scene: Scene) -> Wish:
    names = sorted(music.artists(music.library(scene)))
    title = writing.fresh_title(scene, "Concert Wishes", "Artists I Own", "Bands To See")
    if not 2 <= len(names) <= 10:
        raise Unavailable("there are too few or too many artists")
    query = scene.say(
        f"I want to look out for concerts. Put the names of all artists in my Spotify song library into a new note called {title}: "
        "each once, one name a line, from A to Z.",
        f"Create a note titled {title} with every artist that I have songs of in my Spotify song library, one per line and in "
        "alphabetical order.",
    )
    return Wish(query, [*music.find_library(scene), call(_NEW_NOTE, title=title, content="\n".join(names)), done()])


@goal("spotify.show_current_song", _SEARCH, "simple_note.add_content_to_note")
def note_the_current_song(scene: Scene) -> Wish:
    song, note = scene.data.one("spotify.show_current_song"), scene.pick(writing.prose(scene))
    line = f"{song['title']} by {song['artists'][0]['name']}"
    if len(song["artists"]) != 1 or line in note["content"]:
        raise Unavailable("it is noted already")
    query = scene.say(
        f"Add the song that is up in my Spotify player to my note {note['title']}, as a new last line of the form TITLE by ARTIST.",
        f"What is the current song in my Spotify player? Jot it down at the very end of my {note['title']} note, "
        'on a line of its own, like "Some Song by Some Band".',
    )
    added = call("simple_note.add_content_to_note", note_id=note["note_id"], append_or_prepend="append", added_content=line)
    return Wish(query, [call("spotify.show_current_song"), writing.search(note), added, done()])


@goal(_CONTACTS, _PLAYLISTS, _SONG, _TEXT)
def text_a_song(scene: Scene) -> Wish:
    (who, contact), playlist = scene.pick(apps.people(scene)), scene.pick(music.playlists(scene, 2))
    songs = music.songs_on(scene, playlist)
    word, field, largest = scene.pick(
        (("longest", "duration", True), ("newest", "release_date", True), ("most played", "play_count", True))
    )
    song = music.only(songs, lambda one: one[field], largest)
    query = scene.say(
        f"My {who} wants to know the {word} song on my Spotify playlist {playlist['title']}. "
        "Text them its title, only the title and nothing else.",
        f"Send my {who} a text message with just the title of the {word} song on my {playlist['title']} playlist on Spotify.",
    )
    looked = [*music.find_playlists(scene), *music.look_at(songs)]
    return Wish(query, [*looked, apps.find_person(who), apps.text(contact, song["title"]), done()])


@goal(_CONTACTS, _PLAYLISTS, "spotify.show_playlist", _SONG, _TEXT)
def text_a_playlist(scene: Scene) -> Wish:
    (who, contact), playlist = scene.pick(apps.people(scene)), scene.pick(music.playlists(scene, 2))
    songs = music.songs_on(scene, playlist)
    if len(songs) > 8:
        raise Unavailable("it is too long for a text message")
    query = scene.say(
        f"Text my {who} which songs are on my Spotify playlist {playlist['title']}: "
        "just the titles in the playlist's order, with a comma and a space between them.",
        f"My {who} asked what is on my {playlist['title']} playlist on Spotify. Send them a text message with nothing but its song "
        "titles in the order they are in, with a comma and a space between them.",
    )
    looked = [*music.find_playlists(scene), call("spotify.show_playlist", playlist_id=playlist["playlist_id"])]
    message = ", ".join(song["title"] for song in songs)
    return Wish(query, [*looked, apps.find_person(who), apps.text(contact, message), done()])


@goal("spotify.show_current_song", _PROJECTS, _NEW_TASK)
def task_about_the_current_artist(scene: Scene) -> Wish:
    song, (project, _) = scene.data.one("spotify.show_current_song"), scene.pick(apps.projects(scene))
    if len(song["artists"]) != 1:
        raise Unavailable("the song has several artists")
    what = scene.pick(("Buy tickets for", "Look up tour dates of", "Buy a record by"))
    query = scene.say(
        f'Add a task "{what} ..." to my Todoist project {project["name"]}, with the artist of the current song in my Spotify player '
        "in place of the dots.",
        f"Whoever made the current song in my Spotify player is good. Put a task into my {project['name']} project on Todoist, titled "
        f'"{what} ..." but with their name instead of the dots.',
    )
    made = call(_NEW_TASK, project_id=project["project_id"], title=f"{what} {song['artists'][0]['name']}")
    return Wish(query, [call("spotify.show_current_song"), *apps.find_projects(scene), made, done()])


@goal(_SEARCH, _SHOW, _PROJECTS, _NEW_TASK)
def tasks_of_open_items(scene: Scene) -> Wish:
    one = scene.pick(each for each in writing.check_lists(scene) if 1 <= len(each.open) <= 5)
    project, tasks = scene.pick(apps.projects(scene))
    if {task["title"] for task in tasks} & set(one.open):
        raise Unavailable("some of it is there already")
    query = scene.say(
        f"Make a task in my Todoist project {project['name']} of each item that is still open on my note {one.note['title']}, "
        "from top to bottom. The item's words are the title.",
        f"Whatever I have not ticked off on my {one.note['title']} note should become a task in my {project['name']} project on Todoist, "
        "titled like the item and added in the same order.",
    )
    made = [call(_NEW_TASK, project_id=project["project_id"], title=text) for text in one.open]
    return Wish(query, [*writing.find_note(one.note), *apps.find_projects(scene), *made, done()])


@goal(_SEARCH, _SHOW, "todoist.create_project", _NEW_TASK)
def project_of_a_list(scene: Scene) -> Wish:
    one = scene.pick(each for each in writing.check_lists(scene) if 1 <= len(each.open) <= 5)
    title = one.note["title"]
    if any(row["name"] == title for row in scene.data.rows(_PROJECTS)):
        raise Unavailable("there is such a project")
    query = scene.say(
        f"I would rather keep my note {title} in Todoist. Create a project of the same name with a task for each item that is not "
        "ticked off yet, in the note's order.",
        f"Start a new Todoist project {title}, and fill it with the open items of my note of that name: one task each, top to bottom.",
    )
    number = scene.data.next_id("todoist.create_project", "project_id")
    made = [call(_NEW_TASK, project_id=number, title=text) for text in one.open]
    return Wish(query, [*writing.find_note(one.note), call("todoist.create_project", name=title), *made, done()])


@goal(_PROJECTS, _TASKS, _NEW_NOTE)
def list_of_a_project(scene: Scene) -> Wish:
    project, tasks = scene.pick((row, tasks) for row, tasks in apps.projects(scene, 2) if len(tasks) <= 10)
    title = writing.fresh_title(scene, f"{project['name']} To Do", f"{project['name']} List", f"Offline {project['name']}")
    query = scene.say(
        f"I will be offline this weekend. Copy the open tasks of my Todoist project {project['name']} into a new note called {title}: "
        'one a line in their order, each with an empty box in front, like "[ ] Call home".',
        f"Turn my {project['name']} project on Todoist into a check list: a note titled {title} with each task that is not done "
        'on a line of its own, written like "[ ] Call home", in the order of the project.',
    )
    made = call(_NEW_NOTE, title=title, content="\n".join(f"{writing.OPEN}{task['title']}" for task in tasks))
    return Wish(query, [*apps.find_projects(scene), apps.find_tasks(project, tasks), made, done()])


@goal(_SEARCH, _SHOW, _CONTACTS, _TEXT)
def text_the_open_items(scene: Scene) -> Wish:
    one, (who, contact) = (
        scene.pick(each for each in writing.check_lists(scene) if 1 < len(each.open) <= 6),
        scene.pick(apps.people(scene)),
    )
    query = scene.say(
        f"My {who} is at the shops. Text them what is still open on my note {one.note['title']}: just the items in the list's order, "
        "with a comma and a space between them.",
        f"Send my {who} a text message with the items of my {one.note['title']} note that are not ticked off, in order and without any "
        "other words, only a comma and a space between them.",
    )
    return Wish(query, [*writing.find_note(one.note), apps.find_person(who), apps.text(contact, ", ".join(one.open)), done()])


@goal(_CONTACTS, _NEW_NOTE)
def note_of_a_number(scene: Scene) -> Wish:
    who, contact = scene.pick(apps.people(scene))
    title = writing.fresh_title(scene, "Emergency Contact", "In Case Of Emergency", "If I Lose My Phone")
    query = scene.say(
        f"Save my {who}'s phone number in a note called {title}, in case my phone breaks. Only the number, as it is in my contacts.",
        f"I want my {who}'s number written down outside of my phone: put it, and nothing else, into a new note titled {title}.",
    )
    return Wish(query, [apps.find_person(who), call(_NEW_NOTE, title=title, content=contact["phone_number"]), done()])


@goal(_CONTACTS, _NEW_NOTE)
def note_of_birthdays(scene: Scene) -> Wish:
    rows = [row for row in scene.data.rows(_CONTACTS) if row["birthday"]]
    names = {row["first_name"] for row in rows}
    if not 2 <= len(rows) <= 10 or len(names) < len(rows):
        raise Unavailable("there are too few or too many contacts")
    ordered = sorted(rows, key=lambda row: row["birthday"][5:10])
    title = writing.fresh_title(scene, "Birthdays", "Birthday Calendar", "Whose Birthday")
    query = scene.say(
        f"I keep forgetting birthdays. Make a note called {title} with those of all my phone contacts, from January to December, "
        'one a line like "Anna: March 3".',
        f"Put the birthdays of everyone in my phone's contacts into a new note titled {title}: first name and day, as in "
        '"Anna: March 3", one line each, in the order of the calendar year.',
    )
    lines = [f"{row['first_name']}: {day(date.fromisoformat(row['birthday'][:10]))}" for row in ordered]
    every = pages(_CONTACTS, len(scene.data.rows(_CONTACTS)))
    return Wish(query, [*every, call(_NEW_NOTE, title=title, content="\n".join(lines)), done()])


@goal("phone.show_alarms", _NEW_NOTE)
def note_of_alarms(scene: Scene) -> Wish:
    alarms = [row for row in scene.data.rows("phone.show_alarms") if row["enabled"]]
    if not 2 <= len(alarms) <= 8 or len({row["time"] for row in alarms}) < len(alarms) or not all(row["label"] for row in alarms):
        raise Unavailable("the alarms cannot be put in order")
    title = writing.fresh_title(scene, "Daily Routine", "My Day", "Alarm Overview")
    query = scene.say(
        f"Write an overview of my phone alarms that are switched on into a new note called {title}: one line each from early to late, "
        'like "06:15 Take out the bins".',
        f"Which alarms ring when? Collect the ones that are enabled on my phone in a note called {title}, earliest first, each on its "
        'own line as in "06:15 Take out the bins".',
    )
    lines = [f"{row['time']} {row['label']}" for row in sorted(alarms, key=lambda row: row["time"])]
    every = pages("phone.show_alarms", len(scene.data.rows("phone.show_alarms")))
    return Wish(query, [*every, call(_NEW_NOTE, title=title, content="\n".join(lines)), done()])


@goal(_REQUESTS, _NEW_NOTE)
def note_of_payment_requests(scene: Scene) -> Wish:
    rows = apps.requests(scene)
    title = writing.fresh_title(scene, "I Owe", "Open Debts", "Money To Pay")
    query = scene.say(
        f'Who is still waiting for money from me on Venmo? Put them into a new note called "{title}": one line for each pending request, '
        'smallest amount first, like "Anna: $12.50".',
        f'Make a note "{title}" of the pending payment requests that I have got on Venmo. Each line should read like '
        '"Anna: $12.50" (first name, amount with cents), and the amounts should go up.',
    )
    lines = [f"{apps.first_name(row['sender'])}: ${row['amount']:.2f}" for row in rows]
    return Wish(query, [*apps.find_requests(rows), call(_NEW_NOTE, title=title, content="\n".join(lines)), done()])


@goal(_REQUESTS, _PROJECTS, _NEW_TASK)
def tasks_of_payment_requests(scene: Scene) -> Wish:
    rows, (project, _) = apps.requests(scene), scene.pick(apps.projects(scene))
    query = scene.say(
        f"For every pending payment request that I have received on Venmo, add a task to my Todoist project {project['name']}, titled "
        'like "Pay Anna for Pizza" with the first name and the description. Begin with the smallest amount.',
        f"I want to see my Venmo debts in Todoist. Put a task into my {project['name']} project for each request that is waiting for me, "
        'as in "Pay Anna for Pizza" (first name, what it is for), from the smallest amount to the largest.',
    )
    titles = [f"Pay {apps.first_name(row['sender'])} for {row['description']}" for row in rows]
    made = [call(_NEW_TASK, project_id=project["project_id"], title=title) for title in titles]
    return Wish(query, [*apps.find_requests(rows), *apps.find_projects(scene), *made, done()])


@goal(_REQUESTS, _CONTACTS, _TEXT)
def text_those_who_wait_for_money(scene: Scene) -> Wish:
    rows, contacts = apps.requests(scene), scene.data.rows(_CONTACTS)
    found = [contact for row in rows for contact in contacts if contact["email"] == row["sender"]["email"]]
    if len(found) != len(rows):
        raise Unavailable("they are not all among the contacts")
    message = scene.pick(
        ("I will pay you on Friday.", "You will get your money tomorrow, promised!", "Sorry for the wait, I pay you tonight.")
    )
    query = scene.say(
        f'Text everyone who has a pending payment request to me on Venmo: "{message}" Their numbers are in my phone.',
        f'Some people are waiting for money from me on Venmo. Text each whose request is still pending: "{message}"',
    )
    every = pages(_CONTACTS, len(contacts))
    return Wish(query, [*apps.find_requests(rows), *every, *(apps.text(contact, message) for contact in found), done()])


@goal(_PROJECTS, _TASKS, _CONTACTS, _TEXT)
def text_the_open_tasks(scene: Scene) -> Wish:
    project, tasks = scene.pick((row, tasks) for row, tasks in apps.projects(scene, 2) if len(tasks) <= 6)
    who, contact = scene.pick(apps.people(scene))
    query = scene.say(
        f"My {who} offered to help with {project['name']}. Text them the tasks that are still open in that Todoist project, in order: "
        "only the titles, with a comma and a space between them.",
        f"Send my {who} a text message with the titles of all open tasks in my {project['name']} project on Todoist, in the project's "
        "order. Put a comma and a space between them and nothing else.",
    )
    message = ", ".join(task["title"] for task in tasks)
    looked = [*apps.find_projects(scene), apps.find_tasks(project, tasks)]
    return Wish(query, [*looked, apps.find_person(who), apps.text(contact, message), done()])


@goal(_PROJECTS, _TASKS, "phone.create_alarm")
def alarm_for_the_next_task(scene: Scene) -> Wish:
    project, tasks = scene.pick(apps.projects(scene, 2))
    time, on = scene.pick(("07:30", "08:45", "16:00", "19:15")), scene.pick((["saturday"], ["tuesday", "thursday"], ["sunday"]))
    query = scene.say(
        f"Set an alarm on my phone for {clock(time)} on {days(on)}, labeled with the title of the first open task in my Todoist project "
        f"{project['name']}.",
        f"I never get to my Todoist project {project['name']}. Create a phone alarm at {clock(time)} on {days(on)}; its label should be "
        "the title of the first task there that is not done.",
    )
    made = call("phone.create_alarm", time=time, repeat_days=on, label=tasks[0]["title"])
    return Wish(query, [*apps.find_projects(scene), apps.find_tasks(project, tasks), made, done()])


@goal(_CONTACTS, _PROJECTS, _NEW_TASK)
def task_to_call_somebody(scene: Scene) -> Wish:
    (who, contact), (project, _) = scene.pick(apps.people(scene)), scene.pick(apps.projects(scene))
    query = scene.say(
        f'Add a task to my Todoist project {project["name"]} so that I call my {who}: "Call" and then their full name as in my contacts.',
        f'I must not forget to call my {who}. Put "Call" with their first and last name from my phone into my {project["name"]} project '
        "on Todoist as a task.",
    )
    title = f"Call {contact['first_name']} {contact['last_name']}"
    made = call(_NEW_TASK, project_id=project["project_id"], title=title)
    return Wish(query, [apps.find_person(who), *apps.find_projects(scene), made, done()])
