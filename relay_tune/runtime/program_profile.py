"""The time of each kernel of a program, from a timeline of some runs.

network, in the order in which they run          program with control flow, the slowest first

conv2d+relu 1x64x56x56                           40 x dense 1x1024
softmax 1x1000                                   tanh 1x256
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from statistics import median

from relay_tune.codegen.kernel_work import KernelWork
from relay_tune.codegen.program_step import ProgramStep
from relay_tune.codegen.programs.compiled import CompiledFunctions
from relay_tune.program.instructions import (
    CheckIndices,
    LoadConstant,
    Release,
    Reshape,
    Retain,
    RunRegion,
)
from relay_tune.program.program import FirstOrderProgram
from relay_tune.runtime.machine_limits import MachineLimits
from relay_tune.runtime.profile import ProfileReport, ProfileRow
from relay_tune.runtime.trace import Trace, TraceEvent

Events = Mapping[int, Sequence[TraceEvent]]
"""The events of a step or a primitive, by run."""

_OF_NETWORKS = (RunRegion, LoadConstant, Reshape, CheckIndices, Retain, Release)
"""Instructions of networks of known sizes that take no time, beside kernels."""


def program_profile(
    compiled: CompiledFunctions, trace: Trace, whole: float, limits: MachineLimits
) -> ProfileReport:
    """The time of each kernel in one run, from a trace of some; `whole` is that of a run.

    Kernels that other threads ran at the same time count once.
    """
    known = _by_title(compiled)
    events = _events_by_title(trace)
    spent = {title: _seconds(runs) for title, runs in events.items()}
    total = sum(spent.values()) or 1.0
    is_network = _is_network(compiled.program)
    titles = list(spent) if is_network else sorted(spent, key=lambda title: -spent[title])
    rows = [
        _row(known[title], events[title], spent[title], spent[title] / total, limits)
        for title in titles
    ]
    return ProfileReport(tuple(rows), limits, None if is_network else whole)


def kernel_seconds(compiled: CompiledFunctions, trace: Trace) -> dict[str, float]:
    """The time of one run of each primitive that a trace has, by its digest.

    It is the mean where a primitive is run several times.
    """
    known = _by_title(compiled)
    seconds: dict[str, float] = {}
    calls: Counter[str] = Counter()
    for title, runs in _events_by_title(trace).items():
        digest = known[title].digest
        seconds[digest] = seconds.get(digest, 0.0) + _seconds(runs)
        calls[digest] += _calls(runs)
    return {digest: spent / calls[digest] for digest, spent in seconds.items()}


def _by_title(compiled: CompiledFunctions) -> dict[str, ProgramStep]:
    return {step.title: step for region in compiled.regions for step in region.steps}


def _is_network(program: FirstOrderProgram) -> bool:
    """Whether every run is the same kernels of known sizes, and nothing else."""
    blocks = [block for function in program.functions.values() for block in function.blocks]
    return (
        not program.is_open
        and len(blocks) == 1
        and all(isinstance(each, _OF_NETWORKS) for each in blocks[0].instructions)
    )


def _events_by_title(trace: Trace) -> dict[str, dict[int, list[TraceEvent]]]:
    """The events of each title, in the order in which they first begin."""
    found: dict[str, dict[int, list[TraceEvent]]] = {}
    for event in trace.events:
        found.setdefault(event.title, {}).setdefault(event.run, []).append(event)
    return found


def _seconds(runs: Events) -> float:
    """How long the kernels of a primitive took in a run of the program."""
    return median(_busy_nanoseconds(events) for events in runs.values()) / 1e9


def _calls(runs: Events) -> int:
    """How often a run of the program ran a primitive."""
    first = next(iter(runs.values()))
    begun = Counter(event.kernel for event in first if event.share == 0)
    return max(begun.values(), default=1)


def _row(
    primitive: ProgramStep,
    runs: Events,
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
    return replace(
        work,
        written=calls * work.written,
        operations=operations,
        bytes=calls * work.bytes,
    )


def _busy_nanoseconds(events: Iterable[TraceEvent]) -> int:
    """How long at least one of the events went on."""
    total, until = 0, 0
    for event in sorted(events, key=lambda each: each.begin):
        begin = max(event.begin, until)
        total += max(0, event.end - begin)
        until = max(until, event.end)
    return total
