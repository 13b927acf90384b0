"""Data as bytes, and as several bytes each, as records."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from relay_tune.machine.pattern import SIGNED_BYTES, UNSIGNED_BY_SIGNED, WordPattern
from relay_tune.schedule.accuracy import Accuracy, Exactness, Rounding
from relay_tune.schedule.loops.scaled_sums import has_integer_sums
from relay_tune.schedule.nests.nest import Nest
from relay_tune.schedule.rewrites.algorithm import Algorithm, Parameters
from relay_tune.schedule.rewrites.needs import multiplies
from relay_tune.schedule.rewrites.quantized_rows.match import BlockProduct, block_product
from relay_tune.schedule.rewrites.quantized_rows.stages import (
    digits_program,
    has_words,
    is_possible,
    quantized_program,
)
from relay_tune.schedule.rewrites.weight_panels.record import (
    COLUMNS,
    Columns,
    fits,
    grouped_panels,
    packed_in_columns,
)
from relay_tune.schedule.row_groups.groups import Step
from relay_tune.tensor.dependencies import tensors_in_order
from relay_tune.tensor.program import TensorProgram
from relay_tune.tensor.size import nominal

LEAST_ROWS = 4
"""Fewer wait for memory, which nothing asks for ahead while a panel is made of stored weights."""

MOST_ROWS_OF_DIGITS = 7
"""More share the conversion of a weight to a float; and 8 rows decide how few rows pack."""

MOST_COLUMNS_OF_DIGITS = 64
"""More have three sums of integers and one of floats in more registers than there are beside words.

With 128 they leave for memory in turn, and what is asked for ahead comes all at once.
"""


def quantized(pattern: WordPattern) -> Algorithm:
    """The algorithm that rounds data for a pattern whose right elements have signs."""

    def offers(
        program: TensorProgram, nests: Sequence[Step], accuracy: Accuracy
    ) -> Iterator[Parameters]:
        found = [each for each in _products(program) if is_possible(each, pattern)]
        found = [each for each in found if nominal(each.product.rows) >= LEAST_ROWS]
        for columns in COLUMNS:
            if found and all(fits(each.product, columns) for each in found):
                yield Columns(columns)

    def rewritten(program: TensorProgram, parameters: Columns) -> TensorProgram | None:
        return quantized_program(program, pattern, parameters.columns)

    return Algorithm(
        pattern.name.replace("dot", "quantized"),
        offers,
        Columns,
        exactness=Exactness(rounding=Rounding.OF_FACTORS),
        rewritten=rewritten,
        grouped=grouped_panels,
        needs=multiplies(pattern),
        packing=packed_in_columns,
        data_type="int8",
    )


def digits(pattern: WordPattern) -> Algorithm:
    """The algorithm that multiplies digits of data, which have signs, for a pattern."""

    def offers(
        program: TensorProgram, nests: Sequence[Step], accuracy: Accuracy
    ) -> Iterator[Parameters]:
        found = [each for each in _products(program) if has_words(each, pattern)]
        if not found or any(nominal(each.product.rows) > MOST_ROWS_OF_DIGITS for each in found):
            return
        yield from (Columns(columns) for columns in COLUMNS if columns <= MOST_COLUMNS_OF_DIGITS)

    def rewritten(program: TensorProgram, parameters: Columns) -> TensorProgram | None:
        return digits_program(program, pattern)

    return Algorithm(
        pattern.name.replace("dot", "digits"),
        offers,
        Columns,
        exactness=Exactness(rounding=Rounding.MORE),
        rewritten=rewritten,
        needs=multiplies(pattern),
        packing=packed_in_columns,
        columns=columns_of_sums,
    )


def columns_of_sums(nest: Nest, parameters: Columns) -> int:
    """The width of tiles that read words of weights."""
    return parameters.columns if has_integer_sums(nest) else 0


def _products(program: TensorProgram) -> list[BlockProduct]:
    constants = {tensor for tensor, _ in program.constants}
    found = (block_product(stage, constants) for stage in tensors_in_order(program.outputs))
    return [each for each in found if each is not None]


QUANTIZED = tuple(map(quantized, (UNSIGNED_BY_SIGNED, SIGNED_BYTES)))
"""Products with weights of few bits whose data are rounded to bytes, an algorithm a pattern.

Each block of 32 numbers of a row of data has a scale, its largest number by 127. What a number
loses is at most half of that scale, whatever the number is: 1 / 254 of the largest one beside it.
Sums of a block are exact, those of blocks are float32.
"""

DIGITS = tuple(map(digits, (UNSIGNED_BY_SIGNED, SIGNED_BYTES)))
"""Products with weights of few bits whose data become three bytes for each number.

Each number of a block of 32 is rounded to a multiple of its largest one by 127 * 65793, by 2^-24 of
that one at most, as that itself is in float32. Sums of a block are exact, those of blocks float32.
So an error is one of sums in float32, but for blocks whose numbers differ by orders of magnitude.
"""
