"""Constants in the order in which a kernel consumes them.

A packed constant has one dimension for each loop that an access depends on: tile numbers outside,
then reduction loops, then positions in the register tile, the vector axis last if it is among them.
Tiles at the edge are filled up with zeros, so that the kernel reads whole vectors everywhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from math import prod

import numpy as np

from relay_tune.quick_dataclass import dataclass
from relay_tune.tensor.expression import Tensor


@dataclass(frozen=True, slots=True)
class PackedAxis:
    """One axis of the access: `extent` points, `stride` elements apart, in tiles of `tile`."""

    extent: int
    stride: int
    tile: int

    @property
    def count(self) -> int:
        """The number of tiles, the last one perhaps not full."""
        return -(-self.extent // self.tile)


@dataclass(frozen=True, slots=True)
class PackRecipe:
    """How to make a packed constant from the original's elements.

    Attributes:
        offset: the first element.
        tiled: axes that become (tile numbers ...) and (positions in the tile ...).
        plain: axes that become one dimension each, between the two.
    """

    offset: int
    tiled: tuple[PackedAxis, ...]
    plain: tuple[PackedAxis, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """The packed shape: tile numbers, plain axes, positions in the tile."""
        return (
            *(axis.count for axis in self.tiled),
            *(axis.extent for axis in self.plain),
            *(axis.tile for axis in self.tiled),
        )

    @property
    def end(self) -> int:
        """The last element that the axes reach, and one."""
        axes = (*self.tiled, *self.plain)
        return self.offset + sum((axis.extent - 1) * axis.stride for axis in axes) + 1

    @property
    def size(self) -> int:
        """The packed number of elements."""
        return prod(self.shape)

    @property
    def merged(self) -> PackRecipe:
        """The recipe of the same bytes with plain axes that follow each other as one."""
        found: list[PackedAxis] = []
        for axis in self.plain:
            if found and found[-1].stride == axis.stride * axis.extent:
                last = found.pop()
                axis = PackedAxis(last.extent * axis.extent, axis.stride, 1)
            found.append(axis)
        return replace(self, plain=tuple(found))

    def parts(self, most: int) -> Iterator[PackRecipe]:
        """The recipes of parts of the packed array in order, of about so many elements each."""
        if not self.tiled or self.size <= most:
            yield self
            return
        first, *others = self.tiled
        together = max(1, most * first.count // self.size)
        for number in range(0, first.count, together):
            begin = number * first.tile
            extent = min(together * first.tile, first.extent - begin)
            axis = replace(first, extent=extent)
            offset = self.offset + begin * first.stride
            yield replace(self, offset=offset, tiled=(axis, *others))

    def pack(self, data: np.ndarray) -> np.ndarray:
        """The packed array of `data` (any shape, its elements in row-major order)."""
        packed = np.zeros(self.shape, dtype=data.dtype)
        self.pack_into(packed, data)
        return packed

    def pack_into(self, packed: np.ndarray, data: np.ndarray) -> None:
        """Like `pack`, into an array of the packed shape that holds zeros.

        Axes may reach beyond the data where a kernel reads under a condition, as of one part of a
        concatenation; nobody reads these elements, which become zeros.
        """
        flat = np.ascontiguousarray(data).reshape(-1)
        before, after = max(-self.offset, 0), max(self.end - flat.size, 0)
        if before or after:
            flat = np.pad(flat, (before, after))
        choices = [_tile_ranges(axis) for axis in self.tiled]
        for ranges in product(*choices):
            self._pack_part(flat, self.offset + before, packed, ranges)

    def _pack_part(
        self,
        flat: np.ndarray,
        start: int,
        packed: np.ndarray,
        ranges: Sequence[tuple[int, int, int]],
    ) -> None:
        """Copy the tiles whose numbers and sizes lie in `ranges` (first, last, size)."""
        item = flat.itemsize
        outer_shape, outer_strides, inner_shape, inner_strides = [], [], [], []
        where_outer, where_inner = [], []
        for axis, (first, last, size) in zip(self.tiled, ranges, strict=True):
            start += first * axis.tile * axis.stride
            outer_shape.append(last - first)
            outer_strides.append(axis.tile * axis.stride * item)
            inner_shape.append(size)
            inner_strides.append(axis.stride * item)
            where_outer.append(slice(first, last))
            where_inner.append(slice(0, size))
        plain_shape = [axis.extent for axis in self.plain]
        plain_strides = [axis.stride * item for axis in self.plain]
        view = np.lib.stride_tricks.as_strided(
            flat[start:],
            (*outer_shape, *plain_shape, *inner_shape),
            (*outer_strides, *plain_strides, *inner_strides),
            writeable=False,
        )
        everything = [slice(None)] * len(self.plain)
        packed[(*where_outer, *everything, *where_inner)] = view


@dataclass(frozen=True, eq=False, slots=True)
class PackedConstant:
    """A packed tensor, the constant that it comes from, and how."""

    tensor: Tensor
    source: Tensor
    recipe: PackRecipe


def _tile_ranges(axis: PackedAxis) -> list[tuple[int, int, int]]:
    """(first tile, after the last, size of each) for the full tiles and the one at the edge."""
    full, rest = divmod(axis.extent, axis.tile)
    ranges = [(0, full, axis.tile)] if full else []
    return [*ranges, (full, full + 1, rest)] if rest else ranges
