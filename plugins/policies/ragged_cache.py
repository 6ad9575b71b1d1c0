"""A key-value cache in which every row has its own length: column j of a row holds the keys and values of the row's token j.

There are no holes, so the attention mask is "column <= position" and nothing else. The rows that still sample are kept in front: a row
that pauses is swapped behind them, keeps its keys for the conversation's next turn, and costs nothing meanwhile.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from transformers.cache_utils import Cache, CacheLayerMixin


class Places:
    """Where the next forward pass writes; shared by all layers.

    `index` (rows, 1) and `columns` (rows, tokens) are places in the whole cache, of which the pass sees the rows in the slice `rows` and
    the first `width` columns: every real one of these rows.
    """

    rows: slice
    index: Tensor
    columns: Tensor
    count: int = 0
    width: int = 0
    capacity: int = 0


class RaggedLayer(CacheLayerMixin):  # type: ignore[no-untyped-call]
    """One layer's keys and values, stored as (rows, heads, capacity, size): what attention reads of a head is contiguous."""

    is_sliding = False

    def __init__(self, places: Places) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._places = places
        self.keys: Tensor
        self.values: Tensor

    def lazy_initialization(self, key_states: Tensor, value_states: Tensor) -> None:
        rows, capacity = self._places.count, self._places.capacity
        # Zeros, not empty: a masked column still meets the softmax's zero, and zero times NaN is NaN.
        self.keys = key_states.new_zeros(rows, key_states.shape[1], capacity, key_states.shape[3])
        self.values = value_states.new_zeros(rows, value_states.shape[1], capacity, value_states.shape[3])
        self.dtype, self.device = key_states.dtype, key_states.device
        self.is_initialized = True

    def update(self, key_states: Tensor, value_states: Tensor, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
        """Write the new tokens; return what the pass's rows have so far, as (rows, heads, width, size)."""
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
        """Make the batch be copies of `rows`, in that order, of which `width` columns are in use."""

        def selected(store: Tensor) -> Tensor:
            fresh = store.new_zeros(len(rows), *store.shape[1:])
            fresh[:, :, :width] = store[rows, :, :width]
            return fresh

        if self.is_initialized:
            self.keys, self.values = selected(self.keys), selected(self.values)

    def swap(self, some: Tensor, others: Tensor, width: int) -> None:
        if self.is_initialized:
            for store in (self.keys, self.values):
                seen = store[:, :, :width]
                held = seen[some]
                seen[some] = seen[others]
                seen[others] = held

    def widen(self, capacity: int) -> None:
        if self.is_initialized:
            self.keys, self.values = (
                torch.cat([store, store.new_zeros(*store.shape[:2], capacity - store.shape[2], store.shape[3])], dim=2)
                for store in (self.keys, self.values)
            )


class RaggedCache(Cache):
    """The cache of a whole model of `layers` layers; `lengths` says how many tokens of each row it holds."""

    def __init__(self, layers: int, rows: int, device: torch.device) -> None:
        self.places = Places()
        self.places.count = rows
        self.ragged = [RaggedLayer(self.places) for _ in range(layers)]
        super().__init__(layers=list(self.ragged))
        self.lengths = [0] * rows
        self._device = device

    def place(self, tokens: Sequence[Sequence[int]], pad: int, first: int = 0) -> tuple[Tensor, Tensor]:
        """Make room for `tokens`, one list for each row from `first` on; return ids and positions, both (rows, most tokens), padded left.

        A pad's position is 0, so it attends to one real token and nothing attends to it: it is written to the last column, which lies
        beyond every width.
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
        """Have room for `width` columns and the one for pads."""
        if width >= self.places.capacity:
            self.places.capacity = max(width + 1, self.places.capacity * 3 // 2)
            for layer in self.ragged:
                layer.widen(self.places.capacity)

    def select(self, rows: Sequence[int]) -> None:
        """Make the batch be copies of `rows`, in that order."""
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
