"""The benchmark's wheel as data: found, fetched with its hash checked, or unpacked from a local file; never partly present.

The wheel is not a dependency because its pins (numpy 1.26.4, an old filelock) exclude those of training. Only its simulators, its
data and a file of constants are used, and no module of it that acts on import.
"""

import contextlib
import hashlib
import importlib.metadata
import importlib.util
import shutil
import subprocess
import sys
import tempfile
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path

import platformdirs
from filelock import FileLock, Timeout

from coevolve import UserError

from .release import CATEGORIES, CLASSES, DEFAULT, Release

PIP_SECONDS = 300.0
LOCK_SECONDS = 330.0
SOURCES = "eval_checker/multi_turn_eval/func_source_code"
CONSTANTS = "constants/default_prompts.py"
_lock = threading.Lock()
_found: dict[str, Path] = {}


def cache() -> Path:
    """The folder of fetched releases, in the user's cache."""
    return platformdirs.user_cache_path("coevolve") / "bfcl"


def command(release: Release) -> str:
    """The command line that fetches this release."""
    return "coevolve env setup bfcl" + ("" if release.version == DEFAULT else f" --set release={release.version}")


def missing(package: Path, release: Release) -> list[str]:
    """Paths of needed files that `package` (a folder named bfcl_eval) lacks."""
    needed = [CONSTANTS, f"{SOURCES}/long_context.py"]
    needed += [f"{SOURCES}/{module}.py" for module in CLASSES.values()]
    needed += [f"data/multi_turn_func_doc/{module}.json" for module in CLASSES.values()]
    needed += [path for category in CATEGORIES for path in (release.entries(category), release.answers(category))]
    return [path for path in needed if not (package / path).is_file()]


def importable(release: Release) -> Path | None:
    """The folder of an installed and complete `bfcl_eval` of exactly this release, found without importing it; else None."""
    spec = importlib.util.find_spec("bfcl_eval")
    if spec is None or not spec.submodule_search_locations:
        return None
    try:
        version = importlib.metadata.version("bfcl-eval")
    except importlib.metadata.PackageNotFoundError:
        return None
    package = Path(spec.submodule_search_locations[0])
    return package if version == release.version and not missing(package, release) else None


def fetched(release: Release) -> Path | None:
    """The folder of this release in the cache when it is complete, else None."""
    package = cache() / release.version / "bfcl_eval"
    return package if package.is_dir() and not missing(package, release) else None


def ensure(release: Release) -> Path:
    """The package's folder; fetches it at the first use. Raises UserError with the command to run when that fails. Thread-safe."""
    with _lock:
        if release.version not in _found:
            package = importable(release) or fetched(release)
            if package is None:
                try:
                    package = install(release)
                except UserError as error:
                    raise UserError(f"BFCL {release.version} is not installed: {error}; then run: {command(release)}") from error
            _found[release.version] = package
        return _found[release.version]


def install(release: Release, wheel: Path | None = None) -> Path:
    """Fetch the release into the cache, or unpack it from `wheel`, unless it is there; returns its folder. One process at a time.

    Raises UserError that names the cause and the fix.
    """
    home = cache()
    try:
        home.mkdir(parents=True, exist_ok=True)
        with FileLock(home / ".lock", timeout=LOCK_SECONDS):
            if (package := fetched(release)) is not None:
                return package
            for left in home.glob(".part-*"):  # of a process that was killed; nobody else writes while we hold the lock
                shutil.rmtree(left, ignore_errors=True)
            with _scratch(home) as folder:
                tree = folder / "tree"
                _pip(release, tree) if wheel is None else _unpack(release, wheel, tree)
                if lacking := missing(tree / "bfcl_eval", release):
                    raise UserError(f"the wheel of bfcl-eval {release.version} lacks {lacking[0]}")
                shutil.rmtree(home / release.version, ignore_errors=True)
                tree.rename(home / release.version)
    except Timeout:
        raise UserError(f"another process has been fetching it for {LOCK_SECONDS:g} s ({home / '.lock'}); try again") from None
    except OSError as error:
        raise UserError(f"cannot write to {home} ({error.strerror or error}); make that folder writable") from error
    return home / release.version / "bfcl_eval"


@contextlib.contextmanager
def _scratch(home: Path) -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix=".part-", dir=home))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _pip(release: Release, target: Path) -> None:
    requirements = target.with_name("requirements.txt")
    requirements.write_text(release.requirement + "\n", encoding="utf-8")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-input", "--disable-pip-version-check", "--no-compile"]
    command += ["--no-deps", "--only-binary", ":all:", "--require-hashes", "--target", str(target), "--requirement", str(requirements)]
    try:
        done = subprocess.run(
            command, capture_output=True, encoding="utf-8", errors="replace", timeout=PIP_SECONDS, stdin=subprocess.DEVNULL
        )
    except subprocess.TimeoutExpired:
        raise UserError(f"pip did not finish within {PIP_SECONDS:g} s; check the network, or give a file: --set wheel=PATH") from None
    if done.returncode:
        raise UserError(f"pip could not fetch bfcl-eval {release.version} ({_cause(done.stderr)})")


def _cause(stderr: str) -> str:
    """One line from pip's error output, with the fix."""
    if "No module named pip" in stderr:
        return "this Python lacks pip; install it, or give a file: --set wheel=PATH"
    if "DO NOT MATCH THE HASHES" in stderr or ("hash" in stderr.lower() and "expected" in stderr.lower()):
        return "the file offered has a wrong hash and was refused; use an index that serves the published file"
    errors = [line.removeprefix("ERROR:").strip() for line in stderr.splitlines() if line.startswith("ERROR:")]
    return f"{errors[-1] if errors else 'no reason given'}; check the network, or give a file: --set wheel=PATH"


def _unpack(release: Release, wheel: Path, target: Path) -> None:
    if not wheel.is_file():
        raise UserError(f"wheel={wheel} is not a file; give the path of bfcl_eval-{release.version}-py3-none-any.whl")
    with wheel.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != release.sha256:
        raise UserError(f"wheel={wheel} has sha256 {found}, not {release.sha256}; download bfcl-eval {release.version} again")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(target)


def forget() -> None:
    """Forget which copies were found; the next use looks for them again."""
    with _lock:
        _found.clear()


def describe(release: Release) -> str:
    """One line that names the copy in use."""
    if (package := importable(release)) is not None:
        return f"bfcl-eval {release.version}: the installed package at {package}"
    if (package := fetched(release)) is not None:
        return f"bfcl-eval {release.version}: fetched to {package}"
    return f"bfcl-eval {release.version} is not installed; run: {command(release)}"
