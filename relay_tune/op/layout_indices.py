"""Index expressions over tensors whose layout is a string such as NCHW, NHWC or NCHW16c.

A computation speaks of letters ("the channel is c, the row is h"); these functions turn that into
the index of each dimension of the stored tensor. A position on a blocked axis stays split into
block and place wherever the layouts agree, so that the indices remain affine.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from relay_tune.quick_dataclass import dataclass
from relay_tune.tensor.expression import (
    INDEX,
    Axis,
    Literal,
    Load,
    Scalar,
    Tensor,
    binary,
    cast,
    literal,
)
from relay_tune.tensor.tensor import Computed, compute
from relay_tune.typing.layout import parse_layout

ZERO = literal(0, INDEX)


@dataclass(frozen=True, slots=True, eq=False)
class SplitIndex:
    """The position `block * size + place` on a blocked axis."""

    block: Scalar
    place: Scalar
    size: int


Index = Scalar | SplitIndex
"""A position on one letter's axis."""


def whole(index: Index) -> Scalar:
    """The position as one expression."""
    if isinstance(index, SplitIndex):
        return index.block * index.size + index.place
    return index


def block_sizes(layout: str, letter: str) -> tuple[int, ...]:
    """The block sizes of a letter's axis, outermost first; empty if it is not blocked."""
    return tuple(
        axis.factor for axis in parse_layout(layout) if axis.letter == letter and axis.factor
    )


def channel_block(layout: str) -> int:
    """The block size of the axis of channels where that is blocked once, else 0."""
    sizes = block_sizes(layout, "C")
    return sizes[0] if len(sizes) == 1 else 0


def spatial_letters(layout: str) -> str:
    """The letters of the spatial axes of a layout, in the order of depth, height, width."""
    present = {axis.letter for axis in parse_layout(layout)}
    return "".join(letter for letter in "DHW" if letter in present)


def letter_sizes(shape: Sequence[int], layout: str) -> dict[str, int]:
    """The size of each letter's whole axis in a tensor of `shape`."""
    sizes: dict[str, int] = {}
    for axis, extent in zip(parse_layout(layout), shape, strict=True):
        sizes[axis.letter] = sizes.get(axis.letter, 1) * extent
    return sizes


def load_at(tensor: Tensor, layout: str, position: Mapping[str, Index]) -> Load:
    """The element of `tensor`, stored in `layout`, at a position given letter by letter."""
    per_letter = {
        letter: iter(_stored_indices(index, block_sizes(layout, letter)))
        for letter, index in position.items()
    }
    stored = [next(per_letter[axis.letter]) for axis in parse_layout(layout)]
    indices = [
        ZERO if extent == 1 else index for index, extent in zip(stored, tensor.shape, strict=True)
    ]
    return tensor[tuple(indices)]


def letter_positions(layout: str, axes: Sequence[Scalar]) -> dict[str, Index]:
    """The position, letter by letter, of the element at `axes` of a tensor stored in `layout`."""
    positions: dict[str, Index] = {}
    for layout_axis, axis in zip(parse_layout(layout), axes, strict=True):
        outer = positions.get(layout_axis.letter)
        if outer is None:
            positions[layout_axis.letter] = axis
        else:
            positions[layout_axis.letter] = SplitIndex(whole(outer), axis, layout_axis.factor)
    return positions


def compute_elements(name: str, shape: Sequence[int], element: Callable[..., Scalar]) -> Computed:
    """Like `compute`, but `element` gets the literal 0 for an axis of extent 1."""
    return compute(
        name,
        shape,
        lambda *axes: element(*(ZERO if axis.extent == 1 else axis for axis in axes)),
    )


def cast_tensor(tensor: Tensor, dtype: str) -> Tensor:
    """`tensor` converted by one more stage; itself if it has that element type."""
    if tensor.dtype == dtype:
        return tensor
    return compute_elements(f"{tensor.name}_cast", tensor.shape, lambda *i: cast(tensor[i], dtype))


class ReductionAxes:
    """The axes of one reduction, in the order in which they are made; extent 1 makes none."""

    def __init__(self) -> None:
        self.axes: list[Axis] = []

    def add(self, name: str, extent: int) -> Scalar:
        """A new axis, or the literal 0 where there is only one position."""
        if extent == 1:
            return ZERO
        axis = Axis(name, extent, dtype=INDEX)
        self.axes.append(axis)
        return axis


def _stored_indices(index: Index, sizes: Sequence[int]) -> list[Scalar]:
    """The indices of a letter's block count and of its blocks, outermost first."""
    if isinstance(index, SplitIndex) and tuple(sizes) == (index.size,):
        return [index.block, index.place]
    rest = whole(index)
    positions: list[Scalar] = []
    for size in reversed(sizes):
        positions.append(remainder(rest, size))
        rest = quotient(rest, size)
    return [rest, *reversed(positions)]


def quotient(index: Scalar, divisor: int) -> Scalar:
    """`index // divisor`, simplified for literals."""
    if isinstance(index, Literal):
        return literal(int(index.value) // divisor, INDEX)
    return binary("floordiv", index, divisor)


def remainder(index: Scalar, divisor: int) -> Scalar:
    """`index % divisor`, simplified for literals."""
    if isinstance(index, Literal):
        return literal(int(index.value) % divisor, INDEX)
    return binary("floormod", index, divisor)
