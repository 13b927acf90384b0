"""Products of bytes with a scale for each block of data and one for each block of weights.

c[i, b] = -z * sum(k in block b) q[i, k]
w[o, v] = word(number[o, 4 * v], .., number[o, 4 * v + 3])
y[i, o] = sum(b) (c[i, b] + sum(v in block b) dot(w[o, v], words(q)[i, v])) * (e[i, b] * s[o, b])

Words of the weights are made in panels for many rows, and where they are multiplied for few.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from functools import reduce as fold
from operator import add

import numpy as np

from relay_tune.machine.pattern import WordPattern
from relay_tune.quick_dataclass import dataclass
from relay_tune.schedule.nests.rewritten_stages import Rewriting, with_rewritten_stages
from relay_tune.schedule.rewrites.quantized_rows.data_numbers import DataBytes, DataDigits
from relay_tune.schedule.rewrites.quantized_rows.match import (
    BlockProduct,
    StoredWords,
    block_product,
)
from relay_tune.tensor.expression import (
    Axis,
    Literal,
    Scalar,
    binary,
    cast,
    literal,
    reduce,
    select,
    unary,
)
from relay_tune.tensor.program import TensorProgram
from relay_tune.tensor.size import nominal
from relay_tune.tensor.tensor import Computed, compute, panels_of
from relay_tune.tensor.walk import axes_of, substitute

FEW_ROWS = 16
"""Up to so many rows, the order of data follows that in which weights are stored."""

Element = Callable[..., Scalar]
"""element(*indices, column) -> what weights have there."""


def quantized_program(
    program: TensorProgram, pattern: WordPattern, columns: int
) -> TensorProgram | None:
    """The program with dot products of a pattern in place of such products; None without any.

    Data are bytes, and words of the weights lie in panels of so many columns.
    """

    def rewrite(stage: Computed, rewriting: Rewriting) -> Computed | None:
        found = block_product(rewriting.rebuilt(stage), rewriting.constants)
        if found is None or not is_possible(found, pattern):
            return None
        if found.product.column.extent % columns:
            return None
        return _Product(found, pattern, columns).sums()

    return with_rewritten_stages(program, rewrite)


def digits_program(program: TensorProgram, pattern: WordPattern) -> TensorProgram | None:
    """The same with data as digits, and words made where they are multiplied."""

    def rewrite(stage: Computed, rewriting: Rewriting) -> Computed | None:
        found = block_product(rewriting.rebuilt(stage), rewriting.constants)
        if found is None or not has_words(found, pattern):
            return None
        return _Product(found, pattern).sums()

    return with_rewritten_stages(program, rewrite)


def is_possible(found: BlockProduct, pattern: WordPattern) -> bool:
    """Whether numbers fit the words of a pattern, and blocks are whole words."""
    limits, (low, high) = np.iinfo(pattern.left), found.bounds
    return high - low <= limits.max - limits.min and not found.block % pattern.group


def has_words(found: BlockProduct, pattern: WordPattern) -> bool:
    """Whether words of a pattern are made of stored ones by few instructions."""
    stored = found.words
    return is_possible(found, pattern) and stored is not None and not found.block % stored.numbers


@dataclass(frozen=True, eq=False)
class _Product:
    """The stages of one product."""

    found: BlockProduct
    pattern: WordPattern
    columns: int | None = None

    def sums(self) -> Computed:
        """The stage that stands for the product."""
        found, stage, data = self.found, self.found.product.stage, self._data
        block, step = Axis("b", found.blocks), Axis("v", found.block // self.pattern.group)
        left = self._column("words", (found.blocks, step.extent), self._words())(block, step)
        total = binary(self.pattern.name, left, data.words(block, step))
        start = self._start(block)
        if start is not None:
            total = select(binary("eq", step, 0), start, 0) + total
        scale = self._of_blocks("scales", found.scale)(block)
        body = cast(total, "float32") * (data.factor(block) * scale)
        return Computed(
            name=stage.name,
            shape=stage.shape,
            dtype=stage.dtype,
            axes=stage.axes,
            body=reduce("sum", [block, *data.digits, step], body),
        )

    @cached_property
    def _data(self) -> DataBytes:
        """The integers of the data."""
        found, stored = self.found, self._in_words
        rows = [axis for axis in found.product.stage.axes if axis is not found.product.column]
        together = self.pattern.group if stored is None else stored.numbers
        kind = DataDigits if self.columns is None else DataBytes
        return kind(found, rows, self.pattern, together)

    @property
    def _in_words(self) -> StoredWords | None:
        """How the words of the weights are made of stored ones, by few instructions; or None.

        The data are then put in the order of the numbers, which takes longer than it saves where
        there are many rows.
        """
        if not has_words(self.found, self.pattern):
            return None
        found = self.found.words
        assert found is not None
        is_in_order = found.numbers == self.pattern.group
        if not is_in_order and nominal(self.found.product.rows) > FEW_ROWS:
            return None
        return found

    @property
    def _low(self) -> int:
        """What is taken from each number of the weights so that it fits its word."""
        limits, (low, high) = np.iinfo(self.pattern.left), self.found.bounds
        if self._in_words is not None and self._in_words.numbers > self.pattern.group:
            return low
        return 0 if limits.min <= low and high <= limits.max else low - int(limits.min)

    def _start(self, block: Axis) -> Scalar | None:
        """What the zero points take from the sum of a block; None where there are none."""
        found = self.found
        zero = found.zero - literal(self._low, "int32")
        if isinstance(found.zero, Literal):
            value = int(found.zero.value) - self._low
            if not value:
                return None
            zero = literal(value, "int32")
        if found.product.column in axes_of(zero):
            zeros = self._of_blocks("zeros", zero)(block)
            return self._data.sums(block, None) * unary("neg", zeros)
        steps = {found.step: literal(0, "index")} if found.step in axes_of(zero) else {}
        return self._data.sums(block, substitute(zero, steps))

    def _words(self) -> Element:
        """The numbers of the weights as words."""
        found, group = self.found, self.pattern.group
        if self._in_words is not None:
            return self._masked_words(self._in_words)
        bits = 32 // group
        number = found.number - literal(self._low, "int32") if self._low else found.number
        is_masked = np.iinfo(self.pattern.left).min < 0

        def element(block: Scalar, step: Scalar, column: Scalar) -> Scalar:
            parts = []
            for index in range(group):
                k = block * found.block + step * group + index
                part = substitute(number, {found.step: k, found.product.column: column})
                part = binary("and", part, (1 << bits) - 1) if is_masked else part
                parts.append(binary("shl", part, bits * index) if index else part)
            return fold(add, parts)

        return element

    def _masked_words(self, stored: StoredWords) -> Element:
        """Each number of which bytes of a stored word have several, in a word of its own.

        The byte j of word p has number `j * parts + p` of the stored one, without a sign unless it
        is one of 8 bits that the pattern takes as it is.
        """
        found, group, bits = self.found, self.pattern.group, stored.bits
        parts = stored.numbers // group
        mask, middle = (
            int(np.array(sum(number << 8 * index for index in range(group)), "u4").view("i4"))
            for number in ((1 << bits) - 1, 1 << (bits - 1))
        )

        def element(block: Scalar, step: Scalar, column: Scalar) -> Scalar:
            k = block * found.block + step // parts * stored.numbers
            word = substitute(stored.word, {found.step: k, found.product.column: column})
            if parts == 1:
                return binary("xor", word, middle) if self._low else word
            moved = binary("shr", word, cast(step % parts, "int32") * bits)
            return binary("and", binary("xor", moved, middle), mask)

        return element

    def _of_blocks(self, name: str, value: Scalar) -> Element:
        """What a block of weights has one of, in a column of the results."""
        found = self.found

        def element(block: Scalar, column: Scalar) -> Scalar:
            indices = {found.step: block * found.block, found.product.column: column}
            return substitute(value, indices)

        return self._column(name, (found.blocks,), element)

    def _column(self, name: str, shape: Sequence[int], element: Element) -> Element:
        """Such elements in a column of the results: read from panels, if there are any."""
        column, columns = self.found.product.column, self.columns
        if columns is None:
            return lambda *at: element(*at, column)
        count = column.extent // columns

        def in_panel(number: Scalar, *inner: Scalar) -> Scalar:
            *outer, index = inner
            return element(*outer, number * columns + index)

        panels = panels_of(compute(f"weight_{name}", (count, *shape, columns), in_panel))
        return lambda *at: panels[(column // columns, *at, column % columns)]
