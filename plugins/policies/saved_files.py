"""The small files of a model as they are saved after training: tried before it, because a save that fails loses what was trained."""

from tempfile import TemporaryDirectory
from typing import Any

from coevolve import UserError, one_line

from ..library_logging import quiet
from .model_files import reading

_SAMPLING = ("temperature", "top_k", "top_p", "min_p", "top_h", "typical_p", "epsilon_cutoff", "eta_cutoff")
"""Settings that have no effect without do_sample; a save refuses them there."""


def settle(generation: Any) -> None:
    """Drop what a save of these generation settings refuses and what has no effect: rollouts are sampled by the run's own settings."""
    if generation.do_sample is not True:
        for name in _SAMPLING:
            if hasattr(generation, name):
                setattr(generation, name, None)
    pad = generation.pad_token_id
    if isinstance(pad, int) and pad < 0:
        generation.pad_token_id = None


def check_saving(path: str, tokenizer: Any) -> None:
    """UserError where the small files of the untouched model cannot be saved, its end and pad token being those of `tokenizer`."""
    from transformers import AutoConfig, GenerationConfig

    with reading(path):
        config: Any = AutoConfig.from_pretrained(path, trust_remote_code=False)
        try:
            generation: Any = GenerationConfig.from_pretrained(path)
        except OSError:  # it is optional
            generation = GenerationConfig.from_model_config(config)
        except ValueError as error:
            raise _refusal("generation_config.json", path, error) from error
    settle(generation)
    for part in (config, generation):
        part.eos_token_id, part.pad_token_id = tokenizer.eos_token_id, tokenizer.pad_token_id
    files = {"config.json": config, "generation_config.json": generation, "tokenizer's files": tokenizer}
    with TemporaryDirectory() as folder, quiet():
        for file, part in files.items():
            try:
                part.save_pretrained(folder)
            except OSError:
                raise  # of this machine, not of the model
            except Exception as error:  # a writer of foreign settings may raise anything
                raise _refusal(file, path, error) from error


def _refusal(file: str, path: str, error: Exception) -> UserError:
    why = f"{type(error).__name__}: {one_line(error, 300)}"
    return UserError(f"the {file} of model {path!r} cannot be saved again after training ({why}): mend or remove it")
