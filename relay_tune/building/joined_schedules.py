"""Schedules of joined calls: for all numbers of rows, a kernel reads the same packed weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from relay_tune.building.kept_kernels import ChooseSchedule
from relay_tune.building.primitive import Primitive
from relay_tune.building.primitives import chosen_schedule
from relay_tune.codegen.target import Target
from relay_tune.ir.expr import Function
from relay_tune.program.program import FirstOrderProgram
from relay_tune.schedule.plan import plan_program


def with_shared_packing(
    primitives: Mapping[Function, Primitive],
    program: FirstOrderProgram,
    target: Target,
    threads: int,
    choose: ChooseSchedule | None,
) -> dict[Function, Primitive]:
    """The primitives of a program; those of joined calls pack weights as that of the most calls."""
    found = dict(primitives)
    for batches in program.batches.values():
        most = max(batches)
        leader = primitives[batches[most]]
        plan = plan_program(leader.program)
        schedule = chosen_schedule(leader.key, plan, target, threads, choose)
        found[batches[most]] = replace(leader, plan=plan, schedule=schedule)
        for rows, function in batches.items():
            if rows != most:
                follower = primitives[function]
                packed = plan_program(follower.program).with_packing(schedule)
                found[function] = replace(follower, plan=packed)
    return found
