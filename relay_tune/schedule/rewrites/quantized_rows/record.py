"""Data rounded to bytes when the program runs, as records."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from relay_tune.machine.machine import Machine
from relay_tune.machine.pattern import SIGNED_BYTES, UNSIGNED_BY_SIGNED, WordPattern
from relay_tune.schedule.accuracy import Accuracy, Exactness, Rounding
from relay_tune.schedule.rewrites.algorithm import Algorithm, Parameters
from relay_tune.schedule.rewrites.quantized_rows.match import BlockProduct, block_product
from relay_tune.schedule.rewrites.quantized_rows.stages import is_possible, quantized_program
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


def quantized(pattern: WordPattern) -> Algorithm:
    """The algorithm that rounds data for a pattern whose right elements have signs."""

    def offers(
        program: TensorProgram, nests: Sequence[Step], accuracy: Accuracy
    ) -> Iterator[Parameters]:
        found = [each for each in _products(program) if is_possible(each, pattern)]
        for columns in COLUMNS:
            if found and all(fits(each.product, columns) for each in found):
                yield Columns(columns)

    def rewritten(program: TensorProgram, parameters: Columns) -> TensorProgram | None:
        return quantized_program(program, pattern, parameters.columns)

    def needs(machine: Machine) -> bool:
        return pattern.name in machine.dot_products

    return Algorithm(
        pattern.name.replace("dot", "quantized"),
        offers,
        Columns,
        exactness=Exactness(rounding=Rounding.OF_FACTORS),
        rewritten=rewritten,
        grouped=grouped_panels,
        needs=needs,
        packing=packed_in_columns,
        data_type="int8",
    )


def _products(program: TensorProgram) -> list[BlockProduct]:
    constants = {tensor for tensor, _ in program.constants}
    found = (block_product(stage, constants) for stage in tensors_in_order(program.outputs))
    return [each for each in found if each and nominal(each.product.rows) >= LEAST_ROWS]


QUANTIZED = tuple(map(quantized, (UNSIGNED_BY_SIGNED, SIGNED_BYTES)))
"""Products with weights of few bits whose data are rounded to bytes, an algorithm a pattern.

Each block of 32 numbers of a row of data has a scale, its largest number by 127. What a number
loses is at most half of that scale, whatever the number is: 1 / 254 of the largest one beside it.
Sums of a block are exact, those of blocks are float32.
"""
