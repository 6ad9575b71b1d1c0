"""What goals about notes read from a snapshot: the user's notes and check lists, and the calls that look them up."""

from collections.abc import Sequence

from attrs import frozen

from coevolve import Action

from .scene import Scene, Unavailable, call
from .snapshot import Row

OPEN, TICKED = "[ ] ", "[x] "


@frozen
class CheckList:
    """A note in which every line is an item with a box."""

    note: Row
    items: Sequence[tuple[str, bool]]
    """Text and whether it is ticked off."""

    @property
    def open(self) -> list[str]:
        """The items that are not ticked off."""
        return [text for text, ticked in self.items if not ticked]

    @property
    def ticked(self) -> list[str]:
        """The items that are ticked off."""
        return [text for text, ticked in self.items if ticked]


def notes(scene: Scene) -> list[Row]:
    """The user's notes with their content, those whose title is theirs alone."""
    rows = [answer for _, answer in scene.data.found.get("simple_note.show_note", ())]
    titles = [str(row["title"]).lower() for row in scene.data.rows("simple_note.search_notes")]
    return [row for row in rows if titles.count(str(row["title"]).lower()) == 1]


def check_lists(scene: Scene) -> list[CheckList]:
    """Those of the notes that are check lists, with something to do and no item twice."""
    found = []
    for note in notes(scene):
        lines = str(note["content"]).splitlines()
        items = [(line[len(OPEN) :].strip(), line.startswith(TICKED)) for line in lines if line.startswith((OPEN, TICKED))]
        if len(items) == len(lines) >= 2 and len({text for text, _ in items}) == len(items):
            found.append(CheckList(note, items))
    return found


def prose(scene: Scene) -> list[Row]:
    """Those of the notes that are short and no check lists: a few lines of text."""
    lists = {one.note["note_id"] for one in check_lists(scene)}
    return [note for note in notes(scene) if note["note_id"] not in lists and 1 <= len(str(note["content"]).splitlines()) <= 12]


def content(items: Sequence[tuple[str, bool]]) -> str:
    """The content of a check list."""
    return "\n".join(f"{TICKED if ticked else OPEN}{text}" for text, ticked in items)


def find_note(note: Row) -> list[Action]:
    """The calls that find a note by its title and open it."""
    return [search(note), call("simple_note.show_note", note_id=note["note_id"])]


def search(note: Row) -> Action:
    """The call that finds a note by its title."""
    return call("simple_note.search_notes", query=note["title"])


def all_notes(scene: Scene) -> list[Row]:
    """All notes of the user, which are to be opened one after another. Raises Unavailable when there are many."""
    rows = notes(scene)
    if not 2 <= len(rows) <= 15 or len(rows) != len(scene.data.rows("simple_note.search_notes")):
        raise Unavailable("there are too few or too many notes")
    return rows


def fresh_title(scene: Scene, *titles: str) -> str:
    """One of `titles` that no note of the user has."""
    taken = {str(row["title"]).lower() for row in scene.data.rows("simple_note.search_notes")}
    return scene.pick(title for title in titles if title.lower() not in taken)
