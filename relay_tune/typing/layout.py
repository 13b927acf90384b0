"""Layout strings such as NCHW, HWIO, NCHW16c or OIHW16i16o, and shapes in them.

A capital letter is a whole axis; if a small letter of the same name follows somewhere, with a
number before it, the axis is blocked: the capital counts blocks, the small letter runs in a block.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from relay_tune.ir.dim import Dim
from relay_tune.ir.dim_arithmetic import floor_divide, multiply
from relay_tune.ir.operator import RelationError
from relay_tune.ir.types import TensorType
from relay_tune.quick_dataclass import dataclass
from relay_tune.typing.type_text import type_text

_AXIS = re.compile(r"([A-Z])|([0-9]+)([a-z])")


@dataclass(frozen=True, slots=True)
class LayoutAxis:
    """One axis of a layout: `letter` is a capital; `factor` is the size of a block, 0 if whole."""

    letter: str
    factor: int = 0


@lru_cache(maxsize=256)
def parse_layout(text: str) -> tuple[LayoutAxis, ...]:
    """The axes of a layout string; RelationError if it is malformed."""
    axes = [_layout_axis(found) for found in _AXIS.finditer(text)]
    whole = [axis.letter for axis in axes if not axis.factor]
    blocked = {axis.letter for axis in axes if axis.factor}
    complete = "".join(found.group() for found in _AXIS.finditer(text)) == text
    if not complete or len(set(whole)) != len(whole) or not blocked <= set(whole) or not axes:
        raise RelationError(f'"{text}" is not a layout such as NCHW or NCHW16c')
    return tuple(axes)


def logical_dims(tensor: TensorType, layout: str) -> dict[str, Dim]:
    """The size of each whole axis, by letter, in the order of the layout.

    Raises RelationError if the rank or a block size is not that of the layout.
    """
    axes = parse_layout(layout)
    if len(axes) != len(tensor.shape):
        raise RelationError(
            f"layout {layout} has {len(axes)} axes, but {type_text(tensor)} has "
            f"{len(tensor.shape)} dimensions"
        )
    sizes: dict[str, Dim] = {axis.letter: 1 for axis in axes if not axis.factor}
    for index, (axis, dim) in enumerate(zip(axes, tensor.shape, strict=True)):
        if axis.factor and isinstance(dim, int) and dim != axis.factor:
            raise RelationError(
                f"layout {layout} has blocks of {axis.factor}, but dimension {index} of "
                f"{type_text(tensor)} is {dim}"
            )
        sizes[axis.letter] = multiply(sizes[axis.letter], axis.factor or dim)
    return sizes


def physical_shape(sizes: Mapping[str, Dim], layout: str) -> tuple[Dim, ...]:
    """The shape, in `layout`, of a tensor with these sizes; blocks must divide the sizes."""
    axes = parse_layout(layout)
    missing = [axis.letter for axis in axes if axis.letter not in sizes]
    if missing or len({axis.letter for axis in axes}) != len(sizes):
        raise RelationError(f"layout {layout} does not have the axes {''.join(sizes)}")
    return tuple(axis.factor or _blocks(axis.letter, sizes, layout) for axis in axes)


def _blocks(letter: str, sizes: Mapping[str, Dim], layout: str) -> Dim:
    """The number of blocks of an axis, which is its size if it is not blocked."""
    size, block = sizes[letter], 1
    for axis in parse_layout(layout):
        if axis.letter == letter and axis.factor:
            block *= axis.factor
    if isinstance(size, int) and size % block:
        raise RelationError(
            f"layout {layout}: axis {letter} of size {size} has no blocks of {block}"
        )
    return floor_divide(size, block)


def _layout_axis(found: re.Match[str]) -> LayoutAxis:
    if found[1]:
        return LayoutAxis(found[1])
    return LayoutAxis(found[3].upper(), int(found[2]))
