"""Products of bytes with a scale for each block of data and one for each block of weights.

e[i, b] = max(k in block b) |x[i, k]| / 127
q[i, k] = int8(round(x[i, k] / e[i, b]))
c[i, b] = -z * sum(k in block b) q[i, k]
w[o, v] = word(number[o, 4 * v], .., number[o, 4 * v + 3])                      in panels
y[i, o] = sum(b) (c[i, b] + sum(v in block b) dot(w[o, v], words(q)[i, v])) * (e[i, b] * s[o, b])
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce as fold
from operator import add

import numpy as np

from relay_tune.machine.pattern import WordPattern
from relay_tune.schedule.nests.rewritten_stages import Rewriting, with_rewritten_stages
from relay_tune.schedule.rewrites.quantized_rows.match import (
    BlockProduct,
    StoredWords,
    block_product,
)
from relay_tune.tensor.expression import (
    Axis,
    Literal,
    Scalar,
    Tensor,
    binary,
    cast,
    literal,
    reduce,
    select,
    unary,
)
from relay_tune.tensor.program import TensorProgram
from relay_tune.tensor.size import nominal
from relay_tune.tensor.tensor import Computed, Panels, compute, panels_of, words_of
from relay_tune.tensor.walk import axes_of, substitute

LARGEST = 127
"""Of the bytes that data become: as far from zero on both sides."""

FEW_ROWS = 16
"""Up to so many rows, the order of data follows that in which weights are stored."""

LEAST_PEAK = 1e-30
"""What a block of smaller numbers is divided by; they become zeros."""


def quantized_program(
    program: TensorProgram, pattern: WordPattern, columns: int
) -> TensorProgram | None:
    """The program with dot products of a pattern in place of such products; None without any."""

    def rewrite(stage: Computed, rewriting: Rewriting) -> Computed | None:
        found = block_product(rewriting.rebuilt(stage), rewriting.constants)
        if found is None or not is_possible(found, pattern):
            return None
        if found.product.column.extent % columns:
            return None
        return _Product(found, pattern, columns).sums()

    return with_rewritten_stages(program, rewrite)


def is_possible(found: BlockProduct, pattern: WordPattern) -> bool:
    """Whether numbers fit the words of a pattern, and blocks are whole words."""
    limits, (low, high) = np.iinfo(pattern.left), found.bounds
    return high - low <= limits.max - limits.min and not found.block % pattern.group


@dataclass(frozen=True, eq=False, slots=True)
class _Product:
    """The stages of one product."""

    found: BlockProduct
    pattern: WordPattern
    columns: int

    def sums(self) -> Computed:
        """The stage that stands for the product."""
        found, stage = self.found, self.found.product.stage
        block, step = Axis("b", found.blocks), Axis("v", found.block // self.pattern.group)
        rows = [axis for axis in stage.axes if axis is not found.product.column]
        scales = self._scales(rows)
        numbers = self._numbers(rows, scales)
        right = self._data_words(rows, numbers, block, step)
        left = self._in_panel(self._words())[(block, step)]
        total = binary(self.pattern.name, left, right)
        start = self._start(rows, numbers, block)
        if start is not None:
            total = select(binary("eq", step, 0), start, 0) + total
        factor = scales[(*rows, block)] * self._in_panel(self._factors())[(block,)]
        body = reduce("sum", [block, step], cast(total, "float32") * factor)
        return Computed(
            name=stage.name, shape=stage.shape, dtype=stage.dtype, axes=stage.axes, body=body
        )

    def _at(self, value: Scalar, rows: Sequence[Axis], at: Sequence[Scalar], k: Scalar) -> Scalar:
        places: dict[Axis, Scalar] = dict(zip(rows, at, strict=True))
        return substitute(value, {**places, self.found.step: k})

    def _scales(self, rows: Sequence[Axis]) -> Computed:
        """The scale of each block of data."""
        found, data = self.found, self.found.product.data
        inner = Axis("k", found.block)

        def peak(*at: Scalar) -> Scalar:
            *row, block = at
            value = self._at(data, rows, row, block * found.block + inner)
            return reduce("max", [inner], unary("abs", value))

        shape = (*(axis.extent for axis in rows), found.blocks)
        peaks = compute("peaks", shape, peak)

        def scale(*at: Scalar) -> Scalar:
            return binary("max", peaks[at], LEAST_PEAK) * (1 / LARGEST)

        return compute("data_scales", shape, scale)

    def _numbers(self, rows: Sequence[Axis], scales: Tensor) -> Computed:
        """The data as integers."""
        found, middle = self.found, LARGEST + 1
        inverse = compute(
            "inverses", scales.shape, lambda *at: binary("div", literal(1.0, "float32"), scales[at])
        )

        def number(*at: Scalar) -> Scalar:
            *row, k = at
            value = self._at(found.product.data, rows, row, k)
            moved = unary("round", value * inverse[(*row, k // found.block)]) + float(middle)
            limited = binary("min", binary("max", moved, 0.0), float(2 * middle - 1))
            return cast(cast(cast(limited, "uint8"), "int32") - middle, self.pattern.right)

        return compute("data_numbers", (*(axis.extent for axis in rows), found.step.extent), number)

    @property
    def _in_words(self) -> StoredWords | None:
        """How the words of the weights are made of stored ones, by few instructions; or None.

        The data are then put in the order of the numbers, which takes longer than it saves where
        there are many rows.
        """
        found = self.found.words
        if found is None:
            return None
        is_in_order = found.numbers == self.pattern.group
        if not is_in_order and nominal(self.found.product.rows) > FEW_ROWS:
            return None
        return None if self.found.block % found.numbers else found

    def _data_words(self, rows: Sequence[Axis], numbers: Tensor, block: Axis, step: Axis) -> Scalar:
        """The words of the data that those of the weights are multiplied by."""
        stored, group = self._in_words, self.pattern.group
        if stored is None or stored.numbers == group:
            return words_of(numbers, group)[(*rows, block * step.extent + step)]
        together, parts = stored.numbers, stored.numbers // group

        def number(*at: Scalar) -> Scalar:
            *row, word, place = at
            step = place % group * parts + place // group
            return numbers[(*row, word * together + step)]

        steps = self.found.step.extent
        shape = (*(axis.extent for axis in rows), steps // together, together)
        words = words_of(compute("data_in_order", shape, number), group)
        at = block * (self.found.block // together) + step // parts
        return words[(*rows, at, step % parts)]

    @property
    def _low(self) -> int:
        """What is taken from each number of the weights so that it fits its word."""
        limits, (low, high) = np.iinfo(self.pattern.left), self.found.bounds
        if self._in_words is not None and self._in_words.numbers > self.pattern.group:
            return low
        return 0 if limits.min <= low and high <= limits.max else low - int(limits.min)

    def _start(self, rows: Sequence[Axis], numbers: Tensor, block: Axis) -> Scalar | None:
        """What the zero points take from the sum of a block; None where there are none."""
        found = self.found
        zero = found.zero - literal(self._low, "int32")
        if isinstance(found.zero, Literal):
            value = int(found.zero.value) - self._low
            if not value:
                return None
            zero = literal(value, "int32")
        inner = Axis("k", found.block)

        def total(*at: Scalar) -> Scalar:
            *row, number = at
            place = (*row, number * found.block + inner)
            return reduce("sum", [inner], cast(numbers[place], "int32"))

        shape = (*(axis.extent for axis in rows), found.blocks)
        sums = compute("data_sums", shape, total)
        if found.product.column in axes_of(zero):
            zeros = self._in_panel(self._of_blocks("zeros", zero))
            return sums[(*rows, block)] * unary("neg", zeros[(block,)])
        steps = {found.step: literal(0, "index")} if found.step in axes_of(zero) else {}
        taken = substitute(zero, steps)
        starts = compute("starts", shape, lambda *at: sums[at] * unary("neg", taken))
        return starts[(*rows, block)]

    def _words(self) -> Panels:
        """The numbers of the weights as words."""
        found, group = self.found, self.pattern.group
        if self._in_words is not None:
            return self._masked_words(self._in_words)
        bits = 32 // group
        number = found.number - literal(self._low, "int32") if self._low else found.number
        is_masked = np.iinfo(self.pattern.left).min < 0

        def element(block: Scalar, step: Scalar, column: Scalar) -> Scalar:
            parts = []
            for place in range(group):
                k = block * found.block + step * group + place
                part = substitute(number, {found.step: k, found.product.column: column})
                part = binary("and", part, (1 << bits) - 1) if is_masked else part
                parts.append(binary("shl", part, bits * place) if place else part)
            return fold(add, parts)

        return self._panels("words", (found.blocks, found.block // group), element)

    def _masked_words(self, stored: StoredWords) -> Panels:
        """Each number of which bytes of a stored word have several, in a word of its own.

        The byte j of word p has number `j * parts + p` of the stored one, without a sign unless it
        is one of 8 bits that the pattern takes as it is.
        """
        found, group, bits = self.found, self.pattern.group, stored.bits
        parts = stored.numbers // group
        mask, middle = (
            int(np.array(sum(number << 8 * place for place in range(group)), "u4").view("i4"))
            for number in ((1 << bits) - 1, 1 << (bits - 1))
        )

        def element(block: Scalar, step: Scalar, column: Scalar) -> Scalar:
            k = block * found.block + step // parts * stored.numbers
            word = substitute(stored.word, {found.step: k, found.product.column: column})
            if parts == 1:
                return binary("xor", word, middle) if self._low else word
            moved = binary("shr", word, cast(step % parts, "int32") * bits)
            return binary("and", binary("xor", moved, middle), mask)

        return self._panels("words", (found.blocks, found.block // group), element)

    def _factors(self) -> Panels:
        return self._of_blocks("scales", self.found.scale)

    def _of_blocks(self, name: str, value: Scalar) -> Panels:
        """What a block of weights has one of."""
        found = self.found

        def element(block: Scalar, column: Scalar) -> Scalar:
            places = {found.step: block * found.block, found.product.column: column}
            return substitute(value, places)

        return self._panels(name, (found.blocks,), element)

    def _panels(self, name: str, shape: Sequence[int], element: Callable[..., Scalar]) -> Panels:
        count = self.found.product.column.extent // self.columns

        def at(number: Scalar, *inner: Scalar) -> Scalar:
            *outer, place = inner
            return element(*outer, number * self.columns + place)

        return panels_of(compute(f"weight_{name}", (count, *shape, self.columns), at))

    def _in_panel(self, panels: Panels) -> _Column:
        return _Column(panels, self.found.product.column, self.columns)


@dataclass(frozen=True, slots=True)
class _Column:
    """What panels have of a column."""

    panels: Panels
    column: Axis
    columns: int

    def __getitem__(self, at: tuple[Scalar, ...]) -> Scalar:
        return self.panels[(self.column // self.columns, *at, self.column % self.columns)]
