"""The tuning process's side of measuring: a worker process that is expendable.

    with Measurer(target, threads) as measurer:
        measurer.load("task", data)
        measurement = measurer.measure(candidate, best=None)

A candidate that crashes its worker or does not come back costs a new worker, nothing else.
"""

from __future__ import annotations

import json
import queue
import signal
import subprocess
import threading
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Any

from relay_tune.codegen.compiler import compile_text
from relay_tune.codegen.native_runtime import runtime_text
from relay_tune.codegen.repeat_function import repeat_text
from relay_tune.codegen.target import Target
from relay_tune.codegen.worker_process import kill_worker, start_worker
from relay_tune.errors import TuningError
from relay_tune.runtime.measure_inputs import MeasureInputs, save_inputs
from relay_tune.runtime.measure_message import Slot, read_message, write_message
from relay_tune.runtime.measurement import Measurement, Outcome

START_SECONDS = 60.0
"""How long a worker may take to start and to load a task's data."""

END_SECONDS = 5.0
"""How long a worker that has closed its output may take to end."""

Reply = dict[str, Any]


@dataclass(frozen=True, eq=False, slots=True)
class Candidate:
    """Code to measure.

    Attributes:
        objects: object files; one of them defines `MEASURED_SYMBOL`.
        slots: what its table of addresses points to.
        is_serial: whether one thread does all of its work; it is then measured without others.
    """

    objects: tuple[bytes, ...]
    slots: tuple[Slot, ...]
    is_serial: bool = False


@dataclass(frozen=True, slots=True)
class MeasureLimits:
    """What a candidate may use.

    Attributes:
        first_seconds: time for linking, checking and timing while no time is known for the task.
        least_seconds: the same at least, once a time is known.
        times_best: and so many times the best known time on top.
        memory_bytes: memory beyond the task's data.
    """

    first_seconds: float = 60.0
    least_seconds: float = 1.5
    times_best: float = 40.0
    memory_bytes: int = 4 << 30

    def seconds(self, best: float | None) -> float:
        """How long to wait for a candidate when `best` is the best time known."""
        if best is None:
            return self.first_seconds
        return min(self.first_seconds, self.least_seconds + self.times_best * best)


class Measurer:
    """Measures candidates one by one in a worker process, which it restarts where needed."""

    def __init__(self, target: Target, threads: int, limits: MeasureLimits | None = None) -> None:
        self._threads = threads
        self._limits = limits if limits is not None else MeasureLimits()
        self._common = tuple(
            compile_text(text(target.triple), target) for text in (runtime_text, repeat_text)
        )
        self._worker: _Worker | None = None
        self._task = ""
        self._data: MeasureInputs | None = None
        self._held: frozenset[str] = frozenset()

    def __enter__(self) -> Measurer:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def load(self, task: str, data: MeasureInputs) -> None:
        """Measure on this data from now on; a task is known by its name, and so is its data."""
        self._task, self._data = task, data

    def measure(self, candidate: Candidate, best: float | None) -> Measurement:
        """Check and time a candidate.

        One that crashes the worker gets a second chance in a fresh one: an earlier candidate may
        have been to blame. TuningError if workers do not even start.
        """
        is_fresh = self._worker is None
        measurement = self._attempt(candidate, best)
        if measurement.outcome is Outcome.CRASH and not is_fresh:
            return self._attempt(candidate, best)
        return measurement

    def close(self) -> None:
        """End the worker."""
        if self._worker is not None:
            self._worker.kill()
            self._worker = None
        self._held = frozenset()

    def _attempt(self, candidate: Candidate, best: float | None) -> Measurement:
        worker = self._loaded_worker()
        seconds = self._limits.seconds(best)
        header = {
            "kind": "measure",
            "task": self._task,
            "slots": [slot.to_json() for slot in candidate.slots],
            "threads": 1 if candidate.is_serial else self._threads,
            "best": best,
        }
        worker.send(header, (*candidate.objects, *self._common))
        try:
            reply = worker.receive(seconds)
        except queue.Empty:
            self.close()
            return Measurement(Outcome.TIMEOUT, message=f"no answer within {seconds:.1f} s")
        if reply is None:
            return self._post_mortem(worker)
        self._held = frozenset(reply["held"])
        if reply.get("damaged"):
            self.close()
        return Measurement(
            Outcome(reply["status"]), reply.get("seconds"), reply.get("spread"), reply["message"]
        )

    def _post_mortem(self, worker: _Worker) -> Measurement:
        """What a worker died of whose output has ended."""
        code = worker.exit_code()
        self.close()
        if code == -signal.SIGKILL:
            return Measurement(Outcome.MEMORY, message="killed by the system, out of memory")
        if code < 0:
            return Measurement(Outcome.CRASH, message=f"signal {signal.Signals(-code).name}")
        return Measurement(Outcome.CRASH, message=f"ended the process with exit code {code}")

    def _loaded_worker(self) -> _Worker:
        """A worker that has the task's data."""
        if self._worker is None:
            self._worker = _Worker(self._limits.memory_bytes)
        if self._task not in self._held:
            assert self._data is not None, "load must be called before measure"
            self._send_data(self._worker, self._data)
        return self._worker

    def _send_data(self, worker: _Worker, data: MeasureInputs) -> None:
        """Hand over the data in files, which are gone as soon as the worker has mapped them."""
        with TemporaryDirectory(prefix="relay_tune_", ignore_cleanup_errors=True) as folder:
            saved = save_inputs(data, Path(folder))
            worker.send({"kind": "load", "task": self._task, "data": saved}, ())
            self._held = frozenset(self._await_loaded(worker))

    def _await_loaded(self, worker: _Worker) -> list[str]:
        """The names of the tasks that the worker holds once it has loaded one."""
        try:
            reply = worker.receive(START_SECONDS)
        except queue.Empty:
            reply = None
        if reply is None:
            code = worker.exit_code()
            self.close()
            raise TuningError(
                "The process that measures candidates did not start.",
                notes=(f"Its exit code is {code}.",),
                remedy="Is the machine out of memory, or the temporary folder gone?",
            )
        held: list[str] = reply["held"]
        return held


class _Worker:
    """A worker process; a thread reads its replies so that waiting for one can time out."""

    def __init__(self, memory_bytes: int) -> None:
        arguments = json.dumps({"memory_bytes": memory_bytes})
        self._process: subprocess.Popen[bytes] = start_worker(
            "relay_tune.runtime.measure_worker", [arguments]
        )
        self._replies: queue.Queue[Reply | None] = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def send(self, header: dict[str, Any], blobs: tuple[bytes, ...]) -> None:
        """Send a message; that the worker is dead shows when its reply is read."""
        assert self._process.stdin is not None
        try:
            write_message(self._process.stdin, header, blobs)
        except OSError:
            self._replies.put(None)

    def receive(self, seconds: float) -> Reply | None:
        """The next reply; None if the worker died; queue.Empty if none comes in time."""
        return self._replies.get(timeout=seconds)

    def exit_code(self) -> int:
        """The exit code of a worker that ends by itself; negative for a signal."""
        try:
            return self._process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
            return self._process.wait()

    def kill(self) -> None:
        """End the process and wait until it is gone."""
        kill_worker(self._process)
        self._process.wait()
        self._reader.join()
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            _close(stream)

    def _read(self) -> None:
        assert self._process.stdout is not None
        while (message := read_message(self._process.stdout)) is not None:
            self._replies.put(message[0])
        self._replies.put(None)


def _close(stream: Any) -> None:
    try:
        stream.close()
    except OSError:
        return  # unsent bytes of a message to a dead worker
