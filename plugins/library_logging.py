"""Silence the advice and the progress bars of the model libraries: the run's observers report instead."""

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def quiet() -> Iterator[None]:
    """Inside the block, transformers and TRL log errors only; their earlier settings are restored afterwards.

    The settings are global: use it in one thread at a time.
    """
    from transformers.utils import logging as module

    transformers: Any = module
    level, bars = transformers.get_verbosity(), transformers.is_progress_bar_enabled()
    trl = logging.getLogger("trl")
    trl_level = trl.level
    try:
        transformers.set_verbosity_error()
        transformers.disable_progress_bar()
        trl.setLevel(logging.ERROR)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="You are using 'rollout_func'")
            # TRL 1.16 uses names that transformers has deprecated.
            warnings.filterwarnings("ignore", message=r"`(is_)?gradient_checkpointing\w*` is deprecated", category=FutureWarning)
            yield
    finally:
        transformers.set_verbosity(level)
        trl.setLevel(trl_level)
        if bars:
            transformers.enable_progress_bar()
