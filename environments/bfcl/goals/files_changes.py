"""Goals that make, copy, move and remove files and folders."""

from .file_view import (
    FILES,
    Seen,
    below,
    created,
    enter,
    folder_at,
    folder_words,
    folders_in,
    free,
    here,
    keep_file,
    mentioned,
    paths,
    quoted,
    set_aside,
    the_file,
    where,
)
from .registry import goal
from .scene import Scene

NOTES = (
    ("todo.txt", "Please call the printer and order more paper.", "I need to keep track of today's errands."),
    ("meeting_notes.txt", "The next meeting is on Thursday at 10 in room 4.", "I want to keep the date of our next meeting somewhere."),
    ("reminder.txt", "Send the signed contract back before Friday.", "I can't miss the deadline for the contract."),
    ("packing_list.txt", "Take the laptop, the charger and the badge.", "I'm packing for a business trip."),
    ("feedback.txt", "The introduction is too long, but the rest reads well.", "I promised the author some feedback."),
    ("contacts.txt", "The front desk has extension 200.", "New colleagues keep asking for the phone extension."),
    ("readme.txt", "Please do not change these files without asking Dana first.", "People keep changing our files without asking."),
    ("agenda.txt", "We start with the budget and end with the hiring plan.", "I'm preparing tomorrow's call."),
    ("ideas.md", "We could offer shorter forms and a dark theme.", "I had some ideas for the next release."),
    ("changes.md", "I fixed the dates on page 2 and added the missing footnote.", "The reviewers want to know what I changed."),
)
"""Name of a file that a user makes, its text, and why the user makes it."""
FOLDERS = ("Old_Versions", "To_Review", "Drafts", "Backup", "Reference", "Shared", "Finished", "Q3_Material")
REWRITTEN = (
    "This text is being rewritten. Ask Dana for the latest version.",
    "Moved to the team wiki on 3 March.",
    "Superseded. See the project page for the current state.",
    "On hold until the review next week.",
)
_DISPENSABLE = ("test", "draft", "old", "previous", "temp", "other", "file")


def replaceable(file: Seen) -> bool:
    """Whether a user may have a text replaced as a whole: a document, no settings and no log."""
    return file.ending in (".txt", ".md", "") and not any(part in file.name.lower() for part in ("config", "log"))


def some_file(scene: Scene) -> Seen:
    """Any file with a text that no earlier turn was about, somewhere below the current folder."""
    return scene.pick(fresh_files(scene))


def fresh_files(scene: Scene) -> list[Seen]:
    """The files with a text that no earlier turn was about."""
    return [file for file in below(scene) if file.words and not mentioned(scene, file.name)]


def work_places(scene: Scene) -> list[tuple[str, ...]]:
    """Paths of folders in which people write something new: the current one and those in it, no archives."""
    return [path for path in paths(scene) if len(path) < 2 and not set_aside(folder_at(scene, path).name)]


@goal(FILES, topic="file new folder")
def make_a_folder(scene: Scene) -> str:
    path, name = scene.pick(path for path in paths(scene) if len(path) < 2), scene.pick(FOLDERS)
    free(scene, name, path)
    place = where(scene, path, new=True)
    enter(scene, path)
    scene.call("mkdir", dir_name=name)
    scene.keep("folder", name=name, turn=len(scene.turns))
    said = quoted(scene, name)
    scene.leave_out(f"Could you set up a new folder{place} for me?", f"Call it {said}.")
    return scene.say(
        f"I want to bring some order into my files. Create a folder called {said}{place}.",
        f"Please make a new directory named {said}{place}. My files need sorting.",
        f"I'm sorting my files. Could you set up a folder{place}? It should be called {said}.",
    )


@goal(FILES, topic="file new file")
def write_a_note(scene: Scene) -> str:
    path, (name, text, why) = scene.pick(work_places(scene)), scene.pick(NOTES)
    free(scene, name, path)
    place = where(scene, path, new=True)
    enter(scene, path)
    scene.call("touch", file_name=name)
    scene.call("echo", content=text, file_name=name)
    keep_file(scene, name, new=True)
    said = quoted(scene, text)
    scene.leave_out(f"{why} Please create {name}{place} and write my text in it.", f"The text is {said}")
    return scene.say(
        f"{why} Create {name}{place} and write {said} in it.",
        f"{why} Please create a new file called {name}{place}, and then write {said} into it.",
        f"Could you create {name}{place} and put {said} in it? {why}",
    )


@goal(FILES, topic="file new file")
def make_an_empty_file(scene: Scene) -> str:
    path, (name, _, why) = scene.pick(work_places(scene)), scene.pick(NOTES)
    free(scene, name, path)
    place = where(scene, path, new=True)
    enter(scene, path)
    scene.call("touch", file_name=name)
    scene.keep("empty file", name=name, turn=len(scene.turns))
    return scene.say(
        f"{why} Create an empty file called {name}{place}; I'll fill it in later.",
        f"{why} Could you set up a blank {name}{place}? I'll write the text in a moment.",
    )


@goal(FILES, needs=("empty file",), topic="file fill file")
def fill_the_empty_file(scene: Scene) -> str:
    name = scene.last("empty file")["name"]
    scene.need(scene.last("empty file")["turn"] == len(scene.turns) - 1)
    text = next(text for known, text, _ in NOTES if known == name)
    scene.call("echo", content=text, file_name=name)
    keep_file(scene, name, new=True)
    said = quoted(scene, text)
    return scene.say(
        f"I know what goes in there now: {said}",
        f"Actually, I can fill it in right away. Write {said} into it, please.",
        f"Put this text in it: {said}",
    )


@goal(FILES, topic="file overwrite")
def replace_the_text(scene: Scene) -> str:
    file = scene.pick(file for file in fresh_files(scene) if file.legible and replaceable(file))
    place, text = where(scene, file.path), scene.pick(REWRITTEN)
    enter(scene, file.path)
    scene.call("echo", content=text, file_name=file.name)
    keep_file(scene, file.name, new=True)
    said = quoted(scene, text)
    scene.leave_out(f"What's in {file.said}{place} is out of date. Please replace its entire content.", f"The new text is {said}")
    return scene.say(
        f"What's in {file.said}{place} is out of date. Replace its entire content with {said}",
        f"Please overwrite {file.said}{place}, so that all it says is {said}",
    )


@goal(FILES, topic="file copy")
def back_up_a_file(scene: Scene) -> str:
    file = some_file(scene)
    copy = f"{file.stem}{scene.pick(('_backup', '_copy', '_v1', '_original'))}{file.ending}"
    free(scene, copy, file.path)
    place = where(scene, file.path)
    enter(scene, file.path)
    scene.call("cp", source=file.name, destination=copy)
    scene.keep("copy", name=copy, source=file.name, turn=len(scene.turns))
    scene.leave_out(f"Please make a copy of {file.said}{place} right beside the original, under another name.", f"Call the copy {copy}.")
    return scene.say(
        f"Before I edit {file.said}{place}, make a copy of it called {copy}, right next to the original.",
        f"I'd like a safety copy of {file.said}{place}. Name it {copy} and leave it beside the original.",
        f"Duplicate {file.said}{place} as {copy}, please, so that I can always go back to the current version.",
    )


@goal(FILES, needs=("copy",), topic="file overwrite")
def edit_the_original(scene: Scene) -> str:
    copy, text = scene.last("copy"), scene.pick(REWRITTEN)
    scene.need(copy["turn"] == len(scene.turns) - 1 and not created(scene, copy["source"]))
    file = scene.pick(file for file in here(scene) if file.name == copy["source"] and file.legible and replaceable(file))
    scene.call("echo", content=text, file_name=file.name)
    keep_file(scene, file.name, new=True, copied=copy["name"])
    said = quoted(scene, text)
    return scene.say(
        f"Good, the copy keeps the old text. Now replace what's in the original with {said}",
        f"With the copy in place, the original can change. Its whole text should now be {said}",
    )


@goal(FILES, needs=("copy",), topic="file diff")
def check_the_copy(scene: Scene) -> str:
    copy = scene.last("copy")
    scene.need({copy["source"], copy["name"]} <= {file.name for file in here(scene) if file.legible})
    scene.call("diff", file_name1=copy["source"], file_name2=copy["name"])
    if copy["turn"] == len(scene.turns) - 1:
        return scene.say(
            "Can you compare the two, to be sure that they're identical?",
            "Compare the original with the copy, please. There shouldn't be any differences.",
        )
    scene.need(scene.called("echo"))
    return scene.say(
        "Compare the original to the copy, in that order, so that I can see what changed.",
        "What differs now from the original to the copy? Show me the lines, the original's first.",
    )


@goal(FILES, topic="file rename")
def rename_a_file(scene: Scene) -> str:
    file = some_file(scene)
    code = file.ending in (".py", ".json", ".csv")
    name = f"{file.stem}{scene.pick(('_v2', '_2026') if code else ('_2026', '_final', '_v2', '_reviewed'))}{file.ending}"
    free(scene, name, file.path)
    scene.need("final" not in file.name.lower())
    place = where(scene, file.path)
    enter(scene, file.path)
    scene.call("mv", source=file.name, destination=name)
    keep_file(scene, name, renamed=True)
    scene.leave_out(f"Please rename {file.said}{place}, the name is misleading.", f"It should be called {name}.")
    return scene.say(
        f"Rename {file.said}{place} to {name}, please. That's how we name things in my team.",
        f"Please give {file.said}{place} a new name and call it {name} from now on.",
        f"The name of {file.said}{place} doesn't follow our conventions. Change it to {name}.",
    )


@goal(FILES, needs=("file",), topic="file rename")
def rename_that_file(scene: Scene) -> str:
    file = the_file(scene)
    new = created(scene, file.name)
    scene.need(new or not scene.last("file").get("new"))
    name = f"{file.stem}{scene.pick(('_2026',) if new else ('_checked', '_reviewed'))}{file.ending}"
    free(scene, name)
    scene.call("mv", source=file.name, destination=name)
    keep_file(scene, name, renamed=True)
    if new:
        return scene.say(
            f"Please put the year into the name of that file: it should be called {name}.",
            f"On second thought, I want the year in the name of that file. Make it {name}.",
        )
    if scene.called("cat"):
        return scene.say(
            f"Thanks. Rename that file to {name}, so that everybody knows I've been through it.",
            f"Good, that's done. Now call that file {name}, so that I don't look at it twice.",
        )
    return scene.say(
        f"Thanks. That file should be called {name} from now on.",
        f"Good. Now rename that file to {name}; that's how the others mark theirs.",
    )


@goal(FILES, topic="file delete")
def delete_a_file(scene: Scene) -> str:
    file = scene.pick(file for file in fresh_files(scene) if any(part in file.name.lower() for part in _DISPENSABLE))
    place = where(scene, file.path)
    enter(scene, file.path)
    scene.call("rm", file_name=file.name)
    return scene.say(
        f"I don't need {file.said}{place} any more. Please delete it.",
        f"You can delete {file.said}{place}; I have it elsewhere.",
        f"I'm clearing out old stuff, and {file.said}{place} can go. Remove it for good.",
    )


@goal(FILES, topic="file delete")
def remove_an_empty_folder(scene: Scene) -> str:
    options = [(path, name) for path in paths(scene) for name in folders_in(folder_at(scene, path))]
    path, name = scene.pick((path, name) for path, name in options if len(path) < 2 and not folder_at(scene, (*path, name)).contents)
    scene.need(name not in [thing["name"] for thing in scene.things.get("folder", [])])
    place = where(scene, path) if path else ""
    enter(scene, path)
    scene.call("rmdir", dir_name=name)
    target = folder_words(name)
    return scene.say(
        f"There's nothing in {target}{place} and I never use it. Remove that empty directory, please.",
        f"Please get rid of {target}{place}. It's empty, so nothing is lost.",
    )
