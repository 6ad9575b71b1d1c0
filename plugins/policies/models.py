"""Where a model's name leads: a folder, a folder inside a package, a converted GGUF, or the hub; always safetensors, never code."""

import re
from importlib.resources import files
from os.path import isdir, isfile
from pathlib import Path
from typing import Any

from coevolve import UserError
from coevolve.endpoint import line

from .model_files import reading

CONVERTED = ("smollm2-135m-instruct",)
_HUB_NAME = re.compile(r"\w[\w.-]*(/\w[\w.-]*)?")


def locate(name: str) -> str:
    """The folder or hub name that `name` stands for; raises UserError when there is none.

    `name` is a local folder, "pkg:PACKAGE/FOLDER", a name in CONVERTED, or a model's name on the hub.
    """
    if name.startswith("pkg:"):
        return str(_in_package(name))
    if name in CONVERTED:
        from .smollm2 import converted

        return str(converted())
    folder = Path(name).expanduser()
    if isdir(folder):  # unlike the path's own, these take a text that can be no path
        return str(_complete(folder, name))
    if not _HUB_NAME.fullmatch(name) or isfile(folder):
        raise UserError(
            f"there is no model folder {name!r}; policy.model is a folder, a hub name, 'pkg:PACKAGE/FOLDER' or {CONVERTED[0]!r}"
        )
    _on_the_hub(name)
    return name


def config_file(name: str) -> Path | None:
    """config.json of the model, found without asking the network or converting anything. None: it is not on this machine.

    UserError for a name that cannot be a model's.
    """
    if name in CONVERTED:
        return None
    file = Path(name).expanduser() / "config.json"
    if not name.startswith("pkg:") and isfile(file):
        return file
    if name.startswith("pkg:") or isdir(file.parent) or not _HUB_NAME.fullmatch(name):
        return Path(locate(name)) / "config.json"
    from huggingface_hub import try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError

    try:
        cached = try_to_load_from_cache(name, "config.json")
    except HFValidationError:
        return None
    return Path(cached) if isinstance(cached, str) else None


def _on_the_hub(name: str) -> None:
    """One quick question instead of the library's minute of retries: a mistyped path looks like a hub name."""
    from huggingface_hub import get_session, hf_hub_url, try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError

    other = f"policy.model {name!r} is no folder here"
    try:
        if isinstance(try_to_load_from_cache(name, "config.json"), str):
            return
    except HFValidationError as error:
        raise UserError(f"{other}, and no model of the hub can have that name; name a local folder") from error
    try:
        answer = get_session().head(hf_hub_url(name, "config.json"), timeout=10)
    except Exception as error:
        raise UserError(f"{other}, and the model hub cannot be reached ({type(error).__name__}); name a local folder") from error
    if answer.status_code in (401, 403, 404):
        raise UserError(f"{other}, and the model hub has none of that name that is open to you (status {answer.status_code})")


def _in_package(name: str) -> Path:
    package, _, inside = name.removeprefix("pkg:").partition("/")
    try:
        folder = Path(str(files(package).joinpath(inside)))
    except (ImportError, TypeError, ValueError) as error:
        raise UserError(f"policy.model {name!r} names a package that cannot be imported: {error}") from error
    if not isdir(folder):
        raise UserError(f"policy.model {name!r}: package {package!r} has no folder {inside!r}; install it unzipped, or name another model")
    return _complete(folder, name)


def _complete(folder: Path, name: str) -> Path:
    if not (folder / "config.json").is_file():
        raise UserError(f"{name!r} is no model folder: it holds no config.json; name the folder that save_pretrained wrote")
    weights = sorted(folder.glob("*.safetensors"))
    if not weights:
        raise UserError(f"{name!r} holds no *.safetensors; save the model with save_pretrained, pickled weights are not loaded")
    for file in weights:
        _readable(file)
    return folder


def _readable(file: Path) -> None:
    """Reads the header, which tells a file that is cut off or is none: seconds before the weights are needed, or hours."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(file, framework="np"):
            pass
    except (SafetensorError, OSError) as error:
        raise UserError(f"{file} cannot be read ({line(error)}); fetch or save it again") from error


def device_and_dtype(device: str, dtype: str) -> tuple[str, Any]:
    """Resolve "auto": the first GPU that there is, bfloat16 where it can, float32 on CPUs."""
    import torch

    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        why = 'there is no such kind; name one such as "cpu", "cuda" or "cuda:1"' if "Expected one of" in str(error) else line(error)
        raise UserError(f"policy.device {device!r} cannot be used: {why}") from error
    known = {"float32": torch.float32, "bfloat16": torch.bfloat16}
    if dtype == "auto":
        able = device.startswith("cuda") and torch.cuda.is_bf16_supported()
        return device, known["bfloat16" if able else "float32"]
    if dtype not in known:
        raise UserError(f"policy.dtype {dtype!r} is unknown (there is: auto, {', '.join(known)})")
    return device, known[dtype]


def load_model(path: str, device: str, dtype: Any, quantize: str = "") -> Any:
    """A causal language model in evaluation mode on `device`; UserError when it cannot be read whole."""
    from transformers import AutoModelForCausalLM

    with reading(path):
        loaded: Any = AutoModelForCausalLM.from_pretrained(
            path,
            dtype=dtype,
            use_safetensors=True,
            trust_remote_code=False,
            output_loading_info=True,
            **_quantized(quantize, device, dtype),
        )
        model, report = loaded
        if missing := sorted(report["missing_keys"]):
            raise UserError(f"model {path!r} is incomplete: {len(missing)} weights are missing, {missing[0]} first; fetch it again")
        try:
            (model if quantize else model.to(device)).eval()
        except (RuntimeError, AssertionError) as error:  # no room on it, say
            raise UserError(f"policy.device {device!r} cannot be used: {line(error)}") from error
    return model


def _quantized(quantize: str, device: str, dtype: Any) -> dict[str, Any]:
    """Settings of QLoRA's paper (arXiv 2305.14314, section 3): four-bit NormalFloat, the scales quantised once more."""
    if not quantize:
        return {}
    from transformers import BitsAndBytesConfig

    four: Any = BitsAndBytesConfig(  # type: ignore[no-untyped-call]
        load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_use_double_quant=True, bnb_4bit_compute_dtype=dtype
    )
    return {"quantization_config": four, "device_map": {"": device}}


def check_config(path: str, tokenizer: Any) -> None:
    """UserError when the model's configuration cannot be read, is of no known architecture, or has no row for an id of the tokenizer."""
    from transformers import AutoConfig

    with reading(path):
        rows = AutoConfig.from_pretrained(path, trust_remote_code=False).get_text_config().vocab_size
    if (largest := max(tokenizer.get_vocab().values())) >= rows:
        raise UserError(f"the tokenizer of model {path!r} has ids up to {largest}, the model only {rows}: save the right one with it")


def skeleton(path: str) -> Any:
    """The model's modules without their weights, on torch's meta device."""
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    with reading(path), torch.device("meta"):
        config = AutoConfig.from_pretrained(path, trust_remote_code=False)
        return AutoModelForCausalLM.from_config(config, trust_remote_code=False)  # type: ignore[no-untyped-call]  # theirs


def declared_eos(path: str) -> list[int]:
    """Ids that end a completion by the model's own files."""
    from transformers import AutoConfig, GenerationConfig

    with reading(path):
        try:
            found: Any = GenerationConfig.from_pretrained(path)
        except OSError:  # a model need not have one
            found = AutoConfig.from_pretrained(path, trust_remote_code=False).get_text_config()
    declared = found.eos_token_id
    return [] if declared is None else [declared] if isinstance(declared, int) else list(declared)


def load_tokenizer(path: str, chat_template: str = "") -> Any:
    """The model's tokenizer, padding on the left; `chat_template` is the file of a template to use instead of its own."""
    from transformers import AutoTokenizer

    with reading(path):
        tokenizer = AutoTokenizer.from_pretrained(path, padding_side="left", trust_remote_code=False)
    if tokenizer.eos_token_id is None:
        raise UserError(f"the tokenizer of model {path!r} has no end token, so no completion would ever end; choose an instruct model")
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token
    if chat_template:
        try:
            tokenizer.chat_template = Path(chat_template).expanduser().read_text(encoding="utf-8")
        except (OSError, ValueError) as error:
            raise UserError(f"policy.chat_template {chat_template!r} cannot be read: {line(error)}") from error
    return tokenizer
