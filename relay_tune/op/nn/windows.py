"""The windows that convolutions and pools move over the spatial axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from relay_tune.op.layout_indices import compute_elements, spatial_letters
from relay_tune.quick_dataclass import dataclass
from relay_tune.tensor.expression import Number, Scalar, Tensor, binary, literal, select
from relay_tune.typing.layout import parse_layout
from relay_tune.typing.relations.support import as_tuple
from relay_tune.typing.windows import pad_pairs


@dataclass(frozen=True, slots=True)
class Windows:
    """Window sizes, strides, dilation and padding, one number a spatial axis."""

    size: tuple[int, ...]
    strides: tuple[int, ...]
    dilation: tuple[int, ...]
    before: tuple[int, ...]
    after: tuple[int, ...]

    @property
    def span(self) -> tuple[int, ...]:
        """The extent from the first to the last element of a window."""
        return tuple((k - 1) * d + 1 for k, d in zip(self.size, self.dilation, strict=True))


def windows_of(attributes: Any, size: Sequence[int]) -> Windows:
    """The windows of a record with strides, dilation and padding."""
    rank = len(size)
    pads = pad_pairs(attributes.padding, rank)
    return Windows(
        size=tuple(size),
        strides=as_tuple(attributes.strides, rank, "strides"),
        dilation=as_tuple(attributes.dilation, rank, "dilation"),
        before=tuple(before for before, _ in pads),
        after=tuple(after for _, after in pads),
    )


def pad_axes(
    data: Tensor, before: Sequence[int], extents: Sequence[int], value: Scalar | Number
) -> Tensor:
    """`data` surrounded by `value`: `extents` are the new sizes, the data begins at `before`.

    A negative `before` cuts off that many elements. Without any change this is `data` itself.
    """
    if not any(before) and tuple(extents) == data.shape:
        return data
    border = value if isinstance(value, Scalar) else literal(value, data.dtype)

    def element(*axes: Scalar) -> Scalar:
        positions = [axis - first for axis, first in zip(axes, before, strict=True)]
        inside = _inside(axes, before, extents, data.shape)
        load = data[tuple(positions)]
        return load if inside is None else select(inside, load, border)

    return compute_elements("pad", extents, element)


def pad_data(
    data: Tensor, layout: str, before: Sequence[int], after: Sequence[int], value: float = 0
) -> Tensor:
    """`data` padded on the spatial axes of `layout`."""
    letters = spatial_letters(layout)
    first = [0] * data.rank
    extents = list(data.shape)
    for index, axis in enumerate(parse_layout(layout)):
        if axis.letter in letters:
            number = letters.index(axis.letter)
            first[index] = before[number]
            extents[index] += before[number] + after[number]
    return pad_axes(data, first, extents, value)


def conjunction(conditions: Sequence[Scalar]) -> Scalar | None:
    """All conditions at once; None where there are none."""
    if not conditions:
        return None
    result = conditions[0]
    for condition in conditions[1:]:
        result = binary("and", result, condition)
    return result


def _inside(
    axes: Sequence[Scalar], before: Sequence[int], extents: Sequence[int], sizes: Sequence[int]
) -> Scalar | None:
    """Whether a position of the padded tensor lies in the data; only what is not certain."""
    conditions: list[Scalar] = []
    for axis, first, extent, size in zip(axes, before, extents, sizes, strict=True):
        if first > 0:
            conditions.append(binary("ge", axis, first))
        if first + size < extent:
            conditions.append(binary("lt", axis, first + size))
    return conjunction(conditions)
