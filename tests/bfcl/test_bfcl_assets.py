"""Fetching: the hash is checked, and whatever goes wrong leaves nothing half done and is reported in one line."""

import hashlib
import importlib.metadata
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from coevolve import Installable, UserError
from coevolve.environments.bfcl import assets
from coevolve.environments.bfcl.environment import Bfcl
from coevolve.environments.bfcl.release import CATEGORIES, CLASSES, Release

VERSION = "2026.3.23"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel with the files that are needed, all of them empty."""
    path = tmp_path_factory.mktemp("wheels") / f"bfcl_eval-{VERSION}-py3-none-any.whl"
    release = Release(VERSION, "", "BFCL_v4")
    files = [assets.CONSTANTS, f"{assets.SOURCES}/long_context.py"]
    files += [f"{assets.SOURCES}/{module}.py" for module in CLASSES.values()]
    files += [f"data/multi_turn_func_doc/{module}.json" for module in CLASSES.values()]
    files += [name for category in CATEGORIES for name in (release.entries(category), release.answers(category))]
    info = f"bfcl_eval-{VERSION}.dist-info"
    with zipfile.ZipFile(path, "w") as archive:
        for name in files:
            archive.writestr(f"bfcl_eval/{name}", "")
        archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: bfcl-eval\nVersion: {VERSION}\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    return path


@pytest.fixture
def release(wheel: Path) -> Release:
    return Release(VERSION, hashlib.sha256(wheel.read_bytes()).hexdigest(), "BFCL_v4")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and a pip that knows of no index."""
    monkeypatch.setattr(assets, "cache", lambda: tmp_path / "cache")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setattr(assets, "_found", {})
    return tmp_path / "cache"


def left(home: Path) -> list[str]:
    return sorted(path.name for path in home.iterdir() if path.name != ".lock")


def one_line(error: pytest.ExceptionInfo[UserError]) -> str:
    text = str(error.value)
    assert "\n" not in text
    return text


def test_pip_fetches_what_has_the_right_hash(home: Path, release: Release, wheel: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheel.parent))
    package = assets.ensure(release)
    assert package == home / VERSION / "bfcl_eval"
    assert assets.missing(package, release) == []
    assert left(home) == [VERSION]
    assert assets.describe(release) == f"bfcl-eval {VERSION}: fetched to {package}"
    assert assets.install(release) == package


def test_a_wrong_hash_is_refused(home: Path, release: Release, wheel: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheel.parent))
    with pytest.raises(UserError, match="wrong hash") as error:
        assets.ensure(Release(VERSION, "0" * 64, "BFCL_v4"))
    assert one_line(error).endswith("coevolve env setup bfcl")
    assert left(home) == []


def test_without_a_network_the_error_says_what_to_run(home: Path, release: Release) -> None:
    with pytest.raises(UserError, match="could not fetch bfcl-eval") as error:
        assets.ensure(release)
    assert one_line(error).endswith("coevolve env setup bfcl")
    assert "wheel=PATH" in one_line(error)
    assert left(home) == []


def test_a_pip_that_does_not_end_is_stopped(home: Path, release: Release, monkeypatch: pytest.MonkeyPatch) -> None:
    def expire(command: list[str], timeout: float, **_: object) -> None:
        raise subprocess.TimeoutExpired(command, timeout)

    monkeypatch.setattr(subprocess, "run", expire)
    with pytest.raises(UserError, match="did not finish within 300 s"):
        assets.install(release)
    assert left(home) == []


def test_a_local_wheel_is_checked_too(home: Path, release: Release, wheel: Path, tmp_path: Path) -> None:
    forged = tmp_path / wheel.name
    forged.write_bytes(wheel.read_bytes() + b"x")
    with pytest.raises(UserError, match="has sha256") as error:
        assets.install(release, forged)
    one_line(error)
    with pytest.raises(UserError, match="is not a file"):
        assets.install(release, tmp_path / "absent.whl")
    assert left(home) == []
    assert assets.missing(assets.install(release, wheel), release) == []


def test_a_half_written_cache_is_replaced(home: Path, release: Release, wheel: Path) -> None:
    (home / VERSION / "bfcl_eval" / "data").mkdir(parents=True)
    (home / ".part-abc" / "tree").mkdir(parents=True)
    assert assets.fetched(release) is None
    assets.install(release, wheel)
    assert assets.fetched(release) is not None
    assert left(home) == [VERSION]


def test_a_wheel_that_lacks_a_file_is_not_installed(home: Path, tmp_path: Path) -> None:
    poor = tmp_path / "poor.whl"
    with zipfile.ZipFile(poor, "w") as archive:
        archive.writestr("bfcl_eval/__init__.py", "")
    with pytest.raises(UserError, match="lacks"):
        assets.install(Release(VERSION, hashlib.sha256(poor.read_bytes()).hexdigest(), "BFCL_v4"), poor)
    assert left(home) == []


def test_an_installed_package_wins_if_it_is_this_release(
    home: Path, release: Release, wheel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    (tmp_path / "site" / "bfcl_eval" / "__init__.py").write_text("raise RuntimeError('imported')")
    monkeypatch.syspath_prepend(tmp_path / "site")
    assert importlib.metadata.version("bfcl-eval") == VERSION
    assert assets.ensure(release) == tmp_path / "site" / "bfcl_eval"
    assert "bfcl_eval" not in sys.modules
    assert "installed package" in assets.describe(release)
    assert assets.importable(Release("1.0", release.sha256, "BFCL_v4")) is None


def test_setup_and_doctor(home: Path, tmp_path: Path) -> None:
    assert isinstance(Bfcl, Installable)
    assert any("coevolve env setup bfcl" in line for line in Bfcl.doctor())
    with pytest.raises(UserError, match="did you mean 'wheel'"):
        Bfcl.setup(weel="x")
    with pytest.raises(UserError, match="no release"):
        Bfcl.setup(release="1")
    with pytest.raises(UserError, match="is not a file"):
        Bfcl.setup(wheel=str(tmp_path / "none.whl"))


def test_setup_is_content_when_all_is_there(bfcl: Bfcl) -> None:
    assert bfcl.tasks("train")
    assert Bfcl.setup().startswith(f"bfcl-eval {VERSION}: ")
