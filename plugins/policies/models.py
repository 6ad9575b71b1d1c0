"""Find and load the model that a name stands for: a folder, a folder inside a package, a converted GGUF file, or a model on the hub.

Only weights in safetensors are loaded, and no code from the model's repository is run.
"""

import re
from importlib.resources import files
from os import R_OK, access
from os.path import isdir, isfile
from pathlib import Path
from typing import Any

from coevolve import UserError, one_line, read_text

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
    if isdir(folder):  # os.path's functions accept texts that are not valid paths; Path's methods raise
        return str(_complete(folder, name))
    if not _HUB_NAME.fullmatch(name) or isfile(folder):
        raise UserError(
            f"there is no model folder {name!r}; policy.model is a folder, a hub name, 'pkg:PACKAGE/FOLDER' or {CONVERTED[0]!r}"
        )
    _on_the_hub(name)
    return name


def config_file(name: str) -> Path | None:
    """The model's config.json, found without network access or conversion; None where it is not on this machine.

    Raises UserError for a name that is not a valid model name.
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
    """Raise UserError unless the hub has the model: one quick request, because a mistyped path looks like a hub name."""
    from huggingface_hub import get_session, hf_hub_url, try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError

    other = f"policy.model {name!r} is not a folder"
    try:
        if isinstance(try_to_load_from_cache(name, "config.json"), str):
            return
    except HFValidationError as error:
        raise UserError(f"{other}, and not a valid name of a hub model; name a local folder") from error
    try:
        answer = get_session().head(hf_hub_url(name, "config.json"), timeout=10)
    except Exception as error:
        raise UserError(f"{other}, and the model hub cannot be reached ({type(error).__name__}); name a local folder") from error
    if answer.status_code in (401, 403, 404):
        raise UserError(f"{other}, and the model hub has no model of that name that you may access (status {answer.status_code})")


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
        raise UserError(f"{name!r} is not a model folder: it holds no config.json; name the folder that save_pretrained wrote")
    weights = sorted(folder.glob("*.safetensors"))
    if not weights:
        raise UserError(f"{name!r} holds no *.safetensors; save the model with save_pretrained (pickled weights are not loaded)")
    for file in weights:
        _readable(file)
    return folder


def _readable(file: Path) -> None:
    """Raise UserError for a file that is truncated or is not safetensors; only its header is read."""
    from safetensors import SafetensorError, safe_open

    if isfile(file) and not access(file, R_OK):  # safetensors would report a missing file
        raise UserError(f"{file} may not be read by you: ask its owner to make it readable (chmod a+r)")
    try:
        with safe_open(file, framework="np"):
            pass
    except (SafetensorError, OSError) as error:
        raise UserError(f"{file} cannot be read ({one_line(error, 200)}); fetch or save it again") from error


def device_and_dtype(device: str, dtype: str) -> tuple[str, Any]:
    """Device and torch dtype; "auto" is the first GPU, else the CPU, and bfloat16 on a GPU that has it, else float32.

    Raises UserError for an unknown dtype and for a device that cannot be used.
    """
    import torch

    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        unknown = "Expected one of" in str(error)
        why = 'torch does not know it; name one such as "cpu", "cuda" or "cuda:1"' if unknown else one_line(error, 200)
        raise UserError(f"policy.device {device!r} cannot be used: {why}") from error
    known = {"float32": torch.float32, "bfloat16": torch.bfloat16}
    if dtype == "auto":
        able = device.startswith("cuda") and torch.cuda.is_bf16_supported()
        return device, known["bfloat16" if able else "float32"]
    if dtype not in known:
        raise UserError(f"policy.dtype {dtype!r} is unknown (there is: auto, {', '.join(known)})")
    return device, known[dtype]


def load_model(path: str, device: str, dtype: Any, quantize: str = "") -> Any:
    """A causal language model in evaluation mode on `device`; `quantize` is "" or "4bit".

    Raises UserError where files cannot be read, weights are missing, or the device has no room.
    """
    from transformers import AutoModelForCausalLM

    from .saved_files import settle

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
        except (RuntimeError, AssertionError) as error:  # such as too little memory on it
            raise UserError(f"policy.device {device!r} cannot be used: {one_line(error, 200)}") from error
    if getattr(model, "generation_config", None) is not None:
        settle(model.generation_config)
    return model


def _quantized(quantize: str, device: str, dtype: Any) -> dict[str, Any]:
    """Settings of the QLoRA paper (arXiv 2305.14314, section 3): four-bit NormalFloat with double quantisation."""
    if not quantize:
        return {}
    from transformers import BitsAndBytesConfig

    four: Any = BitsAndBytesConfig(  # type: ignore[no-untyped-call]
        load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_use_double_quant=True, bnb_4bit_compute_dtype=dtype
    )
    return {"quantization_config": four, "device_map": {"": device}}


def check_config(path: str, tokenizer: Any) -> None:
    """Raise UserError where the configuration cannot be read, its architecture is unknown, or the tokenizer does not belong to it."""
    from transformers import AutoConfig

    from .tokenizer_files import check_vocabulary

    with reading(path):
        rows = AutoConfig.from_pretrained(path, trust_remote_code=False).get_text_config().vocab_size
    check_vocabulary(path, tokenizer, rows)


def check_layers(path: str) -> None:
    """Raise UserError for a model with layers that keep a state instead of keys and values: rows of a batch end at different lengths."""
    from transformers import AutoConfig

    with reading(path):
        config = AutoConfig.from_pretrained(path, trust_remote_code=False).get_text_config()
    kinds = [str(kind) for kind in getattr(config, "layer_types", None) or () if "attention" not in str(kind) or "linear" in str(kind)]
    if kinds or not getattr(config, "num_attention_heads", None):
        what = f"layers of the kind {kinds[0]!r}" if kinds else "no attention"
        raise UserError(
            f"model {path!r} ({config.model_type}) has {what}, which policy 'transformers' cannot sample from: choose a model whose layers "
            "are all attention, or policy.name = vllm"
        )


def skeleton(path: str) -> Any:
    """The model's modules without their weights, on torch's meta device."""
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    with reading(path), torch.device("meta"):
        config = AutoConfig.from_pretrained(path, trust_remote_code=False)
        return AutoModelForCausalLM.from_config(config, trust_remote_code=False)  # type: ignore[no-untyped-call]  # transformers has no type for it


def load_tokenizer(path: str, chat_template: str = "") -> Any:
    """The model's tokenizer, which pads on the left; `chat_template` is the file of a template to use instead of the model's own.

    Raises UserError for files that are missing or cannot be read, and for a tokenizer without an end token.
    """
    from transformers import AutoTokenizer

    from .tokenizer_files import check_files

    try:
        with reading(path):
            tokenizer = AutoTokenizer.from_pretrained(path, padding_side="left", trust_remote_code=False)
    except UserError:
        check_files(path, None)
        raise
    check_files(path, type(tokenizer))
    if tokenizer.eos_token_id is None:
        raise UserError(f"the tokenizer of model {path!r} has no end token, so no completion would ever end; choose an instruct model")
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token
    if chat_template:
        try:
            tokenizer.chat_template = read_text(Path(chat_template).expanduser())
        except (OSError, ValueError) as error:
            raise UserError(f"policy.chat_template {chat_template!r} cannot be read: {one_line(error, 200)}") from error
    tokenizer.chat_template = _without_mark(tokenizer.chat_template)
    return tokenizer


def _without_mark(template: Any) -> Any:
    """A template, or several by name, without a byte order mark, which the model would read at the begin of every prompt."""
    if isinstance(template, dict):
        return {name: _without_mark(text) for name, text in template.items()}
    return template.removeprefix("\ufeff") if isinstance(template, str) else template
