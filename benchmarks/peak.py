"""The float32 speed limit of one or more cores, measured.

A loop of fused multiply-adds on registers alone: enough independent chains to fill the pipelines,
nothing loaded or stored. Run it beside a kernel to know how far the kernel is from the limit.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import numpy as np

from relay_tune.codegen.compiler import LoadedCode, compile_text
from relay_tune.codegen.target import Target, native_target

SYMBOL = "multiply_add_loop"
ITERATIONS = 3_000_000


def chain_count(target: Target) -> int:
    """Independent sums: all registers but those of the factors, and two more."""
    return target.vector_registers - 4


def peak_text(target: Target) -> str:
    """The loop as LLVM text: `void multiply_add_loop(i64 iterations, float *numbers)`.

    `numbers` holds one vector, which is factor and summand at the start and the sum at the end.
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
        f"define void @{SYMBOL}(i64 %count, ptr %numbers) {{",
        "entry:",
        f"  %x = load {vector}, ptr %numbers, align 4",
        "  br label %loop",
        "loop:",
        "  %i = phi i64 [ 0, %entry ], [ %next, %loop ]",
        *sums,
        *steps,
        "  %next = add i64 %i, 1",
        "  %more = icmp slt i64 %next, %count",
        "  br i1 %more, label %loop, label %exit",
        "exit:",
        *totals,
        f"  store {vector} %u{len(chains) - 1}, ptr %numbers, align 4",
        "  ret void",
        "}",
    ]
    return "\n".join(lines)


def operations(target: Target) -> int:
    """Floating-point operations of one call on one core."""
    return 2 * chain_count(target) * target.lanes("float32") * ITERATIONS


@contextmanager
def peak_run(threads: int, target: Target | None = None) -> Iterator[Callable[[], None]]:
    """A function that runs the loop on `threads` cores at once, `operations` on each."""
    machine = native_target() if target is None else target
    code = LoadedCode([compile_text(peak_text(machine), machine)], [SYMBOL])
    function = code.function(SYMBOL, ctypes.c_int64, ctypes.c_void_p)
    vectors = np.full((threads, 64), 0.25, np.float32)

    def on_one_core(number: int) -> None:
        vectors[number] = 0.25
        function(ITERATIONS, vectors[number].ctypes.data)

    with ThreadPoolExecutor(threads) as pool:
        yield lambda: list(pool.map(on_one_core, range(threads))).clear()
