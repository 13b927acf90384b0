"""Products of few rows, each number of which has a kernel of its own: all read the same weights.

    fn (%p0: Tensor[(n, 300), float32], Primitive=1) { nn.dense(%p0, W) }     n = 2, 3, .. 8

Reading the weights takes most of the time of such products, so a kernel reads them once: its tile
has all rows. Each packing is a copy of the weights, so the kernels share one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from relay_tune.building.primitive import Primitive, PrimitiveCase
from relay_tune.building.primitives import ChooseSchedule, chosen_schedule
from relay_tune.codegen.target import Target
from relay_tune.ir.expr import Function
from relay_tune.schedule.constant_passes import reads_constants_once
from relay_tune.schedule.plan import plan_program
from relay_tune.schedule.schedule import Schedule


def with_few_rows_packed_alike(
    primitives: Mapping[Function, Primitive],
    target: Target,
    threads: int,
    choose: ChooseSchedule | None,
) -> dict[Function, Primitive]:
    """The primitives of a program; their cases of few rows pack weights alike.

    The most rows whose schedule reads weights once decide, of equal primitives the first.
    """
    leaders: dict[str, Schedule] = {}

    def packed(primitive: Primitive) -> Primitive:
        cases = [case for case in primitive.cases if case.shares_packing]
        if not cases:
            return primitive
        digest = primitive.key.digest
        if digest not in leaders:
            leaders[digest] = _leader(cases, target, threads, choose)
        followers = [
            _with_packing(case, leaders[digest]) if case.shares_packing else case
            for case in primitive.cases
        ]
        return replace(primitive, cases=tuple(followers))

    return {function: packed(primitive) for function, primitive in primitives.items()}


def _leader(
    cases: list[PrimitiveCase], target: Target, threads: int, choose: ChooseSchedule | None
) -> Schedule:
    """The schedule of the most rows that reads weights once; if none does, that of the most."""
    ordered = sorted(cases, key=lambda case: -case.most)
    found = []
    for case in ordered:
        plan = plan_program(case.primitive.program)
        schedule = chosen_schedule(case.primitive.key, plan, target, threads, choose)
        if reads_constants_once(plan, schedule):
            return schedule
        found.append(schedule)
    return found[0]


def _with_packing(case: PrimitiveCase, leader: Schedule) -> PrimitiveCase:
    plan = plan_program(case.primitive.program).with_packing(leader)
    return replace(case, primitive=replace(case.primitive, plan=plan))
