"""What an expression costs as a kernel of its own, estimated: layouts are compared by it."""

from __future__ import annotations

from math import inf

from relay_tune.ir.expr import Expr, Function, Var
from relay_tune.machine.machine import Machine
from relay_tune.op.bounded_constants import with_bounded_dimensions
from relay_tune.op.lower import lower_function
from relay_tune.op.primitive_key import primitive_key
from relay_tune.schedule.accuracy import Accuracy
from relay_tune.schedule.plan import cheapest_schedule, plan_program
from relay_tune.schedule.rewrites.algorithm import DIRECT

MOST_KNOWN = 4096

_known: dict[tuple[str, Machine, Accuracy], float] = {}
"""By the digest of a primitive: equal layers, and later builds, have the same costs."""


def kernel_cycles(
    params: tuple[Var, ...],
    body: Expr,
    machine: Machine,
    accuracy: Accuracy,
    below: float = inf,
    *,
    constants_are_bounded: bool = False,
) -> float:
    """Cycles of one core for a typed body, under the best schedule of any allowed algorithm.

    Groups of nests are left out: they are the same in all layouts. `inf` where bounds alone say
    that these are not fewer than `below`, which spares the search. Constants stand for others,
    which may be small ones (`relay_tune.op.bounded_constants`).
    Raises BuildError where a shape is not static.
    """
    function = Function(params, body)
    if constants_are_bounded:
        function = with_bounded_dimensions(function)
    key = (primitive_key(function).digest, machine, accuracy)
    known = _known.get(key)
    if known is not None:
        return known
    cycles = _estimated(function, machine, accuracy, below)
    if cycles == inf:  # only a bound is known
        return cycles
    while len(_known) >= MOST_KNOWN:
        _known.pop(next(iter(_known)))
    _known[key] = cycles
    return cycles


def _estimated(function: Function, machine: Machine, accuracy: Accuracy, below: float) -> float:
    plan = plan_program(lower_function(function)).with_accuracy(accuracy)
    if below < inf and plan.least_cycles(machine, 1) >= below * plan.most_saving(machine):
        return inf
    known = plan.algorithms_on(machine)
    plans = [plan.with_algorithm(a) for a in known if a == DIRECT or not a.keeps_stages]
    if below < inf and all(each.least_cycles(machine, 1) >= below for each in plans):
        return inf
    return cheapest_schedule(plans, machine, 1)[0]
