"""The tuning process's side of measuring: a worker process that is expendable.

    with Measurer(target, threads) as measurer:
        measurer.load("task", data)
        checked = measurer.check(candidate, best=None)
        measurement = measurer.time(checked, best=None)

Checking an answer takes longer than timing, and bears that other processes are busy. A candidate
that crashes its worker or does not come back costs a new worker, nothing else.
"""

from __future__ import annotations

import queue
import signal
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from itertools import count

from relay_tune.codegen.compiler import compile_text
from relay_tune.codegen.native_runtime.runtime_text import runtime_text
from relay_tune.codegen.repeat_function import repeat_text
from relay_tune.codegen.target import Target
from relay_tune.errors import TuningError
from relay_tune.quick_dataclass import dataclass
from relay_tune.runtime.measuring.data_folder import data_folder
from relay_tune.runtime.measuring.inputs import MeasureInputs, save_inputs
from relay_tune.runtime.measuring.measurement import Measurement, Outcome
from relay_tune.runtime.measuring.message import FORGOTTEN, Slot
from relay_tune.runtime.measuring.process import MeasuringProcess

START_SECONDS = 60.0
"""How long a worker may take to start and to load a task's data."""


_MEANINGS = {"SIGSEGV": " (read or wrote outside of its buffers)"}


@dataclass(frozen=True, eq=False, slots=True)
class Candidate:
    """Code to measure.

    Attributes:
        objects: object files; one of them defines `MEASURED_SYMBOL`.
        slots: what its table of addresses points to.
        is_serial: whether one thread does all of its work; it is then measured without others.
        running: a context that is entered whenever the code runs.
        rounds_factors: whether it rounds factors of products to bfloat16.
    """

    objects: tuple[bytes, ...]
    slots: tuple[Slot, ...]
    is_serial: bool = False
    running: Callable[[], AbstractContextManager[None]] = nullcontext
    rounds_factors: bool = False


@dataclass(frozen=True, slots=True)
class MeasureLimits:
    """The resources that a candidate may use.

    Attributes:
        first_seconds: time for linking and checking, and again for timing, while no time is known
            for the task.
        least_seconds: the same at least, once a time is known.
        times_best: and so many times the best known time on top.
        memory_bytes: memory beyond the task's data.
    """

    first_seconds: float = 60.0
    least_seconds: float = 4.0
    times_best: float = 40.0
    memory_bytes: int = 4 << 30

    def seconds(self, best: float | None) -> float:
        """How long to wait for a candidate when `best` is the best time known."""
        if best is None:
            return self.first_seconds
        return min(self.first_seconds, self.least_seconds + self.times_best * best)


@dataclass(frozen=True, eq=False, slots=True)
class Checked:
    """A candidate and what came of checking it.

    Attributes:
        candidate: the code.
        task: the name of its task.
        data: that it was checked on.
        failure: why there is nothing to time; None if its answer is right.
        number: under which `worker` knows it.
        worker: the process that holds it ready.
    """

    candidate: Candidate
    task: str
    data: MeasureInputs
    failure: Measurement | None
    number: int
    worker: MeasuringProcess


class Measurer:
    """Measures candidates one by one in a worker process, which it restarts where needed.

    Threads take turns; `close` waits for none of them.
    """

    def __init__(self, target: Target, threads: int, limits: MeasureLimits | None = None) -> None:
        self._threads = threads
        self._limits = limits if limits is not None else MeasureLimits()
        self._common = tuple(
            compile_text(text(target.triple), target) for text in (runtime_text, repeat_text)
        )
        self._numbers = count()
        self._worker: MeasuringProcess | None = None
        self._turn = threading.Lock()
        self._changing = threading.Lock()
        self._is_closed = False
        self._task = ""
        self._data: MeasureInputs | None = None
        self._held: frozenset[str] = frozenset()

    def __enter__(self) -> Measurer:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self.close()

    def load(self, task: str, data: MeasureInputs) -> None:
        """Check on this data from now on; a task is known by its name, and so is its data."""
        self._task, self._data = task, data

    def check(self, candidate: Candidate, best: float | None) -> Checked:
        """Link a candidate and compare its answer with the reference.

        One that ends the worker gets a second chance in a fresh one: an earlier candidate may have
        been to blame. TuningError if workers do not even start, or after `close`.
        """
        assert self._data is not None, "load must be called before check"
        with self._turn:
            return self._check(candidate, self._task, self._data, best)

    def time(self, checked: Checked, best: float | None) -> Measurement:
        """Time a candidate, as often as wanted; its failure if it has one.

        One that the worker no longer holds, or that ends it, is checked again in a fresh one.
        TuningError as for `check`.
        """
        if checked.failure is not None:
            return checked.failure
        with self._turn:
            found = self._time_once(checked, best)
            if found is not None and not _may_be_innocent(found):
                return found
            again = self._check(checked.candidate, checked.task, checked.data, best)
            if again.failure is not None:
                return again.failure
            return self._time_once(again, best) or Measurement(Outcome.ERROR, message="lost twice")

    def measure(self, candidate: Candidate, best: float | None) -> Measurement:
        """Check and time a candidate; TuningError as for `check`."""
        return self.time(self.check(candidate, best), best)

    def close(self) -> None:
        """End the worker; who waits for it is told that it is gone."""
        with self._changing:
            self._is_closed = True
        self._end_worker()

    def _check(
        self, candidate: Candidate, task: str, data: MeasureInputs, best: float | None
    ) -> Checked:
        is_fresh = self._worker is None
        checked = self._check_once(candidate, task, data, best)
        if checked.failure is None or is_fresh or not _may_be_innocent(checked.failure):
            return checked
        self._end_worker()
        return self._check_once(candidate, task, data, best)

    def _check_once(
        self, candidate: Candidate, task: str, data: MeasureInputs, best: float | None
    ) -> Checked:
        worker = self._loaded_worker(task, data)
        number = next(self._numbers)
        header = {
            "kind": "check",
            "number": number,
            "task": task,
            "slots": [slot.to_json() for slot in candidate.slots],
            "threads": 1 if candidate.is_serial else self._threads,
            "rounds_factors": candidate.rounds_factors,
        }
        with candidate.running():
            worker.send(header, (*candidate.objects, *self._common))
            found = self._outcome(worker, best)
        failure = None if found is not None and found.outcome is Outcome.OK else found
        return Checked(candidate, task, data, failure, number, worker)

    def _time_once(self, checked: Checked, best: float | None) -> Measurement | None:
        """The result of timing; None if the worker does not hold the candidate."""
        if checked.worker is not self._worker:
            return None
        with checked.candidate.running():
            checked.worker.send({"kind": "time", "number": checked.number, "best": best}, ())
            return self._outcome(checked.worker, best)

    def _outcome(self, worker: MeasuringProcess, best: float | None) -> Measurement | None:
        """Wait for a worker's answer about a candidate or its death; None: it does not hold it."""
        seconds = self._limits.seconds(best)
        try:
            reply = worker.receive(seconds)
        except queue.Empty:
            self._end_worker()
            return Measurement(Outcome.TIMEOUT, message=f"no answer within {seconds:.1f} s")
        if reply is None:
            return self._post_mortem(worker)
        self._held = frozenset(reply["held"])
        if reply["status"] == FORGOTTEN:
            return None
        if reply.get("damaged"):
            self._end_worker()
        return Measurement(
            Outcome(reply["status"]), reply.get("seconds"), reply.get("spread"), reply["message"]
        )

    def _post_mortem(self, worker: MeasuringProcess) -> Measurement:
        """The cause of death of a worker whose output has ended."""
        code = worker.exit_code()
        self._end_worker()
        if code == -signal.SIGKILL:
            return Measurement(Outcome.MEMORY, message="killed by the system, out of memory")
        if code < 0:
            name = signal.Signals(-code).name
            return Measurement(Outcome.CRASH, message=f"signal {name}{_MEANINGS.get(name, '')}")
        return Measurement(Outcome.CRASH, message=f"ended the process with exit code {code}")

    def _end_worker(self) -> None:
        with self._changing:
            worker, self._worker = self._worker, None
            self._held = frozenset()
        if worker is not None:
            worker.kill()

    def _loaded_worker(self, task: str, data: MeasureInputs) -> MeasuringProcess:
        """A worker that has a task's data."""
        with self._changing:
            if self._is_closed:
                raise TuningError("Measuring was ended.")
            if self._worker is None:
                self._worker = MeasuringProcess(self._limits.memory_bytes)
            worker = self._worker
        if task not in self._held:
            self._send_data(worker, task, data)
        return worker

    def _send_data(self, worker: MeasuringProcess, task: str, data: MeasureInputs) -> None:
        """Hand over the data in files, which are gone as soon as the worker has mapped them."""
        with data_folder() as folder:
            saved = save_inputs(data, folder)
            worker.send({"kind": "load", "task": task, "data": saved}, ())
            self._held = frozenset(self._await_loaded(worker))

    def _await_loaded(self, worker: MeasuringProcess) -> list[str]:
        """The names of the tasks that the worker holds once it has loaded one."""
        try:
            reply = worker.receive(START_SECONDS)
        except queue.Empty:
            reply = None
        if reply is None:
            code = worker.exit_code()
            self._end_worker()
            raise TuningError(
                "The process that measures candidates did not start.",
                notes=(f"Its exit code is {code}.",),
                remedy="Is the machine out of memory, or the temporary folder gone?",
            )
        held: list[str] = reply["held"]
        return held


def _may_be_innocent(failure: Measurement) -> bool:
    """Whether another candidate, which the worker ran or holds, may be to blame."""
    return failure.outcome in (Outcome.CRASH, Outcome.MEMORY)
