"""Phrases of Simple Note's APIs; see the package's docstring for the format."""

from collections.abc import Mapping

WISHES: Mapping[str, tuple[str, ...]] = {
    "add_content_to_note": (
        "add {added_content} at the end of {note_id}{append_or_prepend=append}",
        "write {added_content} as a new last line on {note_id}{append_or_prepend=append}",
        "add {added_content} at the very top of {note_id}{append_or_prepend=prepend}",
    ),
    "create_note": (
        "make a note titled {title} that says {content}",
        "write {content} down in a new note called {title}",
        "make a note titled {title} that says {content}, with the tags {tags}",
        "make a pinned note titled {title} that says {content}{pinned=True}",
    ),
    "delete_note": (
        "delete {note_id}",
        "throw {note_id} away",
    ),
    "update_note": (
        "rename {note_id} to {title}",
        "change the title of {note_id} to {title}",
        "pin {note_id}{pinned=True}",
        "unpin {note_id}{pinned=False}",
        "replace what {note_id} says with {content}",
        "tag {note_id} with {tags} and with nothing else",
    ),
}
QUESTIONS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "show_note": {
        "content": (
            "What does {note_id} say?",
            "Read me what I wrote on {note_id}.",
        ),
    },
}
REFUSED: tuple[str, ...] = (
    "delete_account",
    "login",
    "logout",
    "reset_password",
    "send_password_reset_code",
    "send_verification_code",
    "signup",
    "update_account_name",
    "verify_account",
)
