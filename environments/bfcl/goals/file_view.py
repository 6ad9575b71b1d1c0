"""What goals around the file system look at: the folders below the current one, and how people say where a file is."""

from collections.abc import Iterator
from typing import Any

from attrs import frozen

from .scene import NotHere, Scene

FILES = "GorillaFileSystem"
DEEPEST = 2
"""How many folders down a user still says where a file is."""
SHORT = 240
"""Most characters of a text that a user has sent, posted or copied word for word."""
_PICTURES = (".jpg", ".jpeg", ".png", ".gif")
_LOCAL = ("cat", "wc", "grep", "sort", "tail", "diff", "touch", "mkdir", "cp", "mv", "rm", "rmdir", "echo", "du", "ls")
_PLACEHOLDERS = {"archived", "content", "data", "draft", "hidden", "random", "sample", "test", "other", "old"}


@frozen
class Seen:
    """A file, and the folders that lead to it from the current one."""

    name: str
    content: str
    path: tuple[str, ...]

    @property
    def lines(self) -> int:
        """Number of lines."""
        return len(self.content.splitlines())

    @property
    def words(self) -> int:
        """Number of words."""
        return len(self.content.split())

    @property
    def said(self) -> str:
        """The name as it stands in a sentence: one that looks like a word is marked as a file's."""
        return self.name if not self.name.islower() or "." in self.name or "_" in self.name else f"the file '{self.name}'"

    @property
    def stem(self) -> str:
        """The name without its ending."""
        return self.name.rpartition(".")[0] or self.name

    @property
    def ending(self) -> str:
        """The ending with its dot, or nothing."""
        return self.name[len(self.stem) :]

    @property
    def legible(self) -> bool:
        """Whether its text is something to read: not a picture, not hidden, not a single word."""
        return not self.name.startswith(".") and not self.name.lower().endswith(_PICTURES) and self.words > 1

    @property
    def prose(self) -> bool:
        """Whether it is a text that somebody wrote for others to read, by its name."""
        technical = ("config", "log", "test", "data", "list", "result", "setting", "deploy", "install")
        return self.ending in (".txt", ".md", ".docx", ".pdf", "") and not any(part in self.name.lower() for part in technical)

    @property
    def quotable(self) -> bool:
        """Whether its text can be repeated word for word without a doubt: one short line without quotation marks or outer blanks."""
        return self.legible and self.content == self.content.strip() and len(self.content) <= SHORT and not set(self.content) & set("\n\"'")

    @property
    def presentable(self) -> bool:
        """Whether somebody would show its text to others: quotable, and not a mere placeholder."""
        words = {word.strip(".,:;").lower() for word in self.content.split()}
        return self.quotable and not words & _PLACEHOLDERS


def current(scene: Scene) -> Any:
    """The current directory. Raises NotHere where the task has no file system."""
    return scene.service(FILES)._current_dir


def below(scene: Scene) -> list[Seen]:
    """All files that are not hidden, in the current folder and at most DEEPEST folders below it."""
    return list(_below(current(scene), ()))


def _below(directory: Any, path: tuple[str, ...]) -> Iterator[Seen]:
    for name, item in directory.contents.items():
        if not name.startswith("."):
            if not hasattr(item, "contents"):
                yield Seen(name, item.content, path)
            elif len(path) < DEEPEST:
                yield from _below(item, (*path, name))


def here(scene: Scene) -> list[Seen]:
    """The files of the current folder that are not hidden."""
    return [file for file in below(scene) if not file.path]


def folder_at(scene: Scene, path: tuple[str, ...]) -> Any:
    """The directory at a path below the current one."""
    directory = current(scene)
    for name in path:
        directory = directory.contents[name]
    return directory


def folders_in(directory: Any) -> list[str]:
    """Names of a directory's folders that are not hidden."""
    return [name for name, item in directory.contents.items() if hasattr(item, "contents") and not name.startswith(".")]


def paths(scene: Scene) -> list[tuple[str, ...]]:
    """The current folder (an empty path) and the folders at most DEEPEST below it."""
    found: list[tuple[str, ...]] = [()]
    for path in found:
        if len(path) < DEEPEST:
            found += [(*path, name) for name in folders_in(folder_at(scene, path))]
    return found


def enter(scene: Scene, path: tuple[str, ...]) -> None:
    """Go down into a folder, one level at a time, as the service demands. What lies there is the place of the next turns."""
    for name in path:
        scene.call("cd", folder=name)


def folder_words(name: str) -> str:
    """A folder's name as people say it: "the drafts folder"."""
    return name if name.lower().endswith(("folder", "directory")) else f"the {name} folder"


def set_aside(folder: str) -> bool:
    """Whether a folder is for what nobody works on, by its name."""
    return any(part in folder.lower() for part in ("archive", "backup", "past", "temp", "tmp", "old"))


def spot(scene: Scene) -> str:
    """How the user names the current folder: "the reports folder" once they went there, "the current folder" before."""
    directory = current(scene)
    if not scene.called("cd") or directory.parent is None:
        return "the current folder"
    if "_" not in directory.name:
        return folder_words(directory.name)
    return folder_words(directory.name).replace(directory.name, f"'{directory.name}'")


def where(scene: Scene, path: tuple[str, ...], new: bool = False) -> str:
    """Where something is, or where something `new` belongs, with a blank before it: " in the drafts folder".

    Empty only for the current folder, and only as long as the user has not left it.
    """
    if len(path) > 1:
        return f" in {path[0]}/{path[1]}"
    if path:
        return f" in {folder_words(path[0])}"
    if not scene.called("cd"):
        return f" in {spot(scene)}" if new else scene.say(f" in {spot(scene)}", "" if scene.turns else " in this folder", "")
    return scene.say(f" in {spot(scene)}", " in the same folder") if _at_work(scene) and not new else f" in {spot(scene)}"


def _at_work(scene: Scene) -> bool:
    """Whether the last turn was about files of the current folder."""
    names = [call.name for call in scene.turns[-1].calls] if scene.turns else []
    return bool(names) and names[-1] in _LOCAL


def mentioned(scene: Scene, name: str) -> bool:
    """Whether an earlier turn was about a file or folder of that name, so that the user would now say "it"."""
    return any(name in call.arguments.values() for call in scene.earlier())


def created(scene: Scene, name: str) -> bool:
    """Whether the user had the file that has this name now made in an earlier turn."""
    made = set[str]()
    for call in scene.earlier():
        if call.name == "touch":
            made.add(call.arguments["file_name"])
        elif call.name == "mv" and call.arguments["source"] in made:
            made.add(call.arguments["destination"])
    return name in made


def text_known(scene: Scene, file: Seen) -> bool:
    """Whether the conversation holds a file's text: the user has dictated it, or a result has shown it."""
    said = [str(call.arguments["content"]) for call in scene.earlier() if call.name == "echo"]
    return file.content in said or any(call.name == "cat" and file.content in text for call, text in scene.shown)


def the_file(scene: Scene) -> Seen:
    """The file that the last turn was about. Raises NotHere when it is gone, or when the last turn was about something else."""
    kept = scene.last("file")
    if kept["turn"] != len(scene.turns) - 1:
        raise NotHere("another file was spoken of since")
    return named(scene, kept["name"])


def named(scene: Scene, name: str) -> Seen:
    """A file of the current folder by name. Raises NotHere when it is not there."""
    for file in here(scene):
        if file.name == name:
            return file
    raise NotHere(f"no file {name} here")


def keep_file(scene: Scene, name: str, **facts: Any) -> None:
    """Remember that this turn was about a file of the current folder."""
    scene.keep("file", name=name, turn=len(scene.turns), **facts)


def free(scene: Scene, name: str, path: tuple[str, ...] = ()) -> None:
    """Raise NotHere when a folder below the current one has something of that name."""
    scene.need(name not in folder_at(scene, path).contents)


def quoted(scene: Scene, text: str) -> str:
    """A text in quotation marks of either kind."""
    return f'"{text}"' if "'" in text or scene.chance(0.5) else f"'{text}'"
