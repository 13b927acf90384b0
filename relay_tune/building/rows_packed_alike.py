"""Products whose numbers of rows have kernels of their own: all read the same packed weights.

    fn (%p0: Tensor[(n, 300), float32], Primitive=1) { nn.dense(%p0, W) }     n = 1, 2, .. 8, any

Each packing is a copy of the weights. Those of a decoder fill memory several times if one row, few
and many have a packing each. Kernels of few rows read weights once: their tile has all rows.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace

from relay_tune.building.kept_kernels import ChooseSchedule
from relay_tune.building.primitive import Packing, Primitive, PrimitiveCase
from relay_tune.building.primitives import chosen_schedule
from relay_tune.codegen.target import Target
from relay_tune.ir.expr import Function
from relay_tune.quick_dataclass import dataclass
from relay_tune.runtime.target_machine import machine_of
from relay_tune.schedule.accuracy import Accuracy
from relay_tune.schedule.constant_passes import reads_constants_once
from relay_tune.schedule.plan import Plan, plan_program
from relay_tune.schedule.rewrites.algorithm import DIRECT
from relay_tune.schedule.schedule import Schedule
from relay_tune.tensor.size import UndecidedSizeError

LARGE_SHARE = 1 / 2
"""Of the last cache: weights of a program that come from memory in each run.

Where they are in a cache, a tile that is second best takes longer: one row of an MLP with 2.7 MB of
weights 1.2 times as long. From memory, one row of a decoder takes 1.01 of the time.
"""

MOST_BYTES_APART = 32 << 20
"""Weights of more are large beside any cache: one of hundreds of megabytes is shared with others.

A packing for each number of rows is memory that stays, three times a network's weights.
"""


def with_rows_packed_alike(
    primitives: Mapping[Function, Primitive],
    target: Target,
    threads: int,
    choose: ChooseSchedule | None,
    accuracy: Accuracy = Accuracy.FAST,
) -> dict[Function, Primitive]:
    """The primitives of a program; their cases of rows pack weights alike.

    Where weights of the program are large, all do, and the code for all sizes: as one of them would
    alone, or as an algorithm for many rows wants it, whatever is estimated to cost least.
    Else only few rows do: as the most whose schedule reads weights once. Of equal primitives the
    first decides.
    """
    bound = min(LARGE_SHARE * machine_of(target).last_cache.bytes, MOST_BYTES_APART)
    is_large = _weights(primitives.values()) > bound
    choosing = _Choosing(target, threads, choose, is_large, accuracy)
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
    accuracy: Accuracy
    _plans: dict[Primitive, Plan] = field(default_factory=dict)

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
        leaders = self._leaders(primitive, cases, own, few)
        return self._cheapest(primitive, cases, dict.fromkeys(leaders))

    def _leaders(
        self,
        primitive: Primitive,
        cases: Sequence[PrimitiveCase],
        own: Schedule,
        few: Schedule | None,
    ) -> Iterator[Schedule]:
        """The schedules as which all parts of a primitive may pack.

        That of any part where no case is for few rows. Else some algorithms read constants as one
        of few rows packs them that has tiles of a width. Others are for many rows alone, as
        products on matrix registers are.
        """
        if few is None:
            yield own
            yield from (self._schedule(case.primitive) for case in cases)
            return
        is_apart = own.algorithm.packing(few.choices) is None
        if own.algorithm == DIRECT or (is_apart and all(self._offers(c, own) for c in cases)):
            yield own
        yield few
        if few.algorithm != DIRECT:
            return
        for algorithm in self._plan(primitive).algorithms_on(machine_of(self.target)):
            choices = None if algorithm == DIRECT else algorithm.packing(few.choices)
            if choices is not None:
                yield Schedule(choices)

    def with_packing(self, primitive: Primitive, leader: Schedule) -> Primitive:
        """The primitive with those parts that share it under the packing of a schedule."""
        packed = (self._packed(case.primitive, leader) for case in primitive.cases)
        cases = tuple(
            replace(case, primitive=own) if self._shares(case) else case
            for case, own in zip(primitive.cases, packed, strict=True)
        )
        return replace(self._packed(primitive, leader) if self.is_large else primitive, cases=cases)

    def _cheapest(
        self, primitive: Primitive, cases: Sequence[PrimitiveCase], leaders: Collection[Schedule]
    ) -> Schedule:
        """The one of some schedules as which all pack, by ratios of estimated times.

        Those of all few rows together count as much as that of many.
        """
        machine = machine_of(self.target)
        totals = dict.fromkeys(leaders, 0.0)
        if len(leaders) < 2:
            return next(iter(leaders))
        weights = {primitive: 1.0, **{case.primitive: 1 / len(cases) for case in cases}}
        for part, weight in weights.items():
            plan = self._plan(part)
            cycles = {
                leader: plan.with_packing(leader).default_cycles(machine, self.threads)
                for leader in leaders
            }
            least = min(cycles.values())
            for leader, own in cycles.items():
                totals[leader] += weight * own / least
        return min(totals, key=totals.__getitem__)

    def _plan(self, primitive: Primitive) -> Plan:
        """The direct plan of a primitive, which is asked for once for each schedule to pack as."""
        if primitive not in self._plans:
            plan = plan_program(primitive.program).with_accuracy(self.accuracy)
            self._plans[primitive] = plan
        return self._plans[primitive]

    def _offers(self, case: PrimitiveCase, own: Schedule) -> bool:
        """Whether a case may have the algorithm of a schedule."""
        return own.algorithm in self._plan(case.primitive).algorithms_on(machine_of(self.target))

    def _packed(self, primitive: Primitive, leader: Schedule) -> Primitive:
        return replace(primitive, plan=self._plan(primitive).with_packing(leader))

    def _few_rows(self, cases: Sequence[PrimitiveCase]) -> Schedule | None:
        """The schedule of the most rows that reads weights once; if none does, that of the most."""
        found = []
        for case in sorted(cases, key=lambda case: -case.most):
            if case.packing is not Packing.SHARED:
                continue
            schedule = self._schedule(case.primitive)
            if reads_constants_once(self._plan(case.primitive), schedule):
                return schedule
            found.append(schedule)
        return found[0] if found else None

    def _shares(self, case: PrimitiveCase) -> bool:
        """Whether a case reads the same copy of the weights as others."""
        return case.packing is Packing.SHARED or (
            self.is_large and case.packing is Packing.SHARED_IF_LARGE
        )

    def _schedule(self, primitive: Primitive) -> Schedule:
        plan = self._plan(primitive)
        return chosen_schedule(primitive.key, plan, self.target, self.threads, self.choose)


def _weights(primitives: Iterable[Primitive]) -> int:
    """The bytes of the weights of several primitives, those that they share counted once."""
    known = {id(data): data.nbytes for each in primitives for _, data in each.program.constants}
    return sum(known.values())
