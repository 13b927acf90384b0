"""When each thread ran each kernel of a program with control flow, and how long each takes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from threading import Lock

from relay_tune.codegen.compiler import LoadedCode, compile_text
from relay_tune.codegen.kernel_work import KernelWork
from relay_tune.codegen.programs.compiled import CompiledFunctions, ProgramPrimitive
from relay_tune.codegen.trace_function import kernels_trace_text, untraced
from relay_tune.runtime.machine_limits import MachineLimits
from relay_tune.runtime.native_session import TracedKernels, load_functions
from relay_tune.runtime.profile import ProfileReport, ProfileRow
from relay_tune.runtime.program_call import ProgramCall
from relay_tune.runtime.threads import thread_pool
from relay_tune.runtime.trace import EventBuffer, Trace, TraceEvent

FIRST_CAPACITY = 1 << 14
"""Events for which there is room at first; there is more where a program runs more kernels."""

WARMUP = 3
"""Runs before those that are traced."""


def program_trace(
    compiled: CompiledFunctions, inputs: Sequence[object], threads: int, runs: int
) -> Trace:
    """When each thread ran each kernel, in so many runs of the whole program."""
    capacity = FIRST_CAPACITY
    while True:
        buffer = EventBuffer(capacity)
        call = _traced(compiled, threads, buffer)
        for _ in range(WARMUP):
            call.value(inputs)
        buffer.clear()
        for _ in range(runs):
            buffer.begin_run()
            call.value(inputs)
        if buffer.count <= capacity:
            titles = [each.title for each in compiled.primitives for _ in each.kernels]
            return buffer.trace(titles)
        capacity = 2 * buffer.count


def _traced(compiled: CompiledFunctions, threads: int, buffer: EventBuffer) -> ProgramCall:
    """The program with kernels that write to a buffer."""
    kernels = [kernel for each in compiled.primitives for kernel in each.kernels]
    symbols = [kernel.symbol for kernel in kernels]
    code = LoadedCode(compiled.objects[: compiled.kernel_objects], symbols, thread_pool().imports)
    triple = compiled.target.triple
    text = kernels_trace_text(kernels, triple, buffer.address, buffer.capacity)
    traced = TracedKernels(
        compile_text(text, compiled.target),
        {untraced(symbol): code.address(symbol) for symbol in symbols},
        code,
    )
    functions = load_functions(compiled, traced=traced)
    return ProgramCall(compiled.program, functions, threads, Lock())


def program_profile(
    primitives: Sequence[ProgramPrimitive], trace: Trace, whole: float, limits: MachineLimits
) -> ProfileReport:
    """The time of each primitive in one run, from a trace of some; `whole` is that of a run.

    Kernels that other threads ran at the same time count once.
    """
    by_title = _runs_by_title(trace)
    known = {each.title: each for each in primitives}
    spent = {title: _seconds(runs) for title, runs in by_title.items()}
    total = sum(spent.values()) or 1.0
    rows = [
        _row(known[title], by_title[title], seconds, seconds / total, limits)
        for title, seconds in sorted(spent.items(), key=lambda item: -item[1])
    ]
    return ProfileReport(tuple(rows), limits, whole)


def kernel_seconds(primitives: Sequence[ProgramPrimitive], trace: Trace) -> dict[str, float]:
    """The time of one run of each primitive that a trace has, by its digest."""
    digests = {each.title: each.digest for each in primitives}
    return {
        digests[title]: _seconds(runs) / _calls(runs)
        for title, runs in _runs_by_title(trace).items()
    }


def _runs_by_title(trace: Trace) -> dict[str, dict[int, list[TraceEvent]]]:
    found: dict[str, dict[int, list[TraceEvent]]] = {}
    for event in trace.events:
        found.setdefault(event.title, {}).setdefault(event.run, []).append(event)
    return found


def _seconds(runs: Mapping[int, Sequence[TraceEvent]]) -> float:
    """How long the kernels of a primitive took in a run of the program."""
    return median(_busy_nanoseconds(events) for events in runs.values()) / 1e9


def _calls(runs: Mapping[int, Sequence[TraceEvent]]) -> int:
    """How often a run of the program ran a primitive."""
    first = next(iter(runs.values()))
    begun = Counter(event.kernel for event in first if event.share == 0)
    return max(begun.values(), default=1)


def _row(
    primitive: ProgramPrimitive,
    runs: dict[int, list[TraceEvent]],
    seconds: float,
    share: float,
    limits: MachineLimits,
) -> ProfileRow:
    calls = _calls(runs)
    work = _times(primitive.work, calls)
    return ProfileRow(
        title=primitive.title,
        digest=primitive.digest,
        seconds=seconds,
        work=work,
        bound=limits.bound(work),
        share=share,
        nodes=primitive.nodes,
        calls=calls,
    )


def _times(work: KernelWork | None, calls: int) -> KernelWork:
    """The work of so many runs; none where it is not known."""
    if work is None:
        return KernelWork(0, {}, 0, "")
    operations = {unit: calls * count for unit, count in work.operations.items()}
    return KernelWork(calls * work.written, operations, calls * work.bytes, work.algorithm)


def _busy_nanoseconds(events: Iterable[TraceEvent]) -> int:
    """How long at least one of the events went on."""
    total, until = 0, 0
    for event in sorted(events, key=lambda each: each.begin):
        begin = max(event.begin, until)
        total += max(0, event.end - begin)
        until = max(until, event.end)
    return total
