"""Who compiles and measures the candidates of a tuning run.

Tuning knows runners by their protocol only. A candidate goes through three hands: it is *drafted*
(its code is written, here), *prepared* (compiled, and its answer checked, in other processes, so
that other candidates can be drafted meanwhile), and *measured* (timed, while nothing else runs).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeoutError
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial
from threading import TIMEOUT_MAX
from typing import Protocol

from relay_tune.codegen.compiler_pool import CompilerPool
from relay_tune.codegen.target import Target
from relay_tune.errors import BuildError, RelayError
from relay_tune.quick_dataclass import dataclass
from relay_tune.runtime.machine_limits import MachineLimits
from relay_tune.runtime.measure_limits import measure_limits
from relay_tune.runtime.measuring.inputs import MeasureInputs
from relay_tune.runtime.measuring.measurement import Measurement, Outcome
from relay_tune.runtime.measuring.measurer import Candidate, Checked, MeasureLimits, Measurer
from relay_tune.runtime.measuring.message import Slot, SlotKind
from relay_tune.runtime.measuring.random_inputs import measure_inputs
from relay_tune.schedule.accuracy import Rounding
from relay_tune.schedule.plan import Plan
from relay_tune.schedule.rewrites.algorithm import AppliedAlgorithm
from relay_tune.schedule.schedule import Schedule
from relay_tune.system_limits import told_limits
from relay_tune.time_limit import TimeIsOver
from relay_tune.tuning.candidates import CandidateText, candidate_text
from relay_tune.tuning.tasks import Task

COMPILE_SECONDS = 30.0
"""A candidate that takes longer to compile is given up, with the compiler process."""


Patience = Callable[[], float]
"""The seconds that may still be waited."""


def endless() -> float:
    """The patience of those who wait as long as it takes."""
    return TIMEOUT_MAX


@dataclass(frozen=True, eq=False, slots=True)
class Draft:
    """A schedule and its code.

    Attributes:
        schedule: the schedule.
        text: its code, for runners that run code; None if there is none.
        failure: why there is none.
    """

    schedule: Schedule
    text: CandidateText | None = None
    failure: Measurement | None = None


@dataclass(frozen=True, eq=False, slots=True)
class Prepared:
    """A schedule that is ready to be timed, or why it is not.

    Attributes:
        schedule: the schedule.
        checked: its code, which gives right answers, for runners that run code.
        failure: the outcome, where there is nothing to time.
    """

    schedule: Schedule
    checked: Checked | None = None
    failure: Measurement | None = None


class Runner(Protocol):
    """Turns schedules into measurements."""

    def draft(self, task: Task, schedule: Schedule) -> Draft:
        """Write the code of a schedule of a task; nothing else is begun."""

    def prepare(
        self, task: Task, drafts: Sequence[Draft], best: float | None, patience: Patience = endless
    ) -> Iterable[Prepared]:
        """Begin to compile and check drafts; `best` is the best time known, in seconds.

        The work goes on while the caller does other things; iterating waits for its end. Nothing
        should be measured before. TimeIsOver is raised when `patience` has come to its end.
        """

    def measure(self, task: Task, prepared: Prepared, best: float | None) -> Measurement:
        """Time one of them, as often as wanted."""

    def limits(self) -> MachineLimits:
        """The machine's limits."""

    def close(self) -> None:
        """End all processes."""


def _nothing(task: Task, schedule: Schedule) -> AbstractContextManager[None]:
    """A context in which nothing is noted."""
    return nullcontext()


class NativeRunner:
    """Compiles in worker processes and measures in another one, on this machine."""

    def __init__(
        self,
        target: Target,
        threads: int,
        seed: int,
        limits: MeasureLimits | None = None,
        *,
        network_bytes: Callable[[], int] = lambda: 0,
        running: Callable[[Task, Schedule], AbstractContextManager[None]] = _nothing,
    ) -> None:
        """A runner for kernels of a network; it touches `network_bytes()` from run to run.

        The context `running` is entered whenever the code of a candidate runs.
        """
        self._target = target
        self._threads = threads
        self._seed = seed
        self._network_bytes = network_bytes
        self._running = running
        self._measurer = Measurer(target, threads, limits)
        self._pool = CompilerPool(target, os.cpu_count() or 1, yields=True)
        self._checking = ThreadPoolExecutor(max_workers=1)
        self._data: dict[str, MeasureInputs] = {}

    def draft(self, task: Task, schedule: Schedule) -> Draft:
        """See `Runner.draft`."""
        try:
            text = candidate_text(task, schedule, self._target)
        except BuildError as error:
            failed = Measurement(Outcome.COMPILE_ERROR, message=error.message[:500])
            return Draft(schedule, failure=failed)
        plans = task.plans_for(self._target)
        slots = _slots_of_all(plans, schedule.algorithm, text.slots)
        return Draft(schedule, replace(text, slots=slots))

    def prepare(
        self, task: Task, drafts: Sequence[Draft], best: float | None, patience: Patience = endless
    ) -> Iterable[Prepared]:
        """See `Runner.prepare`; the answer is compared with the operators' references."""
        started = [self._compiling(draft) for draft in drafts]
        with told_limits():
            checks = [self._checking.submit(self._check, task, each, best) for each in started]
        return _awaited(checks, patience)

    def measure(self, task: Task, prepared: Prepared, best: float | None) -> Measurement:
        """See `Runner.measure`."""
        if prepared.failure is not None:
            return prepared.failure
        assert prepared.checked is not None
        return self._measurer.time(prepared.checked, best)

    def limits(self) -> MachineLimits:
        """See `Runner.limits`."""
        return measure_limits(self._target, self._threads)

    def close(self) -> None:
        """See `Runner.close`."""
        self._checking.shutdown(wait=False, cancel_futures=True)
        self._measurer.close()
        self._pool.abort()
        self._checking.shutdown()
        self._pool.close()

    def _compiling(self, draft: Draft) -> _Compiling:
        modules = () if draft.text is None else draft.text.modules
        return _Compiling(draft, tuple(self._pool.submit(module) for module in modules))

    def _check(self, task: Task, compiling: _Compiling, best: float | None) -> Prepared:
        """Wait for a candidate's compilation and check its answer."""
        schedule = compiling.draft.schedule
        candidate = self._compiled(task, compiling)
        if isinstance(candidate, Measurement):
            return Prepared(schedule, failure=candidate)
        try:
            self._measurer.load(task.key.digest, self._task_data(task))
        except RelayError as error:
            reason = f"no reference: {error.message}"[:500]
            return Prepared(schedule, failure=Measurement(Outcome.ERROR, message=reason))
        checked = self._measurer.check(candidate, best)
        return Prepared(schedule, checked, checked.failure)

    def _compiled(self, task: Task, compiling: _Compiling) -> Candidate | Measurement:
        """The candidate, or why there is none."""
        text = compiling.draft.text
        if text is None:
            return compiling.draft.failure or Measurement(Outcome.ERROR)
        try:
            objects = tuple(future.result(COMPILE_SECONDS) for future in compiling.objects)
        except BuildError as error:
            reason = " ".join((error.message, *error.notes))[:500]
        except FutureTimeoutError:
            self._pool.abort()
            reason = f"not compiled within {COMPILE_SECONDS:.0f} s"
        else:
            schedule = compiling.draft.schedule
            running = partial(self._running, task, schedule)
            rounds = schedule.algorithm.exactness.rounding is Rounding.OF_FACTORS
            return Candidate(objects, text.slots, text.is_serial, running, rounds)
        return Measurement(Outcome.COMPILE_ERROR, message=reason)

    def _task_data(self, task: Task) -> MeasureInputs:
        """A task's data, with the constants of all of its algorithms."""
        digest = task.key.digest
        if digest not in self._data:
            data = measure_inputs(task.function, (), self._seed)
            plans = task.plans_for(self._target)
            known = [plan.program.constant_arrays() for plan in plans]
            constants = tuple(array for arrays in known for array in arrays.values())
            others = max(0, self._network_bytes() - task.bytes)
            self._data[digest] = replace(data, constants=constants, other_bytes=others)
        return self._data[digest]


def _awaited(checks: Sequence[Future[Prepared]], patience: Patience) -> Iterator[Prepared]:
    """The results, each when it is there; TimeIsOver at the end of all patience."""
    for check in checks:
        try:
            yield check.result(min(patience(), TIMEOUT_MAX))
        except FutureTimeoutError:
            raise TimeIsOver from None


def _slots_of_all(
    plans: Sequence[Plan], algorithm: AppliedAlgorithm, slots: tuple[Slot, ...]
) -> tuple[Slot, ...]:
    """An algorithm's slots, its constants numbered among those of all algorithms of the task."""
    first = 0
    for plan in plans:
        if plan.algorithm == algorithm:
            break
        first += len(plan.program.constants)
    return tuple(
        replace(slot, index=slot.index + first) if slot.kind is SlotKind.CONSTANT else slot
        for slot in slots
    )


@dataclass(frozen=True, eq=False, slots=True)
class _Compiling:
    """A draft whose modules become objects."""

    draft: Draft
    objects: tuple[Future[bytes], ...]
