"""Phrases of the file system's functions."""

from ..realizer import Phrases

PHRASES = Phrases(
    functions={
        "pwd": ("tell me the full path of the directory we're in", "show me which directory we're in right now"),
        "ls": (
            "list what's in this directory",
            "show me the contents of the folder we're in",
            "list the files in this directory, {a}",
        ),
        "cd": ("go to {folder}", "change to {folder}", "switch to {folder}"),
        "mkdir": ("create a folder called {dir_name}", "make a new directory named {dir_name}"),
        "touch": ("create an empty file called {file_name}", "make a new, empty file named {file_name}"),
        "echo": (
            "write {content} to {file_name}",
            "replace the text of {file_name} with {content}",
            "print {content} in the terminal",
        ),
        "cat": ("show me what's in {file_name}", "display the contents of {file_name}", "open {file_name} and show me its text"),
        "find": (
            "find everything under this directory that has {name} in its name",
            "search this directory and its subfolders for {name}",
            "find everything under {path} that has {name} in its name",
            "search {path} and its subfolders for {name}",
            "list everything under {path}, subfolders included",
            "list everything under this directory, subfolders included",
        ),
        "wc": ("count the {mode} in {file_name}", "tell me how many {mode} {file_name} has", "count the lines in {file_name}"),
        "sort": ("show me the lines of {file_name} in alphabetical order", "sort the lines of {file_name} alphabetically"),
        "grep": (
            "show me the lines of {file_name} that contain {pattern}",
            "search {file_name} for lines with {pattern}",
        ),
        "du": (
            "tell me how many bytes this directory takes up",
            "check how much disk space this directory uses, {human_readable}",
        ),
        "tail": (
            "show me the last {lines} lines of {file_name}",
            "display how {file_name} ends, just the last {lines} lines",
            "show me the last ten lines of {file_name}",
        ),
        "diff": (
            "compare {file_name1} with {file_name2} line by line",
            "show me the lines in which {file_name1} and {file_name2} differ",
        ),
        "mv": ("move {source} to {destination}",),
        "cp": ("copy {source} to {destination}",),
        "rm": ("delete {file_name}", "remove {file_name} for good"),
        "rmdir": ("remove the empty directory {dir_name}", "get rid of the folder {dir_name}, which is empty"),
    },
    formats={
        "content": '"{}"',
        "pattern": "'{}'",
        "find.name": "'{}'",
        "dir_name": "'{}'",
        "mv.destination": "'{}'",
        "cp.destination": "'{}'",
        "cd.folder": "the folder '{}'",
        "path": "the folder '{}'",
    },
    references={"content": "that text", "file_name": "that file"},
    words={
        "wc.mode": {"l": "lines", "w": "words", "c": "characters"},
        "ls.a": {True: "hidden ones included", False: "without the hidden ones"},
        "du.human_readable": {True: "in a human-readable unit", False: "in bytes"},
    },
)
