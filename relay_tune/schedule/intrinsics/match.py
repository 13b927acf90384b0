"""Nests that run on matrix registers: sums of products of bfloat16 with weights in pairs of rows.

    axes (.., row .., block, column), reduction (.., half, pair):
    left[.. + row * stride + 2 * half + pair]
      * right[.. + block * size + 32 * half + 2 * column + pair]

`block` counts the registers along the columns of the result; it is missing where there is one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from relay_tune.remembered import remembered
from relay_tune.schedule.nest import Nest, with_roots
from relay_tune.tensor.affine import Affine, axis_affine
from relay_tune.tensor.expression import Axis, Binary, Cast, Load, Scalar
from relay_tune.tensor.index import simplify
from relay_tune.tensor.matrix_registers import COLUMNS, REGISTERS, ROWS, STEPS
from relay_tune.tensor.walk import substitute

FEW_ROWS = 13
"""Where fewer rows of a register are used, those of several lines are taken together."""

REMEMBERED = 1 << 12


@dataclass(frozen=True, eq=False, slots=True)
class NestProduct:
    """What stands where in such a nest.

    Attributes:
        terms: the left and the right operand of each product.
        row: the axis along the rows of registers.
        block: the innermost axis that counts registers along the columns, if there are several.
        column: the axis along the columns of a register.
        half: the reduction axis along the rows of the right operand.
        pair: the reduction axis of two.
    """

    terms: tuple[tuple[Load, Load], ...]
    row: Axis
    block: Axis | None
    column: Axis
    half: Axis
    pair: Axis

    @property
    def stride(self) -> int:
        """Elements from one row of the left operand to the next."""
        return _form(self.terms[0][0]).coefficient(self.row)

    @property
    def right_parts(self) -> int:
        """The parts of the right operand."""
        return len({right for _, right in self.terms})

    @property
    def register_rows(self) -> int:
        """The rows of a register, so that the last one is nearly as full as the others."""
        return balanced_rows(self.row.extent)


def balanced_rows(extent: int) -> int:
    """The rows of a register where so many rows are divided among as few as possible."""
    return -(-extent // -(-extent // ROWS))


def offset_of(load: Load) -> int:
    """Where an operand of a nest on matrix registers begins in its tensor."""
    return _form(load).constant


def holds_right(rows: int, blocks: int, parts: int) -> bool:
    """Whether a tile of so many registers has place for all parts of its right operands.

    Its left operands then pass by, each loaded once into the registers that are left.
    """
    return rows * blocks + parts * blocks < REGISTERS


def registers(rows: int, blocks: int, parts: int) -> int:
    """The registers of a tile: results, left and right operands, of which the right has `parts`."""
    if holds_right(rows, blocks, parts):
        return min(rows * blocks + parts * blocks + rows, REGISTERS)
    return rows * blocks + rows + blocks


def fits(rows: int, blocks: int, parts: int) -> bool:
    """Whether such a tile has place."""
    return registers(rows, blocks, parts) <= REGISTERS


def operand_loads(product: NestProduct, rows: int, blocks: int) -> int:
    """The operands that a step of such a tile loads: each once, or where it changes."""
    if holds_right(rows, blocks, product.right_parts):
        return rows * len({left for left, _ in product.terms}) + blocks * product.right_parts
    changes = [
        1 + sum(before[side] is not after[side] for before, after in pairwise(product.terms))
        for side in (0, 1)
    ]
    return changes[0] * rows + changes[1] * blocks


@remembered(REMEMBERED)
def nest_product(nest: Nest) -> NestProduct | None:
    """What stands where in a nest on matrix registers; None for all others.

    A sum of a user's own bfloat16 may look the same, but is for any machine.
    """
    if not nest.has_matrix_registers or nest.operation != "sum":
        return None
    if nest.body is None or nest.body.dtype != "float32":
        return None
    terms = tuple(_terms(nest.body))
    if not terms or any(term is None for term in terms):
        return None
    known = tuple(term for term in terms if term is not None)
    left, right = (axis_affine(load.indices[0]) for load in known[0])
    if left is None or right is None or not _agree(known):
        return None
    column = _axis(nest.axes, COLUMNS, left, 0, right, 2)
    half = _axis(nest.reduction, STEPS // 2, left, 2, right, STEPS)
    pair = _axis(nest.reduction, 2, left, 1, right, 1)
    moving = [axis for axis in nest.axes if axis is not column]
    rows = [axis for axis in moving if left.coefficient(axis) and not right.coefficient(axis)]
    blocks = [axis for axis in moving if right.coefficient(axis) and not left.coefficient(axis)]
    if column is None or half is None or pair is None or not rows:
        return None
    return NestProduct(known, rows[-1], blocks[-1] if blocks else None, column, half, pair)


def with_long_rows(nest: Nest) -> Nest:
    """The nest with the lines of short rows as one, if the left operand has them beside each other.

    before:  axes (y, x, ..): y[49] stored at y * 9 + x
    after:   axes (yx, ..): stored at (yx // 7) * 9 + yx % 7
    """
    product = nest_product(nest)
    if product is None or product.register_rows >= FEW_ROWS:
        return nest
    place = nest.axes.index(product.row)
    if not place:
        return nest
    line, (left, right) = nest.axes[place - 1], map(_form, product.terms[0])
    extent = product.row.extent
    if left.coefficient(line) != left.coefficient(product.row) * extent:
        return nest
    if right.coefficient(line):  # each line has weights of its own
        return nest
    fused = Axis(f"{line.name}{product.row.name}"[:12], line.extent * extent)
    parts: dict[Axis, Scalar] = {line: fused // extent, product.row: fused % extent}
    whole: dict[Axis, Scalar] = {line: fused * 0, product.row: fused}
    body, *others = nest.roots
    roots = [simplify(body, whole), *(substitute(root, parts) for root in others)]
    axes = (*nest.axes[: place - 1], fused, *nest.axes[place + 1 :])
    return with_long_rows(with_roots(nest, roots, axes, nest.reduction))


def _terms(body: Scalar) -> Iterator[tuple[Load, Load] | None]:
    """The products that a body adds up; None for what is none of bfloat16."""
    match body:
        case Binary(operation="add"):
            yield from _terms(body.left)
            yield from _terms(body.right)
        case Binary(
            operation="mul", left=Cast(operand=Load() as a), right=Cast(operand=Load() as b)
        ):
            both = a.dtype == b.dtype == "bfloat16" and len(a.indices) == len(b.indices) == 1
            yield (a, b) if both else None
        case _:
            yield None


def _agree(terms: tuple[tuple[Load, Load], ...]) -> bool:
    """Whether the operands of all products lie alike, in two tensors."""
    for side in (0, 1):
        first = terms[0][side]
        for term in terms:
            form = axis_affine(term[side].indices[0])
            if form is None or form.terms != _form(first).terms:
                return False
            if term[side].tensor is not first.tensor:
                return False
    return True


def _form(load: Load) -> Affine:
    form = axis_affine(load.indices[0])
    assert form is not None
    return form


def _axis(
    axes: tuple[Axis, ...], extent: int, left: Affine, a: int, right: Affine, b: int
) -> Axis | None:
    """The axis of an extent along which the operands' elements lie so far apart."""
    for axis in axes:
        if axis.extent == extent and (left.coefficient(axis), right.coefficient(axis)) == (a, b):
            return axis
    return None
