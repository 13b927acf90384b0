"""When each thread ran each kernel of a program."""

from __future__ import annotations

from collections.abc import Sequence

from relay_tune.codegen.compiler import compile_text
from relay_tune.codegen.kernel_calls import single_calls, with_symbols
from relay_tune.codegen.loaded_code import LoadedCode
from relay_tune.codegen.main_function import Job, jobs_text
from relay_tune.codegen.programs.compiled import CompiledFunctions
from relay_tune.codegen.trace_function import (
    EVENTS_SYMBOL,
    TracedKernel,
    traced_call,
    traced_kernels_text,
    untraced,
)
from relay_tune.runtime.native_calls import NativeCalls
from relay_tune.runtime.native_session import TracedKernels, load_functions
from relay_tune.runtime.threads import thread_pool
from relay_tune.runtime.trace import EventBuffer, Trace

FIRST_CAPACITY = 1 << 14
"""Events for which there is room at first; there is more where a program runs more kernels."""

WARMUP = 3
"""Runs before those that are traced."""


def program_trace(
    compiled: CompiledFunctions, inputs: Sequence[object], threads: int, runs: int
) -> Trace:
    """When each thread ran each kernel, in so many runs of the whole program."""
    return TracedProgram(compiled, threads).trace(inputs, runs)


class TracedProgram:
    """A program in this process whose kernels note when they run."""

    def __init__(self, compiled: CompiledFunctions, threads: int) -> None:
        self._buffer = EventBuffer(FIRST_CAPACITY)
        self._titles: list[str] = []
        traced = self._traced_kernels(compiled)
        functions = load_functions(compiled, traced=traced)
        self._threads = threads
        self._calls = NativeCalls(compiled.program, functions)

    def trace(self, inputs: Sequence[object], runs: int, warmup: int = WARMUP) -> Trace:
        """When each thread ran each kernel, in so many runs after some that are not noted.

        A note takes some tens of nanoseconds. The calling thread has to be the one that asks.
        """
        for _ in range(warmup):
            self._calls.value(inputs, self._threads)
        while True:
            self._buffer.clear()
            for _ in range(runs):
                self._buffer.begin_run()
                self._calls.value(inputs, self._threads)
            if self._buffer.count <= self._buffer.capacity:
                return self._buffer.trace(self._titles)
            self._buffer.make_room(2 * self._buffer.count)

    def _traced_kernels(self, compiled: CompiledFunctions) -> TracedKernels:
        """Functions with stamps for the kernels, and those of regions, which call them."""
        target = compiled.target
        kernels: list[TracedKernel] = []
        jobs: dict[str, Job] = {}
        for region in compiled.regions:
            first = len(kernels)
            for call in single_calls(region.calls):
                kernels.append(traced_call(len(kernels), call, untraced(call.symbol)))
            own = iter([kernel.symbol for kernel in kernels[first:]])
            jobs[region.job] = Job(with_symbols(region.calls, own), region.elsewhere)
            self._titles += [step.title for step in region.steps for _ in step.calls]
        texts = (jobs_text(jobs, target.triple), traced_kernels_text(kernels, target.triple))
        symbols = list(compiled.kernel_symbols)
        objects = compiled.objects[: compiled.kernel_objects]
        code = LoadedCode(objects, symbols, thread_pool().imports)
        imports = {untraced(symbol): code.address(symbol) for symbol in symbols}
        return TracedKernels(
            images=tuple(compile_text(text, target) for text in texts),
            imports={**imports, EVENTS_SYMBOL: self._buffer.address},
            code=code,
        )
