"""Weights of few bits, converted once a panel to parts for matrix registers, as records."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from relay_tune.machine.machine import Machine
from relay_tune.schedule.accuracy import Accuracy, Exactness, Rounding
from relay_tune.schedule.nests.nest import Nest
from relay_tune.schedule.rewrites.algorithm import Algorithm, Parameters
from relay_tune.schedule.rewrites.matrix_products.form import Form
from relay_tune.schedule.rewrites.matrix_products.match import match_matrix_product
from relay_tune.schedule.rewrites.matrix_products.record import (
    LARGE_PRODUCTS,
    ONE_PART,
    TWO_PARTS,
)
from relay_tune.schedule.rewrites.matrix_products.stages import matrix_program, multiplications
from relay_tune.schedule.rewrites.weight_panels.record import (
    COLUMNS,
    Columns,
    fits,
    grouped_panels,
    packed_in_columns,
    products,
)
from relay_tune.schedule.rewrites.weight_panels.stages import panel_program
from relay_tune.schedule.row_groups.groups import Step
from relay_tune.tensor.program import TensorProgram

LEAST_REGISTERS = 2
"""Of columns in a panel, where any such width divides the columns.

With a single one a register of rows is loaded for each product: twice the time (3072 to 768).
"""


def _in_parts(name: str, form: Form, rounding: Rounding, least: int) -> Algorithm:
    """Panels of parts of a form, for so many multiplications and more."""

    def offers(
        program: TensorProgram, nests: Sequence[Step], accuracy: Accuracy
    ) -> Iterator[Parameters]:
        constants, found = dict(program.constants), products(program)
        if any(match_matrix_product(each.stage, constants, form) is None for each in found):
            return
        if not found or multiplications(program, form) < least:
            return
        widths = [
            columns
            for columns in COLUMNS
            if not columns % form.columns and all(fits(each, columns, copies=2) for each in found)
        ]
        wide = [columns for columns in widths if columns >= LEAST_REGISTERS * form.columns]
        yield from map(Columns, wide or widths)

    def rewritten(program: TensorProgram, parameters: Columns) -> TensorProgram | None:
        panels = panel_program(program, parameters.columns)
        return None if panels is None else matrix_program(panels, form, gathers=False)

    def on_matrix_registers(nest: Nest, _: Columns) -> Nest:
        return replace(nest, pattern=form.pattern)

    def needs(machine: Machine) -> bool:
        return machine.intrinsic(form.pattern) is not None

    return Algorithm(
        name,
        offers,
        Columns,
        exactness=Exactness(rounding=rounding),
        rewritten=rewritten,
        nest=on_matrix_registers,
        grouped=grouped_panels,
        needs=needs,
        packing=packed_in_columns,
    )


MATRIX_PANELS = (
    _in_parts("panels_bf16x3", TWO_PARTS, Rounding.MORE, LARGE_PRODUCTS),
    _in_parts("panels_bf16x1", ONE_PART, Rounding.OF_FACTORS, 0),
)
"""Products of bfloat16 parts with weights of few bits, whose panels become parts once for all rows.

    for b in blocks of 48 columns:
      w'[k, j] = float(q[48 * b + j, k]) * s[48 * b + j, k // 32]
      groups[o, k // 32, p, (k % 32) // 2, c, k % 2] = part p of w'[k, 16 * o + c]
      y[i, 48 * b + j] = the sums of products of parts, as `matrix_products` has them

A number of 4 bits times a float16 has no more than 16 digits, so that two parts are all of it.
"""
