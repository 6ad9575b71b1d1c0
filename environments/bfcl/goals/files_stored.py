"""Goals that put files into folders, and what follows."""

from .file_view import FILES, enter, folder_at, folder_words, folders_in, free, keep_file, quoted, where
from .files_changes import FOLDERS, fresh_files, some_file
from .registry import goal
from .scene import Scene


@goal(FILES, needs=("folder",), topic="file fill folder")
def move_a_file_there(scene: Scene) -> str:
    folder = scene.last("folder")
    scene.need(folder["turn"] == len(scene.turns) - 1 and folder["name"] in folders_in(folder_at(scene, ())))
    file = scene.pick(file for file in fresh_files(scene) if file.path == ())
    scene.call("mv", source=file.name, destination=folder["name"])
    scene.keep("stored", name=file.name, folder=folder["name"], moved=True, turn=len(scene.turns))
    return scene.say(
        f"Now move {file.name} into it.",
        f"Great. {file.name} belongs in that new folder, so move it there.",
        f"And {file.name} should go in there now, please.",
    )


@goal(FILES, topic="file fill folder")
def new_folder_with_a_copy(scene: Scene) -> str:
    file, name = some_file(scene), scene.pick(("Backup", "Safe_Copies", "Backup_2026", "Snapshot"))
    free(scene, name, file.path)
    place = where(scene, file.path)
    enter(scene, file.path)
    scene.call("mkdir", dir_name=name)
    scene.call("cp", source=file.name, destination=name)
    scene.keep("stored", name=file.name, folder=name, moved=False, turn=len(scene.turns))
    said = quoted(scene, name)
    return scene.say(
        f"I'm about to edit {file.said}{place}. Create a folder called {said} next to it and put a copy of the file in there first.",
        f"Please set up a folder named {said} alongside {file.said}{place} and copy the file into it, just to be safe.",
    )


@goal(FILES, topic="file fill folder")
def new_folder_for_a_file(scene: Scene) -> str:
    file, name = some_file(scene), scene.pick(FOLDERS)
    free(scene, name, file.path)
    place = where(scene, file.path)
    enter(scene, file.path)
    scene.call("mkdir", dir_name=name)
    scene.call("mv", source=file.name, destination=name)
    scene.keep("stored", name=file.name, folder=name, moved=True, turn=len(scene.turns))
    said = quoted(scene, name)
    return scene.say(
        f"It's getting messy. Make a folder called {said} next to {file.said}{place} and move the file into it.",
        f"I'd like {file.said}{place} to have its own spot: create a folder {said} beside it and move it there.",
    )


@goal(FILES, topic="file store")
def put_a_file_away(scene: Scene) -> str:
    file = scene.pick(file for file in fresh_files(scene) if folders_in(folder_at(scene, file.path)))
    folder = scene.pick(folders_in(folder_at(scene, file.path)))
    free(scene, file.name, (*file.path, folder))
    place = where(scene, file.path)
    enter(scene, file.path)
    scene.call("mv", source=file.name, destination=folder)
    scene.keep("stored", name=file.name, folder=folder, moved=True, turn=len(scene.turns))
    target = folder_words(folder)
    return scene.say(
        f"I'm finished with {file.said}{place}. Move it into {target} that sits next to it.",
        f"Please move {file.said}{place} to {target} beside it; I want it out of the way.",
    )


@goal(FILES, topic="file store")
def copy_a_file_away(scene: Scene) -> str:
    file = scene.pick(file for file in fresh_files(scene) if folders_in(folder_at(scene, file.path)))
    folder = scene.pick(folders_in(folder_at(scene, file.path)))
    free(scene, file.name, (*file.path, folder))
    place = where(scene, file.path)
    enter(scene, file.path)
    scene.call("cp", source=file.name, destination=folder)
    scene.keep("stored", name=file.name, folder=folder, moved=False, turn=len(scene.turns))
    target = folder_words(folder)
    return scene.say(
        f"I'm about to rework {file.said}{place}, so put a copy of it in {target} that's next to it first.",
        f"Please copy {file.said}{place} into {target} beside it. The original stays where it is.",
    )


@goal(FILES, needs=("stored",), topic="file rename")
def rename_it_there(scene: Scene) -> str:
    stored = scene.last("stored")
    scene.need(stored["turn"] == len(scene.turns) - 1)
    stem, dot, ending = stored["name"].rpartition(".")
    suffix = scene.pick(("_2026", "_v1") if stored["moved"] else ("_2026", "_archived", "_snapshot", "_old"))
    name = f"{stem}{suffix}{dot}{ending}" if dot else f"{ending}{suffix}"
    enter(scene, (stored["folder"],))
    scene.call("mv", source=stored["name"], destination=name)
    keep_file(scene, name, renamed=True)
    if stored["moved"]:
        return scene.say(
            f"Now go into that folder and rename the file to {name}; I name everything that way.",
            f"Perfect. Inside that folder, the file should be called {name}. Can you rename it?",
        )
    return scene.say(
        f"Now go into that folder and rename the copy to {name}, so that nobody mistakes it for the working version.",
        f"Perfect. Inside that folder, the copy should be called {name}. Can you rename it?",
    )


@goal(FILES, needs=("stored",), topic="file list")
def check_that_it_arrived(scene: Scene) -> str:
    stored = scene.last("stored")
    scene.need(stored["turn"] == len(scene.turns) - 1)
    enter(scene, (stored["folder"],))
    scene.call("ls")
    return scene.say(
        "Go into that folder and list what's in it, so that I can see it arrived.",
        "Can you open that folder and show me what's in it now? I want to be sure that nothing is missing.",
    )
