"""What an expression costs as a kernel of its own, estimated: layouts are compared by it."""

from __future__ import annotations

from relay_tune.ir.expr import Expr, Function, Var
from relay_tune.machine.machine import Machine
from relay_tune.op.lower import lower_function
from relay_tune.schedule.accuracy import Accuracy, is_allowed
from relay_tune.schedule.algorithms import algorithm_named, algorithms, can_run
from relay_tune.schedule.plan import cheapest_schedule, plan_program


def kernel_cycles(
    params: tuple[Var, ...], body: Expr, machine: Machine, accuracy: Accuracy
) -> float:
    """Cycles of one core for a typed body, under the best schedule of any allowed algorithm.

    Raises BuildError where a shape is not static.
    """
    plan = plan_program(lower_function(Function(params, body))).with_accuracy(accuracy)
    names = [
        name
        for name in algorithms(plan.source)
        if can_run(name, machine) and is_allowed(algorithm_named(name).exactness, accuracy)
    ]
    plans = [plan.with_algorithm(name) for name in names]
    return cheapest_schedule(plans, machine, 1)[0]
