"""Long sums whose parts of both operands are copied into panels."""

from __future__ import annotations

import random
import re

import numpy as np
import pytest

from relay_tune.schedule.apply import apply_schedule
from relay_tune.schedule.plan import Plan, plan_program
from relay_tune.schedule.rewrites.algorithm import DIRECT
from relay_tune.schedule.rewrites.panel_sums import PANEL_SUMS
from relay_tune.schedule.row_groups.row_blocks import RowBlocks
from relay_tune.schedule.schedule import Schedule, misfit
from relay_tune.tensor.expression import Axis, reduce
from relay_tune.tensor.loops_text import kernel_text
from relay_tune.tensor.program import TensorProgram
from relay_tune.tensor.tensor import compute, input_tensor
from tests.schedule.loops.matrix_products import inputs_and_result, native
from tests.schedule.machines import SERVER, core, with_registers
from tests.schedule.products import dense
from tests.schedule.random_choices import point_of_space
from tests.schedule.rewrites.matrix_products.test_long_sums import (
    PROGRAMS,
    blocks_of,
    product_gradient,
    weight_gradient,
)


def grouped_gradient(images: int, size: int, groups: int, inside: int, taps: int) -> TensorProgram:
    """sum(n, h, w) x[n, h + kh, w + kw, o // inside * inside + i] * d[n, h, w, o]."""
    channels, padded = groups * inside, size + taps - 1
    x = input_tensor("x", (images, padded, padded, channels), "float32")
    d = input_tensor("d", (images, size, size, channels), "float32")
    n, h, w = Axis("n", images), Axis("h", size), Axis("w", size)

    def element(kh, kw, i, o):
        value = x[n, h + kh, w + kw, o // inside * inside + i]
        return reduce("sum", [n, h, w], value * d[n, h, w, o])

    y = compute("gradient", (taps, taps, inside, channels), element)
    return TensorProgram((x, d), (y,), ())


CASES = {**PROGRAMS, "groups": grouped_gradient(8, 16, 3, 16, 2)}

FEW_REGISTERS = core(32, 16)
SMALL_TILES = with_registers(FEW_REGISTERS, 6)
TOLERANCE = 1e-5


def plan_of(program: TensorProgram, steps: int = 128) -> Plan:
    return plan_program(program, PANEL_SUMS(steps=steps))


def assert_near(found: np.ndarray, expected: np.ndarray) -> None:
    assert np.abs(found - expected).max() <= TOLERANCE * np.abs(expected).max()


@pytest.mark.parametrize("case", CASES)
def test_native_code_agrees_with_the_same_bits_on_any_number_of_threads(case):
    program = CASES[case]
    feeds, expected = inputs_and_result(program)
    plan = plan_of(program)
    schedule = plan.default_under_algorithm(SMALL_TILES, 1)[1]
    one, *others = (native(plan, schedule, feeds, threads) for threads in (1, 2, 3))
    assert_near(one, expected)
    for each in others:
        np.testing.assert_array_equal(each, one)


@pytest.mark.parametrize("seed", range(3))
def test_any_tiles_of_the_products_are_right(seed):
    rng = random.Random(seed)
    program = rng.choice(list(CASES.values()))
    plan = plan_of(program, rng.choice((128, 256)))
    choices = list(plan.default_under_algorithm(SMALL_TILES, 2)[1].choices)
    index = next(n for n, nest in enumerate(plan.nests) if nest.reduction)
    while True:
        choices[index] = point_of_space(rng, plan.spaces(SMALL_TILES, 2)[index])
        if misfit(choices[index], plan.nests[index]) is None:
            break
    feeds, expected = inputs_and_result(program)
    assert_near(native(plan, Schedule(tuple(choices), plan.algorithm), feeds, 2), expected)


def test_a_part_has_a_panel_of_each_line_of_columns():
    blocks = blocks_of(plan_of(weight_gradient(32, 28, 64, 128)))
    assert blocks.apart == 1  # sums on threads of their own, their parts in turn
    assert [axis.extent for axis in (*blocks.outer, blocks.base)] == [8, 28]
    *copies, product = blocks.nests
    assert {tuple(axis.extent for axis in copy.axes) for copy in copies} == {
        (64 // 16, 112, 16),
        (128 // 16, 112, 16),
    }
    assert product.reduction[-1].extent == 112


def test_tiles_ask_for_what_the_next_part_copies():
    plan = plan_of(weight_gradient(32, 28, 64, 128))
    scheduled = apply_schedule(plan, plan.default_under_algorithm(SMALL_TILES, 1)[1])
    text = kernel_text(scheduled.kernels[0])
    assert {"x", "d"} <= set(re.findall(r"prefetch (\w+)\[", text))
    *copies, _, _ = plan.spaces(SMALL_TILES, 1)
    for space in copies:
        assert all(access.is_near for access in space.analysis.result_accesses)


@pytest.mark.parametrize(
    ("program", "is_offered"),
    [
        (weight_gradient(32, 28, 64, 64), True),
        (weight_gradient(32, 28, 64, 64, taps=3, stride=2), True),
        (product_gradient(4096, 64, 48), True),
        (grouped_gradient(8, 28, 4, 32, 3), True),
        (grouped_gradient(8, 28, 4, 8, 3), False),  # groups that fill no lines
        (weight_gradient(32, 28, 64, 24), False),  # columns that fill no lines
        (weight_gradient(1, 8, 64, 64), False),  # a short sum
        (product_gradient(16384, 512, 4096), False),  # panels of a part that outgrow a group
        (dense(512, 512, 512), False),  # whose weights are constants
    ],
    ids=["1x1", "3x3", "product", "groups", "narrow", "columns", "short", "large", "dense"],
)
def test_what_is_offered(program, is_offered):
    found = {
        each.rewrites[0].algorithm for each in plan_program(program).algorithms if each.rewrites
    }
    assert (PANEL_SUMS in found) is is_offered


def test_machines_with_few_registers_choose_it_and_others_may_not():
    direct = plan_program(weight_gradient(32, 56, 64, 128))
    chosen = direct.default_schedule(FEW_REGISTERS, 1).algorithm
    assert chosen.rewrites[0].algorithm is PANEL_SUMS
    assert not any("panel_sums" in str(each) for each in direct.algorithms_on(SERVER))
    assert DIRECT in direct.algorithms_on(SERVER)


@pytest.mark.parametrize("case", CASES)
def test_copies_and_products_of_a_part_are_one_group(case):
    groups = [step for step in plan_of(CASES[case]).steps if isinstance(step, RowBlocks)]
    assert [len(group.nests) for group in groups] == [3]
