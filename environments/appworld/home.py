"""Where AppWorld's files are on the user's machine, and the command line that starts the engine's Python."""

from pathlib import Path

import platformdirs

from coevolve import UserError

ENGINE = "0.1.3.post1"
"""Version of the `appworld` package that this environment is made for."""
DATA = "0.1.0"
"""Version of the databases that the engine reads."""
ENGINE_FOLDER = Path(__file__).with_name("engine")
KINDS = ("full", "tiny")
"""Data roots: the benchmark's own data, and the small invented world."""
BOOT = (
    "import importlib.util as u, runpy, sys; folder, module = sys.argv[1:3]; "
    "spec = u.spec_from_file_location('engine', folder + '/__init__.py', submodule_search_locations=[folder]); "
    "sys.modules['engine'] = package = u.module_from_spec(spec); spec.loader.exec_module(package); "
    "sys.argv[:] = [module, *sys.argv[3:]]; runpy.run_module(module, run_name='__main__')"
)
"""Runs a module of the folder `engine` as one of a package of that name, so that nothing else of this package can be imported there."""


def home() -> Path:
    """AppWorld's folder in the user's cache. Raises UserError when its path is one in which the engine cannot work."""
    folder = platformdirs.user_cache_path("coevolve") / "appworld"
    if "memory" in str(folder):
        raise UserError(
            f"AppWorld cannot work under {folder}: its engine misreads paths with 'memory'; set XDG_CACHE_HOME to another folder"
        )
    return folder


def python() -> Path:
    """The path of the engine's interpreter; it need not be there."""
    return home() / "venv" / "bin" / "python"


def root(kind: str) -> Path:
    """The data root of a kind (KINDS); the engine's `data` folder is in it."""
    return home() / "roots" / kind


def engine_command(module: str, *arguments: str, interpreter: Path | None = None) -> list[str]:
    """The command line that runs `engine.<module>` in the engine's Python, without the user's site and PYTHON variables."""
    return [str(interpreter or python()), "-I", "-B", "-c", BOOT, str(ENGINE_FOLDER), f"engine.{module}", *arguments]
