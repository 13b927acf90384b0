"""Who compiles and measures the candidates of a tuning run.

Tuning knows runners by their protocol only; the real one compiles in parallel, then measures one
candidate after the other, and never does both at once.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from dataclasses import dataclass, replace
from typing import Protocol

from relay_tune.codegen.compiler_pool import CompilerPool
from relay_tune.codegen.target import Target
from relay_tune.errors import BuildError, RelayError
from relay_tune.runtime.machine_limits import MachineLimits
from relay_tune.runtime.measure_inputs import MeasureInputs, measure_inputs
from relay_tune.runtime.measure_limits import measure_limits
from relay_tune.runtime.measure_message import Slot, SlotKind
from relay_tune.runtime.measurement import Measurement, Outcome
from relay_tune.runtime.measurer import Candidate, MeasureLimits, Measurer
from relay_tune.schedule.apply import Plan
from relay_tune.schedule.schedule import Schedule
from relay_tune.tuning.candidates import CandidateText, candidate_text
from relay_tune.tuning.tasks import Task

COMPILE_SECONDS = 30.0
"""A candidate that takes longer to compile is given up, with the compiler process."""


@dataclass(frozen=True, eq=False, slots=True)
class Prepared:
    """A schedule that is ready to be measured, or why it is not.

    Attributes:
        schedule: the schedule.
        candidate: its code, for runners that run code.
        failure: the outcome, where there is nothing to measure.
    """

    schedule: Schedule
    candidate: Candidate | None = None
    failure: Measurement | None = None


class Runner(Protocol):
    """Turns schedules into measurements."""

    def prepare(self, task: Task, schedules: Sequence[Schedule]) -> Iterable[Prepared]:
        """Begin to make schedules of a task ready, as many at once as the machine can.

        The work goes on while the caller does other things; iterating waits for its end. Nothing
        should be measured before.
        """

    def measure(self, task: Task, prepared: Prepared, best: float | None) -> Measurement:
        """Measure one of them; `best` is the best time known for the task, in seconds."""

    def limits(self) -> MachineLimits:
        """What the machine can reach."""

    def close(self) -> None:
        """End all processes."""


class NativeRunner:
    """Compiles in worker processes and measures in another one, on this machine."""

    def __init__(
        self,
        target: Target,
        threads: int,
        seed: int,
        limits: MeasureLimits | None = None,
        *,
        network_bytes: int = 0,
    ) -> None:
        """A runner for kernels of a network that touches so many bytes from run to run."""
        self._target = target
        self._threads = threads
        self._seed = seed
        self._network_bytes = network_bytes
        self._measurer = Measurer(target, threads, limits)
        self._pool = CompilerPool(target, os.cpu_count() or 1)
        self._data: dict[str, MeasureInputs] = {}
        self._loaded = ""

    def prepare(self, task: Task, schedules: Sequence[Schedule]) -> Iterable[Prepared]:
        """See `Runner.prepare`."""
        started = [self._start(task, schedule) for schedule in schedules]
        return map(self._finish, started)

    def measure(self, task: Task, prepared: Prepared, best: float | None) -> Measurement:
        """See `Runner.measure`; the answer is compared with the operators' references."""
        if prepared.failure is not None:
            return prepared.failure
        assert prepared.candidate is not None
        try:
            self._load(task)
        except RelayError as error:
            return Measurement(Outcome.ERROR, message=f"no reference: {error.message}"[:500])
        return self._measurer.measure(prepared.candidate, best)

    def limits(self) -> MachineLimits:
        """See `Runner.limits`."""
        return measure_limits(self._target, self._threads)

    def close(self) -> None:
        """See `Runner.close`."""
        self._measurer.close()
        self._pool.abort()
        self._pool.close()

    def _load(self, task: Task) -> None:
        """Have the measurer hold a task's data, with the constants of all of its algorithms."""
        digest = task.key.digest
        if self._loaded == digest:
            return
        if digest not in self._data:
            self._data[digest] = measure_inputs(task.function, (), self._seed)
        constants = tuple(data for plan in _plans(task) for _, data in plan.program.constants)
        others = max(0, self._network_bytes - task.bytes)
        data = replace(self._data[digest], constants=constants, other_bytes=others)
        self._measurer.load(digest, data)
        self._loaded = digest

    def _start(self, task: Task, schedule: Schedule) -> _Started:
        try:
            text = candidate_text(task.plan, schedule, self._target)
        except BuildError as error:
            failed = Measurement(Outcome.COMPILE_ERROR, message=error.message[:500])
            return _Started(schedule, None, (), failed)
        text = replace(text, slots=_slots_of_all(task, schedule.algorithm, text.slots))
        futures = tuple(self._pool.submit(module) for module in text.modules)
        return _Started(schedule, text, futures, None)

    def _finish(self, started: _Started) -> Prepared:
        if started.text is None:
            return Prepared(started.schedule, failure=started.failure)
        try:
            objects = tuple(future.result(COMPILE_SECONDS) for future in started.futures)
        except BuildError as error:
            reason = " ".join((error.message, *error.notes))[:500]
        except FutureTimeoutError:
            self._pool.abort()
            reason = f"not compiled within {COMPILE_SECONDS:.0f} s"
        else:
            text = started.text
            return Prepared(started.schedule, Candidate(objects, text.slots, text.is_serial))
        failed = Measurement(Outcome.COMPILE_ERROR, message=reason)
        return Prepared(started.schedule, failure=failed)


def _plans(task: Task) -> list[Plan]:
    return [task.plan.with_algorithm(name) for name in task.plan.algorithms]


def _slots_of_all(task: Task, algorithm: str, slots: tuple[Slot, ...]) -> tuple[Slot, ...]:
    """An algorithm's slots, its constants numbered among those of all algorithms of the task."""
    first = 0
    for plan in _plans(task):
        if plan.algorithm == algorithm:
            break
        first += len(plan.program.constants)
    return tuple(
        replace(slot, index=slot.index + first) if slot.kind is SlotKind.CONSTANT else slot
        for slot in slots
    )


@dataclass(frozen=True, eq=False, slots=True)
class _Started:
    """A candidate that is being compiled."""

    schedule: Schedule
    text: CandidateText | None
    futures: tuple[Future[bytes], ...]
    failure: Measurement | None
