"""Goals that count words, characters, lines and bytes."""

from .file_view import FILES, below, enter, folder_words, keep_file, mentioned, paths, spot, where
from .files import KINDS, some_file
from .registry import goal
from .scene import Scene


@goal(FILES, topic="file count")
def count_words(scene: Scene) -> str:
    file = some_file(scene, 6)
    scene.need(file.prose)
    place = where(scene, file.path)
    enter(scene, file.path)
    scene.call("wc", file_name=file.name, mode="w")
    keep_file(scene, file.name, counted="words")
    return scene.say(
        f"How many words are in {file.said}{place}? I have to tell the translator.",
        f"I need the word count of {file.said}{place} for the cover sheet.",
        f"Can you count the words in {file.said}{place}? I'm paid by the word.",
    )


@goal(FILES, topic="file count")
def which_is_longer(scene: Scene) -> str:
    one = some_file(scene, 3)
    other = scene.pick(file for file in below(scene) if file.path == one.path and file.name != one.name and file.legible)
    scene.need(one.words != other.words and not mentioned(scene, other.name) and one.prose and other.prose)
    place = where(scene, one.path)
    enter(scene, one.path)
    scene.call("wc", file_name=one.name, mode="w")
    scene.call("wc", file_name=other.name, mode="w")
    return scene.say(
        f"Which has more words, {one.said} or {other.said}{place}? Give me both counts.",
        f"I only have time to proofread the shorter of {one.said} and {other.said}{place}. How many words does each of them have?",
        f"Get me the word counts of {one.said} and {other.said}{place}, so that I can see which of them is longer.",
    )


@goal(FILES, needs=("found",), topic="file count")
def count_what_was_found(scene: Scene) -> str:
    found = scene.last("found")
    scene.need(found["turn"] == len(scene.turns) - 1)
    file = scene.pick(file for file in below(scene) if (file.name, file.path) == (found["name"], found["path"]) and file.legible)
    enter(scene, file.path)
    scene.call("wc", file_name=file.name, mode="w")
    keep_file(scene, file.name, counted="words")
    return scene.say(
        "That's the one I meant. Go there and count its words for me, please.",
        "Thanks, that's the one. How many words does it have? I have to tell the translator.",
    )


@goal(FILES, needs=("listing",), topic="file count")
def count_the_only_one(scene: Scene) -> str:
    scene.need(scene.last("listing")["turn"] == len(scene.turns) - 1)
    files = [file for file in below(scene) if not file.path]
    file = scene.pick(one for one in files if one.legible and [file.ending for file in files].count(one.ending) == 1)
    scene.need(file.ending in KINDS)
    scene.call("wc", file_name=file.name, mode="w")
    keep_file(scene, file.name, counted="words")
    return scene.say(
        f"How many words does the {KINDS[file.ending]} in there have?",
        f"Count the words in the {KINDS[file.ending]}, please. I need the number for my report.",
    )


@goal(FILES, topic="file count")
def count_characters(scene: Scene) -> str:
    file = some_file(scene, 4)
    place = where(scene, file.path)
    enter(scene, file.path)
    scene.call("wc", file_name=file.name, mode="c")
    keep_file(scene, file.name, counted="characters")
    return scene.say(
        f"How many characters does the text in {file.said}{place} have? The upload form accepts only so many.",
        f"I have to enter the exact character count of {file.said}{place} in a form. What is it?",
        f"Count the characters in {file.said}{place} for me, please. The box that it has to go into takes only so many.",
    )


@goal(FILES, topic="file count")
def count_lines(scene: Scene) -> str:
    file = scene.pick(file for file in below(scene) if file.legible and file.lines > 2)
    place = where(scene, file.path)
    enter(scene, file.path)
    scene.call("wc", file_name=file.name, mode="l")
    keep_file(scene, file.name, counted="lines")
    return scene.say(
        f"How many lines does {file.said}{place} have?",
        f"I want to know how long {file.said}{place} is. Count its lines, please.",
        f"Could you check the number of lines in {file.said}{place}? It should match my printout.",
    )


@goal(FILES, topic="file size")
def size_in_bytes(scene: Scene) -> str:
    path = scene.pick(path for path in paths(scene) if len(path) < 2 and any(file.path[: len(path)] == path for file in below(scene)))
    folder = folder_words(path[0]) if path else spot(scene)
    enter(scene, path)
    scene.call("du")
    if path:
        return scene.say(
            f"Go into {folder} and tell me exactly how many bytes everything in it takes up.",
            f"I have to report storage use to the byte. Switch to {folder} and give me its total size in bytes.",
        )
    return scene.say(
        f"Exactly how many bytes does everything in {folder} take up?",
        f"I have to report storage use to the byte. What's the total size of {folder} in bytes?",
    )


@goal(FILES, topic="file size")
def size_to_read(scene: Scene) -> str:
    path = scene.pick(path for path in paths(scene) if len(path) < 2 and any(file.path[: len(path)] == path for file in below(scene)))
    folder = folder_words(path[0]) if path else spot(scene)
    enter(scene, path)
    scene.call("du", human_readable=True)
    if path:
        return scene.say(
            f"Switch to {folder} and check how much disk space it takes up. An easily readable figure like 1.5 KB is what I need.",
            f"I may have to move {folder} to a small USB stick. Go into it and tell me how big it is, in a readable form like 1.5 KB.",
        )
    return scene.say(
        f"How much disk space does {folder} use? Please make the figure easy to read, like 1.5 KB.",
        f"Is {folder} getting big? Tell me how much space it takes up, in a readable form like 1.5 KB.",
    )
