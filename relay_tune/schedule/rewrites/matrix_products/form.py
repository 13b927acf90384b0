"""What the operands of products on matrix registers are stored as."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate
from operator import mul

from relay_tune.machine.pattern import BFLOAT16_PAIRS, TilePattern
from relay_tune.quick_dataclass import dataclass
from relay_tune.schedule.rewrites.products import FactorTypes
from relay_tune.tensor.size import ceiling_quotient, is_symbolic, nominal


@dataclass(frozen=True, slots=True)
class Form:
    """The form of both operands of a product.

    Attributes:
        types: of the factors and of the sums, as they are written.
        pattern: of the intrinsic that multiplies them.
        parts: of each factor, whose sum it is; one that the registers take as it is stays whole.
        steps: of the product that one register has.
    """

    types: FactorTypes
    pattern: TilePattern
    parts: int
    steps: int

    def splits(self, dtype: str) -> bool:
        """Whether factors of a type are rounded, and what that loses are parts of their own."""
        return dtype not in (self.pattern.left, self.pattern.right)

    @property
    def rounds(self) -> bool:
        """Whether a part of a factor is all that is left of it."""
        return self.parts == 1 and self.splits(self.types.data)

    @property
    def columns(self) -> int:
        """The columns of a register."""
        return self.pattern.columns

    @property
    def group(self) -> int:
        """Steps that lie beside each other in the weights."""
        return self.pattern.group

    def blocks(self, extent: int) -> int:
        """The registers that hold so many steps."""
        return ceiling_quotient(extent, self.steps)

    def rounded(self, extent: int) -> int:
        """The steps of the registers that hold so many."""
        return self.blocks(extent) * self.steps

    def along(self, extents: Sequence[int]) -> Form | None:
        """Registers that begin and end with lines of steps, or parts of lines, half full at least.

        `extents` are those of nested lines of steps. None if there are no such registers.
        """
        lines = list(accumulate(reversed(extents), mul))
        for steps in range(self.pattern.steps, self.pattern.steps // 2 - 1, -self.group):
            whole = all(line % steps == 0 or steps % line == 0 for line in lines)
            if whole and lines[-1] % steps == 0:
                return replace(self, steps=steps)
        return None

    def dividing(self, extent: int) -> Form | None:
        """Registers of equal parts of so many steps; None if these would be less than half full."""
        fitting = range(self.pattern.steps, 0, -self.group)
        steps = next((each for each in fitting if extent % each == 0), 0)
        most = min(nominal(extent), self.pattern.steps)
        return None if 2 * steps < most else replace(self, steps=steps)

    def balanced(self, extent: int) -> Form:
        """Registers that so many steps fill nearly, as few as there can be; whole ones of open."""
        if is_symbolic(extent):
            return self
        share = -(-extent // -(-extent // self.pattern.steps))
        return replace(self, steps=-(-share // self.group) * self.group)


def split_floats_form(parts: int) -> Form:
    """Products of float32 as those of so many bfloat16 each."""
    types = FactorTypes("float32", "float32", "float32")
    return Form(types, BFLOAT16_PAIRS, parts, BFLOAT16_PAIRS.steps)


def stored_form(pattern: TilePattern) -> Form:
    """Products of what has the types of a pattern already."""
    types = FactorTypes(pattern.left, pattern.right, pattern.result)
    return Form(types, pattern, 1, pattern.steps)
