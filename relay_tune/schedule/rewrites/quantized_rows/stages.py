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
from relay_tune.schedule.rewrites.quantized_rows.match import BlockProduct, block_product
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
from relay_tune.tensor.tensor import Computed, Panels, compute, panels_of, words_of
from relay_tune.tensor.walk import axes_of, substitute

LARGEST = 127
"""Of the bytes that data become: as far from zero on both sides."""

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
        words = words_of(numbers, self.pattern.group)
        right = words[(*rows, block * step.extent + step)]
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
    def _low(self) -> int:
        """What is taken from each number of the weights so that it fits its word."""
        limits, (low, high) = np.iinfo(self.pattern.left), self.found.bounds
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
