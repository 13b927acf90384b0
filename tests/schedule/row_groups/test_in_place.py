"""What the nests of a group leave each other, in the place of their result."""

import numpy as np
import pytest

from relay_tune.schedule.apply import apply_schedule
from relay_tune.schedule.plan import Plan, plan_program
from relay_tune.schedule.rewrites.rows import ROWS
from relay_tune.tensor.evaluate import evaluate
from relay_tune.tensor.expression import Axis, Scalar, Tensor, cast, reduce, unary
from relay_tune.tensor.loops import Allocate, BufferScope
from relay_tune.tensor.program import TensorProgram
from relay_tune.tensor.tensor import Computed, Input, compute, input_tensor
from relay_tune.tensor.touched import statements
from tests.codegen.running import NATIVE
from tests.schedule.machines import SERVER
from tests.schedule.running import run_schedule


def row_sum(x: Tensor) -> Computed:
    k = Axis("k", x.shape[-1])
    return compute("total", x.shape[:-1], lambda *at: reduce("sum", [k], x[(*at, k)]))


def powers_of(x: Tensor, *, dtype: str = "float32") -> Computed:
    return compute("powers", x.shape, lambda *at: cast(unary("exp", x[at]), dtype))


def plan_of(x: Input, *results: Tensor, rows: int = 2) -> Plan:
    return plan_program(TensorProgram((x,), results, ())).with_algorithm(ROWS(block=rows))


def local_buffers(plan: Plan) -> set[str]:
    """The names of the buffers that the kernels of the default schedule have for themselves."""
    schedule = plan.default_under_algorithm(SERVER, 1)[1]
    return {
        node.buffer.name
        for kernel in apply_schedule(plan, schedule).kernels
        for node in statements(kernel.body)
        if isinstance(node, Allocate) and node.buffer.scope is BufferScope.LOCAL
    }


def right(plan: Plan, x: Input) -> bool:
    """Whether the default schedule computes what the tensors say."""
    values = np.random.default_rng(0).uniform(-1, 1, x.shape).astype(x.dtype)
    schedule = plan.default_under_algorithm(SERVER, 1)[1]
    expected = evaluate(plan.program.outputs, {x: values})
    found = run_schedule(plan, schedule, NATIVE, {x: values})
    return all(np.allclose(a, b, 1e-5, 1e-6) for a, b in zip(found, expected, strict=True))


@pytest.mark.parametrize("rows", [1, 3, 4])
@pytest.mark.parametrize("shape", [(8, 40), (7, 5)])
def test_powers_lie_where_their_shares_go(shape, rows):
    x = input_tensor("x", shape, "float32")
    powers = powers_of(x)
    total = row_sum(powers)
    shares = compute("shares", shape, lambda i, j: powers[i, j] / total[i])
    plan = plan_of(x, shares, rows=rows)
    assert local_buffers(plan) == {"total"}
    assert right(plan, x)


def test_a_chain_of_tensors_lies_in_one_place():
    x = input_tensor("x", (8, 40), "float32")
    first = powers_of(x)
    total = row_sum(first)
    second = compute("second", x.shape, lambda i, j: first[i, j] - total[i])
    spread = row_sum(second)
    result = compute("result", x.shape, lambda i, j: unary("exp", second[i, j]) - spread[i])
    plan = plan_of(x, result)
    assert local_buffers(plan) == {"total"}
    assert right(plan, x)


def reading(powers: Tensor, total: Tensor, place: int) -> Computed:
    """The share of another element of the row than the one that is written."""
    size = powers.shape[1]

    def element(i: Scalar, j: Scalar) -> Scalar:
        other = j if place == 0 else (size - 1) - j
        return powers[i, other] / total[i] + powers[i, j]

    return compute("shares", powers.shape, element)


def test_what_is_read_elsewhere_than_written_stays_apart():
    x = input_tensor("x", (8, 40), "float32")
    powers = powers_of(x)
    total = row_sum(powers)
    plans = [plan_of(x, reading(powers, total, position)) for position in (0, 1)]
    assert [local_buffers(plan) for plan in plans] == [{"total"}, {"total", "powers"}]
    assert all(right(plan, x) for plan in plans)


def test_a_tensor_of_another_type_stays_apart():
    x = input_tensor("x", (8, 40), "float32")
    powers = powers_of(x, dtype="float64")
    total = row_sum(powers)
    shares = compute("s", x.shape, lambda i, j: cast(powers[i, j] / total[i], "float32"))
    plan = plan_of(x, shares)
    assert local_buffers(plan) == {"total", "powers"}
    assert right(plan, x)


def test_a_result_that_is_smaller_holds_nothing():
    x = input_tensor("x", (8, 40), "float32")
    powers = powers_of(x)
    total = row_sum(powers)
    few = compute("few", (8, 20), lambda i, j: powers[i, j] / total[i])
    plan = plan_of(x, few)
    assert local_buffers(plan) == {"total", "powers"}
    assert right(plan, x)


def test_the_last_reader_decides():
    x = input_tensor("x", (8, 40), "float32")
    powers = powers_of(x)
    total = row_sum(powers)
    shares = compute("shares", x.shape, lambda i, j: powers[i, j] / total[i])
    after = [
        compute("after", x.shape, lambda i, j: powers[i, j] - shares[i, 39 - j]),
        compute("after", x.shape, lambda i, j: powers[i, 39 - j] - shares[i, j]),
    ]
    plans = [plan_of(x, shares, last) for last in after]
    assert [local_buffers(plan) for plan in plans] == [{"total"}, {"total", "powers"}]
    assert all(right(plan, x) for plan in plans)
