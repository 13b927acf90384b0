"""Running one candidate in the measuring worker: link it, check its answer, take its time."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Mapping, Sequence
from itertools import chain, cycle, islice
from typing import TypeVar

import numpy as np

from relay_tune.codegen.loaded_code import LoadedCode
from relay_tune.codegen.repeat_function import REPEAT_SYMBOL, RepeatContext
from relay_tune.runtime.aligned_memory import as_bytes
from relay_tune.runtime.measuring.cold_constants import (
    ConstantCopies,
    copies_wanted,
    outputs_wanted,
    runs_in_turn,
)
from relay_tune.runtime.measuring.compare_outputs import difference
from relay_tune.runtime.measuring.guarded_buffer import ALIGNMENT, GuardedBuffer, guarded_buffers
from relay_tune.runtime.measuring.inputs import Sample
from relay_tune.runtime.measuring.message import Slot, SlotKind
from relay_tune.runtime.measuring.paged_buffer import PagedBuffer, Side
from relay_tune.runtime.measuring.task_memory import TaskMemory
from relay_tune.runtime.measuring.timing import Timing, time_runs
from relay_tune.runtime.run_clock import run_clock

Buffer = GuardedBuffer | PagedBuffer

T = TypeVar("T")


class WrongAnswerError(Exception):
    """A candidate computed something else than the reference."""


class OutOfBoundsError(WrongAnswerError):
    """A candidate wrote outside of its buffers; the process can no longer be trusted."""


class CandidateRun:
    """A candidate linked to the buffers of its task.

    `close` must be called before the code goes away: it ends the threads that run in it. The answer
    of code that `rounds_factors` of products to bfloat16 is compared as one of that type.
    """

    def __init__(
        self,
        objects: Sequence[bytes],
        slots: Sequence[Slot],
        memory: TaskMemory,
        copies: ConstantCopies,
        threads: int,
        *,
        rounds_factors: bool = False,
    ) -> None:
        self._memory = memory
        self._rounds_factors = rounds_factors
        self._copies = copies
        self._scratch = guarded_buffers([s.bytes for s in slots if s.kind is SlotKind.SCRATCH])
        self._constants = [
            memory.constant(slot.index, slot.recipe)
            for slot in slots
            if slot.kind is SlotKind.CONSTANT
        ]
        self._slots = slots
        self._threads = threads
        self._use_tables(1)
        symbols = [REPEAT_SYMBOL, "relay_tune_run", "relay_tune_shutdown"]
        self._code = LoadedCode(objects, symbols)
        self._run = self._code.function(
            "relay_tune_run", ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64
        )
        self._repeat = self._code.address(REPEAT_SYMBOL)

    @property
    def bytes(self) -> int:
        """The memory that is this candidate's own, and its packed constants."""
        own = sum(slot.bytes for slot in self._slots if slot.kind is SlotKind.SCRATCH)
        return own + sum(array.nbytes for array in self._constants)

    def _use_tables(self, copies: int, output_sets: int = 1) -> None:
        """Rotate the runs through copies of the constants and sets of output buffers.

        The run before used the first ones, so that they begin with the next.
        """
        count = runs_in_turn(copies, output_sets)
        constants = _in_turn(self._copies.copy(self._constants, copies), count)
        outputs = _in_turn(self._memory.output_sets(output_sets), count)
        self._set_tables(
            [
                self._addresses(own, self._memory.inputs, results, self._scratch)
                for own, results in zip(constants, outputs, strict=True)
            ]
        )

    def _set_tables(self, tables: Sequence[list[int]]) -> None:
        count = len(tables)
        addresses = [index for table in tables for index in table]
        self._tables = (ctypes.c_void_p * max(len(addresses), 1))(*addresses)
        self._context = RepeatContext(
            ctypes.addressof(self._tables),
            1,
            0,
            len(self._slots),
            count,
            1 % count,
            run_clock(self._threads).number,
        )

    def _addresses(
        self,
        constants: Sequence[int],
        inputs: Sequence[Buffer],
        outputs: Sequence[Buffer],
        scratch: Sequence[Buffer],
    ) -> list[int]:
        """A table, given where the constants and the buffers lie."""
        own, constant = iter(scratch), iter(constants)
        addresses = []
        for slot in self._slots:
            match slot.kind:
                case SlotKind.INPUT:
                    addresses.append(inputs[slot.index].address)
                case SlotKind.OUTPUT:
                    addresses.append(outputs[slot.index].address)
                case SlotKind.SCRATCH:
                    addresses.append(next(own).address)
                case SlotKind.CONSTANT:
                    addresses.append(next(constant))
                case SlotKind.SIZE:
                    addresses.append(slot.index)
        return addresses

    def run(self, count: int) -> float:
        """Run the candidate so often; the seconds of all runs."""
        self._context.count = count
        self._run(self._repeat, ctypes.addressof(self._context), self._threads)
        self._context.first = (self._context.first + count) % self._context.number
        return float(self._context.nanoseconds) * 1e-9

    def check(self) -> None:
        """Run once between guarded pages; WrongAnswerError if the answer is wrong."""
        self._check(self._memory.data.samples[0], Side.BEGIN)

    def _check(self, sample: Sample, side: Side) -> None:
        """Run on inputs at one end of guarded memory, into poisoned outputs and scratch there."""
        memory = self._memory
        scratch = [
            PagedBuffer(s.bytes, ALIGNMENT) for s in self._slots if s.kind is SlotKind.SCRATCH
        ]
        named = {
            "input": memory.checked_inputs,
            "output": memory.checked_outputs,
            "scratch buffer": scratch,
        }
        for buffer in chain.from_iterable(named.values()):
            buffer.use(side)
            buffer.poison()
        for buffer, array in zip(memory.checked_inputs, sample.inputs, strict=True):
            buffer.content[:] = as_bytes(array)
        constants = [int(array.ctypes.data) for array in self._constants]
        self._set_tables([self._addresses(constants, *named.values())])
        self.run(1)
        _check_zones(named)
        for number, (buffer, array) in enumerate(
            zip(memory.checked_inputs, sample.inputs, strict=True)
        ):
            if not np.array_equal(buffer.content, as_bytes(array)):
                raise WrongAnswerError(f"changed input {number}")
        for number, expected in enumerate(sample.expected):
            found = memory.checked_outputs[number].content.view(expected.dtype)
            reason = difference(
                found.reshape(expected.shape), expected, rounds_factors=self._rounds_factors
            )
            if reason is not None:
                raise WrongAnswerError(f"output {number}: {reason}")

    def _check_again(self) -> None:
        """Check on other inputs after many runs, at the other ends of the guarded memory."""
        if self._context.first == 1 % self._context.number:
            self.run(1)  # the constants of the check shall not be those of the run before
        try:
            self._check(self._memory.data.samples[1], Side.END)
        except WrongAnswerError as error:
            raise type(error)(f"after it was timed: {error}") from error

    def time(self, best: float | None) -> Timing:
        """How long the candidate takes.

        WrongAnswerError if the clock stood still, or if its answer is wrong after so many runs.

        `best` is the best time known for the task. Each run but the first has another copy of the
        constants, so that they come from where they come from in a network, and other memory for
        its outputs.
        """
        self._use_tables(1)
        cold = self.run(1)
        data, threads = self._memory.data, self._threads
        size = sum(array.nbytes for array in self._constants)
        outputs = sum(array.nbytes for array in data.expected)
        self._use_tables(
            copies_wanted(size, data.other_bytes, cold, threads),
            outputs_wanted(outputs, size, data.other_bytes, cold, threads),
        )
        timing = time_runs(self.run, cold, best)
        if not (math.isfinite(timing.seconds) and timing.seconds > 0):
            raise WrongAnswerError(f"took {timing.seconds} s, which cannot be")
        _check_zones({"input": self._memory.inputs, "scratch buffer": self._scratch})
        for buffers in self._memory.all_output_sets:
            _check_zones({"output": buffers})
        self._check_again()
        return timing

    def close(self) -> None:
        """End the candidate's threads."""
        self._code.function("relay_tune_shutdown")()


def _in_turn(items: Sequence[T], count: int) -> list[T]:
    """So many items, beginning anew where they end."""
    return list(islice(cycle(items), count))


def _check_zones(named: Mapping[str, Sequence[Buffer]]) -> None:
    """OutOfBoundsError if a candidate wrote outside of one of these buffers."""
    for name, buffers in named.items():
        for number, buffer in enumerate(buffers):
            if not buffer.intact:
                raise OutOfBoundsError(f"wrote outside of {name} {number}")
