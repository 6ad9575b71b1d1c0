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
    the_file,
    where,
)
from .registry import goal
from .scene import Scene

NOTES = (
    ("todo.txt", "Call the printer, order paper, book the meeting room.", "I need a list of today's errands."),
    ("meeting_notes.txt", "Next meeting on Thursday at 10 in room 4.", "I want to keep the date of our next meeting somewhere."),
    ("reminder.txt", "Send the signed contract back before Friday.", "I can't miss the deadline for the contract."),
    ("packing_list.txt", "Laptop, charger, badge, notebook.", "I'm packing for a business trip."),
    ("feedback.txt", "The introduction is too long; the rest reads well.", "I promised the author some feedback."),
    ("contacts.txt", "Front desk: extension 200. Help desk: extension 210.", "New colleagues keep asking for the phone extensions."),
    ("readme.txt", "Please do not change these files without asking Dana first.", "People keep changing our files without asking."),
    ("agenda.txt", "Welcome, budget, hiring plan, open questions.", "I'm preparing tomorrow's call."),
    ("ideas.md", "Shorter forms, a dark theme, and a weekly digest.", "I had some ideas for the next release."),
    ("changes.md", "Fixed the dates on page 2 and added the missing footnote.", "The reviewers want to know what I changed."),
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
        f"Please make a new directory named {said}{place}; I'll sort things into it later.",
        f"Could you set up a folder{place} for me? It should be called {said}.",
    )


@goal(FILES, topic="file new file")
def write_a_note(scene: Scene) -> str:
    path, (name, text, why) = scene.pick(path for path in paths(scene) if len(path) < 2), scene.pick(NOTES)
    free(scene, name, path)
    place = where(scene, path, new=True)
    enter(scene, path)
    scene.call("touch", file_name=name)
    scene.call("echo", content=text, file_name=name)
    keep_file(scene, name, new=True)
    said = quoted(scene, text)
    scene.leave_out(f"{why} Please create {name}{place} with my text in it.", f"The text is {said}")
    return scene.say(
        f"{why} Create {name}{place} with the text {said}",
        f"{why} Please write {said} to a new file called {name}{place}.",
        f"Could you create {name}{place} and put {said} in it? {why}",
    )


@goal(FILES, topic="file new file")
def make_an_empty_file(scene: Scene) -> str:
    path, (name, _, why) = scene.pick(path for path in paths(scene) if len(path) < 2), scene.pick(NOTES)
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
    scene.leave_out(
        f"Please make a copy of {file.said}{place} right beside the original. I have a name in mind for it.", f"Call the copy {copy}."
    )
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
            "Can you compare the two line by line, to be sure that they're identical?",
            "Run a line-by-line comparison of the original and the copy. There shouldn't be any differences.",
        )
    scene.need(scene.called("echo"))
    return scene.say(
        "Compare the original to the copy line by line, in that order, so that I can see what changed.",
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
    scene.leave_out(f"I need {file.said}{place} under a different name. Can you change that?", f"It should be called {name}.")
    return scene.say(
        f"Rename {file.said}{place} to {name}, please. That's how we name things in my team.",
        f"I need {file.said}{place} under a different name. Call it {name} from now on.",
        f"The name of {file.said}{place} doesn't follow our conventions. Change it to {name}.",
    )


@goal(FILES, needs=("file",), topic="file rename")
def rename_that_file(scene: Scene) -> str:
    file = the_file(scene)
    new = scene.last("file").get("new")
    name = f"{file.stem}{scene.pick(('_2026', '_v2') if new else ('_checked', '_reviewed'))}{file.ending}"
    free(scene, name)
    scene.call("mv", source=file.name, destination=name)
    keep_file(scene, name, renamed=True)
    if new:
        return scene.say(
            f"I'm not happy with the name of that file. Make it {name}.",
            f"Okay, now give that file a new name: {name}.",
        )
    return scene.say(
        f"Thanks. Rename that file to {name}, so that everybody knows I've been through it.",
        f"Good, that's done. Now call that file {name}, so that I don't look at it twice.",
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
