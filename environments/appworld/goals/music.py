"""Goals about songs, playlists and the player (Spotify)."""

from .registry import goal
from .scene import Scene, Wish, call, done, pages


@goal("spotify.show_playlist_library", "spotify.show_song")
def length_of_a_playlist(scene: Scene) -> Wish:
    playlists = scene.data.rows("spotify.show_playlist_library")
    playlist = scene.pick(playlists)
    songs = [scene.data.one("spotify.show_song", song_id=number) for number in playlist["song_ids"]]
    title = playlist["title"]
    return Wish(
        scene.say(
            f"How many seconds of music are on my Spotify playlist {title} altogether? I am planning an intro around it.",
            f"I need the exact running time of my {title} playlist on Spotify. How many seconds is it in total?",
        ),
        [
            *pages("spotify.show_playlist_library", len(playlists)),
            *(call("spotify.show_song", song_id=song["song_id"]) for song in songs),
            done(sum(song["duration"] for song in songs)),
        ],
    )
