"""Data as integers that are multiplied by those of weights, with a scale for each block of a row.

One byte for each number:

    e[i, b] = max(k in block b) |x[i, k]| / 127
    q[i, k] = int8(round(x[i, k] / e[i, b]))

Or three, digits of base 256 with signs, which have all digits of a float32:

    e[i, b] = max(k in block b) |x[i, k]| / (127 * (1 + 256 + 65536))
    q[i, k, 0] + 256 * q[i, k, 1] + 65536 * q[i, k, 2] = round(x[i, k] / e[i, b])
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from functools import cached_property

from relay_tune.machine.pattern import WordPattern
from relay_tune.quick_dataclass import dataclass
from relay_tune.schedule.rewrites.quantized_rows.match import BlockProduct
from relay_tune.tensor.expression import (
    Axis,
    Scalar,
    binary,
    cast,
    literal,
    reduce,
    select,
    unary,
)
from relay_tune.tensor.tensor import Computed, compute, words_of
from relay_tune.tensor.walk import substitute

LARGEST_BYTE = 127
"""As far from zero on both sides."""

BASE = 256
"""Of the digits: a byte has one."""

DIGITS = 3
"""A float32 has 24 bits: numbers are rounded no more than the largest one of their block is."""

LEAST_PEAK = 1e-30
"""The divisor of a block of smaller numbers, which become zeros."""


@dataclass(frozen=True, eq=False)
class DataBytes:
    """The stages that make a byte of each number of data.

    Attributes:
        found: the product.
        rows: the axes of its results that data depend on.
        pattern: of its words.
        together: numbers of a stored word of weights, in whose order data lie; the group of the
            pattern where they lie as they are.
    """

    found: BlockProduct
    rows: Sequence[Axis]
    pattern: WordPattern
    together: int

    @property
    def digits(self) -> tuple[Axis, ...]:
        """The summed axis of the bytes of a number, where it has several."""
        return ()

    def factor(self, block: Axis) -> Scalar:
        """What a sum of products with these bytes counts."""
        return self.scales[(*self.rows, block)]

    def words(self, block: Axis, step: Axis) -> Scalar:
        """The words of data that those of the weights are multiplied by."""
        group, parts = self.pattern.group, self._parts
        if parts == 1:
            return words_of(self.numbers, group)[(*self.rows, block * step.extent + step)]
        together, numbers = self.together, self.numbers

        def number(*at: Scalar) -> Scalar:
            *row, word, index = at
            return numbers[(*row, word * together + self._in_order(index))]

        shape = (*self._row_shape, self.found.step.extent // together, together)
        words = words_of(compute("data_in_order", shape, number), group)
        at = block * (self.found.block // together) + step // parts
        return words[(*self.rows, at, step % parts)]

    def sums(self, block: Axis, zero: Scalar | None) -> Scalar:
        """The sum of the bytes of a block; times the negative zero point, if that is given."""

        def byte(*at: Scalar) -> Scalar:
            *row, number, k = at
            return self.numbers[(*row, number * self.found.block + k)]

        return self._summed(self._block_shape, byte, zero)[(*self.rows, block)]

    def _summed(
        self, shape: Sequence[int], byte: Callable[..., Scalar], zero: Scalar | None
    ) -> Computed:
        inner = Axis("k", self.found.block)
        sums = compute(
            "data_sums", shape, lambda *at: reduce("sum", [inner], cast(byte(*at, inner), "int32"))
        )
        if zero is None:
            return sums
        return compute("starts", shape, lambda *at: sums[at] * unary("neg", zero))

    @property
    def _parts(self) -> int:
        """Words of data for each stored word of the weights."""
        return self.together // self.pattern.group

    def _in_order(self, index: Scalar) -> Scalar:
        """Which number of those of a stored word lies at a position."""
        group, parts = self.pattern.group, self._parts
        return index if parts == 1 else index % group * parts + index // group

    @property
    def _row_shape(self) -> tuple[int, ...]:
        return tuple(axis.extent for axis in self.rows)

    @property
    def _block_shape(self) -> tuple[int, ...]:
        return (*self._row_shape, self.found.blocks)

    def _data(self, row: Sequence[Scalar], k: Scalar) -> Scalar:
        indices: dict[Axis, Scalar] = dict(zip(self.rows, row, strict=True))
        return substitute(self.found.product.data, {**indices, self.found.step: k})

    @property
    def _largest(self) -> int:
        """The largest integer."""
        return LARGEST_BYTE

    @cached_property
    def scales(self) -> Computed:
        """The scale of each block of data."""
        inner = Axis("k", self.found.block)

        def peak(*at: Scalar) -> Scalar:
            *row, block = at
            value = self._data(row, block * self.found.block + inner)
            return reduce("max", [inner], unary("abs", value))

        peaks = compute("peaks", self._block_shape, peak)

        def scale(*at: Scalar) -> Scalar:
            return binary("max", peaks[at], LEAST_PEAK) * (1 / self._largest)

        return compute("data_scales", self._block_shape, scale)

    @cached_property
    def _inverses(self) -> Computed:
        one, scales = literal(1.0, "float32"), self.scales
        return compute("inverses", scales.shape, lambda *at: binary("div", one, scales[at]))

    def _moved(self, index: Sequence[Scalar], k: Scalar, middle: int, most: int) -> Scalar:
        """An integer without a sign, as a float: more by `middle`, and at most `most`."""
        *row, _ = index
        moved = unary("round", self._data(row, k) * self._inverses[tuple(index)]) + float(middle)
        return binary("min", binary("max", moved, 0.0), float(most))

    @cached_property
    def numbers(self) -> Computed:
        """The data as bytes."""
        middle = LARGEST_BYTE + 1

        def number(*at: Scalar) -> Scalar:
            *row, k = at
            moved = self._moved((*row, k // self.found.block), k, middle, 2 * middle - 1)
            byte = cast(moved, "uint8")
            return cast(cast(byte, "int32") - middle, self.pattern.right)

        return compute("data_numbers", (*self._row_shape, self.found.step.extent), number)


@dataclass(frozen=True, eq=False)
class DataDigits(DataBytes):
    """The stages that make several bytes of each number of data, its digits."""

    digit: Axis = field(default_factory=lambda: Axis("d", DIGITS))

    @property
    def digits(self) -> tuple[Axis, ...]:
        """The summed axis of the bytes of a number."""
        return (self.digit,)

    def factor(self, block: Axis) -> Scalar:
        """What a sum of products with a digit counts."""

        def scale(*at: Scalar) -> Scalar:
            *index, digit = at
            counts: Scalar = literal(1.0, "float32")
            for number in range(1, DIGITS):
                is_own = binary("eq", digit, number)
                counts = select(is_own, literal(float(BASE**number), "float32"), counts)
            return self.scales[tuple(index)] * counts

        scales = compute("digit_scales", (*self._block_shape, DIGITS), scale)
        return scales[(*self.rows, block, self.digit)]

    def words(self, block: Axis, step: Axis) -> Scalar:
        """The words of a digit of the data."""
        return words_of(self.numbers, self.pattern.group)[(*self.rows, block, self.digit, step)]

    def sums(self, block: Axis, zero: Scalar | None) -> Scalar:
        """The sum of a digit in a block; times the negative zero point, if that is given."""
        shape = (*self._block_shape, DIGITS)
        summed = self._summed(shape, lambda *at: self.numbers[at], zero)
        return summed[(*self.rows, block, self.digit)]

    @property
    def _largest(self) -> int:
        return LARGEST_BYTE * _of_ones()

    @cached_property
    def numbers(self) -> Computed:
        """The digits, in blocks, each in the order in which weights are stored."""
        found, middle = self.found, (LARGEST_BYTE + 1) * _of_ones()

        def whole(*at: Scalar) -> Scalar:
            *row, block, index = at
            word, rest = index // self.together, index % self.together
            k = block * found.block + word * self.together + self._in_order(rest)
            moved = self._moved((*row, block), k, middle, middle + self._largest)
            return cast(moved, "int32")

        wholes = compute("data_numbers", (*self._block_shape, found.block), whole)

        def byte(*at: Scalar) -> Scalar:
            *index, digit, k = at
            moved = binary("shr", wholes[(*index, k)], cast(digit, "int32") * 8)
            own = binary("and", moved, BASE - 1) - (LARGEST_BYTE + 1)
            return cast(own, self.pattern.right)

        return compute("data_digits", (*self._block_shape, DIGITS, found.block), byte)


def _of_ones() -> int:
    """The number all of whose digits are one."""
    return sum(BASE**index for index in range(DIGITS))
