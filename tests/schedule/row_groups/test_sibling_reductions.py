"""Reductions of one shape in the same loops."""

import json
import re
from collections.abc import Callable

import numpy as np
import pytest

from relay_tune.schedule.apply import apply_schedule
from relay_tune.schedule.plan import Plan, plan_program
from relay_tune.schedule.rewrites.rows import ROWS
from relay_tune.schedule.row_groups.sibling_reductions import are_siblings
from relay_tune.schedule.schedule import Schedule
from relay_tune.tensor.expression import Axis, Scalar, Tensor, reduce
from relay_tune.tensor.loops_text import kernel_text
from relay_tune.tensor.program import TensorProgram
from relay_tune.tensor.tensor import Input, compute, input_tensor
from relay_tune.tuning.plan_space import PlanSpace
from tests.schedule.machines import SERVER
from tests.schedule.running import run_schedule, runnable_targets


def sums(x: Tensor, name: str, term: Callable[..., Scalar]) -> Tensor:
    """The sum of `term(element, row)` over each row of x."""
    k = Axis("k", x.shape[-1])
    return compute(name, x.shape[:-1], lambda *at: reduce("sum", [k], term(x[(*at, k)], at)))


def moments(*shape: int) -> tuple[Plan, Input]:
    """y = x - sum(x) - (sum(x * x) - sum(x) ** 2), along the last axis."""
    x = input_tensor("x", shape, "float32")
    total = sums(x, "total", lambda value, at: value)
    squares = sums(x, "squares", lambda value, at: value * value)
    spread = compute("spread", shape[:-1], lambda *at: squares[at] - total[at] * total[at])

    def element(*at: Scalar) -> Scalar:
        return x[at] - total[at[:-1]] - spread[at[:-1]]

    return plan_program(TensorProgram((x,), (compute("y", shape, element),), ())), x


def expected(values: np.ndarray) -> np.ndarray:
    total = values.sum(-1, keepdims=True)
    return np.asarray(values - total - (np.square(values).sum(-1, keepdims=True) - total**2))


def loops(plan: Plan, schedule: Schedule) -> str:
    (kernel,) = apply_schedule(plan, schedule).kernels
    return kernel_text(kernel)


def with_choice(plan: Plan, schedule: Schedule, place: int, **changes: object) -> Schedule:
    """The schedule with other values in the choice of one nest."""
    data = json.loads(schedule.to_json())
    data["nests"][place] |= changes
    return Schedule.from_json(json.dumps(data), plan.nests)


def test_the_second_sum_may_use_the_first_once_both_are_complete():
    plan, _ = moments(6, 40)
    first, second, last = plan.with_algorithm(ROWS(block=2)).nests
    assert are_siblings(first, second)
    assert not are_siblings(second, last)


def test_a_sum_of_distances_from_the_mean_waits_for_it():
    x = input_tensor("x", (6, 40), "float32")
    total = sums(x, "total", lambda value, at: value)
    spread = sums(x, "spread", lambda value, at: value - total[at])
    result = compute("y", x.shape, lambda i, j: x[i, j] - total[i] - spread[i])
    plan = plan_program(TensorProgram((x,), (result,), ()))
    first, second, _ = plan.with_algorithm(ROWS(block=2)).nests
    assert not are_siblings(first, second)


def test_sums_over_other_extents_stay_apart():
    x, z = input_tensor("x", (6, 40), "float32"), input_tensor("z", (6, 41), "float32")
    left, right = (sums(t, f"of_{t.name}", lambda value, at: value) for t in (x, z))
    result = compute("y", x.shape, lambda i, j: x[i, j] - left[i] - right[i])
    plan = plan_program(TensorProgram((x, z), (result,), ()))
    nests = plan.with_algorithm(ROWS(block=2)).nests
    assert not any(are_siblings(a, b) for a in nests for b in nests if a is not b)


def test_siblings_load_each_element_once():
    plan, _ = moments(8, 64)
    plan = plan.with_algorithm(ROWS(block=4))
    schedule = plan.default_under_algorithm(SERVER, 1)[1]
    assert outermost_loops(loops(plan, schedule)) == ["k_b"]
    other = {"vector": -1, "lanes": 1, "tile": [1], "unroll": 2}
    apart = with_choice(plan, schedule, 1, **other)
    assert outermost_loops(loops(plan, apart)) == ["k_b", "k_o"]


def outermost_loops(text: str) -> list[str]:
    """Those over the reduction axis k, in blocks of vectors or of steps."""
    return re.findall(r"\b(k_[bo]) in ", text)


CHOICES = [
    {},
    {"tile": [1], "unroll": 1},
    {"tile": [3], "unroll": 2, "lanes": 4},
    {"tile": [2], "unroll": 4, "vector": -1, "lanes": 1},
    {"tile": [3], "unroll": 1, "vector": 0, "lanes": 2},
]


@pytest.mark.parametrize("shape", [(8, 64), (7, 37)])
@pytest.mark.parametrize("pair", [(n, n) for n in range(len(CHOICES))] + [(0, 1), (2, 4)])
def test_together_and_apart_they_sum_the_same(shape, pair):
    plan, x = moments(*shape)
    plan = plan.with_algorithm(ROWS(block=3))
    values = np.random.default_rng(0).integers(-4, 5, shape).astype(np.float32)
    schedule = plan.default_under_algorithm(SERVER, 1)[1]
    for position, number in enumerate(pair):
        schedule = with_choice(plan, schedule, position, **CHOICES[number])
    for target in runnable_targets()[:2]:
        (found,) = run_schedule(plan, schedule, target, {x: values})
        np.testing.assert_array_equal(found, expected(values))


def test_a_search_gives_siblings_one_choice():
    plan, _ = moments(64, 512)
    plan = plan.with_algorithm(ROWS(block=4))
    space = PlanSpace(plan, SERVER, 1)
    assert not any(name.startswith("n1.") for name in space.names)
    position = space.names.index("n0.unroll")
    genes = list(space.default_genes)
    genes[position] = (genes[position] + 1) % len(space.values[position])
    schedule = space.schedule(tuple(genes))
    assert schedule.choices[0] == schedule.choices[1] != space.default.choices[0]
    assert space.genes(schedule) == tuple(genes)
