"""No advice and no progress bars from the model libraries: the run's own observers report."""

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def quiet() -> Iterator[None]:
    """Within it transformers and TRL write errors only; their settings are as before afterwards."""
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
            # TRL 1.16 uses names that transformers is about to drop.
            warnings.filterwarnings("ignore", message=r"`(is_)?gradient_checkpointing\w*` is deprecated", category=FutureWarning)
            yield
    finally:
        transformers.set_verbosity(level)
        trl.setLevel(trl_level)
        if bars:
            transformers.enable_progress_bar()
