"""Nests that an intrinsic computes: sums of products whose operands lie as its pattern wants.

    axes (.., row .., block, column), reduction (.., steps, group):
    left[.. + row * stride + group_size * steps + group]
      * right[.. + block * size + row_size * steps + group_size * column + group]

`block` counts the registers along the columns of the result; it is missing where there is one. With
pairs of bfloat16, `group_size` is 2 and `row_size` 32. Rows of the left operand may be shorter than
those of its registers, with as many fewer rows of the right one.
"""

from __future__ import annotations

from itertools import pairwise

from relay_tune.machine.intrinsic import TileCosts
from relay_tune.machine.machine import Machine
from relay_tune.machine.pattern import TilePattern
from relay_tune.quick_dataclass import dataclass
from relay_tune.remembered import remembered
from relay_tune.schedule.choice import TileChoice
from relay_tune.schedule.intrinsics.pattern_products import axis_between, form_of, products_of
from relay_tune.schedule.nests.nest import Nest
from relay_tune.tensor.expression import Axis, Binary, Literal, Load
from relay_tune.tensor.size import is_symbolic

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
        return form_of(self.terms[0][0]).coefficient(self.row)

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
    return form_of(load).constant


def offset_moves(load: Load, axis: Axis) -> bool:
    """Whether such an operand lies elsewhere at another position of an axis."""
    return bool(form_of(load).coefficient(axis))


@remembered(REMEMBERED)
def intrinsic_match(nest: Nest) -> IntrinsicMatch | None:
    """What stands where in a nest that its algorithm has run on an intrinsic; None for all others.

    A sum of a user's own bfloat16 may look the same, but is for any machine.
    """
    pattern, known = nest.pattern, products_of(nest)
    if pattern is None or not known:
        return None
    left, right = map(form_of, known[0])
    size, line = pattern.group, pattern.columns * pattern.group
    column = axis_between(nest.axes, (pattern.columns,), left, 0, right, size)
    steps = axis_between(nest.reduction, range(2, pattern.right_rows + 1), left, size, right, line)
    group = axis_between(nest.reduction, (size,), left, 1, right, 1)
    moving = [axis for axis in nest.axes if axis is not column]
    rows = [axis for axis in moving if left.coefficient(axis) and not right.coefficient(axis)]
    blocks = [axis for axis in moving if right.coefficient(axis) and not left.coefficient(axis)]
    if column is None or group is None or not rows:
        return None
    if steps is None and pattern.right_rows > 1:
        return None
    block = blocks[-1] if blocks else None
    return IntrinsicMatch(nest, pattern, known, rows[-1], block, column, steps, group)
