"""All constants of a program in one block of memory, each in the order that its kernel wants."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from relay_tune.runtime.aligned_memory import aligned_bytes, rounded_up
from relay_tune.schedule.packing import PackRecipe


@dataclass(frozen=True, eq=False, slots=True)
class _Entry:
    data: np.ndarray
    recipe: PackRecipe | None
    offset: int

    @property
    def size(self) -> int:
        elements = self.data.size if self.recipe is None else self.recipe.size
        return int(elements * self.data.itemsize)


class ConstantBlock:
    """Gives constants offsets first and is filled once, so that few bytes exist twice."""

    def __init__(self) -> None:
        self._entries: dict[tuple[int, PackRecipe | None], _Entry] = {}
        self._end = 0

    def add(self, data: np.ndarray, recipe: PackRecipe | None = None) -> int:
        """The offset in bytes of a constant, packed by `recipe`; equal requests share it."""
        key = (id(data), recipe)
        known = self._entries.get(key)
        if known is None:
            known = _Entry(data, recipe, self._end)
            self._entries[key] = known
            self._end += rounded_up(known.size)
        return known.offset

    @property
    def size(self) -> int:
        """The bytes of the whole block."""
        return self._end

    def fill(self) -> np.ndarray:
        """The block as bytes, 64-byte aligned, gaps zero."""
        block = aligned_bytes(self._end)
        for entry in self._entries.values():
            place = block[entry.offset : entry.offset + entry.size]
            if entry.recipe is None:
                place[:] = np.ascontiguousarray(entry.data).reshape(-1).view(np.uint8)
            else:
                packed = place.view(entry.data.dtype).reshape(entry.recipe.shape)
                entry.recipe.pack_into(packed, entry.data)
        return block
