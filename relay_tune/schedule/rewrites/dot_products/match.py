"""Which stages are sums of products of narrow elements, and how their operands become words.

    y[..] = sum(.., k, ..) int32(a[.., k + p, ..]) * int32(b[.., k, ..])

One of the operands has its dimension of k to itself: words of it end with zeros where k ends in the
middle of a word, so that nothing else is added there, whatever integers the other operand has. Of
floats both operands have, for an infinity times zero is no zero.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from itertools import product
from math import prod

from relay_tune.machine.pattern import WordPattern
from relay_tune.quick_dataclass import dataclass
from relay_tune.schedule.rewrites.products import as_stored
from relay_tune.tensor.affine import Affine, combined
from relay_tune.tensor.expression import (
    Axis,
    Binary,
    Cast,
    Literal,
    Load,
    Reduce,
    Scalar,
    Tensor,
    index_value,
)
from relay_tune.tensor.scalar_semantics import is_float
from relay_tune.tensor.size import is_integer, is_symbolic, nominal
from relay_tune.tensor.tensor import Computed
from relay_tune.tensor.walk import axes_of

OTHER_SIGN = {("int8", "uint8"): 128, ("uint8", "int8"): -128}
"""What is added to bytes so that they are of another type, whose bits differ in the first one."""

WIDENED = frozenset({("int8", "int16"), ("uint8", "int16")})
"""What other elements become without a change."""

ROUNDED = frozenset({("float32", "bfloat16"), ("float16", "bfloat16")})
"""What they become in fewer digits."""


@dataclass(frozen=True, eq=False, slots=True)
class Operand:
    """An operand of a sum of products, as words along one of the summed axes.

    Attributes:
        load: its elements.
        dtype: of the elements of its words.
        dimension: of its tensor, along which the axis runs.
        start: where the axis begins in that dimension, as a sum of multiples of expressions.
        extent: of the axis.
        step: how far apart in that dimension neighbours on the axis are.
        group: elements of a word.
        is_whole: whether the axis is all of the dimension.
    """

    load: Load
    dtype: str
    dimension: int
    start: Affine
    extent: int
    step: int
    group: int
    is_whole: bool

    @property
    def offset(self) -> int:
        """What is added to each element."""
        return OTHER_SIGN.get((self.load.dtype, self.dtype), 0)

    @property
    def rounds(self) -> bool:
        """Whether elements lose digits."""
        return (self.load.dtype, self.dtype) in ROUNDED

    @property
    def is_aligned(self) -> bool:
        """Whether the axis begins with a word, wherever; else a word begins at each element."""
        if self.step != 1:
            return False
        known = (*self.start.terms.values(), self.start.constant)
        return not any(factor % self.group for factor in known)

    @property
    def is_in_rows(self) -> bool:
        """Whether elements lie side by side, as words anywhere in rows that axes begin in."""
        is_last = self.dimension + 1 == self.load.tensor.rank
        bytes_alike = (self.load.dtype, self.dtype) in OTHER_SIGN or self.load.dtype == self.dtype
        known = all(isinstance(term, Axis) for term in self.start.terms)
        return is_last and self.step == 1 and bytes_alike and known and not is_float(self.dtype)


@dataclass(frozen=True, eq=False, slots=True)
class DotProducts:
    """A stage that sums products of narrow elements.

    Attributes:
        stage: the sums.
        axis: the summed axis of which words are made.
        left: the operand that becomes the left words.
        right: the one that becomes the right words.
    """

    stage: Computed
    axis: Axis
    left: Operand
    right: Operand

    @property
    def operands(self) -> tuple[Operand, Operand]:
        """Both."""
        return self.left, self.right

    @property
    def in_rows(self) -> Operand | None:
        """The operand whose words are loaded where they lie, wherever they begin, if there is one.

        All lanes of a vector take the same word of it: they run along the last axis of the stage.
        """
        moving = [each for each in self.operands if not each.is_aligned]
        if len(moving) != 1 or not moving[0].is_in_rows:
            return None
        lanes = self.stage.axes[-1]
        is_spread = lanes.extent != 1 and lanes not in axes_of(moving[0].load)
        return moving[0] if is_spread else None

    @property
    def rounds(self) -> bool:
        """Whether elements lose digits."""
        return any(each.rounds for each in self.operands)

    @property
    def steps(self) -> int:
        """Words that are multiplied for each sum."""
        total = self.stage.body
        assert isinstance(total, Reduce)
        others = prod(axis.extent for axis in total.axes if axis is not self.axis)
        return nominal(others) * self.words

    @property
    def words(self) -> int:
        """Words along the axis."""
        return -(-self.axis.extent // self.left.group)


Dimensions = Container[tuple[Tensor, int]]
"""Tensors, each with one of its dimensions."""


def match_dot_products(
    stage: Tensor, pattern: WordPattern, *, rounds: bool = False, bounded: Dimensions = ()
) -> DotProducts | None:
    """How a stage is computed by dot products of a pattern; None if it is none.

    Of several axes that words can be made of, it is one with the fewest words, and of those one
    whose words are loaded where they lie. Elements lose digits only where `rounds` says so. A
    pattern that bounds pairs of elements finds them in `bounded` (`TensorProgram`).
    """
    ways = (way for way in _ways(stage, pattern) if rounds or not way.rounds)
    if pattern.most_pair:
        ways = (way for way in ways if _has_small_pairs(way, bounded))
    return min(ways, key=lambda way: (_copies(way), way.steps, way.in_rows is None), default=None)


def _has_small_pairs(way: DotProducts, bounded: Dimensions) -> bool:
    """Whether the halves of right words are pairs of a constant that add up to little.

    Words of taps, which several sums read, begin elsewhere.
    """
    right = way.right
    if right.offset or not right.is_whole or not right.is_aligned:
        return False
    is_plain = way.left.is_aligned or way.in_rows is way.left
    return is_plain and (right.load.tensor, right.dimension) in bounded


def _copies(way: DotProducts) -> int:
    """Operands of which each element is copied into several words."""
    return sum(not (each.is_aligned or each is way.in_rows) for each in way.operands)


def _ways(stage: Tensor, pattern: WordPattern) -> Iterator[DotProducts]:
    if not isinstance(stage, Computed) or stage.dtype != pattern.result:
        return
    total = stage.body
    if not isinstance(total, Reduce) or total.operation != "sum":
        return
    factors = _factors(total.body)
    if factors is None:
        return
    for axis, (left, right) in product(total.axes, (factors, factors[::-1])):
        if is_symbolic(axis.extent) or axis.extent < 2:
            continue
        first = _operand(left, axis, pattern.left, pattern)
        second = _operand(right, axis, pattern.right, pattern)
        if first is None or second is None:
            continue
        if _is_sound(first, second, is_float=is_float(pattern.result)):
            yield DotProducts(stage, axis, first, second)


def _factors(body: Scalar) -> tuple[Load, Load] | None:
    """The loads of which a body multiplies the numbers, converted or not."""
    if not isinstance(body, Binary) or body.operation != "mul":
        return None
    left, right = (
        side.operand if isinstance(side, Cast) else side for side in (body.left, body.right)
    )
    if not isinstance(left, Load) or not isinstance(right, Load):
        return None
    return as_stored(left), as_stored(right)


def _operand(load: Load, axis: Axis, dtype: str, pattern: WordPattern) -> Operand | None:
    """A load as words along an axis; None where it does not move along one dimension."""
    if load.dtype != dtype and (load.dtype, dtype) not in WIDENED | ROUNDED | OTHER_SIGN.keys():
        return None
    moving = [dimension for dimension, index in enumerate(load.indices) if axis in axes_of(index)]
    if len(moving) != 1:
        return None
    (dimension,) = moving
    size, form = load.tensor.shape[dimension], sum_of_multiples(load.indices[dimension])
    start = form.without(axis)
    inside = (node for node in start.terms if isinstance(node, Scalar))
    if axis in axes_of(*inside):
        return None
    step = form.coefficient(axis)
    if any(map(is_symbolic, (size, step, start.constant, *start.terms.values()))) or step < 1:
        return None
    is_whole = start.is_constant and not start.constant and size == axis.extent
    return Operand(load, dtype, dimension, start, axis.extent, step, pattern.group, is_whole)


def sum_of_multiples(index: Scalar) -> Affine:
    """An index as multiples of axes and of what is no sum, such as quotients."""
    match index:
        case Literal(value=number) if is_integer(number):
            return Affine({}, number)
        case Binary(operation="add" | "sub" | "mul" as operation, left=left, right=right):
            found = combined(operation, sum_of_multiples(left), sum_of_multiples(right))
            if found is not None:
                return found
    return Affine({index: 1})


def expression_of_multiples(start: Affine, divisor: int) -> Scalar:
    """A sum of multiples of a divisor, divided by it."""
    total: Scalar = index_value(start.constant // divisor)
    for node, factor in start.terms.items():
        assert isinstance(node, Scalar)
        total = node * (factor // divisor) + total
    return total


def _is_sound(left: Operand, right: Operand, *, is_float: bool) -> bool:
    """Whether one of them ends with zeros, and is not moved from zero; the other one may be.

    Floats end with zeros in both, if they do not end with a word.
    """
    filled = [each.is_whole and not each.offset for each in (left, right)]
    return all(filled) if is_float and left.extent % left.group else any(filled)
