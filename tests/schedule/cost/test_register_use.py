"""Registers that the steps of a sliding window want, and what it costs not to have them."""

from dataclasses import replace

import pytest

from relay_tune.codegen.target import parse_target
from relay_tune.schedule.cost.load_count import BodyLoads
from relay_tune.schedule.cost.register_use import operands_in_use

MACHINE = parse_target("x86_64-linux-gnu:cascadelake").machine
ACCUMULATORS = 24
WINDOW = BodyLoads((12.0, 2.0), (12.0, 2.0), False, 6, 40.0, 40.0, live=20.0, slides=True, row=6.0)


def test_shared_values_that_are_read_again_for_nothing() -> None:
    _, _, spilled = operands_in_use(WINDOW, ACCUMULATORS, MACHINE)
    assert spilled == 0.0


def test_shared_values_that_instructions_take_from_registers_alone() -> None:
    kept, again, spilled = operands_in_use(
        replace(WINDOW, in_registers=True), ACCUMULATORS, MACHINE
    )
    assert kept == 32 - ACCUMULATORS - 1
    assert spilled == pytest.approx((20 - kept) / 6)
    assert again == pytest.approx(MACHINE.coefficients.reloads * spilled)
