"""What an expression costs as a kernel of its own, estimated: layouts are compared by it."""

from __future__ import annotations

from relay_tune.ir.expr import Expr, Function, Var
from relay_tune.machine.machine import Machine
from relay_tune.op.lower import lower_function
from relay_tune.op.primitive_key import primitive_key
from relay_tune.schedule.accuracy import Accuracy
from relay_tune.schedule.plan import cheapest_schedule, plan_program
from relay_tune.schedule.rewrites.algorithm import DIRECT

MOST_KNOWN = 4096

_known: dict[tuple[str, Machine, Accuracy], float] = {}
"""By the digest of a primitive: equal layers, and later builds, have the same costs."""


def kernel_cycles(
    params: tuple[Var, ...], body: Expr, machine: Machine, accuracy: Accuracy
) -> float:
    """Cycles of one core for a typed body, under the best schedule of any allowed algorithm.

    Groups of nests are left out: they are the same in all layouts.
    Raises BuildError where a shape is not static.
    """
    function = Function(params, body)
    key = (primitive_key(function).digest, machine, accuracy)
    if key not in _known:
        while len(_known) >= MOST_KNOWN:
            _known.pop(next(iter(_known)))
        _known[key] = _estimated(function, machine, accuracy)
    return _known[key]


def _estimated(function: Function, machine: Machine, accuracy: Accuracy) -> float:
    plan = plan_program(lower_function(function)).with_accuracy(accuracy)
    known = plan.algorithms_on(machine)
    plans = [plan.with_algorithm(a) for a in known if a == DIRECT or not a.keeps_stages]
    return cheapest_schedule(plans, machine, 1)[0]
