"""Questions about songs, playlists and the player (Spotify)."""

from collections import Counter

from . import listening as music
from .registry import goal
from .scene import Scene, Unavailable, Wish, call, done

_PLAYLISTS, _LIBRARY, _SONG = "spotify.show_playlist_library", "spotify.show_song_library", "spotify.show_song"


@goal(_PLAYLISTS, _SONG)
def length_of_a_playlist(scene: Scene) -> Wish:
    playlist = scene.pick(music.playlists(scene, 2))
    songs, title = music.songs_on(scene, playlist), playlist["title"]
    query = scene.say(
        f"I want to time my warm-up to my Spotify playlist {title}. How long is it in total, in seconds?",
        f"How many seconds of music are on my {title} playlist on Spotify altogether?",
        f"What is the total running time of my Spotify playlist {title}? Please give it in seconds, I have to enter it into a timer.",
    )
    return Wish(query, [*music.find_playlists(scene), *music.look_at(songs), done(sum(song["duration"] for song in songs))])


@goal(_PLAYLISTS, _SONG)
def age_of_songs_on_a_playlist(scene: Scene) -> Wish:
    playlist, newest = scene.pick(music.playlists(scene, 2)), scene.pick([True, False])
    songs, title = music.songs_on(scene, playlist), playlist["title"]
    found = music.only(songs, music.released, newest)
    query = scene.say(
        f"Which song on my Spotify playlist {title} came out most recently? Just the title, please."
        if newest
        else f"Which song on my Spotify playlist {title} was released first? Just the title, please.",
        f"Which song on my {title} playlist on Spotify has the {'latest' if newest else 'earliest'} release date? Just the title.",
    )
    return Wish(query, [*music.find_playlists(scene), *music.look_at(songs), done(found["title"])])


@goal(_PLAYLISTS, _SONG)
def songs_over_a_length(scene: Scene) -> Wish:
    playlist = scene.pick(music.playlists(scene, 2))
    songs, title = music.songs_on(scene, playlist), playlist["title"]
    at, words = music.limit(scene, songs)
    query = scene.say(
        f"How many songs on my Spotify playlist {title} are longer than {words}?",
        f"I only have patience for short songs lately. How many songs on my {title} playlist on Spotify are longer than {words}?",
    )
    return Wish(query, [*music.find_playlists(scene), *music.look_at(songs), done(sum(song["duration"] > at for song in songs))])


@goal(_PLAYLISTS, _SONG)
def artists_on_a_playlist(scene: Scene) -> Wish:
    playlist = scene.pick(music.playlists(scene, 2))
    songs, title = music.songs_on(scene, playlist), playlist["title"]
    query = scene.say(
        f"How many different artists are on my Spotify playlist {title}?",
        f"I want more variety on my {title} playlist on Spotify. How many different artists are on it now?",
    )
    return Wish(query, [*music.find_playlists(scene), *music.look_at(songs), done(len(music.artists(songs)))])


@goal(_PLAYLISTS, _SONG)
def songs_of_an_artist_on_a_playlist(scene: Scene) -> Wish:
    playlist = scene.pick(music.playlists(scene, 2))
    songs, title = music.songs_on(scene, playlist), playlist["title"]
    artist = scene.pick(music.artists(songs))
    count = len(music.by(songs, artist))
    query = scene.say(
        f"How many songs by {artist} do I have on my Spotify playlist {title}?",
        f"I think there are too many songs by {artist} on my {title} playlist on Spotify. How many are there?"
        if count > 1
        else f"How many of the songs on my {title} playlist on Spotify are by {artist}?",
    )
    return Wish(query, [*music.find_playlists(scene), *music.look_at(songs), done(count)])


@goal(_PLAYLISTS, _SONG)
def longest_playlist(scene: Scene) -> Wish:
    rows = music.playlists(scene)
    songs = [music.songs_on(scene, row) for row in rows]
    if not 2 <= len(rows) == len(scene.data.rows(_PLAYLISTS)) or sum(len(each) for each in songs) > 24:
        raise Unavailable("there are too few or too many playlists")
    lengths = [sum(song["duration"] for song in each) for each in songs]
    if lengths.count(max(lengths)) > 1:
        raise Unavailable("no playlist is the longest")
    query = scene.say(
        "I need music for a long drive. Which of my Spotify playlists has the longest total playing time? Just the title, please.",
        "What is the title of my Spotify playlist with the longest running time, all its songs added up?",
    )
    longest = rows[lengths.index(max(lengths))]
    return Wish(query, [*music.find_playlists(scene), *(a for each in songs for a in music.look_at(each)), done(longest["title"])])


@goal(_PLAYLISTS, "spotify.search_songs")
def playlist_with_a_song(scene: Scene) -> Wish:
    playlist = scene.pick(music.playlists(scene, 2))
    song = scene.pick(music.songs_on(scene, playlist))
    if sum(song["song_id"] in row["song_ids"] for row in scene.data.rows(_PLAYLISTS)) != 1:
        raise Unavailable("the song is on several playlists")
    query = scene.say(
        f'Which of my Spotify playlists is "{song["title"]}" on? Just the title of the playlist.',
        f'I am looking for "{song["title"]}", which is on one of my Spotify playlists. What is that playlist called?',
    )
    return Wish(query, [music.find_song(song), *music.find_playlists(scene), done(playlist["title"])])


@goal(_PLAYLISTS, _LIBRARY)
def playlist_songs_outside_the_library(scene: Scene) -> Wish:
    owned = {song["song_id"] for song in music.library(scene)}
    playlist = scene.pick(row for row in music.playlists(scene, 2) if set(row["song_ids"]) & owned and set(row["song_ids"]) - owned)
    query = scene.say(
        f"How many songs on my Spotify playlist {playlist['title']} are not in my song library yet?",
        f"I never saved everything on my {playlist['title']} playlist to my Spotify song library. How many of its songs are missing there?",
    )
    return Wish(query, [*music.find_playlists(scene), *music.find_library(scene), done(len(set(playlist["song_ids"]) - owned))])


@goal(_LIBRARY)
def favourite_artist_of_the_library(scene: Scene) -> Wish:
    songs = music.library(scene)
    ranked = Counter(artist["name"] for song in songs for artist in song["artists"]).most_common(2)
    if len(ranked) < 2 or ranked[0][1] == ranked[1][1]:
        raise Unavailable("no artist stands out")
    query = scene.say(
        "Which artist has the most songs in my Spotify song library? Just the name, please.",
        "I want to see my favorite artist live. Who has the most songs in my Spotify song library? Just the name.",
    )
    return Wish(query, [*music.find_library(scene), done(ranked[0][0])])


@goal(_LIBRARY)
def length_of_songs_in_the_library(scene: Scene) -> Wish:
    songs, longest = music.library(scene), scene.pick([True, False])
    found = music.only(songs, lambda song: song["duration"], longest)
    word = "longest" if longest else "shortest"
    query = scene.say(
        f"What is the title of the {word} song in my Spotify song library?",
        f"Which song in my Spotify song library is the {word}? Just the title, please.",
    )
    return Wish(query, [*music.find_library(scene), done(found["title"])])


@goal(_LIBRARY)
def average_song_in_the_library(scene: Scene) -> Wish:
    songs = music.library(scene)
    query = scene.say(
        "How long is a song in my Spotify song library on average? Give me the seconds, rounded to a whole number.",
        "What is the average length of the songs in my Spotify song library, in seconds and rounded to a whole number?",
    )
    mean = sum(song["duration"] for song in songs) / len(songs)
    if mean % 1 == 0.5:
        raise Unavailable("a half is rounded one way or the other")
    return Wish(query, [*music.find_library(scene), done(round(mean))])


@goal(_LIBRARY, _SONG)
def genre_of_the_library(scene: Scene) -> Wish:
    songs = music.library(scene)
    ranked = Counter(song["genre"] for song in songs).most_common()
    genre, count = scene.pick(ranked)
    query = scene.say(
        f"How many {genre} songs are in my Spotify song library?",
        f"I have been collecting {genre} for a while. How many {genre} songs are in my Spotify song library by now?"
        if count > 1
        else f"I want to get into {genre}. How many {genre} songs are already in my Spotify song library?",
    )
    return Wish(query, [*music.find_library(scene), *music.look_at(songs), done(count)])


@goal(_LIBRARY, _SONG)
def library_songs_since_a_year(scene: Scene) -> Wish:
    songs = music.library(scene)
    years = sorted({int(music.released(song)[:4]) for song in songs})
    year, before = scene.pick(years[1:]), scene.pick([True, False])
    count = sum((int(music.released(song)[:4]) < year) == before for song in songs)
    when = f"before {year}" if before else f"in {year} or later"
    query = scene.say(
        f"How many songs in my Spotify song library were released {when}?",
        f"I wonder how {'old' if before else 'new'} my taste in music is. How many songs in my Spotify song library came out {when}?",
    )
    return Wish(query, [*music.find_library(scene), *music.look_at(songs), done(count)])


@goal("spotify.search_artists", "spotify.search_songs")
def biggest_song_of_an_artist(scene: Scene) -> Wish:
    artist = scene.pick(row["name"] for row in scene.data.rows("spotify.search_artists"))
    songs, looked = music.works(scene, artist)
    found = music.only(songs, lambda song: song["play_count"])
    query = scene.say(
        f"A friend raves about {artist}. Which song by that artist has the most plays on Spotify? Just the title.",
        f"I want to start with {artist}'s biggest hit. Which song by that artist has been played the most on Spotify? Just the title.",
    )
    return Wish(query, [*looked, done(found["title"])])


@goal("spotify.search_artists", "spotify.search_songs")
def year_of_an_artists_release(scene: Scene) -> Wish:
    artist, latest = scene.pick(row["name"] for row in scene.data.rows("spotify.search_artists")), scene.pick([True, False])
    songs, looked = music.works(scene, artist)
    found = music.only(songs, music.released, latest)
    query = scene.say(
        f"Going by Spotify, in which year did the {'latest' if latest else 'first'} song by {artist} come out?",
        f"In which year was the {'most recent' if latest else 'earliest'} song by {artist} on Spotify released?",
    )
    return Wish(query, [*looked, done(int(music.released(found)[:4]))])


@goal("spotify.search_artists", "spotify.search_songs", _LIBRARY)
def missing_songs_of_an_artist(scene: Scene) -> Wish:
    owned = music.library(scene)
    artist = scene.pick(music.artists(owned))
    songs, looked = music.works(scene, artist)
    missing = [song for song in songs if song["song_id"] not in {one["song_id"] for one in owned}]
    if not missing:
        raise Unavailable("the collection is complete")
    query = scene.say(
        f"How many songs by {artist} on Spotify are not in my song library yet?",
        f"I am trying to collect every song by {artist} on Spotify. How many of them are still missing from my song library?",
    )
    return Wish(query, [*looked, *music.find_library(scene), done(len(missing))])


@goal("spotify.show_song_queue")
def length_of_the_queue(scene: Scene) -> Wish:
    queue = scene.data.rows("spotify.show_song_queue")
    if len(queue) < 2:
        raise Unavailable("there is hardly a queue")
    query = scene.say(
        "I am timing a workout to my Spotify queue. How many seconds do all the songs in it take in total?",
        "How many seconds would it take to play all the songs in my Spotify queue once, from the first to the last?",
    )
    return Wish(query, [call("spotify.show_song_queue"), done(sum(song["duration"] for song in queue))])
