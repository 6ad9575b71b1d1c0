"""What goals about music read from a snapshot: the user's playlists, library and songs, and the calls that look them up."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from coevolve import Action

from .scene import Scene, Unavailable, call, pages
from .snapshot import Row

EXTREMES = (
    ("the longest song {}", "duration", True),
    ("the shortest song {}", "duration", False),
    ("the most played song {}", "play_count", True),
    ("the most recently released song {}", "release_date", True),
    ("the song {} that was released first", "release_date", False),
)
"""What makes one song stand out: words with a gap for the place ("on it"), a song's field, and whether the largest value counts."""
LIMITS = {180: "three minutes", 210: "three and a half minutes", 240: "four minutes", 270: "four and a half minutes", 300: "five minutes"}
"""Lengths of a song, in seconds, that people name."""


def playlists(scene: Scene, least: int = 1) -> list[Row]:
    """The user's own playlists with at least `least` songs, all of whose songs were read."""
    known = {song["song_id"] for song in _details(scene)}
    mine = [row for row in scene.data.rows("spotify.show_playlist_library") if row["owner"]["email"] == scene.data.me["email"]]
    titles = [row["title"] for row in mine]
    return [row for row in mine if len(row["song_ids"]) >= least and set(row["song_ids"]) <= known and titles.count(row["title"]) == 1]


def find_playlists(scene: Scene) -> list[Action]:
    """The calls that list the user's playlists."""
    return pages("spotify.show_playlist_library", len(scene.data.rows("spotify.show_playlist_library")))


def songs_on(scene: Scene, playlist: Row) -> list[Row]:
    """The songs of a playlist, with all details."""
    return [scene.data.one("spotify.show_song", song_id=number) for number in playlist["song_ids"]]


def library(scene: Scene, least: int = 2) -> list[Row]:
    """The songs of the user's library, with all details. Raises Unavailable when there are fewer than `least`, or too many to look at."""
    rows = scene.data.rows("spotify.show_song_library")
    known = {song["song_id"]: song for song in _details(scene)}
    if not least <= len(rows) <= 100 or not all(row["song_id"] in known for row in rows):
        raise Unavailable("the song library is too small or too large")
    return [known[row["song_id"]] for row in rows]


def find_library(scene: Scene) -> list[Action]:
    """The calls that list the user's library."""
    return pages("spotify.show_song_library", len(scene.data.rows("spotify.show_song_library")))


def look_at(songs: Iterable[Row]) -> list[Action]:
    """The calls that show the details of songs."""
    return [call("spotify.show_song", song_id=song["song_id"]) for song in songs]


def artists(songs: Iterable[Row]) -> list[str]:
    """The names of all artists of the songs, each once."""
    return list(dict.fromkeys(artist["name"] for song in songs for artist in song["artists"]))


def by(songs: Iterable[Row], artist: str) -> list[Row]:
    """Those of the songs that the artist takes part in."""
    return [song for song in songs if any(one["name"] == artist for one in song["artists"])]


def works(scene: Scene, artist: str) -> tuple[list[Row], list[Action]]:
    """All songs of an artist, and the calls that find them. Raises Unavailable when they were not all read."""
    found = [row for row in scene.data.rows("spotify.search_artists") if row["name"] == artist]
    songs = scene.data.rows("spotify.search_songs", artist_id=found[0]["artist_id"]) if len(found) == 1 else []
    if not songs or len(songs) >= 60:
        raise Unavailable(f"the songs of {artist} are not known")
    number = found[0]["artist_id"]
    return songs, [call("spotify.search_artists", query=artist), *pages("spotify.search_songs", len(songs), artist_id=number)]


def find_song(song: Row) -> Action:
    """The call that finds a song by its title."""
    return call("spotify.search_songs", query=song["title"])


def only(songs: Sequence[Row], key: Callable[[Row], Any], largest: bool = True) -> Row:
    """The one song with the largest (smallest) value. Raises Unavailable when two share it, or when there is only one song."""
    ranked = sorted(songs, key=key, reverse=largest)
    if len(ranked) < 2 or key(ranked[0]) == key(ranked[1]):
        raise Unavailable("no song stands out")
    return ranked[0]


def limit(scene: Scene, songs: Sequence[Row]) -> tuple[int, str]:
    """A length that parts the songs into longer and shorter ones, in seconds and in words."""
    lengths = [song["duration"] for song in songs]
    return scene.pick((at, words) for at, words in LIMITS.items() if min(lengths) < at < max(lengths) and at not in lengths)


def released(song: Row) -> str:
    """The day on which a song came out, as YYYY-MM-DD."""
    return str(song["release_date"])[:10]


def _details(scene: Scene) -> list[Row]:
    return [answer for _, answer in scene.data.found.get("spotify.show_song", ())]
