"""Goals that take up the file that the turn before was about."""

import re

from .file_view import (
    FILES,
    SHORT,
    created,
    current,
    folder_words,
    folders_in,
    free,
    here,
    keep_file,
    quoted,
    set_aside,
    spot,
    text_known,
    the_file,
)
from .files_changes import REWRITTEN, replaceable
from .registry import goal
from .scene import Scene


@goal(FILES, needs=("file",), topic="file read")
def read_that_file(scene: Scene) -> str:
    file = the_file(scene)
    scene.need(file.legible and not text_known(scene, file) and not scene.last("file").get("lines"))
    scene.call("cat", file_name=file.name)
    keep_file(scene, file.name, read=True)
    return scene.say(
        "And what does it say? Show me the whole text.",
        "Let me see the complete text of that file, please.",
        "Okay. Now display its full contents so I can check the wording.",
    )


@goal(FILES, needs=("file",), topic="file read")
def check_what_was_written(scene: Scene) -> str:
    file = the_file(scene)
    scene.need(scene.last("file").get("new"))
    scene.call("cat", file_name=file.name)
    keep_file(scene, file.name, read=True)
    return scene.say(
        "Show me the contents of that file, so that I can be sure it was saved correctly.",
        "Display the file now, please. I want to check that nothing was cut off.",
    )


@goal(FILES, needs=("file",), topic="file overwrite")
def replace_that_text(scene: Scene) -> str:
    file, text = the_file(scene), scene.pick(REWRITTEN)
    scene.need(
        file.legible and replaceable(file) and scene.last("file").get("read") and not scene.called("echo", "post_tweet", "send_message")
    )
    scene.call("echo", content=text, file_name=file.name)
    keep_file(scene, file.name, new=True)
    said = quoted(scene, text)
    return scene.say(
        f"I don't want that text in there any longer. Replace all of it with {said}",
        f"Thanks, that text has served its purpose. From now on, the file should only say {said}",
    )


@goal(FILES, needs=("file",), topic="file count")
def count_that_file(scene: Scene) -> str:
    file = the_file(scene)
    scene.need(file.legible and file.words > 3 and not text_known(scene, file))
    mode = scene.pick(("w", "c"))
    scene.call("wc", file_name=file.name, mode=mode)
    unit = "words" if mode == "w" else "characters"
    keep_file(scene, file.name, counted=unit)
    return scene.say(
        f"How many {unit} is that file in total? I have to give the number in the form.",
        f"Can you also count the {unit} in that file? The translator asks for it.",
        f"How many {unit} does that file have? I need the figure for the cover sheet.",
    )


@goal(FILES, needs=("file",), topic="file copy")
def copy_that_file(scene: Scene) -> str:
    file = the_file(scene)
    scene.need(not scene.called("cp") and not scene.last("file").get("new"))
    copy = f"{file.stem}{scene.pick(('_backup', '_copy', '_2026', '_shared'))}{file.ending}"
    free(scene, copy)
    scene.call("cp", source=file.name, destination=copy)
    scene.keep("copy", name=copy, source=file.name, turn=len(scene.turns))
    return scene.say(
        f"Good. Make a copy of that file called {copy} in the same folder.",
        f"I want to keep a spare of it. Duplicate it as {copy}.",
        f"Please save a copy of that file beside it under the name {copy}.",
    )


@goal(FILES, needs=("file",), topic="file store")
def put_that_file_away(scene: Scene) -> str:
    file = the_file(scene)
    folder = scene.pick(folders_in(current(scene)))
    free(scene, file.name, (folder,))
    scene.need(not (scene.last("file").get("new") and set_aside(folder)))
    scene.call("mv", source=file.name, destination=folder)
    scene.keep("stored", name=file.name, folder=folder, moved=True, turn=len(scene.turns))
    if scene.last("file").get("new"):
        return scene.say(
            f"All right, that file belongs in {folder_words(folder)}. Can you move it there?",
            f"It shouldn't lie around here. Move the file into {folder_words(folder)}.",
        )
    return scene.say(
        f"Thanks, I'm through with it. Move the file into {folder_words(folder)}.",
        f"Okay, I don't need that file here any longer. Put it in {folder_words(folder)}.",
    )


@goal(FILES, needs=("file",), topic="file store")
def copy_that_file_away(scene: Scene) -> str:
    file = the_file(scene)
    folder = scene.pick(folders_in(current(scene)))
    free(scene, file.name, (folder,))
    scene.need(not scene.called("cp") and (created(scene, file.name) or not scene.last("file").get("new")))
    scene.call("cp", source=file.name, destination=folder)
    scene.keep("stored", name=file.name, folder=folder, moved=False, turn=len(scene.turns))
    if set_aside(folder):
        return scene.say(
            f"I want that one backed up: copy it into {folder_words(folder)}.",
            f"Put a copy of that file in {folder_words(folder)}, please; the original stays here.",
        )
    return scene.say(
        f"Put a copy of that file in {folder_words(folder)}, but leave the original here.",
        f"I'll need it in {folder_words(folder)} as well, so copy it there.",
    )


@goal(FILES, needs=("file",), topic="file diff")
def compare_it_with_another(scene: Scene) -> str:
    file = the_file(scene)
    others = [one for one in here(scene) if one.ending == file.ending and one.legible and one.content != file.content]
    kept = scene.last("file")
    scene.need(file.legible and not kept.get("new") and not kept.get("renamed"))
    other = scene.pick(one for one in others if one.name != file.name)
    scene.call("diff", file_name1=file.name, file_name2=other.name)
    return scene.say(
        f"What changes from there to {other.name} in the same folder? Show me the lines that differ.",
        f"What would change from that file to {other.name}, which is right beside it? Show me the differing lines.",
    )


@goal(FILES, needs=("file",), topic="file grep")
def lines_of_it_with_a_word(scene: Scene) -> str:
    file = the_file(scene)
    scene.need(file.legible and not scene.last("file").get("lines") and not text_known(scene, file))
    word = scene.pick(
        sorted({word for word in re.findall(r"[A-Za-z]{5,}", file.content) if word.lower() not in ("about", "there", "which")})
    )
    lines = scene.call("grep", file_name=file.name, pattern=word)["matching_lines"]
    scene.need(lines != [word])
    keep_file(scene, file.name, lines=tuple(lines))
    said = quoted(scene, word)
    if file.lines == 1:
        return scene.say(f"Does it mention {said}? Show me the line if it does.", f"Now look for {said} in that file and show me the line.")
    return scene.say(
        f"Now look for {said} in that file and show me every line that has it.",
        f"Which lines of it mention {said}? Show me just those, please.",
    )


@goal(FILES, needs=("file",), topic="file save")
def save_the_lines(scene: Scene) -> str:
    file = the_file(scene)
    lines: tuple[str, ...] = scene.last("file").get("lines") or ()
    scene.need(lines and len("\n".join(lines)) <= SHORT and all(line == line.strip() for line in lines))
    name = f"{file.stem}_{scene.pick(('excerpt', 'extract', 'selection'))}.txt"
    free(scene, name)
    scene.call("touch", file_name=name)
    scene.call("echo", content="\n".join(lines), file_name=name)
    keep_file(scene, name, new=True)
    what = "that line" if len(lines) == 1 else "those lines"
    return scene.say(
        f"Create a file called {name} and put exactly {what} in it, so that I can send it on.",
        f"I want to keep {what}. Create {name} and write nothing but {what} into it.",
    )


@goal(FILES, needs=("file",), topic="file save")
def save_the_sorted_lines(scene: Scene) -> str:
    file = the_file(scene)
    text: str = scene.last("file").get("sorted") or ""
    scene.need(text)
    name = f"{file.stem}_sorted.txt"
    free(scene, name)
    scene.call("touch", file_name=name)
    scene.call("echo", content=text, file_name=name)
    keep_file(scene, name, new=True)
    return scene.say(
        f"That's much easier to read. Create a file called {name} and put the sorted lines in it.",
        f"Keep that order: create {name}, write the sorted list into it, and leave the original alone.",
    )


@goal(FILES, needs=("file",), topic="file save")
def note_the_count(scene: Scene) -> str:
    file = the_file(scene)
    unit = scene.last("file").get("counted")
    scene.need(unit)
    count = scene.peek("wc", file_name=file.name, mode=str(unit)[0])["count"]
    name = f"{str(unit)[:-1]}_count.txt"
    free(scene, name)
    folder = spot(scene)
    scene.call("touch", file_name=name)
    scene.call("echo", content=str(count), file_name=name)
    return scene.say(
        f"I'll need that number later. Create a file called {name} in {folder} and write only the number into it.",
        f"Keep a record of it for me: create {name} in {folder} with just that number in it.",
    )
