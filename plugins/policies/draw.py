"""Random draws that depend on (seed, row, token index) alone, not on the other rows of the batch or on earlier draws.

A uniform number is SplitMix64's output function (Steele, Lea, Flood 2014) of a counter made of the three. A token is the inverse of the
cumulative distribution at that number. Two batches may still differ where rounding moves a cumulative probability across the number.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from coevolve import CoevolveError


def _mixed(x: "np.ndarray[Any, np.dtype[np.uint64]]") -> "np.ndarray[Any, np.dtype[np.uint64]]":
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def uniforms(seed: int, rows: Sequence[int], starts: Sequence[int], count: int) -> Tensor:
    """Uniform numbers in [0, 1), float64, shape (rows, count): column t of row r is for the conversation's token `starts[r] + t`."""
    golden = np.uint64(0x9E3779B97F4A7C15)
    row = _mixed(np.array([seed & 0xFFFFFFFFFFFFFFFF], dtype=np.uint64) + golden)
    row = _mixed(row ^ (np.array(rows, dtype=np.uint64) + np.uint64(1)) * golden)
    token = np.array(starts, dtype=np.uint64)[:, None] + np.arange(1, count + 1, dtype=np.uint64)[None, :]
    # With 32 bits, u * total < total is exact in float64, so a draw never exceeds the last token's interval.
    return torch.from_numpy((_mixed(row[:, None] + token * golden) >> np.uint64(32)).astype(np.float64) / 2.0**32)


def spoilt() -> CoevolveError:
    """The error to raise where a log-probability is not a number."""
    return CoevolveError(
        "the model's logits are not finite: its weights are damaged; resume an earlier checkpoint with a smaller trainer.learning_rate",
        change="trainer.learning_rate=SMALLER",
    )


def draw(logits: Tensor, uniform: Tensor, temperature: float) -> tuple[Tensor, Tensor]:
    """Tokens and their log-probabilities (float32), both of shape (rows,), from `logits` (rows, vocabulary) and `uniform` (rows,).

    The log-probabilities are those of the sampled distribution: the model's own at temperature 1, zeros at temperature 0 (greedy: all
    mass on the best token). They are NaN where logits are not finite.
    """
    logits = logits.float()
    if temperature == 0:
        tokens = logits.argmax(dim=-1)
        return tokens, torch.zeros_like(tokens, dtype=torch.float32)
    logp = (logits if temperature == 1 else logits / temperature).log_softmax(dim=-1)
    cumulated = logp.exp().cumsum(dim=-1, dtype=torch.float64)
    # right=True skips tokens of probability zero: their interval is empty
    tokens = torch.searchsorted(cumulated, uniform[:, None] * cumulated[:, -1:], right=True)
    tokens = tokens.clamp_(max=logits.shape[1] - 1)  # needed only where logits are not finite; the caller sees that from the NaN
    return tokens.squeeze(1), logp.gather(1, tokens).squeeze(1)
