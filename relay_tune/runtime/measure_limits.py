"""Measures what this machine can reach, with generated loops that run in this process.

Each loop runs several times, some tenths of a millisecond at a time, until its best time repeats
(`relay_tune.runtime.repeated_times`): other work on the machine can only lower a rate.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import cache, partial
from itertools import pairwise
from time import perf_counter

import numpy as np

from relay_tune.codegen.arithmetic_loops import ArithmeticLoop, arithmetic_loops, arithmetic_text
from relay_tune.codegen.compiler import compile_text
from relay_tune.codegen.limit_loops import (
    CHAINS,
    FLUSHING_SYMBOL,
    READING_SYMBOL,
    LoopContext,
    can_flush,
    flushing_text,
    peak_text,
    reading_text,
    step_bytes,
)
from relay_tune.codegen.loaded_code import LoadedCode
from relay_tune.codegen.target import Target, native_target
from relay_tune.machine.intrinsic import Intrinsic
from relay_tune.machine.machine import PRIVATE_CACHES
from relay_tune.quick_dataclass import dataclass
from relay_tune.runtime.aligned_memory import aligned_bytes
from relay_tune.runtime.cache_sizes import LARGEST_SHARE, cache_sizes
from relay_tune.runtime.kept_limits import kept_limits
from relay_tune.runtime.machine_limits import CacheLimit, MachineLimits
from relay_tune.runtime.repeated_times import repeated_times
from relay_tune.runtime.threads import thread_pool
from relay_tune.tensor.scalar_semantics import numpy_dtype

ARITHMETIC_STEPS = 100_000
INTRINSIC_STEPS = 5_000

READ_BYTES = 64 << 20
"""How much a loop reads from a core's own caches."""

SHARED_READ_BYTES = 16 << 20
"""How much it reads from the slower ones that are shared."""

FLUSHED_BYTES = 16 << 20
"""Read from memory once, after no cache has it; less may lie at an unlucky address."""

UNFLUSHED_BYTES = 64 << 20
"""Read instead where programs cannot empty caches; much of it is in no cache."""

HUGE_PAGE = 2 << 20
"""Buffers start where the system may map them with such pages, as it does large tensors."""

SMALL_PAGE = 4 << 10


@cache
def machine_limits(threads: int) -> MachineLimits:
    """The limits of this machine for so many threads, the same all through a process."""
    return best_known_limits(native_target(), threads)


def best_known_limits(target: Target, threads: int) -> MachineLimits:
    """The limits of this machine: the highest rates that the user's first processes measured."""
    return kept_limits(target, threads, partial(measure_limits, target, threads))


def measure_limits(target: Target, threads: int) -> MachineLimits:
    """Measure the limits of this machine, which `target` must fit."""
    arithmetic = arithmetic_loops(target)
    sizes = [min(size, LARGEST_SHARE) for size in cache_sizes()]
    run = _run_function(target, arithmetic, threads)
    near = [_whole_steps(size, target) for size in _read_sizes(sizes)]
    far = _whole_steps(FLUSHED_BYTES if can_flush(target) else UNFLUSHED_BYTES, target)
    buffers = aligned_bytes((max(near) + far) * threads + HUGE_PAGE)
    buffers[::SMALL_PAGE] = 0  # otherwise all pages would be the system's one page of zeros
    start = buffers.ctypes.data + -buffers.ctypes.data % HUGE_PAGE
    float32, *others = (_arithmetic(loop, start, threads) for loop in arithmetic)
    cached = [_reading(start, size, level, threads) for level, size in enumerate(near)]
    flushed = _flushed(start + max(near) * threads, far, target, threads)
    first, *reads, memory = _rates([float32, *cached, flushed], run)
    rest = _rates(others, run)  # by themselves: these instructions may lower the clock
    peaks = {loop.dtype: rate for loop, rate in zip(arithmetic, [first, *rest], strict=True)}
    for intrinsic in target.intrinsics:
        peaks[intrinsic.pattern.name] = _peak_of(intrinsic, run, threads)
    return MachineLimits(
        threads,
        {name: peak.amount for name, peak in peaks.items()},
        tuple(
            CacheLimit(size * (threads if level < PRIVATE_CACHES else 1), rate.amount)
            for level, (size, rate) in enumerate(zip(sizes, reads, strict=True))
        ),
        memory.amount,
        disturbed=sum(not rate.repeats for rate in (*peaks.values(), *reads, memory)),
    )


@dataclass(frozen=True, slots=True)
class _Rate:
    """The best rate in a second, and whether it repeated."""

    amount: float
    repeats: bool


Run = Callable[[str, LoopContext], None]
"""Runs the loop with a symbol on all threads."""


@dataclass(frozen=True, slots=True)
class _Loop:
    """A loop to time, what it does in all, and the symbol of what is called before it."""

    symbol: str
    context: LoopContext
    amount: float
    before: str | None = None


def _run_function(target: Target, loops: Sequence[ArithmeticLoop], threads: int) -> Run:
    pool = thread_pool()
    texts = {loop.symbol: arithmetic_text(loop, target) for loop in loops}
    texts |= {each.peak.symbol: peak_text(each.peak, target) for each in target.intrinsics}
    texts[READING_SYMBOL] = reading_text(target)
    if can_flush(target):
        texts[FLUSHING_SYMBOL] = flushing_text(target)
    objects = [compile_text(text, target) for text in texts.values()]
    code = LoadedCode(objects, list(texts), pool.imports)

    def run(symbol: str, context: LoopContext) -> None:
        pool.run(code.address(symbol), ctypes.byref(context), threads)

    return run


def _read_sizes(caches: Sequence[int]) -> list[int]:
    """The data to read for each cache: they fit well into it, but into no nearer one."""
    farther = [min(size // 2, 4 * nearer) for nearer, size in pairwise(caches)]
    return [caches[0] // 2, *farther]


def _whole_steps(size: int, target: Target) -> int:
    """A whole number of the reading loop's steps."""
    step = step_bytes(target)
    return max(size // step, 1) * step


def _arithmetic(loop: ArithmeticLoop, buffer: int, threads: int) -> _Loop:
    amount = loop.operations * CHAINS * ARITHMETIC_STEPS * threads
    return _Loop(loop.symbol, LoopContext(buffer, SMALL_PAGE, ARITHMETIC_STEPS), amount)


def _peak_of(intrinsic: Intrinsic, run: Run, threads: int) -> _Rate:
    """The rate of an intrinsic, in operations a second."""
    peak, pattern = intrinsic.peak, intrinsic.pattern
    operands = _operands(pattern.left, peak.operand_bytes * threads)
    context = LoopContext(operands.ctypes.data, peak.operand_bytes, INTRINSIC_STEPS)
    amount = pattern.operations * peak.calls * INTRINSIC_STEPS * threads
    (rate,) = _rates([_Loop(peak.symbol, context, amount)], run)
    return rate


def _operands(dtype: str, count: int) -> np.ndarray:
    """So many bytes of random elements, floats between -1 and 1: the clock is higher for zeros."""
    operands, rng = aligned_bytes(count), np.random.default_rng(0)
    elements = operands.view(numpy_dtype(dtype))
    if np.issubdtype(elements.dtype, np.integer):
        operands[:] = rng.integers(0, 256, count, np.uint8)
    else:
        elements[:] = rng.uniform(-1, 1, elements.size).astype(elements.dtype)
    return operands


def _reading(buffer: int, size: int, level: int, threads: int) -> _Loop:
    count = max(1, (READ_BYTES if level < PRIVATE_CACHES else SHARED_READ_BYTES) // size)
    return _Loop(READING_SYMBOL, LoopContext(buffer, size, count), size * count * threads)


def _flushed(buffer: int, size: int, target: Target, threads: int) -> _Loop:
    flush = FLUSHING_SYMBOL if can_flush(target) else None
    return _Loop(READING_SYMBOL, LoopContext(buffer, size, 1), size * threads, before=flush)


def _rates(loops: Sequence[_Loop], run: Run) -> list[_Rate]:
    """The best rate of each loop."""
    times = repeated_times([partial(_seconds, loop, run) for loop in loops])
    return [
        _Rate(loop.amount / time.seconds, time.agrees)
        for loop, time in zip(loops, times, strict=True)
    ]


def _seconds(loop: _Loop, run: Run) -> float:
    if loop.before is not None:
        run(loop.before, loop.context)
    start = perf_counter()
    run(loop.symbol, loop.context)
    return perf_counter() - start
