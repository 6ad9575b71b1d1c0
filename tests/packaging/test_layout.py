"""What is shipped: the wheel, the source archive, the names in them, and that everything is imported as coevolve.*"""

import re
import subprocess
import sys
import tarfile
import tomllib
import types
import zipfile
from pathlib import Path

import pytest

import coevolve

ROOT = Path(__file__).parents[2]
FOLDERS = ("core", "environments", "plugins", "signals", "synthesizers")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
VERSION = PROJECT["project"]["version"]


def run(*command: str, cwd: Path) -> str:
    done = subprocess.run([sys.executable, *command], capture_output=True, text=True, timeout=250, cwd=cwd)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel and the source archive of this tree."""
    folder = tmp_path_factory.mktemp("dist")
    run("-m", "hatchling", "build", "-d", str(folder), cwd=ROOT)
    return folder


@pytest.fixture(scope="module")
def wheel(built: Path) -> Path:
    return built / f"coevolve-{VERSION}-py3-none-any.whl"


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that the wheel alone was installed into."""
    target = tmp_path_factory.mktemp("installed")
    options = ("--no-deps", "--no-index", "--quiet", "--disable-pip-version-check", "--target", str(target))
    run("-m", "pip", "install", *options, str(wheel), cwd=target)
    return target


def contents(wheel: Path) -> dict[str, int]:
    """The wheel's files with their checksums."""
    with zipfile.ZipFile(wheel) as archive:
        return {entry.filename: entry.CRC for entry in archive.infolist()}


def tracked() -> set[str]:
    """The package's files in this tree, by the path that they have in the wheel."""
    found = {path.relative_to(ROOT) for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.is_file()}
    own = {path.relative_to(ROOT / "src" / "coevolve") for path in _own_files(ROOT / "src" / "coevolve")}
    return {f"coevolve/{path.as_posix()}" for path in found | own if "__pycache__" not in path.parts and path.suffix != ".pyc"}


def _own_files(folder: Path) -> list[Path]:
    """Files below `folder` that are not reached through a link."""
    return [p for path in folder.iterdir() if not path.is_symlink() for p in (path.rglob("*") if path.is_dir() else [path]) if p.is_file()]


def test_the_wheel_holds_the_whole_package_and_nothing_else(wheel: Path) -> None:
    names = set(contents(wheel))
    shipped = {name for name in names if ".dist-info/" not in name}
    assert shipped == tracked()
    assert {
        "coevolve/py.typed",
        "coevolve/__main__.py",
        "coevolve/core/settings/recipes/desk.toml",
        "coevolve/testing/__init__.py",
    } <= shipped
    assert f"coevolve-{VERSION}.dist-info/licenses/LICENSE" in names


def test_the_source_archive_holds_what_building_and_testing_need(built: Path) -> None:
    with tarfile.open(built / f"coevolve-{VERSION}.tar.gz") as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"pyproject.toml", "README.md", "LICENSE", "constraints.txt", "docs/plugins.md", "tests/packaging/test_layout.py"} <= names
    assert {"examples/coevolve-stubborn/pyproject.toml", "core/settings/recipes/desk.toml", "src/coevolve/__init__.py"} <= names
    assert not [name for name in names if name.startswith(tuple(f"src/coevolve/{folder}" for folder in FOLDERS))]
    assert not [name for name in names if "__pycache__" in name or name.endswith(".pyc")]


def test_a_wheel_from_the_source_archive_is_the_same(built: Path, wheel: Path, tmp_path: Path) -> None:
    with tarfile.open(built / f"coevolve-{VERSION}.tar.gz") as archive:
        archive.extractall(tmp_path, filter="data")
    run("-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path / "dist"), cwd=tmp_path / f"coevolve-{VERSION}")
    assert contents(tmp_path / "dist" / wheel.name) == contents(wheel)


LOOK = """
import importlib, json, sys
sys.path.insert(0, sys.argv[1])
import coevolve, coevolve.core.registry as registry
assert coevolve.__file__.startswith(sys.argv[1]), coevolve.__file__
broken = {r.name: r.error for r in registry.load_plugins(only=["coevolve.*"]).records if r.error}
bare = [n for n in ("core", "environments", "plugins", "signals", "synthesizers") if importlib.util.find_spec(n)]
print(json.dumps([broken, bare, sorted(p.name for p in __import__("pathlib").Path(sys.argv[1]).iterdir())]))
"""


def test_the_installed_wheel_is_coevolve_alone(installed: Path, tmp_path: Path) -> None:
    found = run("-c", "import importlib.util\n" + LOOK, str(installed), cwd=tmp_path)
    assert found.strip() == f'[{{}}, [], ["bin", "coevolve", "coevolve-{VERSION}.dist-info"]]'


def test_the_installed_wheel_has_its_recipes_and_command(installed: Path, tmp_path: Path) -> None:
    code = f"import sys; sys.path.insert(0, {str(installed)!r}); from coevolve.core.cli.main import main; sys.exit(main(['recipes']))"
    assert run("-c", code, cwd=tmp_path).startswith("appworld-smoke: ")
    assert (installed / "bin" / "coevolve").is_file()


def test_files_beside_the_links_are_named_in_both_lists() -> None:
    """The build never reads the links, so a file added in src/coevolve is lost unless it is named."""
    folder = ROOT / "src" / "coevolve"
    own = {f"src/coevolve/{path.name}" for path in folder.iterdir() if not path.is_symlink() and path.name != "__pycache__"}
    for target in ("wheel", "sdist"):
        listed = PROJECT["tool"]["hatch"]["build"]["targets"][target]["only-include"]
        assert {name for name in listed if name.startswith("src/")} == own
        assert set(FOLDERS) <= set(listed)


def test_the_links_are_relative_and_lead_to_the_folders() -> None:
    for folder in FOLDERS:
        link = ROOT / "src" / "coevolve" / folder
        assert link.is_symlink() and link.readlink() == Path("../..", folder)


def test_the_version_is_said_once() -> None:
    assert coevolve.__version__ == VERSION


def test_public_names_are_exact_and_sorted() -> None:
    names = coevolve.__all__
    order = sorted(names, key=lambda name: (not name.isupper(), not name[0].isupper(), name))
    assert names == order and len(set(names)) == len(names)
    defined = {name for name, value in vars(coevolve).items() if not name.startswith("_") and not isinstance(value, types.ModuleType)}
    assert set(names) == defined | {"__version__", "iterate"}, "iterate is imported at its first use"


def python_files() -> list[Path]:
    folders = (*FOLDERS, "src/coevolve/endpoint", "src/coevolve/testing", "tests", "docs", "examples", "benchmarks")
    return [path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]


def test_no_folder_is_imported_by_its_bare_name() -> None:
    """`import core` would give every class in it a second identity."""
    bare = re.compile(rf"^\s*(?:from|import)\s+(?:{'|'.join(FOLDERS)})\b", re.MULTILINE)
    files = python_files()
    assert len(files) > 50
    assert [str(path.relative_to(ROOT)) for path in files if bare.search(path.read_text("utf-8"))] == []


def test_default_plugins_use_the_public_names_alone() -> None:
    inner = re.compile(r"^\s*(?:from|import)\s+coevolve\.(?!endpoint\b)", re.MULTILINE)
    files = [path for path in python_files() if path.relative_to(ROOT).parts[0] in FOLDERS[1:]]
    assert files
    assert [str(path.relative_to(ROOT)) for path in files if inner.search(path.read_text("utf-8"))] == []
