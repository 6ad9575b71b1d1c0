"""A key-value cache in which every row has its own length: column j of a row holds the keys and values of the row's token j.

The columns of a row have no gaps, so the attention mask is "column <= position". Rows that are being sampled come first. A row that pauses
is swapped behind them: it keeps its keys for the conversation's next turn, and takes no part in forward passes.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from transformers.cache_utils import Cache, CacheLayerMixin


class Places:
    """The positions that the next forward pass writes; all layers share them.

    `index` (rows, 1) and `columns` (rows, tokens) index the whole cache. The pass reads the rows in the slice `rows` and the first `width`
    columns, which hold all tokens of these rows. `count` is the number of rows of the cache, `capacity` its number of columns.
    """

    rows: slice
    index: Tensor
    columns: Tensor
    count: int = 0
    width: int = 0
    capacity: int = 0


class RaggedLayer(CacheLayerMixin):  # type: ignore[no-untyped-call]
    """One layer's keys and values, shape (rows, heads, capacity, head size), so that attention reads contiguous memory for each head."""

    is_sliding = False

    def __init__(self, places: Places) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._places = places
        self.keys: Tensor
        self.values: Tensor

    def lazy_initialization(self, key_states: Tensor, value_states: Tensor) -> None:
        rows, capacity = self._places.count, self._places.capacity
        # Zeros, because masked columns are multiplied by the softmax's zero, and zero times NaN is NaN.
        self.keys = key_states.new_zeros(rows, key_states.shape[1], capacity, key_states.shape[3])
        self.values = value_states.new_zeros(rows, value_states.shape[1], capacity, value_states.shape[3])
        self.dtype, self.device = key_states.dtype, key_states.device
        self.is_initialized = True

    def update(self, key_states: Tensor, value_states: Tensor, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
        """Write the keys and values of the new tokens; return those of the pass's rows so far, shape (rows, heads, width, head size)."""
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        places = self._places
        self.keys[places.index, :, places.columns] = key_states.transpose(1, 2)
        self.values[places.index, :, places.columns] = value_states.transpose(1, 2)
        return self.keys[places.rows, :, : places.width], self.values[places.rows, :, : places.width]

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        return self._places.width, 0

    def get_seq_length(self) -> int:
        return self._places.width

    def get_max_length(self) -> int:
        return -1

    def get_max_cache_shape(self) -> int:
        return -1

    def select(self, rows: Tensor, width: int) -> None:
        """Replace the batch by copies of `rows`, in that order; `width` columns are in use."""

        def selected(store: Tensor) -> Tensor:
            fresh = store.new_zeros(len(rows), *store.shape[1:])
            fresh[:, :, :width] = store[rows, :, :width]
            return fresh

        if self.is_initialized:
            self.keys, self.values = selected(self.keys), selected(self.values)

    def swap(self, some: Tensor, others: Tensor, width: int) -> None:
        """Exchange the first `width` columns of the rows `some` with those of the rows `others`, pair by pair."""
        if self.is_initialized:
            for store in (self.keys, self.values):
                seen = store[:, :, :width]
                held = seen[some]
                seen[some] = seen[others]
                seen[others] = held

    def widen(self, capacity: int) -> None:
        """Append empty columns up to `capacity`."""
        if self.is_initialized:
            self.keys, self.values = (
                torch.cat([store, store.new_zeros(*store.shape[:2], capacity - store.shape[2], store.shape[3])], dim=2)
                for store in (self.keys, self.values)
            )


class RaggedCache(Cache):
    """The cache of a whole model with `layers` layers; `lengths` holds the number of cached tokens of each row."""

    def __init__(self, layers: int, rows: int, device: torch.device) -> None:
        self.places = Places()
        self.places.count = rows
        self.ragged = [RaggedLayer(self.places) for _ in range(layers)]
        super().__init__(layers=list(self.ragged))
        self.lengths = [0] * rows
        self._device = device

    def place(self, tokens: Sequence[Sequence[int]], pad: int, first: int = 0) -> tuple[Tensor, Tensor]:
        """Make room for `tokens`, one list for each row from `first` on; return ids and positions, both of shape (rows, longest list).

        Both are padded on the left. A padding token has position 0, so it attends to one real token. It is written to the last column,
        which lies beyond every width, so no token attends to it.
        """
        places, last = self.places, first + len(tokens)
        new = [range(held, held + len(row)) for held, row in zip(self.lengths[first:last], tokens, strict=True)]
        self.lengths[first:last] = [row.stop for row in new]
        places.width = max(self.lengths[first:last])
        self.reserve(places.width)
        places.rows = slice(first, last)
        places.index = torch.arange(first, last, device=self._device)[:, None]
        places.columns = self._padded(new, places.capacity - 1)
        return self._padded(tokens, pad), self._padded(new, 0)

    def _padded(self, rows: Sequence[Sequence[int]], pad: int) -> Tensor:
        most = max(len(row) for row in rows)
        return torch.tensor([[pad] * (most - len(row)) + [*row] for row in rows], device=self._device)

    def reserve(self, width: int) -> None:
        """Make the capacity at least `width` columns and one more for padding tokens."""
        if width >= self.places.capacity:
            self.places.capacity = max(width + 1, self.places.capacity * 3 // 2)
            for layer in self.ragged:
                layer.widen(self.places.capacity)

    def select(self, rows: Sequence[int]) -> None:
        """Replace the batch by copies of `rows`, in that order."""
        self.lengths = [self.lengths[row] for row in rows]
        for layer in self.ragged:
            layer.select(torch.tensor(rows, device=self._device), max(self.lengths))

    def swap(self, some: Sequence[int], others: Sequence[int]) -> None:
        """Exchange the rows `some` with the rows `others`, pair by pair."""
        if some:
            width = max(self.lengths[row] for row in (*some, *others))
            for a, b in zip(some, others, strict=True):
                self.lengths[a], self.lengths[b] = self.lengths[b], self.lengths[a]
            left, right = (torch.tensor(rows, device=self._device) for rows in (some, others))
            for layer in self.ragged:
                layer.swap(left, right, width)
