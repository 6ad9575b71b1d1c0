"""The code that reads a user's data, one block an app, so that an app which cannot be read costs only itself.

It reads at most so much that a heavy user's data takes seconds: whatever is beyond the limits is not wished for. Last in its block it
creates a thing or two, since the ids that the engine gives to new things can be seen in no other way; the world is thrown away.
"""

from ..script import Calls

PAGE = 20
"""Most rows that the engine's APIs list at once."""
MARK = "supervisor.show_active_task"
"""The call with which the reading begins; what was called before it belongs to the world's history."""

_HEAD = f"""apis.{MARK}()
me = apis.supervisor.show_profile()


def rows_of(api, limit=10, **arguments):
    rows = []
    for page in range(limit):
        found = api(page_index=page, page_limit={PAGE}, **arguments)
        rows += found
        if len(found) < {PAGE}:
            break
    return rows


for about in (apis.supervisor.show_addresses, apis.supervisor.show_payment_cards):
    try:
        about()
    except Exception:
        pass"""

_APPS = {
    "spotify": """library = rows_of(apis.spotify.show_song_library, access_token=access_token)
playlists = rows_of(apis.spotify.show_playlist_library, 3, access_token=access_token)
queue = apis.spotify.show_song_queue(access_token=access_token)
for listed in (apis.spotify.show_liked_songs, apis.spotify.show_downloaded_songs, apis.spotify.show_following_artists):
    rows_of(listed, access_token=access_token)
for listed in (apis.spotify.show_album_library, apis.spotify.show_liked_albums, apis.spotify.show_liked_playlists):
    rows_of(listed, 3, access_token=access_token)
apis.spotify.show_volume(access_token=access_token)
if queue:
    apis.spotify.show_current_song(access_token=access_token)
songs = [song["song_id"] for song in [*queue, *library]] + [song for playlist in playlists for song in playlist["song_ids"]]
for song in list(dict.fromkeys(songs))[:120]:
    apis.spotify.show_song(song_id=song)
    apis.spotify.show_song_privates(song_id=song, access_token=access_token)
artists = rows_of(apis.spotify.search_artists, 2)
for artist in artists[:20]:
    rows_of(apis.spotify.search_songs, 3, artist_id=artist["artist_id"])
apis.spotify.create_playlist(title="-", access_token=access_token)""",
    "simple_note": """for note in rows_of(apis.simple_note.search_notes, 3, access_token=access_token):
    apis.simple_note.show_note(note_id=note["note_id"], access_token=access_token)
apis.simple_note.create_note(title="-", content="-", access_token=access_token)""",
    "phone": """rows_of(apis.phone.search_contacts, access_token=access_token)
rows_of(apis.phone.show_alarms, access_token=access_token)
apis.phone.show_contact_relationships(access_token=access_token)
rows_of(apis.phone.search_text_messages, 5, access_token=access_token)
rows_of(apis.phone.search_voice_messages, 5, access_token=access_token)""",
    "venmo": """apis.venmo.show_venmo_balance(access_token=access_token)
rows_of(apis.venmo.search_friends, user_email=me["email"], access_token=access_token)
rows_of(apis.venmo.show_transactions, access_token=access_token)
rows_of(apis.venmo.show_received_payment_requests, access_token=access_token)
rows_of(apis.venmo.show_sent_payment_requests, access_token=access_token)
apis.venmo.show_payment_cards(access_token=access_token)
rows_of(apis.venmo.show_notifications, 3, access_token=access_token)
rows_of(apis.venmo.show_social_feed, 2, access_token=access_token)""",
    "todoist": """rows_of(apis.todoist.search_labels, 3, task_attached=False, access_token=access_token)
for project in rows_of(apis.todoist.show_projects, 2, access_token=access_token):
    tasks = apis.todoist.show_tasks(project_id=project["project_id"], access_token=access_token)
    listed = tasks["no_section_tasks"] + [task for section in tasks["sections"] for task in section.get("tasks", [])]
    for task in [task for task in listed if task.get("num_sub_tasks")][:20]:
        apis.todoist.show_sub_tasks(task_id=task["task_id"], access_token=access_token)
project = apis.todoist.create_project(name="-", access_token=access_token)["project_id"]
apis.todoist.create_task(project_id=project, title="-", access_token=access_token)""",
}


def reading(calls: Calls) -> list[str]:
    """The blocks that read everything; the calls that they make are what was found."""
    blocks = [_HEAD]
    for app, code in _APPS.items():
        if f"{app}.login" in calls.documents:
            inner = "\n".join(f"    {line}" for line in [calls.login("access_token", app), *code.splitlines()])
            blocks.append(f"try:\n{inner}\nexcept Exception as error:\n    print(repr(error)[:500])")
    return blocks
