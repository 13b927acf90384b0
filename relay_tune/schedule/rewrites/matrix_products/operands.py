"""The operands of products on matrix registers: parts of data, and of constants in groups of rows.

A float32 is the sum of two or three bfloat16, each of which has 8 bits: what one of them misses,
the next one holds (G. Henry, P. Tang and A. Heinecke, Leveraging the bfloat16 artificial
intelligence datatype for higher-precision computations, ARITH 2019, section II).

Of an infinite float32, the last part alone is infinite, and the others have its sign. It meets the
other factor's first part only, which has the sign of that factor: so sums
of products are infinite or NaN where sums of float32 are.

    parts[p, .., i]    part p of the data, rows of which are read S = 32 elements at a time
    groups[o // 16, .., k // S, p, (k % S) // G, o % 16, k % G]    part p of the constants, G = 2

Bytes are one part, and so are numbers that are bfloat16 already. Rows of their data are read where
the program has them, if these are a whole number of registers, which may be narrower than the
widest: 144 channels are three times 48.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import prod

import ml_dtypes
import numpy as np

from relay_tune.quick_dataclass import dataclass
from relay_tune.schedule.rewrites.matrix_products.form import Form
from relay_tune.schedule.rewrites.products import Product
from relay_tune.tensor.affine import axis_affine
from relay_tune.tensor.expression import (
    Axis,
    Scalar,
    Tensor,
    binary,
    cast,
    index_value,
    literal,
    select,
    unary,
)
from relay_tune.tensor.size import ceiling_quotient, is_symbolic
from relay_tune.tensor.tensor import Computed, Copy, compute, copy_of
from relay_tune.tensor.walk import axes_of, substitute

LARGEST = np.float32(ml_dtypes.finfo(ml_dtypes.bfloat16).max)
"""The largest bfloat16; somewhat larger float32 round to an infinity."""

CACHED_WEIGHTS = 1 << 16
"""So many weights at a time become parts of groups."""


Lines = dict[Tensor, Copy]
"""The parts of data of which each line of pixels is one row."""


@dataclass(frozen=True, eq=False, slots=True)
class LeftOperand:
    """The parts of the data of a product.

    Attributes:
        form: with the steps of a register.
        parts: the tensor, its last dimension the steps that lie beside each other.
        inner: the last reduction axes, those of these steps.
        at: the element of a part at a step, counted over `inner` and up to whole registers.
    """

    form: Form
    parts: Tensor
    inner: tuple[Axis, ...]
    at: Callable[[int, Scalar], Scalar]


def steps_in_place(product: Product, form: Form) -> int:
    """How many of the last reduction axes run over data that lie beside each other.

    Such are the channels, and with them the columns of a window that moves over them, if these fill
    registers: else what follows the window would be multiplied by zeros, and its NaN would spread.
    """
    *upper, channel = product.data.indices
    if channel is not product.steps[-1] or channel.extent != product.data.tensor.shape[-1]:
        return 0
    if any(channel in _axes(index) for index in upper):
        return 0
    return 1 if _window(product, upper, form) is None else 2


def rows_in_place(
    product: Product,
    data: Tensor,
    form: Form,
    known: Lines | None = None,
    *,
    beside: bool = False,
) -> LeftOperand | None:
    """The parts of the data as these lie in memory; None if no steps lie beside each other.

    `known` are those of other products, which may read the same data. With `beside`, all parts of a
    row of channels lie together where no window reads across them.
    """
    if not steps_in_place(product, form):
        return None
    upper, channel = product.data.indices[:-1], product.steps[-1]
    narrow = None if form.splits(data.dtype) else form.dividing(channel.extent)
    if narrow is not None:
        return LeftOperand(narrow, data, (channel,), lambda _, step: data[(*upper, step)])
    window = _window(product, upper, form)
    channels = data.shape[-1]
    if window is None and (beside or len(data.shape) < 3 or form.rounded(channels) != channels):
        return _channels_in_place(product, data, form, beside)
    known = {} if known is None else known
    stored = known[data] = known.get(data) or _lines(data, form)
    first = literal(0, channel.dtype) if window is not None else upper[-1] * channels
    for axis, factor in (window or {}).items():
        first = first + axis * (factor * channels)
    inner = product.steps[-1 if window is None else -2 :]

    def at(part: int, step: Scalar) -> Scalar:
        return stored[(part, *upper[:-1], first + step)]

    return LeftOperand(form, stored, inner, at)


def _lines(data: Tensor, form: Form) -> Copy:
    """The parts of data, of which each line of pixels is one row, channels beside channels."""
    channels = data.shape[-1]
    whole = data.shape[-2] * channels

    def element(*at: Scalar) -> Scalar:
        *lead, i = at
        return data[(*lead, i // channels, i % channels)]

    return _parts(form, (*data.shape[:-2], whole), whole, element)


def rows_gathered(
    product: Product, data: Tensor, form: Form, *, beside: bool = False
) -> LeftOperand:
    """The parts of all that each row of the product reads, beside each other.

    With `beside`, so are the parts of a row.
    """
    steps, rows = product.steps, product.rows
    whole = prod(axis.extent for axis in steps)
    form = form if form.splits(data.dtype) else form.balanced(whole)

    def element(*at: Scalar) -> Scalar:
        *places, step = at
        digits = _digits(step, [axis.extent for axis in steps])
        known: dict[Axis, Scalar] = dict(zip((*rows, *steps), (*places, *digits), strict=True))
        return data[tuple(substitute(index, known) for index in product.data.indices)]

    shape = (*(axis.extent for axis in rows), form.rounded(whole))
    stored = _parts(form, shape, whole, element, len(rows) if beside else 0)

    def at(part: int, step: Scalar) -> Scalar:
        return stored[(*rows, part, step) if beside else (part, *rows, step)]

    return LeftOperand(form, stored, steps, at)


def rows_in_registers(product: Product, data: Tensor, form: Form) -> LeftOperand:
    """The parts of all that each row of the product reads, in rows of a register's steps.

    Axes that the weights have as well come first, so that all of a part of a batch lies together.
    """
    used, steps = set(axes_of(product.data)), product.steps
    batch = [axis for axis in product.shared if axis in used]
    rows = [axis for axis in product.rows if axis in used and axis not in batch]
    shape = (
        *(axis.extent for axis in batch),
        form.parts,
        prod(axis.extent for axis in steps) // form.steps,
        *(axis.extent for axis in rows),
        form.steps,
    )

    def element(*at: Scalar) -> Scalar:
        number, block, *places = at[len(batch) :]
        digits = _digits(block * form.steps + places.pop(), [axis.extent for axis in steps])
        axes = (*batch, *rows, *steps)
        known = dict(zip(axes, (*at[: len(batch)], *places, *digits), strict=True))
        value = data[tuple(substitute(index, known) for index in product.data.indices)]
        return _part(number, value, form)

    stored = copy_of(compute("parts", shape, element))

    def at(part: int, step: Scalar) -> Scalar:
        place = step // form.steps, *rows, step % form.steps
        return stored[(*batch, part, *place)]

    return LeftOperand(form, stored, steps, at)


def groups_shape(weights: tuple[int, ...], inner: int, form: Form) -> tuple[int, ...]:
    """The shape of `groups_of` weights of a shape."""
    *steps, columns = weights
    outer, fused = steps[: len(steps) - inner], steps[len(steps) - inner :]
    return (columns // form.columns, *outer, form.blocks(prod(fused)), *_register_shape(form))


def _register_shape(form: Form) -> tuple[int, int, int, int]:
    """That of the parts of the weights of a register."""
    return form.parts, form.steps // form.group, form.columns, form.group


def groups_of(weights: np.ndarray, inner: int, form: Form) -> np.ndarray:
    """The parts of weights (outer steps .., inner steps .., columns), the last `inner` fused.

    A few blocks of columns at a time, so that what is made of them stays in a cache.
    """
    *steps, columns = weights.shape
    outer, depth = prod(steps[: len(steps) - inner]), prod(steps[len(steps) - inner :])
    parts, rows, width, group = _register_shape(form)
    splits = form.splits(weights.dtype.name)
    shape = columns // width, outer, form.blocks(depth), parts, rows, width, group
    result = np.empty(shape, ml_dtypes.bfloat16 if splits else weights.dtype)
    together = width * max(1, CACHED_WEIGHTS // max(1, outer * depth * width))
    for begin in range(0, columns, together):
        some = weights[..., begin : begin + together]
        flat = np.zeros((outer, form.rounded(depth), some.shape[-1]), weights.dtype)
        flat[:, :depth] = some.reshape(outer, depth, -1)
        own = result[begin // width : (begin + together) // width]
        for part, values in enumerate(split_floats(flat, parts) if splits else [flat]):
            blocks = values.reshape(outer, -1, rows, group, len(own), width)
            for place in range(group):
                own[:, :, :, part, ..., place] = blocks[:, :, :, place].transpose(3, 0, 1, 2, 4)
    return result.reshape(groups_shape(weights.shape, inner, form))


def stored_groups(
    product: Product, weight: Tensor, inner: int, form: Form, part: int | None = None
) -> Computed:
    """The parts of weights that are only known at run time, as `groups_of` has those of constants.

    Before the blocks of columns stand the axes that data and weights share. With `part`, that one
    alone.
    """
    outer, fused = product.steps[:-inner], product.steps[-inner:]
    column, shared = product.stage.axes[-1], product.shared
    depth = prod(axis.extent for axis in fused)
    shape = (
        *(axis.extent for axis in shared),
        ceiling_quotient(column.extent, form.columns),
        *(axis.extent for axis in outer),
        form.blocks(depth),
        *_register_shape(form if part is None else replace(form, parts=1)),
    )

    def element(*at: Scalar) -> Scalar:
        *places, number, row, place, inside = at
        if part is not None:
            number = index_value(part)
        block = places[len(shared)]
        step = places[-1] * form.steps + row * form.group + inside
        digits = _digits(step, [axis.extent for axis in fused])
        known: dict[Axis, Scalar] = dict(zip(shared, places, strict=False))
        known |= dict(zip(outer, places[len(shared) + 1 : -1], strict=True))
        known |= dict(zip(fused, digits, strict=True))
        known[column] = block * form.columns + place
        value = weight[tuple(substitute(index, known) for index in product.weight.indices)]
        found = _part(number, value, form)
        found = found if depth % form.steps == 0 else _zero_from(depth, step, found)
        is_whole = column.extent % form.columns == 0
        return found if is_whole else _zero_from(column.extent, known[column], found)

    return compute("groups", shape, element)


def split_floats(values: np.ndarray, parts: int) -> list[np.ndarray]:
    """The bfloat16 parts of float32 values, the largest first."""
    found, rest = [], values
    for _ in range(parts - 1):
        is_large, near = np.abs(rest) > LARGEST, rest
        if is_large.any():
            bound = np.where(np.isinf(rest), np.float32(1), LARGEST)
            near = np.where(is_large, np.copysign(bound, rest), rest)
        found.append(near.astype(ml_dtypes.bfloat16))
        rest = rest - found[-1].astype(np.float32)
    return [*found, rest.astype(ml_dtypes.bfloat16)]


def _channels_in_place(product: Product, data: Tensor, form: Form, beside: bool) -> LeftOperand:
    channel = product.steps[-1]
    form = form if form.splits(data.dtype) else form.balanced(channel.extent)
    shape = (*data.shape[:-1], form.rounded(channel.extent))
    upper = product.data.indices[:-1]
    before = len(upper) if beside else 0
    stored = _parts(form, shape, channel.extent, lambda *at: data[at], before)

    def at(part: int, step: Scalar) -> Scalar:
        return stored[(*upper[:before], part, *upper[before:], step)]

    return LeftOperand(form, stored, (channel,), at)


def _window(product: Product, upper: Sequence[Scalar], form: Form) -> dict[Axis, int] | None:
    """The axes that the first column of a window depends on, with their factors; None if none."""
    if not upper or len(product.steps) < 2:
        return None
    place = axis_affine(upper[-1])
    column, channel = product.steps[-2:]
    if column.extent * channel.extent % form.steps:
        return None
    if place is None or place.constant or place.coefficient(column) != 1:
        return None
    if any(column in _axes(index) for index in upper[:-1]):
        return None
    start = {axis: place.coefficient(axis) for axis in _axes(upper[-1]) if axis is not column}
    if not set(start) <= set(product.rows) or any(factor < 0 for factor in start.values()):
        return None
    return start


def _parts(
    form: Form,
    shape: tuple[int, ...],
    whole: int,
    element: Callable[..., Scalar],
    before: int = 0,
) -> Copy:
    """The parts of elements; zero from `whole` on in the last dimension.

    The dimension of parts stands behind so many others.
    """

    def part(*at: Scalar) -> Scalar:
        value = _part(at[before], element(*at[:before], *at[before + 1 :]), form)
        if shape[-1] == whole:
            return value
        step, size = at[-1], form.steps
        if is_symbolic(whole):  # one nest, with a test for each register rather than two nests
            step = step // size * size + step % size
        return _zero_from(whole, step, value)

    return copy_of(compute("parts", (*shape[:before], form.parts, *shape[before:]), part))


def _zero_from(end: int, step: Scalar, value: Scalar) -> Scalar:
    return select(binary("lt", step, end), value, literal(0, value.dtype))


def _part(number: Scalar, value: Scalar, form: Form) -> Scalar:
    """The part of a value that has a number.

    Tests for single numbers, so that the parts of a value are computed together.
    """
    if not form.splits(value.dtype):
        return value
    pieces = _pieces(value, form.parts)
    chosen = pieces[-1]
    for place in reversed(range(form.parts - 1)):
        chosen = select(binary("ne", number, place), chosen, pieces[place])
    return chosen


def _pieces(value: Scalar, parts: int) -> list[Scalar]:
    found: list[Scalar] = []
    rest = value
    for _ in range(parts - 1):
        largest = literal(float(LARGEST), rest.dtype)
        bound = select(binary("lt", rest, 0.0), -largest, largest)
        near = select(binary("gt", unary("abs", rest), largest), bound, rest)
        first = select(unary("isinf", rest), near * float(1 / LARGEST), near)
        found.append(cast(first, "bfloat16"))
        rest = rest - cast(found[-1], "float32")
    return [*found, cast(rest, "bfloat16")]


def _digits(number: Scalar, extents: Sequence[int]) -> list[Scalar]:
    """A number's place on each axis of a row-major array."""
    found: list[Scalar] = []
    for place in range(len(extents)):
        digit = number // prod(extents[place + 1 :])
        found.append(digit % extents[place] if place else digit)
    return found


def _axes(index: Scalar) -> tuple[Axis, ...]:
    form = axis_affine(index)
    assert form is not None
    return tuple(axis for axis in form.terms if isinstance(axis, Axis))
