"""The operands of products on matrix registers: parts of data, and of constants in pairs of rows.

A float32 is the sum of two or three bfloat16, each of which has 8 bits: what one of them misses,
the next one holds (G. Henry, P. Tang and A. Heinecke, Leveraging the bfloat16 artificial
intelligence datatype for higher-precision computations, ARITH 2019, section II).

Of an infinite float32, the last part alone is infinite, and the others have its sign. It meets the
other factor's first part only, which has the sign of that factor: so sums
of products are infinite or NaN where sums of float32 are.

    parts[p, .., i]        part p of the data, rows of which are read 32 elements at a time
    pairs[o // 16, .., k // 32, p, (k % 32) // 2, o % 16, k % 2]        part p of the constants
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

import ml_dtypes
import numpy as np

from relay_tune.machine.pattern import BFLOAT16_PAIRS
from relay_tune.quick_dataclass import dataclass
from relay_tune.schedule.rewrites.products import Product
from relay_tune.tensor.affine import axis_affine
from relay_tune.tensor.expression import Axis, Scalar, Tensor, binary, cast, literal, select, unary
from relay_tune.tensor.tensor import compute
from relay_tune.tensor.walk import substitute

COLUMNS, STEPS, PAIR = BFLOAT16_PAIRS.columns, BFLOAT16_PAIRS.steps, BFLOAT16_PAIRS.group

LARGEST = np.float32(ml_dtypes.finfo(ml_dtypes.bfloat16).max)
"""The largest bfloat16; somewhat larger float32 round to an infinity."""


@dataclass(frozen=True, eq=False, slots=True)
class LeftOperand:
    """The parts of the data of a product.

    Attributes:
        parts: the tensor, its last dimension the steps that lie beside each other.
        inner: the last reduction axes, those of these steps.
        at: the element of a part at a step, counted over `inner` and up to a multiple of 32.
    """

    parts: Tensor
    inner: tuple[Axis, ...]
    at: Callable[[int, Scalar], Scalar]


def steps_in_place(product: Product) -> int:
    """How many of the last reduction axes run over data that lie beside each other.

    Such are the channels, and with them the columns of a window that moves over them, if these fill
    registers: else what follows the window would be multiplied by zeros, and its NaN would spread.
    """
    *upper, channel = product.data.indices
    if channel is not product.steps[-1] or channel.extent != product.data.tensor.shape[-1]:
        return 0
    if any(channel in _axes(index) for index in upper):
        return 0
    return 1 if _window(product, upper) is None else 2


def rows_in_place(product: Product, data: Tensor, parts: int) -> LeftOperand | None:
    """The parts of the data as these lie in memory; None if no steps lie beside each other."""
    if not steps_in_place(product):
        return None
    upper, channel = product.data.indices[:-1], product.steps[-1]
    window = _window(product, upper)
    if window is None:
        return _channels_in_place(product, data, parts)
    column, start = window
    channels = data.shape[-1]
    whole = data.shape[-2] * channels

    def element(*at: Scalar) -> Scalar:
        *lead, i = at
        return data[(*lead, i // channels, i % channels)]

    stored = _parts(parts, (*data.shape[:-2], whole), whole, element)
    first: Scalar = literal(0, channel.dtype)
    for axis, factor in start.items():
        first = first + axis * (factor * channels)

    def at(part: int, step: Scalar) -> Scalar:
        return stored[(part, *upper[:-1], first + step)]

    return LeftOperand(stored, (column, channel), at)


def rows_gathered(product: Product, data: Tensor, parts: int) -> LeftOperand:
    """The parts of all that each row of the product reads, beside each other."""
    steps, rows = product.steps, product.rows
    whole = prod(axis.extent for axis in steps)

    def element(*at: Scalar) -> Scalar:
        *places, step = at
        digits = _digits(step, [axis.extent for axis in steps])
        known: dict[Axis, Scalar] = dict(zip((*rows, *steps), (*places, *digits), strict=True))
        return data[tuple(substitute(index, known) for index in product.data.indices)]

    shape = (*(axis.extent for axis in rows), _rounded(whole))
    stored = _parts(parts, shape, whole, element)

    def at(part: int, step: Scalar) -> Scalar:
        return stored[(part, *rows, step)]

    return LeftOperand(stored, steps, at)


def pairs_shape(weights: tuple[int, ...], inner: int, parts: int) -> tuple[int, ...]:
    """The shape of `pairs_of` weights of a shape."""
    *steps, columns = weights
    outer, fused = steps[: len(steps) - inner], steps[len(steps) - inner :]
    blocks = _rounded(prod(fused)) // STEPS
    return (columns // COLUMNS, *outer, blocks, parts, STEPS // PAIR, COLUMNS, PAIR)


def pairs_of(weights: np.ndarray, inner: int, parts: int) -> np.ndarray:
    """The parts of weights (outer steps .., inner steps .., columns), the last `inner` fused."""
    columns = weights.shape[-1]
    outer = weights.shape[: weights.ndim - 1 - inner]
    depth = prod(weights.shape[len(outer) : -1])
    flat = np.zeros((prod(outer), _rounded(depth), columns), np.float32)
    flat[:, :depth] = weights.reshape(prod(outer), depth, columns)
    split = np.stack(split_floats(flat, parts))
    blocks = split.reshape(parts, *outer, -1, STEPS // PAIR, PAIR, columns // COLUMNS, COLUMNS)
    part, *middle, half, pair, block, column = range(blocks.ndim)
    return np.ascontiguousarray(blocks.transpose(block, *middle, part, half, column, pair))


def stored_pairs(product: Product, weight: Tensor, inner: int, parts: int) -> Tensor:
    """The parts of weights that are only known at run time, as `pairs_of` has those of constants.

    Before the blocks of columns stand the axes that data and weights share.
    """
    outer, fused = product.steps[:-inner], product.steps[-inner:]
    column, shared = product.stage.axes[-1], product.shared
    depth = prod(axis.extent for axis in fused)
    shape = (
        *(axis.extent for axis in shared),
        column.extent // COLUMNS,
        *(axis.extent for axis in outer),
        _rounded(depth) // STEPS,
        parts,
        STEPS // PAIR,
        COLUMNS,
        PAIR,
    )

    def element(*at: Scalar) -> Scalar:
        *places, number, half, place, pair = at
        block = places[len(shared)]
        step = places[-1] * STEPS + half * PAIR + pair
        digits = _digits(step, [axis.extent for axis in fused])
        known: dict[Axis, Scalar] = dict(zip(shared, places, strict=False))
        known |= dict(zip(outer, places[len(shared) + 1 : -1], strict=True))
        known |= dict(zip(fused, digits, strict=True))
        known[column] = block * COLUMNS + place
        value = weight[tuple(substitute(index, known) for index in product.weight.indices)]
        part = _part(number, value, parts)
        return part if depth % STEPS == 0 else select(binary("lt", step, depth), part, 0.0)

    return compute("pairs", shape, element)


def split_floats(values: np.ndarray, parts: int) -> list[np.ndarray]:
    """The bfloat16 parts of float32 values, the largest first."""
    found, rest = [], values
    for _ in range(parts - 1):
        is_large = np.abs(rest) > LARGEST
        bound = np.where(np.isinf(rest), np.float32(1), LARGEST)
        part = np.where(is_large, np.copysign(bound, rest), rest).astype(ml_dtypes.bfloat16)
        found.append(part)
        rest = rest - part.astype(np.float32)
    return [*found, rest.astype(ml_dtypes.bfloat16)]


def _channels_in_place(product: Product, data: Tensor, parts: int) -> LeftOperand:
    channel = product.steps[-1]
    stored = _parts(
        parts, (*data.shape[:-1], _rounded(channel.extent)), channel.extent, lambda *at: data[at]
    )
    upper = product.data.indices[:-1]
    return LeftOperand(stored, (channel,), lambda part, step: stored[(part, *upper, step)])


def _window(product: Product, upper: Sequence[Scalar]) -> tuple[Axis, dict[Axis, int]] | None:
    """The axis of a window's columns, and the axes that its start depends on with their factors."""
    if not upper or len(product.steps) < 2:
        return None
    form = axis_affine(upper[-1])
    column, channel = product.steps[-2:]
    if column.extent * channel.extent % STEPS:
        return None
    if form is None or form.constant or form.coefficient(column) != 1:
        return None
    if any(column in _axes(index) for index in upper[:-1]):
        return None
    start = {axis: form.coefficient(axis) for axis in _axes(upper[-1]) if axis is not column}
    if not set(start) <= set(product.rows) or any(factor < 0 for factor in start.values()):
        return None
    return column, start


def _parts(
    parts: int, shape: tuple[int, ...], whole: int, element: Callable[..., Scalar]
) -> Tensor:
    """The parts of elements; zero from `whole` on in the last dimension."""

    def part(number: Scalar, *at: Scalar) -> Scalar:
        value = _part(number, element(*at), parts)
        if shape[-1] == whole:
            return value
        return select(binary("lt", at[-1], whole), value, 0.0)

    return compute("parts", (parts, *shape), part)


def _part(number: Scalar, value: Scalar, parts: int) -> Scalar:
    """The part of a value that has a number."""
    pieces = _pieces(value, parts)
    chosen = pieces[-1]
    for place in reversed(range(parts - 1)):
        chosen = select(binary("lt", number, place + 1), pieces[place], chosen)
    return chosen


def _pieces(value: Scalar, parts: int) -> list[Scalar]:
    found: list[Scalar] = []
    rest = value
    for _ in range(parts - 1):
        is_large = binary("gt", unary("abs", rest), float(LARGEST))
        bound = select(unary("isinf", rest), literal(1.0, rest.dtype), float(LARGEST))
        found.append(cast(select(is_large, unary("sign", rest) * bound, rest), "bfloat16"))
        rest = rest - cast(found[-1], "float32")
    return [*found, cast(rest, "bfloat16")]


def _digits(number: Scalar, extents: Sequence[int]) -> list[Scalar]:
    """A number's place on each axis of a row-major array."""
    found: list[Scalar] = []
    for place in range(len(extents)):
        digit = number // prod(extents[place + 1 :])
        found.append(digit % extents[place] if place else digit)
    return found


def _rounded(extent: int) -> int:
    """The multiple of a register's steps that holds so many."""
    return -(-extent // STEPS) * STEPS


def _axes(index: Scalar) -> tuple[Axis, ...]:
    form = axis_affine(index)
    assert form is not None
    return tuple(axis for axis in form.terms if isinstance(axis, Axis))
