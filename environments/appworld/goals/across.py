"""Goals over several apps: what is found in one is used in another."""

from datetime import date

from . import apps, messages, writing
from . import listening as music
from .registry import goal
from .saying import clock, day
from .scene import Scene, Unavailable, Wish, call, done, pages

_PLAYLISTS, _LIBRARY, _SONG = "spotify.show_playlist_library", "spotify.show_song_library", "spotify.show_song"
_NEW_NOTE, _SEARCH, _SHOW = "simple_note.create_note", "simple_note.search_notes", "simple_note.show_note"
_CONTACTS, _TEXT = "phone.search_contacts", "phone.send_text_message"
_PROJECTS, _TASKS, _NEW_TASK = "todoist.show_projects", "todoist.show_tasks", "todoist.create_task"
_REQUESTS = "venmo.show_received_payment_requests"
_TEXTS, _VOICES = "phone.search_text_messages", "phone.search_voice_messages"
_WORK = ("coworker", "boss", "manager", "employee")
"""Relationships at work, whose people are not asked to do the user's errands."""


@goal(_PLAYLISTS, _SONG, _NEW_NOTE)
def note_of_a_playlist(scene: Scene) -> Wish:
    playlist = scene.pick(row for row in music.playlists(scene, 2) if len(row["song_ids"]) <= 12)
    songs = music.songs_on(scene, playlist)
    title = writing.fresh_title(scene, f"{playlist['title']} Songs", f"Songs of {playlist['title']}", f"{playlist['title']} Backup")
    query = scene.say(
        f"Write down the song titles of my Spotify playlist {playlist['title']} in a new note called {title}, one title "
        "per line, in the order of the playlist.",
        f"In case I lose my {playlist['title']} playlist on Spotify, save its song titles in a new note called {title}: "
        "one per line, in the same order, and nothing else.",
    )
    made = call(_NEW_NOTE, title=title, content="\n".join(song["title"] for song in songs))
    return Wish(query, [*music.find_playlists(scene), call("spotify.show_playlist", playlist_id=playlist["playlist_id"]), made, done()])


@goal(_PLAYLISTS, _SONG, _NEW_NOTE)
def note_of_the_best_songs(scene: Scene) -> Wish:
    rows = music.playlists(scene, 2)
    if not 2 <= len(rows) <= 4 or len(rows) != len(scene.data.rows(_PLAYLISTS)):
        raise Unavailable("there are too few or too many playlists")
    word, field, largest = scene.pick(music.EXTREMES)
    songs = [music.songs_on(scene, row) for row in rows]
    best = [music.only(each, lambda song: song[field], largest) for each in songs]
    lines = sorted(f"{row['title']}: {song['title']}" for row, song in zip(rows, best, strict=True))
    title = writing.fresh_title(scene, "Playlist Notes", "My Playlists", "Playlist Highlights")
    best_of = word.format("on it")
    query = scene.say(
        f"For each of my Spotify playlists, find {best_of}. List them in a new note called {title}, one line per playlist "
        'like "Party Mix: Some Song", in alphabetical order.',
        f"Make a note called {title} with one line for each of my Spotify playlists, sorted alphabetically: the title of "
        f'the playlist and {best_of}, written like "Party Mix: Some Song".',
    )
    looked = [action for each in songs for action in music.look_at(each)]
    return Wish(query, [*music.find_playlists(scene), *looked, call(_NEW_NOTE, title=title, content="\n".join(lines)), done()])


@goal(_LIBRARY, _NEW_NOTE)
def note_of_the_library_artists(scene: Scene) -> Wish:
    names = sorted(music.artists(music.library(scene)))
    title = writing.fresh_title(scene, "Concert Wishes", "My Artists", "Artists To See")
    if not 2 <= len(names) <= 10:
        raise Unavailable("there are too few or too many artists")
    query = scene.say(
        "I want to look out for concerts. Put the names of all the artists in my Spotify song library into a new note "
        f"called {title}, each name once, one per line, in alphabetical order.",
        f"Create a note called {title} that lists every artist in my Spotify song library, one name per line and in alphabetical order.",
    )
    return Wish(query, [*music.find_library(scene), call(_NEW_NOTE, title=title, content="\n".join(names)), done()])


@goal("spotify.show_current_song", _NEW_NOTE)
def note_the_current_song(scene: Scene) -> Wish:
    song = scene.data.one("spotify.show_current_song")
    title = writing.fresh_title(scene, "Songs To Remember", "Songs I Like", "Music To Buy")
    if len(song["artists"]) != 1:
        raise Unavailable("the song has several artists")
    query = scene.say(
        f"I like the song that is on in my Spotify player right now. Start a note called {title} with that song in it, "
        'written like "Some Song by Some Band".',
        f"Save the current song in my Spotify player in a new note called {title}. The note should have just one line, "
        'like "Some Song by Some Band".',
    )
    made = call(_NEW_NOTE, title=title, content=f"{song['title']} by {song['artists'][0]['name']}")
    return Wish(query, [call("spotify.show_current_song"), made, done()])


@goal(_CONTACTS, _PLAYLISTS, _SONG, _TEXT)
def text_a_song(scene: Scene) -> Wish:
    (who, contact), playlist = scene.pick(apps.people(scene)), scene.pick(music.playlists(scene, 2))
    songs = music.songs_on(scene, playlist)
    word, field, largest = scene.pick((music.EXTREMES[2], music.EXTREMES[3]))
    song = music.only(songs, lambda one: one[field], largest)
    best = word.format(f"on my {playlist['title']} playlist on Spotify")
    query = scene.say(
        f"My {who} wants something new to listen to. Text my {who} the title of {best}, and nothing else.",
        f"Send my {who} a text message with just the title of {best}.",
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
        f"My {who} asked what is on my {playlist['title']} playlist on Spotify. Reply by text with just the song titles "
        "in the order of the playlist, separated by a comma and a space.",
        f"Text my {who} which songs are on my Spotify playlist {playlist['title']}: just the titles in the order of the "
        "playlist, with a comma and a space between them.",
    )
    looked = [*music.find_playlists(scene), call("spotify.show_playlist", playlist_id=playlist["playlist_id"])]
    message = ", ".join(song["title"] for song in songs)
    return Wish(query, [*looked, apps.find_person(who), apps.text(contact, message), done()])


@goal(_SEARCH, _SHOW, "todoist.create_project", _NEW_TASK)
def project_of_a_list(scene: Scene) -> Wish:
    one = scene.pick(each for each in writing.check_lists(scene) if 1 <= len(each.open) <= 5)
    title = one.note["title"]
    if any(row["name"] == title for row in scene.data.rows(_PROJECTS)):
        raise Unavailable("there is such a project")
    query = scene.say(
        f"I would rather keep my note {title} in Todoist. Create a project called {title} there with one task for each "
        "item that is not ticked off yet, in the same order.",
        f"Start a new Todoist project called {title} and add the open items of my note of the same name to it, one task "
        "each, from top to bottom.",
    )
    number = scene.data.next_id("todoist.create_project", "project_id")
    made = [call(_NEW_TASK, project_id=number, title=text) for text in one.open]
    return Wish(query, [*writing.find_note(one.note), call("todoist.create_project", name=title), *made, done()])


@goal(_PROJECTS, _TASKS, _NEW_NOTE)
def list_of_a_project(scene: Scene) -> Wish:
    project, tasks = scene.pick((row, tasks) for row, tasks in apps.projects(scene, 2) if len(tasks) <= 10)
    title = writing.fresh_title(scene, f"{project['name']} To Do", f"{project['name']} Tasks", f"{project['name']} Checklist")
    query = scene.say(
        f"I will be offline this weekend. Copy the open tasks of my Todoist project {project['name']} into a new note "
        f'called {title}: one per line in the same order, each with an empty box in front, like "[ ] Call home".',
        f"Turn the open tasks of my {project['name']} project in Todoist into a checklist: a new note called {title} with "
        'one task per line, written like "[ ] Call home", in the same order as in the project.',
    )
    made = call(_NEW_NOTE, title=title, content="\n".join(f"{writing.OPEN}{task['title']}" for task in tasks))
    return Wish(query, [*apps.find_projects(scene), apps.find_tasks(project, tasks), made, done()])


@goal(_SEARCH, _SHOW, _CONTACTS, _TEXT)
def text_the_open_items(scene: Scene) -> Wish:
    one, (who, contact) = (
        scene.pick(each for each in writing.check_lists(scene) if 1 < len(each.open) <= 6),
        scene.pick(one for one in apps.people(scene) if one[0] not in _WORK),
    )
    query = scene.say(
        f"My {who} is at the store. Text my {who} what is still open on my note {one.note['title']}: just the items in "
        "the order of the list, separated by a comma and a space.",
        f"Send my {who} a text message with the items on my {one.note['title']} note that are not ticked off, in the same "
        "order and with nothing but a comma and a space between them.",
    )
    return Wish(query, [*writing.find_note(one.note), apps.find_person(who), apps.text(contact, ", ".join(one.open)), done()])


@goal(_CONTACTS, _NEW_NOTE)
def note_of_a_number(scene: Scene) -> Wish:
    who, contact = scene.pick(apps.people(scene))
    title = writing.fresh_title(scene, "Emergency Contact", "In Case Of Emergency", "If I Lose My Phone")
    query = scene.say(
        f"Save my {who}'s phone number in a new note called {title}, in case my phone breaks. Write just the number, as "
        "it is in my contacts.",
        f"I want my {who}'s phone number written down outside of my contacts. Put just the number into a new note called {title}.",
    )
    return Wish(query, [apps.find_person(who), call(_NEW_NOTE, title=title, content=contact["phone_number"]), done()])


@goal(_CONTACTS, _NEW_NOTE)
def note_of_birthdays(scene: Scene) -> Wish:
    rows = [row for row in scene.data.rows(_CONTACTS) if row["birthday"]]
    names = {row["first_name"] for row in rows}
    if not 2 <= len(rows) <= 10 or len(names) < len(rows):
        raise Unavailable("there are too few or too many contacts")
    ordered = sorted(rows, key=lambda row: row["birthday"][5:10])
    title = writing.fresh_title(scene, "Birthdays", "Birthday List", "Birthday Calendar")
    query = scene.say(
        f"I keep forgetting birthdays. Make a note called {title} with the birthdays of all my phone contacts, from "
        'January to December, one per line like "Anna: March 3".',
        f"Put the birthdays of everyone in my phone contacts into a new note called {title}: first name and day, as in "
        '"Anna: March 3", one per line, in calendar order from January to December.',
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
        f"Make a new note called {title} with the alarms on my phone that are switched on: one per line from the earliest "
        'to the latest, like "06:15 Take out the bins".',
        f"I want an overview of my alarms. List those that are switched on in a new note called {title}, earliest first, "
        'one per line like "06:15 Take out the bins".',
    )
    lines = [f"{row['time']} {row['label']}" for row in sorted(alarms, key=lambda row: row["time"])]
    every = pages("phone.show_alarms", len(scene.data.rows("phone.show_alarms")))
    return Wish(query, [*every, call(_NEW_NOTE, title=title, content="\n".join(lines)), done()])


@goal(_REQUESTS, _NEW_NOTE)
def note_of_payment_requests(scene: Scene) -> Wish:
    rows = apps.requests(scene)
    title = writing.fresh_title(scene, "I Owe", "Open Debts", "Money To Pay")
    query = scene.say(
        f'Make a note called "{title}" with everyone who is still waiting for money from me on Venmo: one line for each '
        'pending request, smallest amount first, like "Anna: $12.50".',
        f'List the pending payment requests that I have received on Venmo in a new note called "{title}". Write one line '
        'for each, like "Anna: $12.50" (first name and amount), from the smallest amount to the largest.',
    )
    lines = [f"{apps.first_name(row['sender'])}: ${row['amount']:.2f}" for row in rows]
    return Wish(query, [*apps.find_requests(rows), call(_NEW_NOTE, title=title, content="\n".join(lines)), done()])


@goal(_REQUESTS, "todoist.create_project", _NEW_TASK)
def tasks_of_payment_requests(scene: Scene) -> Wish:
    rows, taken = apps.requests(scene), {row["name"] for row in scene.data.rows(_PROJECTS)}
    name = scene.pick(name for name in ("Debts", "To Pay", "Venmo Requests") if name not in taken)
    query = scene.say(
        f'I want to see my Venmo debts in Todoist. Create a project called "{name}" there with one task for each pending '
        'request I have received, titled like "Pay Anna for Pizza" (first name and note), from the smallest amount to '
        "the largest.",
        f'Start a Todoist project called "{name}". For every pending payment request I have received on Venmo, add a task '
        'like "Pay Anna for Pizza", with the first name of the sender and the note of the request. Begin with the '
        "smallest amount.",
    )
    number = scene.data.next_id("todoist.create_project", "project_id")
    titles = [f"Pay {apps.first_name(row['sender'])} for {row['description']}" for row in rows]
    made = [call(_NEW_TASK, project_id=number, title=title) for title in titles]
    return Wish(query, [*apps.find_requests(rows), call("todoist.create_project", name=name), *made, done()])


@goal(_REQUESTS, _CONTACTS, _TEXT)
def text_those_who_wait_for_money(scene: Scene) -> Wish:
    rows, contacts = apps.requests(scene), scene.data.rows(_CONTACTS)
    found = [contact for row in rows for contact in contacts if contact["email"] == row["sender"]["email"]]
    if len(found) != len(rows):
        raise Unavailable("they are not all among the contacts")
    message = scene.pick(
        ("I'll pay you on Friday.", "You'll get your money tomorrow, I promise!", "Sorry for the wait, I'll pay you tonight.")
    )
    query = scene.say(
        f'Text everyone who has a pending payment request to me on Venmo: "{message}" Their numbers are in my phone.',
        f'Some people are waiting for money from me on Venmo. Text each person whose request is still pending: "{message}"',
    )
    every = pages(_CONTACTS, len(contacts))
    return Wish(query, [*apps.find_requests(rows), *every, *(apps.text(contact, message) for contact in found), done()])


@goal(_PROJECTS, _TASKS, _CONTACTS, _TEXT)
def text_the_open_tasks(scene: Scene) -> Wish:
    project, tasks = scene.pick((row, tasks) for row, tasks in apps.projects(scene, 2) if len(tasks) <= 6 and len(row["collaborators"]) < 2)
    who, contact = scene.pick(one for one in apps.people(scene) if one[0] not in _WORK)
    query = scene.say(
        f"My {who} offered to help with my Todoist project {project['name']}. Text my {who} the open tasks in it: just "
        "the titles in the order of the project, separated by a comma and a space.",
        f"Send my {who} a text message with the titles of all the open tasks in my Todoist project {project['name']}, in "
        "the order of the project and with nothing but a comma and a space between them.",
    )
    message = ", ".join(task["title"] for task in tasks)
    looked = [*apps.find_projects(scene), apps.find_tasks(project, tasks)]
    return Wish(query, [*looked, apps.find_person(who), apps.text(contact, message), done()])


@goal(_PROJECTS, _TASKS, "phone.create_alarm")
def alarm_for_the_next_task(scene: Scene) -> Wish:
    project, tasks = scene.pick(apps.projects(scene, 2))
    time = scene.pick(("15:30", "16:00", "18:45", "19:15"))
    query = scene.say(
        f"I never get around to my Todoist project {project['name']}. Set a one-time phone alarm for {clock(time)}, "
        "labeled with the title of the first open task in that project.",
        f"I want to get something done for my Todoist project {project['name']} today. Set a one-time phone alarm for "
        f"{clock(time)} with the title of its first open task as the label.",
    )
    made = call("phone.create_alarm", time=time, label=tasks[0]["title"])
    return Wish(query, [*apps.find_projects(scene), apps.find_tasks(project, tasks), made, done()])


@goal(_CONTACTS, _TEXTS, _NEW_NOTE)
def note_of_a_text(scene: Scene) -> Wish:
    one = scene.pick(messages.writers(scene))
    title = writing.fresh_title(scene, f"From My {one.relationship.title()}", f"Text From My {one.relationship.title()}")
    query = scene.say(
        f"I do not want to forget what {one.my} texted me last. Save the message word for word in a new note called {title}.",
        f"Copy the last text that I got from {one.my} into a new note called {title}, exactly as it is written.",
    )
    made = call(_NEW_NOTE, title=title, content=messages.last_from(scene, one)["message"])
    return Wish(query, [*messages.chat(scene, one), made, done()])


@goal(_CONTACTS, _VOICES, _NEW_NOTE)
def note_of_a_voice_message(scene: Scene) -> Wish:
    one = scene.pick(messages.writers(scene, _VOICES))
    title = writing.fresh_title(scene, f"From My {one.relationship.title()}", f"Voice Message From My {one.relationship.title()}")
    query = scene.say(
        f"I need the last voice message from {one.my} in writing. Put what it says into a new note called {title}, word for word.",
        f"Save what {one.my} said in the last voice message to me in a new note called {title}, word for word and nothing else.",
    )
    made = call(_NEW_NOTE, title=title, content=messages.last_from(scene, one, _VOICES)["message"])
    return Wish(query, [*messages.chat(scene, one, _VOICES), made, done()])
