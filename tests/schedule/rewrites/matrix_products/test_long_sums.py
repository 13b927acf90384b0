"""Long sums of arguments on matrix registers: their parts, and what these add up to."""

from __future__ import annotations

import random
import re

import numpy as np
import pytest

from relay_tune.machine.pattern import BFLOAT16_PAIRS
from relay_tune.schedule.apply import apply_schedule
from relay_tune.schedule.intrinsics.match import intrinsic_match
from relay_tune.schedule.loops.row_block_loops import row_block_loops
from relay_tune.schedule.plan import Plan, plan_program
from relay_tune.schedule.rewrites import carried_parts
from relay_tune.schedule.rewrites.algorithm import AppliedAlgorithm, Rewrite
from relay_tune.schedule.rewrites.matrix_products.form import split_floats_form
from relay_tune.schedule.rewrites.matrix_products.long_sums import (
    LongSums,
    long_sums_program,
    offered_long_sums,
)
from relay_tune.schedule.rewrites.matrix_products.record import (
    BF16X3_SUMS,
    LARGE_PRODUCTS,
    TWO_PARTS,
)
from relay_tune.schedule.row_groups.row_blocks import RowBlocks
from relay_tune.schedule.schedule import Schedule, misfit
from relay_tune.tensor.expression import Axis, reduce
from relay_tune.tensor.loops import Loop, LoopKind
from relay_tune.tensor.loops_text import kernel_text
from relay_tune.tensor.program import TensorProgram
from relay_tune.tensor.tensor import compute, input_tensor
from tests.schedule.loops.matrix_products import (
    inputs_and_result,
    interpreted,
    matrix_index,
    native,
    needs_registers,
)
from tests.schedule.machines import TILES
from tests.schedule.products import dense
from tests.schedule.random_choices import point_of_space

TOLERANCE = 1e-5
"""Of the largest result: what two parts leave out."""


def weight_gradient(
    images: int, size: int, inputs: int, outputs: int, *, stride: int = 1, taps: int = 1
) -> TensorProgram:
    """sum(n, h, w) x[n, s * h + kh, s * w + kw, i] * d[n, h, w, o]."""
    padded = stride * (size - 1) + taps
    x = input_tensor("x", (images, padded, padded, inputs), "float32")
    d = input_tensor("d", (images, size, size, outputs), "float32")
    n, h, w = Axis("n", images), Axis("h", size), Axis("w", size)

    def element(kh, kw, i, o):
        value = x[n, h * stride + kh, w * stride + kw, i]
        return reduce("sum", [n, h, w], value * d[n, h, w, o])

    y = compute("gradient", (taps, taps, inputs, outputs), element)
    return TensorProgram((x, d), (y,), ())


def product_gradient(rows: int, inputs: int, outputs: int) -> TensorProgram:
    """sum(n) x[n, i] * d[n, o]."""
    x, d = (
        input_tensor(name, (rows, columns), "float32")
        for name, columns in (("x", inputs), ("d", outputs))
    )
    n = Axis("n", rows)
    y = compute("gradient", (inputs, outputs), lambda i, o: reduce("sum", [n], x[n, i] * d[n, o]))
    return TensorProgram((x, d), (y,), ())


def gradient_of_heads(images: int, heads: int, rows: int, channels: int) -> TensorProgram:
    """sum(n, s) x[n, h, s, i] * d[n, h, s, o] for each of some heads."""
    shape = (images, heads, rows, channels)
    x, d = (input_tensor(name, shape, "float32") for name in "xd")
    n, s = Axis("n", images), Axis("s", rows)

    def element(h, i, o):
        return reduce("sum", [n, s], x[n, h, s, i] * d[n, h, s, o])

    return TensorProgram((x, d), (compute("gradient", (heads, channels, channels), element),), ())


PROGRAMS = {
    "heads": gradient_of_heads(64, 3, 64, 32),
    "1x1": weight_gradient(16, 16, 32, 48),
    "1x1, stride": weight_gradient(8, 28, 48, 32, stride=2),
    "3x3, stride": weight_gradient(16, 16, 32, 32, stride=2, taps=3),
    "2x2 of 14x14": weight_gradient(16, 14, 32, 48, taps=2),
    "product": product_gradient(4096, 64, 48),
}


def plan_of(program: TensorProgram, turned: bool = False) -> Plan:
    """The plan of a program in parts, whatever its size."""
    offered = offered_long_sums(program, TWO_PARTS, 1)
    steps = next(found.steps for found in offered if found.turned is turned)
    return plan_program(program, BF16X3_SUMS(steps=steps, turned=turned))


def blocks_of(plan: Plan) -> RowBlocks:
    (found,) = (step for step in plan.steps if isinstance(step, RowBlocks))
    return found


def assert_near(found: np.ndarray, expected: np.ndarray) -> None:
    assert np.abs(found - expected).max() <= TOLERANCE * np.abs(expected).max()


@needs_registers
@pytest.mark.parametrize("turned", [False, True], ids=["", "turned"])
@pytest.mark.parametrize("case", PROGRAMS)
def test_native_code_agrees_with_the_same_bits_on_any_number_of_threads(case, turned):
    program = PROGRAMS[case]
    feeds, expected = inputs_and_result(program)
    plan = plan_of(program, turned)
    schedule = plan.default_under_algorithm(TILES, 1)[1]
    one, *others = (native(plan, schedule, feeds, threads) for threads in (1, 2, 3))
    assert_near(one, expected)
    for each in others:
        np.testing.assert_array_equal(each, one)


@needs_registers
@pytest.mark.parametrize("seed", range(4))
def test_any_tiles_of_the_products_are_right(seed):
    rng = random.Random(seed)
    program = rng.choice(list(PROGRAMS.values()))
    plan = plan_of(program, rng.random() < 0.5)
    choices = list(plan.default_under_algorithm(TILES, 2)[1].choices)
    index = matrix_index(plan)
    while True:
        choices[index] = point_of_space(rng, plan.spaces(TILES, 2)[index])
        if misfit(choices[index], plan.nests[index]) is None:
            break
    feeds, expected = inputs_and_result(program)
    assert_near(native(plan, Schedule(tuple(choices), plan.algorithm), feeds, 2), expected)


def test_statements_add_up_parts_in_place(monkeypatch):
    monkeypatch.setattr(carried_parts, "SUM_STEPS", (32,))
    program = product_gradient(128, 32, 32)
    algorithm = AppliedAlgorithm((Rewrite(BF16X3_SUMS, LongSums(16)),))
    plan = plan_program(program, algorithm)
    assert [axis.extent for axis in (*blocks_of(plan).outer, blocks_of(plan).base)] == [4, 2]
    feeds, expected = inputs_and_result(program)
    schedule = plan.default_under_algorithm(TILES, 1)[1]
    assert_near(interpreted(plan, schedule, feeds), expected)


def test_parts_of_a_sum_run_one_after_the_other_and_sums_in_parallel():
    plan = plan_of(weight_gradient(32, 28, 64, 128))
    blocks = blocks_of(plan)
    assert blocks.apart == 1
    assert [axis.extent for axis in (*blocks.outer, blocks.base)] == [8, 28]
    assert {buffer.name for buffer in blocks.buffers} == {"parts", "groups"}
    product = intrinsic_match(blocks.nests[-1])
    assert product is not None
    assert not product.nest.carried
    choices = plan.default_under_algorithm(TILES, 2)[1].choices[: len(blocks.nests)]
    body = row_block_loops(blocks, choices, frozenset()).body
    while not isinstance(body, Loop):
        body = body.body
    assert (body.kind, body.axis.extent) == (LoopKind.PARALLEL, 8)


def test_tiles_ask_for_what_the_next_part_copies():
    plan = plan_of(weight_gradient(32, 28, 64, 128))
    scheduled = apply_schedule(plan, plan.default_under_algorithm(TILES, 1)[1])
    text = kernel_text(scheduled.kernels[0])
    products = text[text.index("matrix registers") :]
    assert {"x", "d"} <= set(re.findall(r"prefetch (\w+)\[", products))


def test_what_a_part_stores_is_smaller_than_a_second_cache():
    blocks = blocks_of(plan_of(weight_gradient(32, 28, 256, 512)))
    assert sum(2 * buffer.shape[0] for buffer in blocks.buffers) <= 384 << 10


@pytest.mark.parametrize(
    ("program", "applies"),
    [
        (weight_gradient(32, 28, 64, 64), True),
        (weight_gradient(32, 7, 256, 256), False),
        (weight_gradient(32, 28, 24, 24), False),
        (weight_gradient(2, 14, 512, 512), False),
        (dense(256, 4096, 256), False),
    ],
    ids=["pixels", "odd lines", "columns fill no register", "short", "weights"],
)
def test_where_sums_are_cut(program, applies):
    assert (long_sums_program(program, LongSums(128), TWO_PARTS) is not None) is applies


def test_parts_are_longer_where_only_these_fill_registers():
    offered = [offered_long_sums(weight_gradient(16, n, 32, 48), TWO_PARTS, 1) for n in (14, 16)]
    assert [{each.steps for each in found} for found in offered] == [{256}, {128}]


def test_small_sums_are_not_worth_the_rounding():
    program = weight_gradient(16, 16, 32, 48)
    assert not list(offered_long_sums(program, TWO_PARTS, LARGE_PRODUCTS))
    assert list(offered_long_sums(program, TWO_PARTS, 1))


@pytest.mark.parametrize(
    ("extents", "steps"),
    [
        ((32, 28, 28), 28),
        ((4, 56), 28),
        ((8, 14, 14), 28),
        ((8, 4, 4), 32),
        ((256,), 32),
        ((4, 7, 7), None),
        ((4, 100), 20),
        ((24,), 24),
        ((8,), None),
    ],
)
def test_registers_begin_and_end_with_lines(extents, steps):
    found = split_floats_form(2).along(extents)
    assert (None if found is None else found.steps) == steps
    assert found is None or found.steps * 2 >= BFLOAT16_PAIRS.steps
