"""Products whose numbers of rows have kernels of their own: all read the same packed weights.

    fn (%p0: Tensor[(n, 300), float32], Primitive=1) { nn.dense(%p0, W) }     n = 1, 2, .. 8, any

Each packing is a copy of the weights. Those of a decoder fill memory several times if one row, few
and many have a packing each. Kernels of few rows read weights once: their tile has all rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from relay_tune.building.primitive import Packing, Primitive, PrimitiveCase
from relay_tune.building.primitives import ChooseSchedule, chosen_schedule
from relay_tune.codegen.target import Target
from relay_tune.ir.expr import Function
from relay_tune.runtime.target_machine import machine_of
from relay_tune.schedule.constant_passes import reads_constants_once
from relay_tune.schedule.plan import plan_program
from relay_tune.schedule.rewrites.algorithm import DIRECT
from relay_tune.schedule.schedule import Schedule
from relay_tune.tensor.size import UndecidedSizeError

LARGE_SHARE = 1 / 2
"""Of the last cache: weights of a program that come from memory in each run.

Where they are in a cache, a tile that is second best takes longer: one row of an MLP with 2.7 MB of
weights 1.2 times as long. From memory, one row of a decoder takes 1.01 of the time.
"""


def with_rows_packed_alike(
    primitives: Mapping[Function, Primitive],
    target: Target,
    threads: int,
    choose: ChooseSchedule | None,
) -> dict[Function, Primitive]:
    """The primitives of a program; their cases of rows pack weights alike.

    Where weights of the program are large, all do, and the code for all sizes: as that would alone,
    or as few rows do, whatever is estimated to cost less. Else only few rows do: as the most whose
    schedule reads weights once. Of equal primitives the first decides.
    """
    bound = LARGE_SHARE * machine_of(target).last_cache.bytes
    choosing = _Choosing(target, threads, choose, _weights(primitives.values()) > bound)
    leaders: dict[str, Schedule | None] = {}

    def packed(primitive: Primitive) -> Primitive:
        digest = primitive.key.digest
        if digest not in leaders:
            leaders[digest] = choosing.leader(primitive)
        leader = leaders[digest]
        return primitive if leader is None else choosing.with_packing(primitive, leader)

    return {function: packed(primitive) for function, primitive in primitives.items()}


@dataclass(frozen=True, slots=True)
class _Choosing:
    """What the packing of a program's weights depends on."""

    target: Target
    threads: int
    choose: ChooseSchedule | None
    is_large: bool

    def leader(self, primitive: Primitive) -> Schedule | None:
        """The schedule as which cases pack; None where each has its own packing."""
        cases = [case for case in primitive.cases if self._shares(case)]
        if not cases:
            return None
        few = self._few_rows(cases)
        if not self.is_large:
            return few
        try:
            own = self._schedule(primitive)
        except UndecidedSizeError:  # which is said where the code for all sizes is written
            return few
        if few is None:
            return own
        choices = own.algorithm.packing(few.choices)
        if own.algorithm != DIRECT and choices is not None:
            own = Schedule(choices)
        return self._cheaper(primitive, cases, own, few)

    def with_packing(self, primitive: Primitive, leader: Schedule) -> Primitive:
        """The primitive with those parts that share it under the packing of a schedule."""
        cases = tuple(
            replace(case, primitive=_packed(case.primitive, leader)) if self._shares(case) else case
            for case in primitive.cases
        )
        return replace(_packed(primitive, leader) if self.is_large else primitive, cases=cases)

    def _cheaper(
        self, primitive: Primitive, cases: Sequence[PrimitiveCase], own: Schedule, few: Schedule
    ) -> Schedule:
        """The one of two schedules as which all pack; ratios of estimated times count alike."""
        machine = machine_of(self.target)
        ratios = [
            plan.with_packing(own).default_cycles(machine, self.threads)
            / plan.with_packing(few).default_cycles(machine, self.threads)
            for part in (primitive, *(case.primitive for case in cases))
            for plan in (plan_program(part.program),)
        ]
        return own if sum(ratios) <= len(ratios) else few

    def _few_rows(self, cases: Sequence[PrimitiveCase]) -> Schedule | None:
        """The schedule of the most rows that reads weights once; if none does, that of the most."""
        found = []
        for case in sorted(cases, key=lambda case: -case.most):
            if case.packing is not Packing.SHARED:
                continue
            schedule = self._schedule(case.primitive)
            if reads_constants_once(plan_program(case.primitive.program), schedule):
                return schedule
            found.append(schedule)
        return found[0] if found else None

    def _shares(self, case: PrimitiveCase) -> bool:
        """Whether a case reads the same copy of the weights as others."""
        return case.packing is Packing.SHARED or (
            self.is_large and case.packing is Packing.SHARED_IF_LARGE
        )

    def _schedule(self, primitive: Primitive) -> Schedule:
        plan = plan_program(primitive.program)
        return chosen_schedule(primitive.key, plan, self.target, self.threads, self.choose)


def _packed(primitive: Primitive, leader: Schedule) -> Primitive:
    return replace(primitive, plan=plan_program(primitive.program).with_packing(leader))


def _weights(primitives: Iterable[Primitive]) -> int:
    """The bytes of the weights of several primitives, those that they share counted once."""
    known = {id(data): data.nbytes for each in primitives for _, data in each.program.constants}
    return sum(known.values())
