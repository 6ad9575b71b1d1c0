"""Sets up the engine in a Python of its own and its data in a root of its own: made beside, checked, then renamed into place.

A set-up that was interrupted is begun again by the next one; the old files stay until the new ones are complete. The engine's own
download first deletes the data that is there, so it is only ever run in a new folder.
"""

import contextlib
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from coevolve import UserError, did_you_mean

from . import home
from .data_checks import lacking, verify

SETTINGS = ("data", "python", "verify")
LOCK_SECONDS = 1_800.0
PIP_SECONDS = 900.0
DATA_SECONDS = 1_800.0
MARKER = "coevolve.json"
"""File that is written last into a finished folder and describes its content."""
_SIGN = "import sys, venv, ensurepip; print(*sys.version_info[:2])"
_NEEDS = "AppWorld's engine needs Python 3.11 with venv (it does not run in any other version)"


def setup(settings: Mapping[str, str]) -> str:
    """Set up the engine and the data that `settings` ask for (data, python, verify); returns one line that describes the result.

    One set-up runs at a time on a machine; another waits for it up to LOCK_SECONDS. Raises UserError with the fix when something fails.
    """
    for key in settings:
        if key not in SETTINGS:
            raise UserError(f"coevolve env setup appworld: unknown setting {key!r}{did_you_mean(key, SETTINGS)}")
    data, check = settings.get("data", "tiny"), settings.get("verify", "yes")
    if check not in ("yes", "no"):
        raise UserError(f"verify={check}: give yes (run the engine's own check of the data) or no")
    folder = home.home()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with FileLock(folder / ".lock", timeout=LOCK_SECONDS):
            for left in folder.glob(".part-*"):  # of a set-up that was killed; nobody else writes while we hold the lock
                shutil.rmtree(left, ignore_errors=True)
            engine(folder, settings.get("python"))
            return _data(folder, data, check == "yes")
    except Timeout:
        raise UserError(f"another set-up has been at work for {LOCK_SECONDS:g} s ({folder / '.lock'}); try again") from None
    except OSError as error:
        raise UserError(f"cannot write to {folder} ({error.strerror or error}); make that folder writable") from error


def marker(folder: Path) -> dict[str, Any] | None:
    """The description in a finished folder; None when the folder is missing or unfinished."""
    try:
        found = json.loads((folder / MARKER).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def constraints() -> str:
    """Digest of the versions that the engine is installed with."""
    return hashlib.sha256((home.ENGINE_FOLDER / "constraints.txt").read_bytes()).hexdigest()


def generator() -> str:
    """Digest of the tiny world's generator."""
    digest = hashlib.sha256()
    for file in sorted(home.ENGINE_FOLDER.glob("tiny*.py")):
        digest.update(file.read_bytes())
    return digest.hexdigest()


@contextlib.contextmanager
def _scratch(folder: Path) -> Iterator[Path]:
    made = Path(tempfile.mkdtemp(prefix=".part-", dir=folder))
    try:
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)


def run(command: Sequence[str], seconds: float, what: str, cwd: Path | None = None, **variables: str) -> str:
    """Run a program in `cwd` (its own folder if not given) with a bare environment and `variables`, and return its standard output.

    Raises UserError that begins with `what` and has the program's last line, when it fails or takes over `seconds`.
    """
    kept = {name: value for name, value in os.environ.items() if name in ("PATH", "HOME", "LANG") or _of_the_network(name)}
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=seconds,
            stdin=subprocess.DEVNULL,
            env={**kept, **variables},
            cwd=cwd or Path(command[0]).parent,
        )
    except subprocess.TimeoutExpired:
        raise UserError(f"{what} did not finish within {seconds:g} s; check the network and this machine's load, then try again") from None
    if done.returncode:
        lines = [line.strip() for line in (done.stderr + done.stdout).splitlines() if line.strip()]
        errors = [line.removeprefix("ERROR:").strip() for line in lines if line.startswith("ERROR:")] or lines[-1:]
        raise UserError(f"{what} failed ({errors[-1] if errors else f'exit code {done.returncode}'})")
    return done.stdout


def _of_the_network(name: str) -> bool:
    return name.lower().endswith("_proxy") or name.startswith(("PIP_", "SSL_")) or name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")


# The engine


def engine(folder: Path, requested: str | None) -> None:
    """Have the engine of the right version in `folder`/venv."""
    wanted = {"engine": home.ENGINE, "constraints": constraints()}
    here = marker(folder / "venv")
    if here is not None and {key: here.get(key) for key in wanted} == wanted and home.python().exists():
        return
    interpreter = _python(requested)
    with _scratch(folder) as part:
        made = part / "venv"
        run([interpreter, "-m", "venv", str(made)], 300.0, "making a virtual environment")
        python = str(made / "bin" / "python")
        pip = [python, "-m", "pip", "install", "--quiet", "--no-input", "--disable-pip-version-check"]
        try:
            run([*pip, "--constraint", str(home.ENGINE_FOLDER / "constraints.txt"), f"appworld=={home.ENGINE}"], PIP_SECONDS, "pip")
        except UserError as error:
            raise UserError(f"cannot install appworld {home.ENGINE}: {error}; check the network or pip's index, then try again") from None
        run([python, "-I", "-m", "appworld.cli", "install"], 300.0, "unpacking the engine", APPWORLD_CACHE=str(made / "cache"))
        found = run([python, "-I", "-c", "import appworld, appworld.apps.spotify.apis; print(appworld.__version__)"], 120.0, "the engine")
        if found.strip() != home.ENGINE:
            raise UserError(f"the installed engine is version {found.strip()}, not {home.ENGINE}; check pip's index, then try again")
        _finish(made, folder / "venv", wanted | {"python": interpreter})


def _python(requested: str | None) -> str:
    """A Python 3.11 that can make virtual environments. UserError when there is none."""
    if requested is not None:
        if (problem := _problem(requested)) is not None:
            raise UserError(f"python={requested} {problem}; {_NEEDS}: give the path of one")
        return requested
    found = [sys.executable, shutil.which("python3.11"), "/usr/bin/python3.11", "/usr/local/bin/python3.11", "/opt/homebrew/bin/python3.11"]
    found += sorted(map(str, Path.home().glob(".pyenv/versions/3.11*/bin/python")))
    found += sorted(map(str, Path.home().glob(".local/share/uv/python/cpython-3.11*/bin/python")))
    problems = {path: _problem(path) for path in filter(None, found)}
    for path, problem in problems.items():
        if problem is None:
            return path
    seen = "; ".join(f"{path} {problem}" for path, problem in problems.items() if problem and Path(path).exists())
    raise UserError(f"{_NEEDS}, and none was found ({seen or 'no candidate'}): install one, or give its path: --set python=PATH")


def _problem(path: str) -> str | None:
    """What is wrong with an interpreter; None when it can be used."""
    try:
        done = subprocess.run(
            [path, "-I", "-c", _SIGN], capture_output=True, encoding="utf-8", errors="replace", timeout=60, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"does not run ({getattr(error, 'strerror', None) or type(error).__name__})"
    if done.returncode:
        return "lacks venv or ensurepip" if "No module named" in done.stderr else "does not run"
    version = ".".join(done.stdout.split())
    return None if version == "3.11" else f"is Python {version}"


# The data


def _data(folder: Path, data: str, check: bool) -> str:
    kind = "tiny" if data == "tiny" else "full"
    target = home.root(kind)
    here = marker(target)
    fresh = {"data": home.DATA} | ({"generator": generator()} if kind == "tiny" else {})
    same = here is not None and {key: here.get(key) for key in fresh} == fresh and not lacking(target)
    if here is not None and same and data not in ("tiny", "download") and here.get("source") != str(Path(data).resolve()):
        same = False
    if here is None or not same:
        target.parent.mkdir(parents=True, exist_ok=True)
        with _scratch(folder) as part:
            made = part / "root"
            made.mkdir()
            _fill(made, data)
            if problems := lacking(made):
                more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
                raise UserError(f"the data of data={data} is not complete: {problems[0]}{more}; what was there before is untouched")
            counts = verify(made) if check else None
            source = data if data in ("tiny", "download") else str(Path(data).resolve())
            here = fresh | {"source": source, "verified": counts}
            _finish(made, target, here)
    elif check and here.get("verified") is None:
        here = here | {"verified": verify(target)}
        _mark(target, here)
    return describe(kind, here)


def _fill(root: Path, data: str) -> None:
    # The engine takes its working folder for its root, whatever the variable is, and deletes the data in it before a download.
    variables = {"APPWORLD_ROOT": str(root), "APPWORLD_CACHE": str(root / "cache")}
    if data == "tiny":
        run(home.engine_command("tiny", str(root)), 600.0, "making the tiny world", root, **variables)
    elif data == "download":
        command = [str(home.python()), "-I", "-m", "appworld.cli", "download", "data"]
        try:
            run(command, DATA_SECONDS, "the engine's download of its data", root, **variables)
        except UserError as error:
            raise UserError(f"{error}; check the network, or take a copy: --set data=PATH; what was there before is untouched") from None
    else:
        given = Path(data).expanduser()
        source = given if given.name == "data" else given / "data"
        if not (source / "tasks").is_dir():
            raise UserError(f"data={data} is neither tiny, download, nor a folder with the engine's data/tasks in it")
        shutil.copytree(source, root / "data")
    for left in ("cache", "experiments", ".tmp"):
        shutil.rmtree(root / left, ignore_errors=True)


def _finish(made: Path, target: Path, content: Mapping[str, Any]) -> None:
    """Mark `made` as complete and move it to `target`. A complete data root there is kept under another name, anything else is removed."""
    _mark(made, content)
    if target.exists():
        if marker(target) is not None and target.parent.name == "roots" and content.get("source") != "tiny":
            target.rename(target.with_name(f"{target.name}.before-{time.strftime('%Y%m%d-%H%M%S')}"))
        else:
            shutil.rmtree(target)
    made.rename(target)


def _mark(folder: Path, content: Mapping[str, Any]) -> None:
    part = folder / f"{MARKER}.part"
    part.write_text(json.dumps(content, indent=1), encoding="utf-8")
    part.replace(folder / MARKER)


def describe(kind: str, content: Mapping[str, Any]) -> str:
    """One line about the engine and the data root of a kind, whose description is `content`."""
    checked = content.get("verified")
    passed = f"{checked['passed']} of {checked['total']} reference solutions pass" if checked else "not verified (--set verify=yes)"
    return f"appworld {home.ENGINE} in {home.home() / 'venv'}, {kind} data in {home.root(kind)}: {passed}"
