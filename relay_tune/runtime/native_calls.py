"""A native program in this process, and the sessions in which calls run it.

A call takes a session that no other call has, or opens one more while there are few; so calls from
several threads may run at the same time, each with memory of its own.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import numpy as np

from relay_tune.program.program import FirstOrderProgram
from relay_tune.runtime.interpreter.values import Value
from relay_tune.runtime.native_session import SessionFunctions
from relay_tune.runtime.program_call import ProgramCall
from relay_tune.runtime.threads import available_processors


class NativeCalls:
    """Runs a program whose machine code is in this process.

    Attributes:
        first: the session that calls take which come one after the other.
    """

    def __init__(self, program: FirstOrderProgram, functions: SessionFunctions) -> None:
        self._program = program
        self._functions = functions
        self._opening = threading.Lock()
        self.first = ProgramCall(program, functions)
        self._calls = [self.first]
        self._most = available_processors()

    def value(self, values: Sequence[object], threads: int) -> Value:
        """The value for inputs in order, by the short way of the first session where it is free."""
        direct = self.first.direct
        value: Value | None = None if direct is None else direct(values, threads)
        if value is not None:
            return value
        with self._free() as call:
            return call.value(values, threads)

    def fill(self, values: Sequence[object], threads: int, arrays: Sequence[np.ndarray]) -> bool:
        """Run the program on inputs in order, and have it write its outputs into arrays.

        False, and nothing was run, if it cannot: where they overlap, or sizes are not known.
        """
        with self._free() as call:
            return call.fill(values, threads, arrays)

    def value_of_donated(
        self, values: Mapping[str, object], rows: Mapping[str, int], threads: int
    ) -> Value:
        """The value for inputs by name, some of which may become outputs, with so many rows."""
        with self._free() as call:
            return call.value_of_donated(values, rows, threads)

    def repeat_seconds(self, values: Sequence[object], threads: int, runs: int) -> float:
        """The seconds of one of so many runs that follow each other without Python between them."""
        with self._free() as call:
            return call.repeat_seconds(values, threads, runs)

    @contextmanager
    def _free(self) -> Iterator[ProgramCall]:
        call = self._taken()
        try:
            yield call
        finally:
            call.lock.release()

    def _taken(self) -> ProgramCall:
        """A session whose lock is held."""
        for call in self._calls:
            if call.lock.acquire(blocking=False):
                return call
        with self._opening:
            if len(self._calls) < self._most:
                made = ProgramCall(self._program, self._functions)
                made.lock.acquire()
                self._calls.append(made)
                return made
        self.first.lock.acquire()
        return self.first
