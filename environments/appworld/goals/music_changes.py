"""Errands about songs, playlists and the player (Spotify)."""

from coevolve import Action

from . import listening as music
from .registry import goal
from .saying import number
from .scene import Scene, Unavailable, Wish, call, done
from .snapshot import Row

_PLAYLISTS, _LIBRARY, _SONG = "spotify.show_playlist_library", "spotify.show_song_library", "spotify.show_song"
TITLES = ("Golden Hour", "Long Way Home", "Slow Sunday", "Open Windows", "Night Shift", "First Coffee", "Paper Boats")
"""Names for new playlists."""


@goal(_PLAYLISTS, _SONG, "spotify.like_song")
def like_the_extreme_of_a_playlist(scene: Scene) -> Wish:
    playlist, (word, field, largest) = scene.pick(music.playlists(scene, 2)), scene.pick(music.EXTREMES)
    songs, title = music.songs_on(scene, playlist), playlist["title"]
    song = music.only(songs, lambda one: one[field], largest)
    _not_yet(scene, "spotify.show_liked_songs", [song])
    best = word.format(f"on my Spotify playlist {title}")
    query = scene.say(
        f"Please like {best}. That one always gets me.",
        f"Find {best} and give it a like.",
    )
    return Wish(query, [*music.find_playlists(scene), *music.look_at(songs), call("spotify.like_song", song_id=song["song_id"]), done()])


@goal(_PLAYLISTS, _SONG, "spotify.like_song")
def like_an_artists_songs_on_a_playlist(scene: Scene) -> Wish:
    playlist = scene.pick(music.playlists(scene, 2))
    songs, title = music.songs_on(scene, playlist), playlist["title"]
    artist = scene.pick(music.artists(songs))
    liked = music.by(songs, artist)
    _not_yet(scene, "spotify.show_liked_songs", liked)
    query = scene.say(
        f"I have come to love {artist}. Please like every song by {artist} on my Spotify playlist {title}.",
        f"Like all the songs by {artist} on my {title} playlist on Spotify, but none of the others on it.",
    )
    likes = [call("spotify.like_song", song_id=song["song_id"]) for song in liked]
    return Wish(query, [*music.find_playlists(scene), *music.look_at(songs), *likes, done()])


@goal(_PLAYLISTS, _SONG, "spotify.remove_song_from_playlist")
def shorten_a_playlist(scene: Scene) -> Wish:
    playlist = scene.pick(music.playlists(scene, 2))
    songs, title = music.songs_on(scene, playlist), playlist["title"]
    at, words = music.limit(scene, songs)
    gone = [song for song in songs if song["duration"] > at]
    query = scene.say(
        f"Please remove every song longer than {words} from my Spotify playlist {title}, I keep skipping those anyway.",
        f"My {title} playlist on Spotify drags. Take off all the songs on it that are longer than {words}.",
    )
    return Wish(query, [*music.find_playlists(scene), *music.look_at(songs), *_removals(playlist, gone), done()])


@goal(_PLAYLISTS, _SONG, "spotify.remove_song_from_playlist")
def ban_an_artist_from_a_playlist(scene: Scene) -> Wish:
    playlist = scene.pick(music.playlists(scene, 2))
    songs, title = music.songs_on(scene, playlist), playlist["title"]
    artist = scene.pick(one for one in music.artists(songs) if len(music.by(songs, one)) < len(songs))
    query = scene.say(
        f"I am tired of {artist}. Please remove all songs by that artist from my Spotify playlist {title}.",
        f"Take everything by {artist} off my {title} playlist on Spotify and keep the rest.",
    )
    return Wish(query, [*music.find_playlists(scene), *music.look_at(songs), *_removals(playlist, music.by(songs, artist)), done()])


@goal(_PLAYLISTS, _LIBRARY, "spotify.remove_song_from_playlist")
def keep_only_library_songs_on_a_playlist(scene: Scene) -> Wish:
    owned = {song["song_id"] for song in music.library(scene)}
    playlist = scene.pick(row for row in music.playlists(scene, 2) if set(row["song_ids"]) & owned and set(row["song_ids"]) - owned)
    gone = [song for song in music.songs_on(scene, playlist) if song["song_id"] not in owned]
    query = scene.say(
        f"Clean up my Spotify playlist {playlist['title']}: remove every song from it that is not in my song library.",
        f"My {playlist['title']} playlist on Spotify should only have songs from my song library. Remove the others from it.",
    )
    return Wish(query, [*music.find_playlists(scene), *music.find_library(scene), *_removals(playlist, gone), done()])


@goal(_PLAYLISTS, _LIBRARY, "spotify.add_song_to_library")
def save_a_playlist_to_the_library(scene: Scene) -> Wish:
    owned = {song["song_id"] for song in music.library(scene)}
    playlist = scene.pick(row for row in music.playlists(scene, 2) if set(row["song_ids"]) - owned)
    missing = [number for number in playlist["song_ids"] if number not in owned]
    query = scene.say(
        f"Some songs on my Spotify playlist {playlist['title']} are not in my song library yet. Add them to the library.",
        f"I want everything on my {playlist['title']} playlist in my Spotify song library too. Add the songs that are not there yet.",
    )
    adds = [call("spotify.add_song_to_library", song_id=number) for number in missing]
    return Wish(query, [*music.find_playlists(scene), *music.find_library(scene), *adds, done()])


@goal(_PLAYLISTS, _LIBRARY, "spotify.add_song_to_playlist")
def extend_a_playlist_by_an_artist(scene: Scene) -> Wish:
    songs, playlist = music.library(scene), scene.pick(music.playlists(scene))
    fresh = {
        artist: [song for song in music.by(songs, artist) if song["song_id"] not in playlist["song_ids"]] for artist in music.artists(songs)
    }
    artist = scene.pick(artist for artist in fresh if fresh[artist])
    title, again = playlist["title"], len(fresh[artist]) < len(music.by(songs, artist))
    skip = " (skip what is on it already)" if again else ""
    query = scene.say(
        f"On Spotify, add all the songs by {artist} in my song library to my playlist {title}{skip}.",
        f"My {title} playlist on Spotify needs more songs by {artist}. Add every one that I have in my song library{skip}.",
    )
    return Wish(query, [*music.find_library(scene), *music.find_playlists(scene), *_additions(playlist, fresh[artist]), done()])


@goal(_PLAYLISTS, "spotify.search_songs", "spotify.remove_song_from_playlist", "spotify.add_song_to_playlist")
def replace_a_song(scene: Scene) -> Wish:
    playlist = scene.pick(music.playlists(scene, 2))
    songs, title = music.songs_on(scene, playlist), playlist["title"]
    old = scene.pick(songs)
    new = scene.pick(song for song in _all_songs(scene) if song["song_id"] not in playlist["song_ids"])
    query = scene.say(
        f'On my Spotify playlist {title}, replace "{old["title"]}" with "{new["title"]}".',
        f'I am tired of "{old["title"]}". Take it off my {title} playlist on Spotify and put "{new["title"]}" on it instead.',
    )
    return Wish(
        query,
        [
            *music.find_playlists(scene),
            music.find_song(old),
            music.find_song(new),
            *_removals(playlist, [old]),
            *_additions(playlist, [new]),
            done(),
        ],
    )


@goal(_PLAYLISTS, _SONG, "spotify.remove_song_from_playlist", "spotify.add_song_to_playlist")
def move_a_song_between_playlists(scene: Scene) -> Wish:
    one, other = scene.some(music.playlists(scene, 2), 2, 2)
    if scene.rng.random() < 0.5:
        one, other = other, one
    songs, (word, field, largest) = music.songs_on(scene, one), scene.pick(music.EXTREMES)
    song = music.only(songs, lambda row: row[field], largest)
    if song["song_id"] in other["song_ids"]:
        raise Unavailable("it is on both")
    best, there = word.format(f"on my Spotify playlist {one['title']}"), word.format(f"on my playlist {one['title']}")
    query = scene.say(
        f"Move {best} over to my playlist {other['title']}.",
        f"I put a song on the wrong playlist on Spotify: {there} belongs on {other['title']}. Please move it over.",
    )
    return Wish(query, [*music.find_playlists(scene), *music.look_at(songs), *_removals(one, [song]), *_additions(other, [song]), done()])


@goal(_PLAYLISTS, _SONG, "spotify.create_playlist", "spotify.add_song_to_playlist")
def playlist_of_the_best(scene: Scene) -> Wish:
    rows, (word, field, largest) = music.playlists(scene, 2), scene.pick(music.EXTREMES)
    if not 2 <= len(rows) <= 4 or len(rows) != len(scene.data.rows(_PLAYLISTS)):
        raise Unavailable("there are too few or too many playlists")
    songs = [music.songs_on(scene, row) for row in rows]
    best = [music.only(each, lambda row: row[field], largest) for each in songs]
    title = scene.pick(title for title in TITLES if title not in {row["title"] for row in rows})
    if len({song["song_id"] for song in best}) < len(best):
        raise Unavailable("one song is on two playlists")
    best_of = word.format("on it")
    query = scene.say(
        f"For each of my Spotify playlists, find {best_of}. Put those songs on a new playlist called {title}.",
        f"I want a new mix on Spotify. Create a playlist called {title} and, from each of my other playlists, add {best_of}.",
    )
    created = {"playlist_id": _next_playlist(scene)}
    looked = [action for each in songs for action in music.look_at(each)]
    made = call("spotify.create_playlist", title=title)
    return Wish(query, [*music.find_playlists(scene), *looked, made, *_additions(created, best), done()])


@goal(_PLAYLISTS, _SONG, "spotify.create_playlist", "spotify.add_song_to_playlist")
def playlist_of_a_genre(scene: Scene) -> Wish:
    rows = music.playlists(scene)
    if len(rows) != len(scene.data.rows(_PLAYLISTS)) or sum(len(row["song_ids"]) for row in rows) > 30:
        raise Unavailable("there are too many songs")
    songs = list({song["song_id"]: song for row in rows for song in music.songs_on(scene, row)}.values())
    genres = [song["genre"] for song in songs]
    genre = scene.pick(one for one in sorted(set(genres)) if genres.count(one) > 1)
    title = scene.pick([f"Pure {genre.title()}", f"{genre.title()} Corner", f"Just {genre.title()}"])
    created = {"playlist_id": _next_playlist(scene)}
    chosen = [song for song in songs if song["genre"] == genre]
    query = scene.say(
        f"Go through all my Spotify playlists and collect the {genre} songs in a new playlist called {title}.",
        f"I would like to have all the {genre} from my Spotify playlists in one place. Put those songs on a new playlist called {title}.",
    )
    made = call("spotify.create_playlist", title=title)
    return Wish(query, [*music.find_playlists(scene), *music.look_at(songs), made, *_additions(created, chosen), done()])


@goal(_PLAYLISTS, "spotify.search_songs", "spotify.update_playlist")
def rename_the_playlist_with_a_song(scene: Scene) -> Wish:
    playlist = scene.pick(music.playlists(scene))
    song = scene.pick(music.songs_on(scene, playlist))
    if sum(song["song_id"] in row["song_ids"] for row in scene.data.rows(_PLAYLISTS)) != 1:
        raise Unavailable("the song is on several playlists")
    title = scene.pick(TITLES)
    query = scene.say(
        f'I want to rename the Spotify playlist of mine that has "{song["title"]}" on it. Call it {title}.',
        f'Please change the name of my Spotify playlist with the song "{song["title"]}" on it to {title}.',
    )
    renamed = call("spotify.update_playlist", playlist_id=playlist["playlist_id"], title=title)
    return Wish(query, [music.find_song(song), *music.find_playlists(scene), renamed, done()])


@goal(_PLAYLISTS, "spotify.update_playlist")
def publish_a_playlist(scene: Scene) -> Wish:
    rows = music.playlists(scene)
    sizes = [len(row["song_ids"]) for row in rows]
    most = scene.pick([True, False])
    row = scene.pick(r for r in rows if sizes.count(len(r["song_ids"])) == 1 and len(r["song_ids"]) == (max if most else min)(sizes))
    if row["is_public"] or len(rows) < 2 or len(rows) != len(scene.data.rows(_PLAYLISTS)):
        raise Unavailable("it is public already")
    which = "most" if most else "fewest"
    query = scene.say(
        f"Make my Spotify playlist with the {which} songs public, I want to share it with friends.",
        f"I would like others to see my Spotify playlist with the {which} songs. Make it public, please.",
    )
    return Wish(
        query, [*music.find_playlists(scene), call("spotify.update_playlist", playlist_id=row["playlist_id"], is_public=True), done()]
    )


@goal(_PLAYLISTS, _SONG, "spotify.delete_playlist")
def delete_the_playlist_with_an_artist(scene: Scene) -> Wish:
    rows = music.playlists(scene)
    if not 2 <= len(rows) <= 4 or len(rows) != len(scene.data.rows(_PLAYLISTS)):
        raise Unavailable("there are too few or too many playlists")
    songs = [music.songs_on(scene, row) for row in rows]
    artist = scene.pick(a for a in music.artists(s for each in songs for s in each) if sum(bool(music.by(each, a)) for each in songs) == 1)
    gone = next(row for row, each in zip(rows, songs, strict=True) if music.by(each, artist))
    query = scene.say(
        f"Only one of my Spotify playlists has music by {artist} on it. Delete that playlist, I never listen to it.",
        f"I no longer listen to {artist}. Please delete my one Spotify playlist that has songs by that artist.",
    )
    looked = [action for each in songs for action in music.look_at(each)]
    return Wish(query, [*music.find_playlists(scene), *looked, call("spotify.delete_playlist", playlist_id=gone["playlist_id"]), done()])


@goal(_PLAYLISTS, _SONG, "spotify.follow_artist")
def follow_the_artists_of_a_playlist(scene: Scene) -> Wish:
    followed = {row["artist_id"] for row in scene.data.rows("spotify.show_following_artists")}
    playlist = scene.pick(music.playlists(scene, 2))
    songs = music.songs_on(scene, playlist)
    found = list(dict.fromkeys(artist["id"] for song in songs for artist in song["artists"]))
    if not 1 < len(found) < 8 or followed & set(found):
        raise Unavailable("some are followed already")
    query = scene.say(
        f"Follow every artist on my Spotify playlist {playlist['title']} so that I hear about their new music.",
        f"I want to follow all the artists who have a song on my {playlist['title']} playlist on Spotify.",
    )
    follows = [call("spotify.follow_artist", artist_id=one) for one in found]
    return Wish(query, [*music.find_playlists(scene), *music.look_at(songs), *follows, done()])


@goal("spotify.show_current_song", "spotify.follow_artist")
def follow_the_current_artist(scene: Scene) -> Wish:
    song = scene.data.one("spotify.show_current_song")
    if len(song["artists"]) != 1 or any(row["artist_id"] == song["artists"][0]["id"] for row in _followed(scene)):
        raise Unavailable("the artist is followed already")
    query = scene.say(
        "I like the song that is on in my Spotify player right now. Follow the artist who made it.",
        "Follow the artist of the current song in my Spotify player, please.",
    )
    return Wish(query, [call("spotify.show_current_song"), call("spotify.follow_artist", artist_id=song["artists"][0]["id"]), done()])


@goal("spotify.show_current_song", "spotify.search_songs", "spotify.add_to_queue")
def queue_more_of_the_current_artist(scene: Scene) -> Wish:
    song, queue = scene.data.one("spotify.show_current_song"), scene.data.rows("spotify.show_song_queue")
    word, field, largest = scene.pick(music.EXTREMES[2:])
    songs, looked = music.works(scene, song["artists"][0]["name"])
    chosen = music.only(songs, lambda one: one[field], largest)
    if len(song["artists"]) != 1 or any(chosen["song_id"] == one["song_id"] for one in queue):
        raise Unavailable("it is in the queue already")
    best = word.format("by that artist")
    query = scene.say(
        f"I like the artist of the current song in my Spotify player. Add {best} to the end of my queue.",
        f"Check who made the current song in my Spotify player, and queue up {best}.",
    )
    search = looked[1:]
    return Wish(query, [call("spotify.show_current_song"), *search, call("spotify.add_to_queue", song_id=chosen["song_id"]), done()])


@goal(_LIBRARY, _SONG, "spotify.remove_song_from_library")
def drop_old_songs_from_the_library(scene: Scene) -> Wish:
    songs = music.library(scene)
    years = sorted({int(music.released(song)[:4]) for song in songs})
    year = scene.pick(years[1:4])
    gone = [song for song in songs if int(music.released(song)[:4]) < year]
    query = scene.say(
        f"Remove every song released before {year} from my Spotify song library. I only want newer music there.",
        f"My Spotify song library needs a refresh. Take out all the songs that came out before {year}.",
    )
    removals = [call("spotify.remove_song_from_library", song_id=song["song_id"]) for song in gone]
    return Wish(query, [*music.find_library(scene), *music.look_at(songs), *removals, done()])


@goal(_LIBRARY, "spotify.remove_song_from_library")
def drop_an_artist_from_the_library(scene: Scene) -> Wish:
    songs = music.library(scene, 3)
    artist = scene.pick(music.artists(songs))
    removals = [call("spotify.remove_song_from_library", song_id=song["song_id"]) for song in music.by(songs, artist)]
    query = scene.say(
        f"I have outgrown {artist}. Please remove all songs by that artist from my Spotify song library.",
        f"Take everything by {artist} out of my song library on Spotify.",
    )
    return Wish(query, [*music.find_library(scene), *removals, done()])


@goal("spotify.search_artists", "spotify.search_songs", _LIBRARY, "spotify.add_song_to_library")
def complete_an_artist_in_the_library(scene: Scene) -> Wish:
    owned = music.library(scene)
    artist = scene.pick(music.artists(owned))
    songs, looked = music.works(scene, artist)
    missing = [song for song in songs if song["song_id"] not in {one["song_id"] for one in owned}]
    if not 1 <= len(missing) <= 6:
        raise Unavailable("nothing is missing, or too much")
    query = scene.say(
        f"I collect songs by {artist}. Add every one on Spotify that is not in my song library yet.",
        f"I want every song by {artist} in my Spotify song library. Add the ones that are missing there.",
    )
    adds = [call("spotify.add_song_to_library", song_id=song["song_id"]) for song in missing]
    return Wish(query, [*looked, *music.find_library(scene), *adds, done()])


@goal(_LIBRARY, "spotify.download_song")
def download_short_songs(scene: Scene) -> Wish:
    songs = music.library(scene)
    at, words = music.limit(scene, songs)
    chosen = [song for song in songs if song["duration"] < at]
    _not_yet(scene, "spotify.show_downloaded_songs", chosen)
    query = scene.say(
        f"I am short of space before my flight. Download only the songs in my Spotify song library that are shorter than {words}.",
        f"Download every song in my Spotify song library that is shorter than {words}, I will be offline tomorrow.",
    )
    downloads = [call("spotify.download_song", song_id=song["song_id"]) for song in chosen]
    return Wish(query, [*music.find_library(scene), *downloads, done()])


@goal(_PLAYLISTS, "spotify.download_song")
def download_a_playlist(scene: Scene) -> Wish:
    playlist = scene.pick(music.playlists(scene, 2))
    songs = music.songs_on(scene, playlist)
    _not_yet(scene, "spotify.show_downloaded_songs", songs)
    query = scene.say(
        f"I will have no reception on the train. Download all the songs on my Spotify playlist {playlist['title']}.",
        f"Please download every song on my {playlist['title']} playlist on Spotify. There is no internet at the cabin this weekend.",
    )
    downloads = [call("spotify.download_song", song_id=song["song_id"]) for song in songs]
    return Wish(query, [*music.find_playlists(scene), *downloads, done()])


@goal("spotify.search_artists", "spotify.search_songs", "spotify.play_music")
def play_an_artists_song(scene: Scene) -> Wish:
    artist = scene.pick(row["name"] for row in scene.data.rows("spotify.search_artists"))
    word, field, largest = scene.pick(music.EXTREMES)
    songs, looked = music.works(scene, artist)
    song = music.only(songs, lambda one: one[field], largest)
    best = word.format(f"by {artist}")
    query = scene.say(
        f"Play {best} on Spotify, please.",
        f"I am in the mood for {artist}. On Spotify, play {best}.",
    )
    return Wish(query, [*looked, call("spotify.play_music", song_id=song["song_id"]), done()])


@goal(_PLAYLISTS, "spotify.show_volume", "spotify.set_volume", "spotify.play_music")
def play_a_playlist_quieter(scene: Scene) -> Wish:
    playlist, volume = scene.pick(music.playlists(scene, 2)), scene.data.one("spotify.show_volume")["volume"]
    steps, up = scene.rng.randint(1, 3), scene.pick([True, False])
    level = volume + (steps if up else -steps)
    if not 1 <= level <= 10:
        raise Unavailable("it cannot be louder or quieter")
    by = "one level" if steps == 1 else f"{number(steps)} levels"
    query = scene.say(
        f"Start my {playlist['title']} playlist on Spotify and turn the volume {'up' if up else 'down'} by {by} from where it is now.",
        f"Play my playlist {playlist['title']} on Spotify, {by} {'louder' if up else 'quieter'} than the current volume.",
    )
    return Wish(
        query,
        [
            *music.find_playlists(scene),
            call("spotify.show_volume"),
            call("spotify.set_volume", volume=level),
            call("spotify.play_music", playlist_id=playlist["playlist_id"]),
            done(),
        ],
    )


@goal(_LIBRARY, "spotify.review_song")
def rate_a_song_of_the_library(scene: Scene) -> Wish:
    songs = music.library(scene)
    artist = scene.pick(one for one in music.artists(songs) if len(music.by(songs, one)) > 1)
    word, field, largest = scene.pick((("longest", "duration", True), ("shortest", "duration", False)))
    song, stars = music.only(music.by(songs, artist), lambda one: one[field], largest), scene.rng.randint(3, 5)
    if any(answer["reviewed"] for given, answer in scene.data.found["spotify.show_song_privates"] if given["song_id"] == song["song_id"]):
        raise Unavailable("it is reviewed already")
    query = scene.say(
        f"Give the {word} song by {artist} in my Spotify song library {number(stars)} stars. No text needed, just the rating.",
        f"Rate the {word} song by {artist} in my Spotify song library {number(stars)} stars, without a comment.",
    )
    return Wish(query, [*music.find_library(scene), call("spotify.review_song", song_id=song["song_id"], rating=stars), done()])


@goal(_LIBRARY, "spotify.show_song_queue", "spotify.add_to_queue")
def queue_an_artist_of_the_library(scene: Scene) -> Wish:
    queued = {song["song_id"] for song in scene.data.rows("spotify.show_song_queue")}
    songs = music.library(scene)
    artist = scene.pick(one for one in music.artists(songs) if not {song["song_id"] for song in music.by(songs, one)} & queued)
    word, field, largest = scene.pick((("longest", "duration", True), ("shortest", "duration", False)))
    song = music.only(music.by(songs, artist), lambda one: one[field], largest)
    query = scene.say(
        f"Add the {word} song by {artist} in my Spotify song library to my queue.",
        f"I want to hear some {artist}. Queue the {word} song by that artist from my Spotify song library.",
    )
    return Wish(query, [*music.find_library(scene), call("spotify.add_to_queue", song_id=song["song_id"]), done()])


@goal("spotify.show_song_queue", "spotify.remove_song_from_queue")
def remove_from_the_queue(scene: Scene) -> Wish:
    queue = scene.data.rows("spotify.show_song_queue")
    if len(queue) < 2 or len({song["song_id"] for song in queue}) < len(queue):
        raise Unavailable("there is hardly a queue")
    longest = scene.pick([True, False])
    song = music.only(queue, lambda one: one["duration"], longest)
    if song["is_playing"]:
        raise Unavailable("it is playing")
    word = "longest" if longest else "shortest"
    query = scene.say(
        f"Take the {word} song out of my Spotify queue.",
        f"I am not in the mood for the {word} song in my Spotify queue. Remove it from the queue.",
    )
    return Wish(query, [call("spotify.show_song_queue"), call("spotify.remove_song_from_queue", position=song["position"]), done()])


def _next_playlist(scene: Scene) -> int:
    return scene.data.next_id("spotify.create_playlist", "playlist_id")


def _not_yet(scene: Scene, listing: str, songs: list[Row]) -> None:
    if {row["song_id"] for row in scene.data.rows(listing)} & {song["song_id"] for song in songs}:
        raise Unavailable("some of it is done already")


def _removals(playlist: Row, songs: list[Row]) -> list[Action]:
    return [call("spotify.remove_song_from_playlist", playlist_id=playlist["playlist_id"], song_id=song["song_id"]) for song in songs]


def _additions(playlist: Row, songs: list[Row]) -> list[Action]:
    return [call("spotify.add_song_to_playlist", playlist_id=playlist["playlist_id"], song_id=song["song_id"]) for song in songs]


def _all_songs(scene: Scene) -> list[Row]:
    titles = [song["title"] for song in scene.data.rows("spotify.search_songs")]
    return [song for song in scene.data.rows("spotify.search_songs") if titles.count(song["title"]) == 1]


def _followed(scene: Scene) -> list[Row]:
    return scene.data.rows("spotify.show_following_artists")
