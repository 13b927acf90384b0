"""Nests that an intrinsic computes: sums of products whose operands lie as its pattern wants.

    axes (.., row .., block, column), reduction (.., steps, group):
    left[.. + row * stride + group_size * steps + group]
      * right[.. + block * size + row_size * steps + group_size * column + group]

`block` counts the registers along the columns of the result; it is missing where there is one. With
pairs of bfloat16, `group_size` is 2 and `row_size` 32. Rows of the left operand may be shorter than
those of its registers, with as many fewer rows of the right one.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import replace
from itertools import pairwise

from relay_tune.machine.intrinsic import TileCosts
from relay_tune.machine.machine import Machine
from relay_tune.machine.pattern import TilePattern
from relay_tune.quick_dataclass import dataclass
from relay_tune.remembered import remembered
from relay_tune.schedule.choice import TileChoice
from relay_tune.schedule.nests.nest import Nest, with_roots
from relay_tune.tensor.affine import Affine, axis_affine
from relay_tune.tensor.expression import Axis, Binary, Cast, Literal, Load, Scalar, binary
from relay_tune.tensor.index import simplify
from relay_tune.tensor.size import ceiling_quotient, is_symbolic
from relay_tune.tensor.walk import sub_expressions, substitute

FEW_ROWS = 13 / 16
"""Where a smaller part of a register's rows is used, those of several lines are taken together."""

REMEMBERED = 1 << 12


@dataclass(frozen=True, eq=False, slots=True)
class IntrinsicMatch:
    """What stands where in such a nest.

    Attributes:
        nest: the nest.
        pattern: of the intrinsic.
        terms: the left and the right operand of each product.
        row: the axis along the rows of registers.
        block: the innermost axis that counts registers along the columns, if there are several.
        column: the axis along the columns of a register.
        steps: the reduction axis along the rows of the right operand, if it has several.
        group: the reduction axis of steps that lie beside each other.
    """

    nest: Nest
    pattern: TilePattern
    terms: tuple[tuple[Load, Load], ...]
    row: Axis
    block: Axis | None
    column: Axis
    steps: Axis | None
    group: Axis

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
        """The rows of a register, so that the last one is nearly as full as the others.

        All that it has where only a run knows how many rows there are.
        """
        if is_symbolic(self.row.extent):
            return self.pattern.rows
        return balanced_rows(self.row.extent, self.pattern.rows)

    @property
    def rows_before(self) -> int:
        """The rows of the tile before that a register may begin with, where rows are open."""
        return self.register_rows if is_symbolic(self.row.extent) else 0

    @property
    def open_columns(self) -> int | None:
        """How many columns there are where the last register may have fewer; None where not."""
        match self.nest.inside:
            case Binary(right=Literal(value=count)) if is_symbolic(count):
                return count
        return None

    @property
    def right_rows(self) -> int:
        """The rows of a register with a right operand, which may be fewer than it has."""
        return 1 if self.steps is None else self.steps.extent

    @property
    def register_steps(self) -> int:
        """What one instruction sums here."""
        return self.right_rows * self.pattern.group

    @property
    def unit(self) -> str:
        """What computes the nest, as rates of machines are called."""
        return self.pattern.name

    @property
    def operations(self) -> int:
        """The arithmetic operations of a point."""
        return 2 * len(self.terms)

    @property
    def outer_reduction(self) -> list[Axis]:
        """The reduction axes beside those of one instruction."""
        return [axis for axis in self.nest.reduction if axis not in (self.steps, self.group)]

    def costs(self, machine: Machine) -> TileCosts | None:
        """What estimates know of the intrinsic on a machine; None where that has none."""
        found = machine.intrinsic(self.pattern)
        return None if found is None else found.costs

    def computed_rows(self, rows: int) -> int:
        """The rows that are computed for so many of a tile: all those of its registers."""
        return -(-rows // self.register_rows) * self.register_rows

    def tile_registers(self, choice: TileChoice) -> tuple[int, int]:
        """The registers of a tile along rows and columns."""
        sized = dict(zip(self.nest.axes, choice.tile, strict=True))
        blocks = 1 if self.block is None else sized[self.block]
        return -(-sized[self.row] // self.register_rows), blocks

    def holds_right(self, rows: int, blocks: int) -> bool:
        """Whether a tile of so many registers has room for all parts of its right operands.

        Its left operands then pass by, each loaded once into the registers that are left.
        """
        return rows * blocks + self.right_parts * blocks < self.pattern.registers

    def registers(self, rows: int, blocks: int) -> int:
        """The registers of a tile: results, left and right operands."""
        if self.holds_right(rows, blocks):
            return min(rows * blocks + self.right_parts * blocks + rows, self.pattern.registers)
        return rows * blocks + rows + blocks

    def fits(self, rows: int, blocks: int) -> bool:
        """Whether such a tile has room."""
        return self.registers(rows, blocks) <= self.pattern.registers

    def operand_loads(self, rows: int, blocks: int) -> int:
        """The operands that a step of such a tile loads: each once, or where it changes."""
        if self.holds_right(rows, blocks):
            return rows * len({left for left, _ in self.terms}) + blocks * self.right_parts
        changes = [
            1 + sum(before[side] is not after[side] for before, after in pairwise(self.terms))
            for side in (0, 1)
        ]
        return changes[0] * rows + changes[1] * blocks


def balanced_rows(extent: int, most: int) -> int:
    """The rows of a register where so many rows are divided among as few as possible."""
    return -(-extent // -(-extent // most))


def offset_of(load: Load) -> int:
    """Where an operand of a nest on matrix registers begins in its tensor."""
    return _form(load).constant


def offset_moves(load: Load, axis: Axis) -> bool:
    """Whether such an operand lies elsewhere at another place of an axis."""
    return bool(_form(load).coefficient(axis))


@remembered(REMEMBERED)
def intrinsic_match(nest: Nest) -> IntrinsicMatch | None:
    """What stands where in a nest that its algorithm has run on an intrinsic; None for all others.

    A sum of a user's own bfloat16 may look the same, but is for any machine.
    """
    pattern, known = nest.pattern, _products(nest)
    if pattern is None or not known:
        return None
    left, right = map(_form, known[0])
    size, line = pattern.group, pattern.columns * pattern.group
    column = _axis(nest.axes, (pattern.columns,), left, 0, right, size)
    steps = _axis(nest.reduction, range(2, pattern.right_rows + 1), left, size, right, line)
    group = _axis(nest.reduction, (size,), left, 1, right, 1)
    moving = [axis for axis in nest.axes if axis is not column]
    rows = [axis for axis in moving if left.coefficient(axis) and not right.coefficient(axis)]
    blocks = [axis for axis in moving if right.coefficient(axis) and not left.coefficient(axis)]
    if column is None or group is None or not rows:
        return None
    if steps is None and pattern.right_rows > 1:
        return None
    block = blocks[-1] if blocks else None
    return IntrinsicMatch(nest, pattern, known, rows[-1], block, column, steps, group)


def for_registers(nest: Nest) -> Nest:
    """The nest with axes that registers of its pattern can have, if it has one."""
    return nest if nest.pattern is None else with_long_rows(with_register_steps(nest))


def with_register_steps(nest: Nest) -> Nest:
    """The nest with the steps that a register holds on an axis of their own.

    before:  reduction (k[36], g[4])
    after:   (ko[3], ki[12], g[4])
    """
    pattern, known = nest.pattern, _products(nest)
    if pattern is None or not known or pattern.right_rows == 1:
        return nest
    left, right = map(_form, known[0])
    size, line = pattern.group, pattern.columns * pattern.group
    steps = _axis(nest.reduction, None, left, size, right, line)
    if steps is None or (not is_symbolic(steps.extent) and steps.extent <= pattern.right_rows):
        return nest
    most = next(n for n in range(pattern.right_rows, 0, -1) if steps.extent % n == 0)
    if most == 1:
        return nest
    outer = Axis(f"{steps.name[:10]}o", steps.extent // most)
    inner = Axis(f"{steps.name[:10]}i", most)
    place = nest.reduction.index(steps)
    reduction = (*nest.reduction[:place], outer, inner, *nest.reduction[place + 1 :])
    parts: dict[Axis, Scalar] = {steps: outer * most + inner}
    roots = [simplify(root, parts) for root in nest.roots]
    return with_roots(nest, roots, nest.axes, reduction)


def with_whole_columns(nest: Nest) -> Nest:
    """The nest with an open number of columns in registers, the last of which may have fewer.

    before:  axes (m, j[n]): right[j // 16 * 512 + j % 16 * 2 + ..], stored at m * n + j
    after:   axes (m, b[(n + 15) // 16], j[16]): right[b * 512 + j * 2 + ..], stored at
             m * n + b * 16 + j where b * 16 + j < n
    """
    if nest.pattern is None or nest.body is None:
        return nest
    width = nest.pattern.columns
    column = next((a for a in nest.axes if is_symbolic(a.extent) and _is_cut(nest, a, width)), None)
    if column is None:
        return nest
    block = Axis(f"{column.name[:10]}b", ceiling_quotient(column.extent, width))
    inside = Axis(column.name, width)
    place = nest.axes.index(column)
    parts: dict[Axis, Scalar] = {column: block * width + inside}
    roots = [simplify(root, parts) for root in nest.roots]
    axes = (*nest.axes[:place], block, inside, *nest.axes[place + 1 :])
    whole = with_roots(nest, roots, axes, nest.reduction)
    return replace(whole, inside=binary("lt", parts[column], column.extent))


def _is_cut(nest: Nest, axis: Axis, width: int) -> bool:
    """Whether operands lie by parts of an axis of such a width, which do not divide it."""
    return any(
        isinstance(node, Binary)
        and node.operation == "floormod"
        and node.left is axis
        and isinstance(node.right, Literal)
        and node.right.value == width
        for node in sub_expressions(nest.body)
    )


def with_long_rows(nest: Nest) -> Nest:
    """The nest with the lines of short rows as one, if the left operand has them beside each other.

    before:  axes (y, x, ..): y[49] stored at y * 9 + x
    after:   axes (yx, ..): stored at (yx // 7) * 9 + yx % 7
    """
    match = intrinsic_match(nest)
    if match is None or match.register_rows >= FEW_ROWS * match.pattern.rows:
        return nest
    place = nest.axes.index(match.row)
    if not place:
        return nest
    line, (left, right) = nest.axes[place - 1], map(_form, match.terms[0])
    extent = match.row.extent
    if left.coefficient(line) != left.coefficient(match.row) * extent:
        return nest
    if right.coefficient(line):  # each line has weights of its own
        return nest
    fused = Axis(f"{line.name}{match.row.name}"[:12], line.extent * extent)
    parts: dict[Axis, Scalar] = {line: fused // extent, match.row: fused % extent}
    whole: dict[Axis, Scalar] = {line: fused * 0, match.row: fused}
    body, *others = nest.roots
    roots = [simplify(body, whole), *(substitute(root, parts) for root in others)]
    axes = (*nest.axes[: place - 1], fused, *nest.axes[place + 1 :])
    return with_long_rows(with_roots(nest, roots, axes, nest.reduction))


def _products(nest: Nest) -> tuple[tuple[Load, Load], ...]:
    """The products that a nest adds up, if they are those of its pattern and lie alike."""
    pattern = nest.pattern
    if pattern is None or nest.operation != "sum":
        return ()
    if nest.body is None or nest.body.dtype != pattern.result:
        return ()
    terms = tuple(_terms(nest.body, pattern))
    known = tuple(term for term in terms if term is not None)
    if len(known) < len(terms) or any(axis_affine(load.indices[0]) is None for load in known[0]):
        return ()
    return known if _agree(known) else ()


def _terms(body: Scalar, pattern: TilePattern) -> Iterator[tuple[Load, Load] | None]:
    """The products that a body adds up; None for what is none of the pattern's operands."""
    match body:
        case Binary(operation="add"):
            yield from _terms(body.left, pattern)
            yield from _terms(body.right, pattern)
        case Binary(
            operation="mul", left=Cast(operand=Load() as a), right=Cast(operand=Load() as b)
        ):
            both = (a.dtype, b.dtype) == (pattern.left, pattern.right)
            both = both and len(a.indices) == len(b.indices) == 1
            yield (a, b) if both else None
        case _:
            yield None


def _agree(terms: tuple[tuple[Load, Load], ...]) -> bool:
    """Whether the operands of all products lie alike, the left ones in one tensor.

    Parts of the right operand may be tensors of their own.
    """
    for side in (0, 1):
        first = terms[0][side]
        for term in terms:
            form = axis_affine(term[side].indices[0])
            if form is None or form.terms != _form(first).terms:
                return False
            if side == 0 and term[side].tensor is not first.tensor:
                return False
    return True


def _form(load: Load) -> Affine:
    form = axis_affine(load.indices[0])
    assert form is not None
    return form


def _axis(
    axes: tuple[Axis, ...],
    extents: Container[int] | None,
    left: Affine,
    a: int,
    right: Affine,
    b: int,
) -> Axis | None:
    """The axis of such an extent, or any, along which the operands' elements lie so far apart."""
    for axis in axes:
        if extents is not None and (is_symbolic(axis.extent) or axis.extent not in extents):
            continue
        if (left.coefficient(axis), right.coefficient(axis)) == (a, b):
            return axis
    return None
