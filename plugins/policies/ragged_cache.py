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
    """Where the next forward pass writes; shared by all layers. `columns` has shape (rows, tokens), `width` covers every real column."""

    columns: Tensor
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
        rows, capacity = key_states.shape[0], self._places.capacity
        # Zeros, not empty: a masked column still meets the softmax's zero, and zero times NaN is NaN.
        self.keys = key_states.new_zeros(rows, key_states.shape[1], capacity, key_states.shape[3])
        self.values = value_states.new_zeros(rows, value_states.shape[1], capacity, value_states.shape[3])
        self.dtype, self.device = key_states.dtype, key_states.device
        self.is_initialized = True

    def update(self, key_states: Tensor, value_states: Tensor, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
        """Write the new tokens; return what the rows in front have so far, as (rows, heads, width, size)."""
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        rows, columns, width = key_states.shape[0], self._places.columns, self._places.width
        index = torch.arange(rows, device=columns.device)[:, None]
        self.keys[index, :, columns] = key_states.transpose(1, 2)
        self.values[index, :, columns] = value_states.transpose(1, 2)
        return self.keys[:rows, :, :width], self.values[:rows, :, :width]

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        return self._places.width, 0

    def get_seq_length(self) -> int:
        return self._places.width

    def get_max_length(self) -> int:
        return -1

    def get_max_cache_shape(self) -> int:
        return -1

    def select(self, rows: Tensor) -> None:
        """Make the batch be copies of `rows`, in that order."""
        if self.is_initialized:
            self.keys, self.values = self.keys[rows], self.values[rows]

    def swap(self, some: Tensor, others: Tensor) -> None:
        if self.is_initialized:
            for store in (self.keys, self.values):
                seen = store[:, :, : self._places.width]
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
        self.ragged = [RaggedLayer(self.places) for _ in range(layers)]
        super().__init__(layers=list(self.ragged))
        self.lengths = torch.zeros(rows, dtype=torch.long, device=device)
        self._longest = 0

    def place(self, tokens: Sequence[Sequence[int]], pad: int) -> tuple[Tensor, Tensor]:
        """Make room for `tokens`, one list for each of the first rows; return ids and positions, both (rows, most tokens), padded left.

        A pad's position is 0, so it attends to one real token and nothing attends to it: it is written to the last column, which lies
        beyond every width.
        """
        device, rows, most = self.lengths.device, len(tokens), max(len(t) for t in tokens)
        ids = torch.tensor([[pad] * (most - len(t)) + list(t) for t in tokens], device=device)
        counts = torch.tensor([len(t) for t in tokens], device=device)
        steps = torch.arange(most, device=device) - most + counts[:, None]
        positions = (self.lengths[:rows, None] + steps).where(steps >= 0, 0)
        self.lengths[:rows] += counts
        width = int(self.lengths[:rows].max())
        self.reserve(width)
        self.places.width = width
        self.places.columns = positions.where(steps >= 0, self.places.capacity - 1)
        return ids, positions

    def reserve(self, width: int) -> None:
        """Have room for `width` columns and the one for pads."""
        if width >= self.places.capacity:
            self.places.capacity = max(width + 1, self.places.capacity * 3 // 2)
            for layer in self.ragged:
                layer.widen(self.places.capacity)

    def select(self, rows: Tensor) -> None:
        """Make the batch be copies of `rows`, in that order."""
        self.lengths = self.lengths[rows]
        for layer in self.ragged:
            layer.select(rows)

    def swap(self, some: Sequence[int], others: Sequence[int]) -> None:
        """Exchange the rows `some` with the rows `others`, pair by pair."""
        if some:
            a, b = torch.tensor(some, device=self.lengths.device), torch.tensor(others, device=self.lengths.device)
            self.places.width = int(self.lengths.max())
            self.lengths[a], self.lengths[b] = self.lengths[b], self.lengths[a]
            for layer in self.ragged:
                layer.swap(a, b)
