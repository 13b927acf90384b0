"""Data of products on matrix registers, in parts.

    parts[p, .., i]    part p of the data, rows of which are read S = 32 elements at a time

Bytes are one part, and so are numbers that are bfloat16 already. Rows of their data are read where
the program has them, if these are a whole number of registers, which may be narrower than the
widest: 144 channels are three times 48.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from relay_tune.quick_dataclass import dataclass
from relay_tune.schedule.rewrites.matrix_products.float_parts import part_of, zero_from
from relay_tune.schedule.rewrites.matrix_products.form import Form
from relay_tune.schedule.rewrites.products import Product, unfused
from relay_tune.tensor.affine import axis_affine
from relay_tune.tensor.expression import Axis, Scalar, Tensor, literal
from relay_tune.tensor.size import is_symbolic
from relay_tune.tensor.tensor import Copy, compute, copy_of
from relay_tune.tensor.walk import axes_of, substitute

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
        *indices, step = at
        known = {**dict(zip(rows, indices, strict=True)), **unfused(step, steps)}
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
        number, block, *indices = at[len(batch) :]
        known = unfused(block * form.steps + indices.pop(), steps)
        known |= dict(zip((*batch, *rows), (*at[: len(batch)], *indices), strict=True))
        value = data[tuple(substitute(index, known) for index in product.data.indices)]
        return part_of(number, value, form)

    stored = copy_of(compute("parts", shape, element))

    def at(part: int, step: Scalar) -> Scalar:
        position = step // form.steps, *rows, step % form.steps
        return stored[(*batch, part, *position)]

    return LeftOperand(form, stored, steps, at)


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
    position = axis_affine(upper[-1])
    column, channel = product.steps[-2:]
    if column.extent * channel.extent % form.steps:
        return None
    if position is None or position.constant or position.coefficient(column) != 1:
        return None
    if any(column in _axes(index) for index in upper[:-1]):
        return None
    start = {axis: position.coefficient(axis) for axis in _axes(upper[-1]) if axis is not column}
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
        value = part_of(at[before], element(*at[:before], *at[before + 1 :]), form)
        if shape[-1] == whole:
            return value
        step, size = at[-1], form.steps
        if is_symbolic(whole):  # one nest, with a test for each register rather than two nests
            step = step // size * size + step % size
        return zero_from(whole, step, value)

    return copy_of(compute("parts", (*shape[:before], form.parts, *shape[before:]), part))


def _axes(index: Scalar) -> tuple[Axis, ...]:
    form = axis_affine(index)
    assert form is not None
    return tuple(axis for axis in form.terms if isinstance(axis, Axis))
