"""All constants of a program in one block of memory, each in the order that its kernel wants."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence

import numpy as np

from relay_tune.quick_dataclass import dataclass
from relay_tune.runtime.aligned_memory import as_bytes, rounded_up
from relay_tune.runtime.freed_memory import give_back_memory
from relay_tune.runtime.large_pages import large_page_bytes
from relay_tune.schedule.packing import PackRecipe
from relay_tune.tensor.deferred_array import ConstantData, array_of

GIVEN_BACK_BYTES = 32 << 20
"""So much of freed constants is kept from the system at most, while others wait."""

PACKED_TOGETHER = 16 << 20
"""Bytes of a constant that are packed at a time, where it is written to a file."""


@dataclass(frozen=True, eq=False, slots=True)
class _Entry:
    data: ConstantData
    recipe: PackRecipe | None
    offset: int

    @property
    def size(self) -> int:
        elements = self.data.size if self.recipe is None else self.recipe.size
        return int(elements * self.data.itemsize)

    def pieces(self) -> Iterator[memoryview]:
        """The bytes; a copy only where they are packed, a part at a time, or not contiguous."""
        data = array_of(self.data)
        if self.recipe is None:
            yield as_bytes(data).data
            return
        for part in self.recipe.parts(PACKED_TOGETHER // data.itemsize):
            yield as_bytes(part.pack(data)).data


class ConstantBlock:
    """Gives constants offsets first; the bytes are made when they are wanted.

    A library is written piece by piece, without the whole block in memory. For calls in this
    process the block is filled once, and then the only copy that this object keeps.
    """

    def __init__(self) -> None:
        self._entries: dict[tuple[int, PackRecipe | None], _Entry] = {}
        self._derived: dict[tuple[int, ...], tuple[ConstantData, Sequence[object]]] = {}
        self._end = 0
        self._block: np.ndarray | None = None
        self._lock = threading.Lock()

    def add(self, data: ConstantData, recipe: PackRecipe | None = None) -> int:
        """The offset in bytes of a constant, packed by `recipe`; equal requests share it."""
        recipe = None if recipe is None else recipe.merged
        key = (id(data), recipe)
        known = self._entries.get(key)
        if known is None:
            known = _Entry(data, recipe, self._end)
            self._entries[key] = known
            self._end += rounded_up(known.size)
        return known.offset

    def shared(self, place: int, sources: Sequence[object], data: ConstantData) -> ConstantData:
        """The constant number `place` that was first made of some sources; now that is `data`.

        Sources are what says how it is made and of which constants; they are told apart by
        identity, and held until the block is filled.
        """
        key = (place, *map(id, sources))
        return self._derived.setdefault(key, (data, sources))[0]

    @property
    def size(self) -> int:
        """The bytes of the whole block."""
        return self._end

    def array(self) -> np.ndarray:
        """The block as bytes, 64-byte aligned, gaps zero; nothing can be added any more."""
        with self._lock:
            if self._block is None:
                self._block = large_page_bytes(self._end)
            if self._entries:
                self._fill(self._block)
            return self._block

    def pieces(self) -> Iterator[memoryview]:
        """The bytes of the block in order, packed as they are wanted."""
        with self._lock:
            is_separate, entries = self._block is None, list(self._entries.values())
        if not is_separate:
            yield self.array().data
            return
        for entry in entries:
            yield from entry.pieces()
            yield memoryview(bytes(rounded_up(entry.size) - entry.size))

    def _fill(self, block: np.ndarray) -> None:
        """Let go of each constant as soon as it is in the block; goes on where it was left."""
        self._derived.clear()
        freed = 0
        while self._entries:
            key, entry = next(iter(self._entries.items()))
            room = block[entry.offset : entry.offset + entry.size]
            data = array_of(entry.data)
            if entry.recipe is None:
                room[:] = as_bytes(data)
            else:
                packed = room.view(data.dtype).reshape(entry.recipe.shape)
                entry.recipe.pack_into(packed, data)
            freed += entry.size
            del self._entries[key], entry, data
            if freed >= GIVEN_BACK_BYTES or not self._entries:
                give_back_memory()
                freed = 0
