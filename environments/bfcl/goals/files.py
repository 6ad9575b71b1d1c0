"""Goals that look into files and folders and change nothing."""

import re

from .file_view import FILES, Seen, below, current, enter, folder_at, folder_words, keep_file, mentioned, paths, quoted, spot, where
from .registry import GOALS, goal
from .scene import Scene

KINDS = {".txt": "text file", ".pdf": "PDF", ".csv": "CSV file", ".docx": "Word document", ".json": "JSON file", ".md": "Markdown file"}
"""What people call a file, by its ending."""


def some_file(scene: Scene, least_words: int = 2) -> Seen:
    """A file with a text worth a question, somewhere below the current folder."""
    return scene.pick(file for file in below(scene) if file.legible and file.words >= least_words and not mentioned(scene, file.name))


@goal(FILES, topic="file read")
def read_a_file(scene: Scene) -> str:
    file = some_file(scene)
    place = where(scene, file.path)
    enter(scene, file.path)
    scene.call("cat", file_name=file.name)
    keep_file(scene, file.name, read=True)
    return scene.say(
        f"What does {file.said}{place} say? I want to read it before I go on.",
        f"Could you open {file.said}{place} and show me the whole text?",
        f"I have to brief my manager in a minute. Show me everything that's in {file.said}{place}.",
        f"I forgot what I wrote in {file.said}{place}. Can you show me its contents?",
    )


@goal(FILES, topic="file list")
def look_into_a_folder(scene: Scene) -> str:
    path = scene.pick(path for path in paths(scene) if path and folder_at(scene, path).contents and not mentioned(scene, path[-1]))
    enter(scene, path)
    scene.call("ls")
    scene.keep("listing", turn=len(scene.turns))
    folder = folder_words(path[0]) if len(path) == 1 else f"{folder_words(path[1])} under {path[0]}"
    return scene.say(
        f"Go into {folder} and tell me what files are in there.",
        f"I'd like to tidy up a bit. Switch to {folder} and list what it holds.",
        f"Can you change to {folder} and show me what's in it?",
    )


@goal(FILES, topic="file list")
def list_hidden_too(scene: Scene) -> str:
    path = scene.pick(path for path in paths(scene) if folder_at(scene, path).contents and len(path) < 2)
    scene.need(not path or not mentioned(scene, path[0]))
    here = spot(scene)
    enter(scene, path)
    scene.call("ls", a=True)
    scene.keep("listing", turn=len(scene.turns))
    if path:
        folder = folder_words(path[0])
        return scene.say(
            f"Go to {folder} and list everything in it, hidden files included.",
            f"I suspect there are hidden files in {folder}. Move into it and list its contents with the hidden ones.",
        )
    return scene.say(
        f"What do we have in {here}? List everything, hidden files included.",
        f"Before I clean up, list all the contents of {here}, also the hidden ones.",
    )


@goal(FILES, topic="file find")
def search_by_word(scene: Scene) -> str:
    scene.need(not scene.called("cd"))
    parts = {part for file in below(scene) for part in re.findall(r"[A-Za-z]{4,}", file.stem)}
    files = [file.name for file in below(scene)]
    part = scene.pick(part for part in sorted(parts) if sum(part in name for name in files) >= 2)
    scene.call("find", name=part)
    word = quoted(scene, part)
    return scene.say(
        f"Which files have {word} in their name? Please search the current folder with all its subfolders.",
        f"I lost track of my files. Search from here down for everything with {word} in its name.",
        f"Before I back anything up, find everything under the current directory that has {word} in its name.",
    )


@goal(FILES, topic="file find")
def where_is_the_file(scene: Scene) -> str:
    scene.need(not scene.called("cd"))
    file = scene.pick(file for file in below(scene) if file.path and not mentioned(scene, file.name))
    matches = scene.peek("find", name=file.name)["matches"]
    scene.need(len(matches) == 1 and scene.peek("find", name=file.stem)["matches"] == matches)
    scene.call("find", name=file.name)
    scene.keep("found", name=file.name, path=file.path, turn=len(scene.turns))
    return scene.say(
        f"I can't remember where I put {file.name}. It must be somewhere below the current folder; can you search for it?",
        f"Somewhere under this directory there should be a file called {file.name}. Search for it and tell me its path.",
        f"Where did {file.name} end up? Search the current directory and its subfolders for it.",
    )


@goal(FILES, needs=("found",), topic="file read")
def open_what_was_found(scene: Scene) -> str:
    found = scene.last("found")
    scene.need(found["turn"] == len(scene.turns) - 1)
    file = scene.pick(file for file in below(scene) if (file.name, file.path) == (found["name"], found["path"]) and file.legible)
    enter(scene, file.path)
    scene.call("cat", file_name=file.name)
    keep_file(scene, file.name, read=True)
    return scene.say(
        "Great, that's the one. Open it and show me what it says.",
        "There it is! What's written in it?",
        "Good. Can you go there and show me its text?",
    )


@goal(FILES, needs=("listing",), topic="file read")
def open_the_only_one(scene: Scene) -> str:
    scene.need(scene.last("listing")["turn"] == len(scene.turns) - 1)
    files = [file for file in below(scene) if not file.path]
    file = scene.pick(one for one in files if one.legible and [file.ending for file in files].count(one.ending) == 1)
    scene.need(file.ending in KINDS)
    scene.call("cat", file_name=file.name)
    keep_file(scene, file.name, read=True)
    return scene.say(
        f"Open the {KINDS[file.ending]} in there and show me what it says.",
        f"What's written in the {KINDS[file.ending]}?",
        f"I'm interested in the {KINDS[file.ending]}. Can you show me its text?",
    )


@goal(FILES, topic="file grep")
def lines_with_a_word(scene: Scene) -> str:
    file = some_file(scene, 6)
    words = {word for word in re.findall(r"[A-Za-z]{5,}", file.content) if word.lower() not in ("about", "which", "there", "these")}
    word = scene.pick(sorted(words))
    place = where(scene, file.path)
    enter(scene, file.path)
    lines = scene.call("grep", file_name=file.name, pattern=word)["matching_lines"]
    scene.need(lines != [word])
    keep_file(scene, file.name, lines=tuple(lines))
    said = quoted(scene, word)
    scene.leave_out(
        f"I'm looking for something in {file.said}{place}. Can you show me the lines with it?",
        f"Oh, I forgot to say: it's the word {said}.",
    )
    if file.lines == 1:
        return scene.say(
            f"Does {file.said}{place} mention {said}? If it does, show me the line.",
            f"A colleague says that {said} comes up in {file.said}{place}. Can you look for it and show me the line?",
        )
    return scene.say(
        f"Show me the lines of {file.said}{place} that contain {said}. I need to quote them.",
        f"Does {file.said}{place} mention {said} anywhere? Show me every line that does.",
        f"Which lines of {file.said}{place} mention {said}? I don't have time to read all of it.",
    )


@goal(FILES, topic="file tail")
def last_lines(scene: Scene) -> str:
    file = scene.pick(file for file in below(scene) if file.legible and file.lines > 4)
    number = scene.pick(number for number in (2, 3, 4, 5, 8, 10) if number < file.lines)
    place = where(scene, file.path)
    enter(scene, file.path)
    text = scene.call("tail", file_name=file.name, lines=number)["last_lines"]
    keep_file(scene, file.name, lines=tuple(text.splitlines()))
    return scene.say(
        f"Show me just the last {number} lines of {file.said}{place}.",
        f"I only want to see how {file.said}{place} ends. What are its last {number} lines?",
        f"What are the final {number} lines of {file.said}{place}? I stopped reading before those.",
    )


@goal(FILES, topic="file sort")
def sorted_lines(scene: Scene) -> str:
    file = scene.pick(file for file in below(scene) if file.legible and 2 < file.lines < 60)
    scene.need(sorted(file.content.splitlines()) != file.content.splitlines())
    place = where(scene, file.path)
    enter(scene, file.path)
    text = scene.call("sort", file_name=file.name)["sorted_content"]
    keep_file(scene, file.name, sorted=text)
    return scene.say(
        f"Show me the lines of {file.said}{place} in alphabetical order.",
        f"The entries in {file.said}{place} are all jumbled. Can you sort them alphabetically and show me the result?",
        f"I need the contents of {file.said}{place} sorted from A to Z so I can look things up faster.",
    )


@goal(FILES, topic="file diff")
def compare_two_files(scene: Scene) -> str:
    one = some_file(scene)
    other = scene.pick(
        file
        for file in below(scene)
        if file.path == one.path
        and file.ending == one.ending
        and not mentioned(scene, file.name)
        and file.legible
        and file.content != one.content
    )
    place = where(scene, one.path)
    enter(scene, one.path)
    scene.call("diff", file_name1=one.name, file_name2=other.name)
    return scene.say(
        f"What changes from {one.name} to {other.name}{place}? Show me the lines that differ.",
        f"I have to explain what changes from {one.name} to {other.name}{place}. Show me the differing lines, please.",
        f"I can't tell what's different about the two. Show me which lines change from {one.name} to {other.name}{place}.",
    )


@goal(FILES, topic="file where")
def which_folder_is_this(scene: Scene) -> str:
    scene.need(scene.called("cd") and _at_files(scene))
    scene.call("pwd")
    return scene.say(
        "What's the full path of the directory we're in now? I need it for the backup job.",
        "Which folder are we in at the moment? Give me the full path so I can send it to a colleague.",
        "I need to note down where this is. What's the full path of the current directory?",
    )


@goal(FILES, topic="file up")
def back_up_one_level(scene: Scene) -> str:
    scene.need(scene.called("cd") and current(scene).parent is not None)
    folder = spot(scene)
    scene.call("cd", folder="..")
    scene.call("ls")
    return scene.say(
        f"Okay, go back up one level from {folder} and list what's there.",
        f"I'm done in {folder}. Go up to its parent directory and show me what that contains.",
    )


def _at_files(scene: Scene) -> bool:
    """Whether the last turn was about files."""
    return bool(scene.turns) and GOALS[scene.turns[-1].goal].owner == FILES
