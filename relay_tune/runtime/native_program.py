"""A compiled program loaded into this process."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from time import perf_counter

import numpy as np

from relay_tune.codegen.compiled_program import MAIN_SYMBOL, CompiledProgram
from relay_tune.codegen.compiler import LoadedCode, compile_text
from relay_tune.codegen.index_checks import STATUS_SYMBOL
from relay_tune.codegen.main_function import main_text
from relay_tune.codegen.repeat_function import (
    MEASURED_SYMBOL,
    REPEAT_SYMBOL,
    RepeatContext,
    repeat_text,
)
from relay_tune.codegen.trace_function import (
    EVENTS_SYMBOL,
    traced_call,
    traced_kernels_text,
    traced_main_text,
)
from relay_tune.ir.dtypes import DTYPES
from relay_tune.ir.types import TensorType, TupleType
from relay_tune.runtime.aligned_memory import aligned_array, aligned_bytes
from relay_tune.runtime.call_inputs import address_of
from relay_tune.runtime.direct.call import DirectCall, direct_call
from relay_tune.runtime.direct.callee import network_callee
from relay_tune.runtime.index_status import IndexStatus
from relay_tune.runtime.processor_check import check_features
from relay_tune.runtime.threads import thread_pool
from relay_tune.runtime.trace import EventBuffer, Trace

TRACED_MAIN_SYMBOL = "relay_tune_traced_main"
TRACE_WARMUP = 3
"""Runs before those that are traced."""

Form = tuple[tuple[int, ...], np.dtype]
"""Shape and element type of an array."""


class NativeProgram:
    """Runs a program; several threads may call it, one at a time does.

    Raises InputError if the program is made for another machine.
    """

    def __init__(self, program: CompiledProgram) -> None:
        check_features(program.target.triple, program.features, str(program.target))
        self._program = program
        self._pool = thread_pool()
        checked = (STATUS_SYMBOL,) if program.checks else ()
        symbols = (MAIN_SYMBOL, *checked, *program.kernel_symbols)
        self._code = LoadedCode(program.objects, symbols, self._pool.imports)
        self._main = self._code.address(MAIN_SYMBOL)
        self._lock = threading.Lock()
        self._workspace = aligned_bytes(program.workspace_bytes)
        self._table = (ctypes.c_void_p * program.slots)()
        self._table[program.workspace_slot] = self._workspace.ctypes.data
        self._table[program.workspace_slot + 1] = program.constants.array().ctypes.data
        self._outputs = [_form(type_) for type_ in program.outputs.values()]
        checks = program.checks
        self._status = IndexStatus(self._code, self._table, checks) if checks else None

    def run(self, inputs: Sequence[np.ndarray], threads: int) -> list[np.ndarray]:
        """The outputs, in new arrays; the inputs must have exactly the program's types.

        Raises IndexRangeError where an index among the inputs, or computed, is out of range.
        """
        outputs = [np.empty(shape, dtype) for shape, dtype in self._outputs]
        self.run_into(inputs, threads, outputs)
        return outputs

    def run_into(
        self, inputs: Sequence[np.ndarray], threads: int, outputs: Sequence[np.ndarray]
    ) -> None:
        """Fill arrays that have exactly the types of the outputs; raises as `run` does."""
        with self._lock:
            self._fill_table(inputs, outputs)
            self._pool.run(self._main, self._table, threads)
            if self._status is not None:
                self._status.require_valid()

    def makes(self, outputs: Sequence[np.ndarray]) -> bool:
        """Whether arrays have the types of the outputs."""
        return [(array.shape, array.dtype) for array in outputs] == self._outputs

    @cached_property
    def direct(self) -> DirectCall | None:
        """The short way to run this program; None where Python has none."""
        inputs, outputs = self._program.inputs, self._program.outputs
        return direct_call(
            inputs,
            TupleType(tuple(outputs.values())),
            lambda: network_callee(self._main, self._table, len(inputs), self._status),
            self._lock,
        )

    @property
    def step_digests(self) -> tuple[str, ...]:
        """The digest of the primitive that each step runs."""
        return tuple(step.digest for step in self._program.steps)

    def step_seconds(
        self, inputs: Sequence[np.ndarray], threads: int, repeat: int
    ) -> list[list[float]]:
        """The times of each step, `repeat` of them; the steps run one by one, in order.

        Outputs begin on cache lines, as tensors between steps do.
        """
        outputs = [aligned_array(shape, dtype) for shape, dtype in self._outputs]
        with self._lock:
            addresses = self._step_functions.addresses
            seconds: list[list[float]] = [[] for _ in addresses]
            self._fill_table(inputs, outputs)
            for _ in range(repeat):
                for address, times in zip(addresses, seconds, strict=True):
                    start = perf_counter()
                    self._pool.run(address, self._table, threads)
                    times.append(perf_counter() - start)
        return seconds

    def repeat_seconds(self, inputs: Sequence[np.ndarray], threads: int, runs: int) -> float:
        """The time of one of so many runs that follow each other without Python between them.

        Outputs begin on cache lines.
        """
        outputs = [aligned_array(shape, dtype) for shape, dtype in self._outputs]
        context = RepeatContext(
            ctypes.addressof(self._table), runs, 0, self._program.slots, number=1, first=0
        )
        with self._lock:
            address = self._repeat_code.address(REPEAT_SYMBOL)
            self._fill_table(inputs, outputs)
            self._pool.run(address, ctypes.byref(context), threads)
        return float(context.nanoseconds) / runs / 1e9

    def trace(self, inputs: Sequence[np.ndarray], threads: int, runs: int) -> Trace:
        """When each thread ran each kernel, in so many runs of the whole program.

        A note takes some tens of nanoseconds. The calling thread has to be the one that asks.
        """
        outputs = [aligned_array(shape, dtype) for shape, dtype in self._outputs]
        steps = self._program.steps
        buffer = EventBuffer(self._most_shares(threads) * (runs + TRACE_WARMUP))
        code = self._traced_code(buffer)
        address = code.address(TRACED_MAIN_SYMBOL)
        with self._lock:
            self._fill_table(inputs, outputs)
            for _ in range(TRACE_WARMUP):
                self._pool.run(address, self._table, threads)
            buffer.clear()
            for _ in range(runs):
                buffer.begin_run()
                self._pool.run(address, self._table, threads)
        return buffer.trace([step.title for step in steps for _ in step.calls])

    def _most_shares(self, threads: int) -> int:
        """At most so many shares of kernels has a run."""
        calls = (call for step in self._program.steps for call in step.calls)
        return sum(threads + max(call.shares, call.grain * threads) for call in calls)

    def _traced_code(self, buffer: EventBuffer) -> LoadedCode:
        """The traced main function; it calls the kernels that are loaded."""
        program = self._program
        calls = [call for step in program.steps for call in step.calls]
        triple = program.target.triple
        kernels = [traced_call(number, call, call.symbol) for number, call in enumerate(calls)]
        texts = (
            traced_main_text(TRACED_MAIN_SYMBOL, calls, 0, triple),
            traced_kernels_text(kernels, triple),
        )
        images = [compile_text(text, program.target) for text in texts]
        imports = {**self._pool.imports, **self._kernel_addresses, EVENTS_SYMBOL: buffer.address}
        return LoadedCode(images, [TRACED_MAIN_SYMBOL], imports)

    @property
    def _kernel_addresses(self) -> dict[str, int]:
        return {symbol: self._code.address(symbol) for symbol in self._program.kernel_symbols}

    @cached_property
    def _repeat_code(self) -> LoadedCode:
        target = self._program.target
        image = compile_text(repeat_text(target.triple), target)
        imports = {**self._pool.imports, MEASURED_SYMBOL: self._main}
        return LoadedCode([image], [REPEAT_SYMBOL], imports)

    def _fill_table(self, inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray]) -> None:
        table = self._table
        for slot, array in enumerate((*inputs, *outputs)):
            table[slot] = address_of(array)

    @cached_property
    def _step_functions(self) -> _StepFunctions:
        """One function for each step, for measuring; they call the kernels that are loaded."""
        program = self._program
        names = [f"relay_tune_step{number}" for number in range(len(program.steps))]
        objects = [
            compile_text(main_text(name, step.calls, program.target.triple), program.target)
            for name, step in zip(names, program.steps, strict=True)
        ]
        code = LoadedCode(objects, names, {**self._pool.imports, **self._kernel_addresses})
        return _StepFunctions(code, [code.address(name) for name in names])


def _form(type_: TensorType) -> Form:
    """Shape and element type of a tensor whose sizes are all known."""
    return tuple(int(str(dim)) for dim in type_.shape), DTYPES[type_.dtype]


@dataclass(frozen=True, eq=False, slots=True)
class _StepFunctions:
    """Their addresses are good as long as the code lives."""

    code: LoadedCode
    addresses: list[int]
