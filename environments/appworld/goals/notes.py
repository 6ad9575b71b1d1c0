"""Goals about notes (Simple Note)."""

import re

from . import writing
from .registry import goal
from .saying import listed
from .scene import Scene, Unavailable, Wish, call, done, pages
from .writing import content

_SEARCH, _SHOW, _UPDATE = "simple_note.search_notes", "simple_note.show_note", "simple_note.update_note"
_THINGS = ("batteries", "paper towels", "scissors", "trash bags", "wet wipes")
"""Things that somebody may put on any list."""


@goal(_SEARCH, _SHOW)
def first_open_item(scene: Scene) -> Wish:
    one = scene.pick(each for each in writing.check_lists(scene) if each.open)
    title, last = one.note["title"], len(one.open) > 1 and scene.pick([True, False])
    query = scene.say(
        f"What is the {'last' if last else 'first'} item on my note {title} that is not ticked off yet? Just the item.",
        f"Which open item comes {'last' if last else 'first'} on my {title} note? Just the item, please.",
    )
    return Wish(query, [*writing.find_note(one.note), done(one.open[-1 if last else 0])])


@goal(_SEARCH, _SHOW)
def share_of_items_done(scene: Scene) -> Wish:
    one = scene.pick(each for each in writing.check_lists(scene) if each.open and each.ticked)
    share = 100 * len(one.ticked) / len(one.items)
    if share % 1 == 0.5:
        raise Unavailable("a half is rounded one way or the other")
    query = scene.say(
        f"What percentage of the items on my note {one.note['title']} is ticked off? Round it to a whole number.",
        f"How far along am I with my {one.note['title']} note? Tell me what percentage of the items is ticked off, as a whole number.",
    )
    return Wish(query, [*writing.find_note(one.note), done(round(share))])


@goal(_SEARCH, _SHOW)
def is_it_ticked(scene: Scene) -> Wish:
    one = scene.pick(writing.check_lists(scene))
    text, ticked = scene.pick(one.items)
    query = scene.say(
        f'Did I already tick off "{text}" on my note {one.note["title"]}? Yes or no.',
        f'Is "{text}" ticked off on my {one.note["title"]} note? Answer with yes or no.',
    )
    return Wish(query, [*writing.find_note(one.note), done("yes" if ticked else "no")])


@goal(_SEARCH, _SHOW)
def note_that_mentions(scene: Scene) -> Wish:
    rows = writing.all_notes(scene)
    words = {row["note_id"]: set(re.findall(r"[a-z]{5,}", str(row["content"]).lower())) for row in rows}
    row = scene.pick(row for row in rows if words[row["note_id"]])
    others = " ".join(f"{other['content']} {other['title']}" for other in rows if other is not row).lower()
    word = scene.pick(one for one in sorted(words[row["note_id"]]) if one not in others and one not in str(row["title"]).lower())
    query = scene.say(
        f'Which of my notes has the word "{word}" in it? Just the title.',
        f'I am looking for the note where I wrote the word "{word}". What is its title?',
    )
    looked = [call(_SHOW, note_id=one["note_id"]) for one in rows]
    return Wish(query, [*pages(_SEARCH, len(rows)), *looked, done(row["title"])])


@goal(_SEARCH, _SHOW, _UPDATE)
def tick_off_an_item(scene: Scene) -> Wish:
    one = scene.pick(each for each in writing.check_lists(scene) if each.open)
    some = scene.some(one.open, 1, 2)
    items = [(text, ticked or text in some) for text, ticked in one.items]
    named = listed(f'"{text}"' for text in some)
    query = scene.say(
        f"Please tick off {named} on my note {one.note['title']}.",
        f"I have taken care of {named}. Please tick that off on my {one.note['title']} note.",
    )
    return _rewritten(one, query, content(items))


@goal(_SEARCH, _SHOW, _UPDATE)
def tick_off_everything(scene: Scene) -> Wish:
    one = scene.pick(each for each in writing.check_lists(scene) if each.open)
    query = scene.say(
        f"Everything on my note {one.note['title']} is taken care of now. Tick off the items that are still open.",
        f"I am done with my {one.note['title']} note, so please tick off all of its open items.",
    )
    return _rewritten(one, query, content([(text, True) for text, _ in one.items]))


@goal(_SEARCH, _SHOW, _UPDATE)
def start_a_list_over(scene: Scene) -> Wish:
    one = scene.pick(each for each in writing.check_lists(scene) if len(each.ticked) > 1)
    query = scene.say(
        f"I want to use my note {one.note['title']} again from scratch. Untick everything on it.",
        f"Please reset my {one.note['title']} note: untick all its items and leave the rest as it is.",
    )
    return _rewritten(one, query, content([(text, False) for text, _ in one.items]))


@goal(_SEARCH, _SHOW, _UPDATE)
def clear_ticked_items(scene: Scene) -> Wish:
    one = scene.pick(each for each in writing.check_lists(scene) if each.open and each.ticked)
    query = scene.say(
        f"Delete the lines that are ticked off from my note {one.note['title']}, so that only the open ones are left.",
        f"My {one.note['title']} note is cluttered. Remove every item that I have already ticked off.",
    )
    return _rewritten(one, query, content([(text, False) for text in one.open]))


@goal(_SEARCH, _SHOW, _UPDATE)
def open_items_first(scene: Scene) -> Wish:
    one = scene.pick(each for each in writing.check_lists(scene) if each.open and each.ticked)
    items = [(text, False) for text in one.open] + [(text, True) for text in one.ticked]
    if items == list(one.items):
        raise Unavailable("they are in that order already")
    query = scene.say(
        f"Move the ticked items to the bottom of my note {one.note['title']}. Otherwise, keep the order as it is.",
        f"On my {one.note['title']} note, put the open items first and the ticked ones last, and keep the current order within each group.",
    )
    return _rewritten(one, query, content(items))


@goal(_SEARCH, _SHOW, "simple_note.add_content_to_note")
def put_an_item_on_a_list(scene: Scene) -> Wish:
    one = scene.pick(writing.check_lists(scene))
    thing = scene.pick(thing for thing in _THINGS if thing not in str(one.note["content"]))
    query = scene.say(
        f"Put {thing} at the end of my note {one.note['title']}, with an empty box like the other open items.",
        f"I also need {thing}. Add them to my {one.note['title']} note as a new, unticked last item in the same format as the others.",
    )
    added = call(
        "simple_note.add_content_to_note", note_id=one.note["note_id"], append_or_prepend="append", added_content=f"{writing.OPEN}{thing}"
    )
    return Wish(query, [*writing.find_note(one.note), added, done()])


@goal(_SEARCH, _SHOW, "simple_note.create_note")
def note_of_open_items(scene: Scene) -> Wish:
    one = scene.pick(each for each in writing.check_lists(scene) if each.open and each.ticked)
    title = writing.fresh_title(scene, "Still Needed", "Still Missing", "To Get")
    query = scene.say(
        f"Make a new note called {title} with the items that are not ticked off yet on my note {one.note['title']}: one "
        "item per line in the same order, just the words without the boxes.",
        f"Copy the open items of my {one.note['title']} note into a new note titled {title}. Write one item on each line, "
        "without boxes, in the order of the list.",
    )
    made = call("simple_note.create_note", title=title, content="\n".join(one.open))
    return Wish(query, [*writing.find_note(one.note), made, done()])


@goal(_SEARCH, _SHOW, "simple_note.create_note")
def copy_a_note(scene: Scene) -> Wish:
    note = scene.pick(one for one in writing.notes(scene) if one["tags"])
    title = writing.fresh_title(scene, f"{note['title']} Copy", f"{note['title']} Backup")
    query = scene.say(
        f"Before I change my note {note['title']}, save a copy of it as {title}, with the same content and tags.",
        f"Duplicate my {note['title']} note, including its content and tags. The copy should be called {title}.",
    )
    made = call("simple_note.create_note", title=title, content=note["content"], tags=list(note["tags"]))
    return Wish(query, [*writing.find_note(note), made, done()])


@goal(_SEARCH, _UPDATE)
def tag_a_note(scene: Scene) -> Wish:
    note = scene.pick(one for one in writing.notes(scene) if one["tags"])
    tag = scene.pick(tag for tag in ("private", "important", "current", "2023") if tag not in note["tags"])
    query = scene.say(
        f'Add the tag "{tag}" to my note {note["title"]}, after the tags it already has.',
        f'I want to find my note {note["title"]} under the tag "{tag}" too. Add that after the tags it already has.',
    )
    changed = call(_UPDATE, note_id=note["note_id"], tags=[*note["tags"], tag])
    return Wish(query, [writing.search(note), changed, done()])


@goal(_SEARCH, _UPDATE)
def rename_the_note_with_a_tag(scene: Scene) -> Wish:
    rows = scene.data.rows(_SEARCH)
    tags = [tag for row in rows for tag in row["tags"]]
    tag = scene.pick(sorted({tag for tag in tags if tags.count(tag) == 1}))
    row = next(row for row in rows if tag in row["tags"])
    title = writing.fresh_title(scene, "To Review", "Current Notes", "Work In Progress")
    query = scene.say(
        f'Rename my only note with the tag "{tag}" to {title}.',
        f'I have just one note tagged "{tag}". Change its title to {title}, please.',
    )
    return Wish(query, [call(_SEARCH, tags=[tag]), call(_UPDATE, note_id=row["note_id"], title=title), done()])


@goal(_SEARCH, _SHOW, "simple_note.delete_note")
def delete_the_note_that_mentions(scene: Scene) -> Wish:
    rows = writing.all_notes(scene)
    row = scene.pick(rows)
    others = " ".join(f"{other['content']} {other['title']}" for other in rows if other is not row).lower()
    words = sorted(set(re.findall(r"[a-z]{5,}", str(row["content"]).lower())))
    word = scene.pick(one for one in words if one not in others and one not in str(row["title"]).lower())
    query = scene.say(
        f'I no longer need the note where I wrote "{word}". Please delete it.',
        f'Delete the note of mine that contains the word "{word}". It is out of date.',
    )
    looked = [call(_SHOW, note_id=one["note_id"]) for one in rows]
    return Wish(query, [*pages(_SEARCH, len(rows)), *looked, call("simple_note.delete_note", note_id=row["note_id"]), done()])


@goal(_SEARCH, _SHOW, _UPDATE)
def change_a_word(scene: Scene) -> Wish:
    note = scene.pick(writing.prose(scene))
    pairs = (("lighthouse", "windmill"), ("bakery", "bookshop"), ("bridge", "pond"), ("Tea", "Coffee"), ("roommate", "neighbor"))
    text = str(note["content"])
    old, new = scene.pick(pair for pair in pairs if text.count(pair[0]) == 1)
    query = scene.say(
        f'I changed my mind: my note {note["title"]} should say "{new}" instead of "{old}".',
        f'Replace the word "{old}" with "{new}" in my {note["title"]} note and leave everything else as it is.',
    )
    changed = call(_UPDATE, note_id=note["note_id"], content=text.replace(old, new))
    return Wish(query, [*writing.find_note(note), changed, done()])


@goal(_SEARCH, _SHOW, _UPDATE)
def sort_a_list(scene: Scene) -> Wish:
    one = scene.pick(writing.check_lists(scene))
    items = sorted(one.items, key=lambda item: item[0].lower())
    if items == list(one.items):
        raise Unavailable("it is sorted already")
    query = scene.say(
        f"Sort the items on my note {one.note['title']} alphabetically. What is ticked off should stay ticked off.",
        f"Put the items of my {one.note['title']} note into alphabetical order and keep their check marks.",
    )
    return _rewritten(one, query, content(items))


def _rewritten(one: writing.CheckList, query: str, text: str) -> Wish:
    return Wish(query, [*writing.find_note(one.note), call(_UPDATE, note_id=one.note["note_id"], content=text), done()])
