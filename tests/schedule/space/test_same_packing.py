"""Default schedules that keep to the packing of another schedule."""

import numpy as np

from relay_tune.schedule.apply import apply_schedule
from relay_tune.schedule.packing import PackRecipe
from relay_tune.schedule.plan import Plan, plan_program
from relay_tune.schedule.rewrites.algorithm import DIRECT
from relay_tune.schedule.rewrites.winograd.record import WINOGRAD
from relay_tune.schedule.schedule import Schedule
from relay_tune.tensor.expression import Axis, reduce
from relay_tune.tensor.program import TensorProgram
from relay_tune.tensor.tensor import compute, input_tensor
from tests.schedule.machines import SERVER

WEIGHTS = np.zeros((300, 300), np.float32)


def product(rows: int) -> Plan:
    """Rows times constant weights [out, in]."""
    a, b = input_tensor("a", (rows, 300), "float32"), input_tensor("b", (300, 300), "float32")
    k = Axis("k", 300)
    result = compute("p", (rows, 300), lambda i, j: reduce("sum", [k], a[i, k] * b[j, k]))
    return plan_program(TensorProgram((a,), (result,), ((b, WEIGHTS),)))


def recipes(plan: Plan, schedule: Schedule) -> set[PackRecipe]:
    return {packed.recipe for packed in apply_schedule(plan, schedule).packed}


def test_fewer_rows_pack_as_more_rows_do() -> None:
    many = product(64)
    chosen = many.default_schedule(SERVER, 1)
    wanted = recipes(many, chosen)
    free = [recipes(product(n), product(n).default_schedule(SERVER, 1)) for n in (16, 8, 4, 2)]
    assert any(found != wanted for found in free)  # so there is something to agree on
    for rows in (16, 8, 4, 2):
        plan = product(rows).with_packing(chosen)
        assert recipes(plan, plan.default_schedule(SERVER, 1)) == wanted


def test_an_algorithm_that_there_is_not_leaves_the_plan_as_it_is() -> None:
    plan = product(4)
    other = Schedule(product(64).default_schedule(SERVER, 1).choices, WINOGRAD(tile=4))
    assert plan.with_packing(other) is plan


def test_choices_of_another_rank_are_passed_over() -> None:
    a = input_tensor("a", (64,), "float32")
    copied = plan_program(TensorProgram((a,), (compute("c", (64,), lambda i: a[i]),), ()))
    other = copied.default_schedule(SERVER, 1)
    plan = product(4).with_packing(other)
    assert plan.algorithm == DIRECT
    assert plan.default_schedule(SERVER, 1) == product(4).default_schedule(SERVER, 1)
