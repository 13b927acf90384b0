"""What tiles read behind their reduction, fetched during it."""

from dataclasses import replace

import numpy as np
import pytest

from relay_tune.codegen.target import native_target
from relay_tune.schedule.apply import apply_schedule
from relay_tune.schedule.choice import TileChoice
from relay_tune.schedule.plan import Plan, plan_program
from relay_tune.schedule.schedule import Schedule
from relay_tune.tensor.evaluate import evaluate
from relay_tune.tensor.expression import Axis, reduce
from relay_tune.tensor.loops import Prefetch
from relay_tune.tensor.loops_text import kernel_text
from relay_tune.tensor.program import TensorProgram
from relay_tune.tensor.tensor import compute, input_tensor
from relay_tune.tensor.touched import statements
from tests.schedule.running import run_schedule

CHOICE = TileChoice(
    vector=1,
    lanes=16,
    tile=(6, 64),
    order=(0, 1),
    blocks=(1, 1),
    reduction_order=(0,),
    unroll=4,
    parallel=0,
)


def product_and_residual(rows: int, depth: int, columns: int, *, of_rows: bool = False) -> Plan:
    """x w + r, where r has an element for each of the product, or for each column."""
    x = input_tensor("x", (rows, depth), "float32")
    w = input_tensor("w", (depth, columns), "float32")
    values = np.random.default_rng(1).standard_normal(w.shape).astype(np.float32)
    r = input_tensor("r", (columns,) if of_rows else (rows, columns), "float32")
    k = Axis("k", depth)
    product = compute(
        "product", (rows, columns), lambda i, j: reduce("sum", [k], x[i, k] * w[k, j])
    )
    total = compute(
        "total", (rows, columns), lambda i, j: product[i, j] + (r[j] if of_rows else r[i, j])
    )
    return plan_program(TensorProgram((x, r), (total,), ((w, values),)))


def fetches(plan: Plan, choice: TileChoice = CHOICE) -> list[Prefetch]:
    kernels = apply_schedule(plan, Schedule((choice,))).kernels
    return [
        node for kernel in kernels for node in statements(kernel.body) if isinstance(node, Prefetch)
    ]


def lines_of(plan: Plan, choice: TileChoice = CHOICE) -> list[str]:
    kernels = apply_schedule(plan, Schedule((choice,))).kernels
    return [line.strip() for kernel in kernels for line in kernel_text(kernel).splitlines()]


def test_each_group_of_steps_asks_for_a_row_of_the_tile():
    found = [line for line in lines_of(product_and_residual(192, 64, 256)) if "prefetch" in line]
    assert found == [
        "prefetch r[j_t * 64 + (i_t * 6 + k_o) * 256] near",
        "prefetch r[j_t * 64 + 16 + (i_t * 6 + k_o) * 256] near",
        "prefetch r[j_t * 64 + 32 + (i_t * 6 + k_o) * 256] near",
        "prefetch r[j_t * 64 + 48 + (i_t * 6 + k_o) * 256] near",
    ]


def test_rows_end_before_the_groups_do():
    assert "if k_o < 6" in lines_of(product_and_residual(192, 64, 256))


def test_few_groups_ask_for_several_rows_each():
    plan = product_and_residual(192, 12, 256)
    found = fetches(plan, replace(CHOICE, tile=(6, 32)))
    assert len(found) == 2 * 2  # three groups, two rows of two lines


@pytest.mark.parametrize(
    ("plan", "reason"),
    [
        (product_and_residual(192, 4, 256), "all rows in one group are too many"),
        (product_and_residual(48, 64, 256), "the residual is near"),
        (product_and_residual(192, 64, 65536, of_rows=True), "all tiles read it"),
    ],
)
def test_what_gains_nothing_is_left_out(plan, reason):
    assert fetches(plan) == [], reason


def test_a_vector_whose_lanes_lie_apart_is_not_fetched():
    choice = replace(CHOICE, vector=0, tile=(64, 6))
    assert fetches(product_and_residual(192, 64, 256), choice) == []


@pytest.mark.parametrize("size", [(192, 64, 256), (200, 50, 250), (131, 37, 300)])
@pytest.mark.parametrize("tile", [(6, 64), (1, 16), (7, 48)])
def test_results_are_right(size, tile):
    plan, choice = product_and_residual(*size), replace(CHOICE, tile=tile)
    assert fetches(plan, choice)
    rng = np.random.default_rng(0)
    feeds = {x: rng.standard_normal(x.shape).astype(np.float32) for x in plan.program.inputs}
    feeds |= plan.program.constant_arrays()
    (found,) = run_schedule(plan, Schedule((choice,)), native_target(), feeds)
    (expected,) = evaluate(plan.program.outputs, feeds)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
