"""Kernels that need less memory for themselves, where a limit has no room for what the fastest do.

    panel = copy of w                        for block of columns:
    y = x * panel                    ->        panel' = copy of w[block];  y[block] = x * panel'

A kernel's own memory is what its algorithm leaves between its nests. Others leave less, and are
often hardly slower: what a block of rows leaves is on the stack.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import field, replace
from math import prod

from relay_tune.building.kept_kernels import PrimitiveCode
from relay_tune.building.primitive import Primitive
from relay_tune.building.recomputation.steps import Steps
from relay_tune.ir.dtypes import DTYPES
from relay_tune.ir.expr import Function
from relay_tune.machine.machine import Machine
from relay_tune.program.region import KernelRun
from relay_tune.quick_dataclass import dataclass
from relay_tune.schedule.accuracy import Accuracy
from relay_tune.schedule.apply import apply_schedule
from relay_tune.schedule.plan import plan_program
from relay_tune.schedule.program import ScheduledProgram
from relay_tune.schedule.schedule import Schedule
from relay_tune.tensor.size import UndecidedSizeError

SHARES = (1.0, 0.5, 0.0)
"""What operands and results of a kernel leave of the limit may be its own: all, a half, nothing.

One after the other: smaller kernels may be slower."""


_Sized = tuple[int, float, Schedule]
"""The bytes of a kernel's own, the cycles that it takes, and its schedule."""


@dataclass(frozen=True, slots=True)
class SmallerKernels:
    """How kernels get schedules that leave less between their nests.

    Attributes:
        machine: that they are estimated for.
        threads: that they will run on.
        accuracy: of the algorithms that they may have.
    """

    machine: Machine
    threads: int
    accuracy: Accuracy
    _known: dict[str, list[tuple[int, float, Schedule]]] = field(
        default_factory=dict, compare=False
    )

    def of(
        self,
        primitives: Mapping[Function, Primitive],
        codes: Mapping[str, PrimitiveCode],
        room: Mapping[str, int],
    ) -> dict[Function, Primitive]:
        """The primitives with other schedules, of those with a digest that has too little room."""
        schedules = {
            primitive.key.digest: self._schedule(primitive, codes, room[primitive.key.digest])
            for primitive in primitives.values()
            if primitive.key.digest in room and _is_free(primitive)
        }
        found: dict[Function, Primitive] = {}
        for function, primitive in primitives.items():
            schedule = schedules.get(primitive.key.digest)
            if schedule is not None:
                found[function] = replace(primitive, schedule=schedule)
        return found

    def _schedule(
        self, primitive: Primitive, codes: Mapping[str, PrimitiveCode], most: int
    ) -> Schedule | None:
        """The fastest schedule with so many bytes at most, else that with fewest.

        None where all take as many as the present one.
        """
        now = _own_bytes(codes[primitive.key.digest].scheduled)
        if primitive.key.digest not in self._known:
            self._known[primitive.key.digest] = list(self._schedules(primitive))
        found = self._known[primitive.key.digest]
        own, _, schedule = min(found, key=lambda each: (max(each[0], most), each[1]))
        return schedule if max(own, most) < now else None

    def _schedules(self, primitive: Primitive) -> Iterator[_Sized]:
        """The best schedule under each algorithm."""
        plan = (primitive.plan or plan_program(primitive.program)).with_accuracy(self.accuracy)
        for each in plan.algorithms_on(self.machine):
            with suppress(UndecidedSizeError):
                other = plan.with_algorithm(each)
                cycles, schedule = other.default_under_algorithm(self.machine, self.threads)
                yield _own_bytes(apply_schedule(other, schedule)), cycles, schedule


def room_for_kernels(
    runs: Sequence[KernelRun],
    primitives: Mapping[Function, Primitive],
    steps: Steps,
    limit: int,
    share: float,
) -> Iterator[tuple[str, int]]:
    """Kernels, by digest, whose own memory is more than a share of what is left for it, and that.

    Left is the limit without what a kernel reads and writes.
    """
    for run, step in zip(runs, steps.steps, strict=True):
        room = int(max(limit - steps.touched(step), 0) * share)
        if sum(step.workspace) > room:
            yield primitives[run.function].key.digest, room


def _is_free(primitive: Primitive) -> bool:
    """Whether nothing else depends on the schedule of a primitive, nor it on sizes of a run."""
    return primitive.schedule is None and primitive.open is None


def _own_bytes(scheduled: ScheduledProgram) -> int:
    return sum(prod(t.shape) * DTYPES[t.dtype].itemsize for t in scheduled.workspace)
