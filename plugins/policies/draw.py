"""Draws that depend on nothing but (seed, row, token): the same text whichever other rows are in the batch, whatever was drawn before.

Uniform numbers are SplitMix64's output function (Steele, Lea, Flood 2014) over a counter made of the three; a token is the inverse of the
distribution's cumulated probabilities at that number. Two batches may still differ where rounding moves a probability across the number.
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
    """Numbers in [0, 1) of shape (rows, count), float64: row r's column t belongs to the conversation's token `starts[r] + t`."""
    golden = np.uint64(0x9E3779B97F4A7C15)
    row = _mixed(np.array([seed & 0xFFFFFFFFFFFFFFFF], dtype=np.uint64) + golden)
    row = _mixed(row ^ (np.array(rows, dtype=np.uint64) + np.uint64(1)) * golden)
    token = np.array(starts, dtype=np.uint64)[:, None] + np.arange(1, count + 1, dtype=np.uint64)[None, :]
    # 32 bits are enough, and leave u * total < total exact in float64: the last token's interval cannot be overshot.
    return torch.from_numpy((_mixed(row[:, None] + token * golden) >> np.uint64(32)).astype(np.float64) / 2.0**32)


def spoilt() -> CoevolveError:
    """For log-probabilities that are no numbers."""
    return CoevolveError(
        "the model's logits are not finite: its weights are spoilt; go on from an earlier checkpoint, with a smaller trainer.learning_rate",
        change="trainer.learning_rate=SMALLER",
    )


def draw(logits: Tensor, uniform: Tensor, temperature: float) -> tuple[Tensor, Tensor]:
    """Tokens and their log-probabilities, both of shape (rows,), from `logits` (rows, vocabulary) at `uniform` (rows,).

    The log-probabilities are those of the distribution that was drawn from: with temperature 1 the model's own, with temperature 0
    (greedy, all mass on the best token) zeros.
    """
    logits = logits.float()
    if temperature == 0:
        tokens = logits.argmax(dim=-1)
        return tokens, torch.zeros_like(tokens, dtype=torch.float32)
    logp = (logits if temperature == 1 else logits / temperature).log_softmax(dim=-1)
    cumulated = logp.exp().cumsum(dim=-1, dtype=torch.float64)
    # right=True skips tokens of probability zero, whose interval is empty
    tokens = torch.searchsorted(cumulated, uniform[:, None] * cumulated[:, -1:], right=True)
    tokens = tokens.clamp_(max=logits.shape[1] - 1)  # only logits that are not finite need this: their log-probability shows it
    return tokens.squeeze(1), logp.gather(1, tokens).squeeze(1)
