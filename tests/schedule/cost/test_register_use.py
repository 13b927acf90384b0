"""Registers of the operands of written-out steps."""

from dataclasses import replace

from relay_tune.codegen.target import native_target
from relay_tune.schedule.cost.load_count import BodyLoads
from relay_tune.schedule.cost.register_use import operands_in_use

WINDOW = BodyLoads(
    counts=(2.0, 13.0), held=(2.0, 13.0), strided=False, together=3, shared=21.0, slides=True,
    values=21.0, live=17.0,
)  # fmt: skip
"""Three taps of a row beside each other, 13 points with two vectors of channels."""


def test_shared_words_of_dot_products_drive_sums_out_of_registers():
    machine = native_target().machine
    vectors = machine.vectors.registers - 6
    free = max(5, machine.coefficients.least_operands)
    kept, _, spilled = operands_in_use(replace(WINDOW, in_registers=True), vectors, machine)
    assert (kept, spilled) == (free, (17 - free) / 3)
    assert operands_in_use(WINDOW, vectors, machine)[2] == 0


def test_words_that_find_registers_cost_nothing():
    machine = native_target().machine
    few = replace(WINDOW, live=3.0, in_registers=True)
    assert operands_in_use(few, 2, machine) == (3, 0.0, 0.0)
