"""The float32 speed limit of one or more cores, measured.

A loop of fused multiply-adds on registers alone: enough independent chains to fill the pipelines,
nothing loaded or stored. Run it beside a kernel to know how far the kernel is from the limit. It
runs on the thread pool of compiled programs and is as short as a kernel, so that other work of the
machine disturbs it just as much.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from benchmarks.multiply_add_loop import (
    ITERATIONS,
    fused_multiply_add,
    loop_text,
    parallel_run,
    vector_type,
)
from relay_tune.codegen.target import Target, native_target

SYMBOL = "multiply_add_loop"

VECTOR_FLOATS = 64
"""Room for one vector of any machine."""


def chain_count(target: Target) -> int:
    """Independent sums: all registers but those of the factors, and two more."""
    return target.vector_registers - 4


def peak_text(target: Target) -> str:
    """The loop as LLVM text: `void multiply_add_loop(float *numbers, i64 thread, i64 threads)`.

    `numbers` holds `VECTOR_FLOATS` for each thread: factor and summand at the start, in the end
    the sum stands behind them.
    """
    chains = range(chain_count(target))
    vector = vector_type(target)
    sums = [f"%s{n} = phi {vector} [ %x, %entry ], [ %t{n}, %loop ]" for n in chains]
    steps = [f"%t{n} = {fused_multiply_add(target, f'%s{n}', '%x', '%x')}" for n in chains]
    totals = [f"%u{n} = fadd {vector} {f'%u{n - 1}' if n else '%x'}, %t{n}" for n in chains]
    entry = [
        f"%sum = getelementptr float, ptr %mine, i64 {VECTOR_FLOATS // 2}",
        f"%x = load {vector}, ptr %mine, align 4",
    ]
    end = [*totals, f"store {vector} %u{len(chains) - 1}, ptr %sum, align 4"]
    return loop_text(target, SYMBOL, VECTOR_FLOATS, entry, [*sums, *steps], end)


def operations(target: Target) -> int:
    """Floating-point operations of one call on one core."""
    return 2 * chain_count(target) * target.lanes("float32") * ITERATIONS


def peak_run(threads: int) -> partial[None]:
    """A function that runs the loop on `threads` cores at once, `operations` on each."""
    vectors = np.full((threads, VECTOR_FLOATS), 0.25, np.float32)
    return parallel_run(SYMBOL, peak_text(native_target()), vectors, threads)
