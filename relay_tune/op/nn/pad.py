"""nn.pad, nn.mirror_pad: a tensor with more (or fewer) elements at the ends of its axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from relay_tune.errors import InputError
from relay_tune.ir.expr import Attributes
from relay_tune.ir.operator import FusionKind, define
from relay_tune.op.elements import Array
from relay_tune.op.layout_indices import ZERO, compute_elements, remainder
from relay_tune.op.nn.windows import pad_axes
from relay_tune.quick_dataclass import dataclass
from relay_tune.tensor.expression import Literal, Scalar, Tensor, binary, index_value
from relay_tune.tensor.size import is_symbolic
from relay_tune.tensor.tensor import Computed
from relay_tune.typing.relations.shape import pad as pad_relation

Widths = tuple[tuple[int, int], ...]

PAD_MODES = ("constant", "edge", "reflect", "wrap")


@dataclass(frozen=True)
class PadAttributes(Attributes):
    """Attributes of nn.pad.

    Attributes:
        pad_width: (before, after) for each axis; negative numbers cut off.
        pad_mode: "constant" (pad_value), "edge" (the outermost element), "reflect" (mirrored at
            the outermost element) or "wrap" (from the other end).
    """

    pad_width: Widths
    pad_mode: str = "constant"


@dataclass(frozen=True)
class MirrorPadAttributes(Attributes):
    """Attributes of nn.mirror_pad.

    Attributes:
        pad_width: (before, after) for each axis.
        mode: "SYMMETRIC" repeats the outermost element, "REFLECT" does not.
    """

    pad_width: Widths
    mode: str = "SYMMETRIC"


def _pad(attributes: Any, inputs: Sequence[Any], types: Sequence[Any]) -> list[Tensor]:
    data, value = inputs
    if attributes.pad_mode == "constant":
        before = [first for first, _ in attributes.pad_width]
        padded = pad_axes(data, before, types[0].shape, _scalar_of(value))
        return [_copy(data) if padded is data else padded]
    return [_repeat(data, attributes.pad_width, attributes.pad_mode, types[0].shape)]


def _mirror_pad(attributes: Any, inputs: Sequence[Any], types: Sequence[Any]) -> list[Tensor]:
    return [_repeat(inputs[0], attributes.pad_width, attributes.mode.lower(), types[0].shape)]


def _scalar_of(value: Tensor) -> Scalar:
    """The element of a rank-0 tensor, as a literal if it is one."""
    if isinstance(value, Computed) and isinstance(value.body, Literal):
        return value.body
    return value[()]


def _copy(data: Tensor) -> Tensor:
    return compute_elements("pad", data.shape, lambda *axes: data[axes])


def _repeat(data: Tensor, widths: Widths, mode: str, shape: Sequence[int]) -> Tensor:
    """The tensor whose elements outside of the data repeat elements of the data."""

    def element(*axes: Scalar) -> Scalar:
        positions = [
            _source(axis, extent, width, mode)
            for axis, extent, width in zip(axes, data.shape, widths, strict=True)
        ]
        return data[tuple(positions)]

    return compute_elements("pad", shape, element)


def _source(axis: Scalar, extent: int, width: tuple[int, int], mode: str) -> Scalar:
    """Which element of an axis of `extent` elements stands at `axis` of the padded one.

    What negative widths cut off is gone before anything is repeated.
    """
    first, last = max(-width[0], 0), extent - max(-width[1], 0)
    position = axis - max(width[0], 0)
    if max(width) <= 0:
        return position + first
    size = last - first
    return _inside(position, size, mode) + first


def _inside(position: Scalar, size: int, mode: str) -> Scalar:
    """The element, of `size`, that stands at `position` before or behind them."""
    if size == 1:
        return ZERO
    match mode:
        case "edge":
            return binary("max", binary("min", position, size - 1), 0)
        case "wrap":
            return remainder(position, size)
        case "reflect":
            turn = binary("floormod", position, _period_of_reflection(size))
            return binary("min", turn, index_value(2 * size - 2) - turn)
        case "symmetric":
            turn = remainder(position, 2 * size)
            return binary("min", turn, index_value(2 * size - 1) - turn)
    raise InputError(f'Padding mode "{mode}" is unknown.', remedy=f"Use one of {PAD_MODES}.")


def _period_of_reflection(size: int) -> Scalar | int:
    """After how many elements a reflection repeats; of an open size that may be 1 at least 1."""
    period = 2 * size - 2
    return binary("max", index_value(period), 1) if is_symbolic(size) else period


def _pad_reference(attributes: PadAttributes, data: Array, value: Array) -> Array:
    if attributes.pad_mode not in PAD_MODES:
        raise InputError(
            f'Padding mode "{attributes.pad_mode}" is unknown.', remedy=f"Use one of {PAD_MODES}."
        )
    if attributes.pad_mode == "constant":
        inner, widths = _cut(data, attributes.pad_width)
        return np.pad(inner, widths, constant_values=value.astype(data.dtype))
    return _pad_array(data, attributes.pad_width, attributes.pad_mode)


def _mirror_pad_reference(attributes: MirrorPadAttributes, data: Array) -> Array:
    return _pad_array(data, attributes.pad_width, attributes.mode.lower())


def _pad_array(data: Array, widths: Widths, mode: Any) -> Array:
    inner, positive = _cut(data, widths)
    return np.pad(inner, positive, mode=mode)


def _cut(data: Array, widths: Widths) -> tuple[Array, list[tuple[int, int]]]:
    """The data without what negative widths cut off, and the other widths."""
    where = tuple(
        slice(max(-before, 0), extent - max(-after, 0))
        for extent, (before, after) in zip(data.shape, widths, strict=True)
    )
    return data[where], [(max(before, 0), max(after, 0)) for before, after in widths]


pad = define(
    name="nn.pad",
    arguments=("data", "pad_value"),
    relation=pad_relation,
    kind=FusionKind.INJECTIVE,
    attributes=PadAttributes,
    compute=_pad,
    reference=_pad_reference,
    documentation="data with elements added at the ends of its axes; pad_value is a scalar.",
)

mirror_pad = define(
    name="nn.mirror_pad",
    arguments=("data",),
    relation=pad_relation,
    kind=FusionKind.INJECTIVE,
    attributes=MirrorPadAttributes,
    compute=_mirror_pad,
    reference=_mirror_pad_reference,
    documentation="data with mirror images of itself at the ends of its axes.",
)
