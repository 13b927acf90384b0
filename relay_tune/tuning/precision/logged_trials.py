"""Trials that a tuning log remembers: nothing is measured twice."""

from __future__ import annotations

import json
import socket
import sys
import time
from collections.abc import Sequence
from os import PathLike
from typing import Protocol

import logs
from relay_tune.codegen.version import CODE_VERSION
from relay_tune.quantization.precisions import Precisions
from relay_tune.quick_dataclass import dataclass
from relay_tune.tuning.log_errors import log_errors
from relay_tune.tuning.precision.trials import Measured, Trials

FORMAT = f"{CODE_VERSION}+precisions1"
"""The code version of such records, apart from those of kernels, and the version of their form."""

MOST = sys.float_info.max
"""Stands for an infinite loss: the numbers of a record are finite."""


class Memory(Protocol):
    """Remembers measurements."""

    def get(self, precisions: Precisions, turns: int) -> Measured | None:
        """Measurement of a choice in so many turns, if there is one."""

    def put(self, precisions: Precisions, turns: int, measured: Measured) -> None:
        """Keep a measurement."""


class OwnMemory:
    """The memory of one run."""

    def __init__(self) -> None:
        self._known: dict[str, Measured] = {}

    def get(self, precisions: Precisions, turns: int) -> Measured | None:
        """See `Memory.get`."""
        return self._known.get(_text(precisions, turns))

    def put(self, precisions: Precisions, turns: int, measured: Measured) -> None:
        """See `Memory.put`."""
        self._known[_text(precisions, turns)] = measured


class LogMemory:
    """The records of one network, target and number of threads in a tuning log.

    A choice is the schedule of a record; its features are the ratio, the loss, the time of float32
    and the noise. Raises InputError where the log cannot be used.
    """

    def __init__(
        self, path: str | PathLike[str], workload: str, title: str, target: str, threads: int
    ) -> None:
        with log_errors():
            self._log = logs.open_log(path)
            self._key = (workload, target, threads, FORMAT)
            self._known = {
                record.schedule: found
                for record in self._log.history(*self._key)
                if (found := _measured(record)) is not None
            }
            if self._log.task(workload) is None:
                self._log.put_task(workload, logs.canonical_json({"title": title}))

    def close(self) -> None:
        """Let go of the log."""
        with log_errors():
            self._log.close()

    def get(self, precisions: Precisions, turns: int) -> Measured | None:
        """See `Memory.get`."""
        return self._known.get(_text(precisions, turns))

    def put(self, precisions: Precisions, turns: int, measured: Measured) -> None:
        """See `Memory.put`; it is on disk when this returns."""
        text = _text(precisions, turns)
        self._known[text] = measured
        loss = min(measured.loss, MOST)
        numbers = [measured.ratio, loss, measured.reference_seconds, measured.noise]
        with log_errors():
            self._log.append(
                logs.Record(
                    *(*self._key, text, logs.Status.OK, time.time(), socket.gethostname()),
                    seconds=measured.seconds,
                    features=json.dumps(numbers),
                )
            )


@dataclass(frozen=True, slots=True)
class LoggedTrials:
    """Trials of which those are measured that the memory does not have."""

    trials: Trials
    memory: Memory

    def simulated_loss(self, precisions: Precisions) -> float:
        """See `Trials.simulated_loss`."""
        return self.trials.simulated_loss(precisions)

    def measured(self, choices: Sequence[Precisions], turns: int) -> list[Measured]:
        """See `Trials.measured`."""
        known = [self.memory.get(each, turns) for each in choices]
        wanted = [each for each, found in zip(choices, known, strict=True) if found is None]
        new = iter(self.trials.measured(wanted, turns) if wanted else ())
        found = [next(new) if each is None else each for each in known]
        for precisions, before, measured in zip(choices, known, found, strict=True):
            if before is None:
                self.memory.put(precisions, turns, measured)
        return found


def _text(precisions: Precisions, turns: int) -> str:
    return logs.canonical_json({"precisions": dict(precisions), "turns": turns})


def _measured(record: logs.Record) -> Measured | None:
    """Decode a record; None for one of another form."""
    numbers = json.loads(record.features or "[]")
    if record.status is not logs.Status.OK or record.seconds is None or len(numbers) != 4:
        return None
    ratio, loss, reference, noise = map(float, numbers)
    return Measured(ratio, record.seconds, loss, reference, noise)
