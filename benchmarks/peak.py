"""The float32 speed limit of one or more cores, measured.

A loop of fused multiply-adds on registers alone: enough independent chains to fill the pipelines,
nothing loaded or stored. Run it beside a kernel to know how far the kernel is from the limit. It
runs on the thread pool of compiled programs and is as short as a kernel, so that other work of the
machine disturbs it just as much.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from relay_tune.codegen.compiler import LoadedCode, compile_text
from relay_tune.codegen.target import Target, native_target
from relay_tune.runtime.threads import thread_pool

SYMBOL = "multiply_add_loop"
ITERATIONS = 100_000

VECTOR_FLOATS = 64
"""Room for one vector of any machine."""


def chain_count(target: Target) -> int:
    """Independent sums: all registers but those of the factors, and two more."""
    return target.vector_registers - 4


def peak_text(target: Target) -> str:
    """The loop as LLVM text: `void multiply_add_loop(float *numbers, i64 thread, i64 threads)`.

    The threads meet first, because a run would end without a thread that comes late.
    `numbers` holds `VECTOR_FLOATS` for each thread: factor and summand at the start, in the end
    the sum stands behind them.
    """
    chains = range(chain_count(target))
    lanes = target.lanes("float32")
    vector = f"<{lanes} x float>"
    fused = f"@llvm.fma.v{lanes}f32"
    sums = [f"  %s{n} = phi {vector} [ %x, %entry ], [ %t{n}, %loop ]" for n in chains]
    steps = [
        f"  %t{n} = call {vector} {fused}({vector} %s{n}, {vector} %x, {vector} %x)" for n in chains
    ]
    totals = [f"  %u{n} = fadd {vector} {f'%u{n - 1}' if n else '%x'}, %t{n}" for n in chains]
    lines = [
        f'target triple = "{target.triple}"',
        f"declare {vector} {fused}({vector}, {vector}, {vector})",
        "declare void @relay_tune_barrier(i64)",
        f"define void @{SYMBOL}(ptr %numbers, i64 %thread, i64 %threads) {{",
        "entry:",
        "  call void @relay_tune_barrier(i64 %threads)",
        f"  %place = mul i64 %thread, {VECTOR_FLOATS}",
        "  %mine = getelementptr float, ptr %numbers, i64 %place",
        f"  %sum = getelementptr float, ptr %mine, i64 {VECTOR_FLOATS // 2}",
        f"  %x = load {vector}, ptr %mine, align 4",
        "  br label %loop",
        "loop:",
        "  %i = phi i64 [ 0, %entry ], [ %next, %loop ]",
        *sums,
        *steps,
        "  %next = add i64 %i, 1",
        f"  %more = icmp slt i64 %next, {ITERATIONS}",
        "  br i1 %more, label %loop, label %exit",
        "exit:",
        *totals,
        f"  store {vector} %u{len(chains) - 1}, ptr %sum, align 4",
        "  ret void",
        "}",
    ]
    return "\n".join(lines)


def operations(target: Target) -> int:
    """Floating-point operations of one call on one core."""
    return 2 * chain_count(target) * target.lanes("float32") * ITERATIONS


def peak_run(threads: int) -> partial[None]:
    """A function that runs the loop on `threads` cores at once, `operations` on each."""
    target = native_target()
    code = LoadedCode([compile_text(peak_text(target), target)], [SYMBOL], thread_pool().imports)
    vectors = np.full((threads, VECTOR_FLOATS), 0.25, np.float32)
    return partial(_run, code, vectors, threads)


def _run(code: LoadedCode, vectors: np.ndarray, threads: int) -> None:
    thread_pool().run(code.address(SYMBOL), vectors.ctypes.data, threads)
