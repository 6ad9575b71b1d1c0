"""Phrases of Spotify's APIs; see the package's docstring for the format."""

from collections.abc import Mapping

WISHES: Mapping[str, tuple[str, ...]] = {
    "add_album_to_library": (
        "add the album {album_id} to my album library on Spotify",
        "save the album {album_id} in my Spotify library",
    ),
    "add_song_to_library": (
        "add {song_id} to my song library on Spotify",
        "save the song {song_id} in my Spotify library",
    ),
    "add_song_to_playlist": (
        "put {song_id} on {playlist_id} on Spotify",
        "add the song {song_id} to {playlist_id} in my Spotify account",
    ),
    "add_to_queue": (
        "queue {song_id} on Spotify",
        "add the song {song_id} to the end of my Spotify queue",
        "queue the whole of {playlist_id} on Spotify",
        "queue the album {album_id} on Spotify",
    ),
    "clear_song_queue": (
        "empty my Spotify queue",
        "clear out everything that is queued on Spotify",
    ),
    "create_playlist": (
        "make me a new Spotify playlist called {title}",
        "start a playlist named {title} on Spotify",
        "make me a public Spotify playlist called {title}{is_public=True}",
    ),
    "delete_playlist": (
        "delete {playlist_id} on Spotify",
        "get rid of {playlist_id} in my Spotify account",
    ),
    "download_song": ("download {song_id} on Spotify for offline listening",),
    "follow_artist": ("follow {artist_id} on Spotify",),
    "like_album": (
        "like the album {album_id} on Spotify",
        "give the album {album_id} a like on Spotify",
    ),
    "like_playlist": (
        "like {playlist_id} on Spotify",
        "give {playlist_id} a like on Spotify",
    ),
    "like_song": (
        "like {song_id} on Spotify",
        "give the song {song_id} a like on Spotify",
    ),
    "loop_song": (
        "keep repeating the current song in my Spotify player{loop=True}",
        "stop repeating the current song in my Spotify player{loop=False}",
    ),
    "next_song": (
        "skip to the next song in Spotify",
        "go on to the next song of my Spotify queue",
    ),
    "pause_music": (
        "pause the music on Spotify",
        "stop what Spotify is playing for a moment",
    ),
    "play_music": (
        "play the song {song_id} on Spotify",
        "start {song_id} on Spotify",
        "play {playlist_id} on Spotify",
        "play the album {album_id} on Spotify",
        "get my Spotify player going again",
    ),
    "previous_song": (
        "go back to the previous song on Spotify",
        "play the previous song on Spotify again",
    ),
    "remove_album_from_library": (
        "take the album {album_id} out of my Spotify library",
        "remove the album {album_id} from my album library on Spotify",
    ),
    "remove_downloaded_song": (
        "remove the download of {song_id} on Spotify",
        "free up space by dropping the downloaded song {song_id} on Spotify",
    ),
    "remove_song_from_library": (
        "take {song_id} out of my Spotify song library",
        "remove the song {song_id} from my library on Spotify",
    ),
    "remove_song_from_playlist": (
        "take {song_id} off {playlist_id} on Spotify",
        "remove {song_id} from {playlist_id} in my Spotify account",
    ),
    "review_album": ("give the album {album_id} {rating} stars on Spotify",),
    "review_playlist": ("give {playlist_id} {rating} stars on Spotify",),
    "review_song": (
        "give the song {song_id} a rating of {rating} stars on Spotify",
        "give {song_id} {rating} stars on Spotify",
        "review {song_id} on Spotify: {rating} stars, titled {title}, with the text {text}",
    ),
    "set_volume": (
        "set the volume of my Spotify player to {volume}",
        "put the Spotify volume at {volume}",
    ),
    "unfollow_artist": (
        "stop following {artist_id} on Spotify",
        "unfollow {artist_id} on Spotify",
    ),
    "unlike_album": ("remove my like from the album {album_id} on Spotify",),
    "unlike_playlist": ("remove my like from {playlist_id} on Spotify",),
    "unlike_song": (
        "unlike {song_id} on Spotify",
        "remove my like from the song {song_id} on Spotify",
    ),
    "update_playlist": (
        "rename {playlist_id} to {title} on Spotify",
        "make {playlist_id} public on Spotify{is_public=True}",
        "make {playlist_id} private on Spotify{is_public=False}",
    ),
}
QUESTIONS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "show_album": {
        "genre": ("Which genre does Spotify give for the album {album_id}?",),
    },
    "show_artist": {
        "genre": ("What kind of music does {artist_id} make, according to Spotify?",),
        "follower_count": ("How many followers does {artist_id} have on Spotify?",),
    },
    "show_current_song": {
        "title": (
            "What is the title of the current song in my Spotify player?",
            "Which song is on in my Spotify player right now? Just the title.",
        ),
        "duration": ("How many seconds does the current song in my Spotify player last?",),
    },
    "show_premium_plans": {
        "monthly": ("What does Spotify Premium cost a month?",),
        "yearly": ("What does Spotify Premium cost a year?",),
    },
    "show_song": {
        "duration": (
            "How many seconds long is {song_id} on Spotify?",
            "What is the length of the song {song_id} on Spotify, in seconds?",
        ),
        "genre": ("What genre is {song_id}, according to Spotify?",),
        "play_count": ("How often has {song_id} been played on Spotify?",),
    },
    "show_volume": {
        "volume": (
            "What is the volume of my Spotify player set to?",
            "What volume is my Spotify player at?",
        ),
    },
}
REFUSED: tuple[str, ...] = (
    "add_payment_card",
    "delete_account",
    "delete_album_review",
    "delete_payment_card",
    "delete_playlist_review",
    "delete_song_review",
    "login",
    "logout",
    "move_song_in_queue",
    "remove_song_from_queue",
    "reset_password",
    "seek_song",
    "send_password_reset_code",
    "send_verification_code",
    "shuffle_song_queue",
    "signup",
    "subscribe_premium",
    "update_account_name",
    "update_album_review",
    "update_payment_card",
    "update_playlist_review",
    "update_song_review",
    "verify_account",
)
