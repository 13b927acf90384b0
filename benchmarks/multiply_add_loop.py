"""The frame of a loop of float32 multiply-adds that all threads run at once, to measure a limit."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from relay_tune.codegen.compiler import compile_text
from relay_tune.codegen.loaded_code import LoadedCode
from relay_tune.codegen.target import Target, native_target
from relay_tune.runtime.threads import thread_pool

ITERATIONS = 100_000


def vector_type(target: Target) -> str:
    """The LLVM type of a vector of floats."""
    return f"<{target.lanes('float32')} x float>"


def fused_multiply_add(target: Target, *operands: str) -> str:
    """The LLVM call of a fused multiply-add of vectors."""
    vector = vector_type(target)
    arguments = ", ".join(f"{vector} {operand}" for operand in operands)
    return f"call {vector} @llvm.fma.v{target.lanes('float32')}f32({arguments})"


def loop_text(
    target: Target,
    symbol: str,
    floats: int,
    entry: Sequence[str],
    body: Sequence[str],
    end: Sequence[str],
) -> str:
    """The LLVM text of `void symbol(float *numbers, i64 thread, i64 threads)`.

    The threads meet first, because a run would end without a thread that comes late. `numbers`
    holds so many floats for each thread; its own begin at `%mine`. `body` begins with phi nodes and
    runs ITERATIONS times, counted by `%i`.
    """
    vector = vector_type(target)
    fma = f"@llvm.fma.v{target.lanes('float32')}f32"
    lines = [
        f'target triple = "{target.triple}"',
        f"declare {vector} {fma}({vector}, {vector}, {vector})",
        "declare void @relay_tune_barrier(i64)",
        f"define void @{symbol}(ptr %numbers, i64 %thread, i64 %threads) {{",
        "entry:",
        "  call void @relay_tune_barrier(i64 %threads)",
        f"  %place = mul i64 %thread, {floats}",
        "  %mine = getelementptr float, ptr %numbers, i64 %place",
        *(f"  {line}" for line in entry),
        "  br label %loop",
        "loop:",
        "  %i = phi i64 [ 0, %entry ], [ %next, %loop ]",
        *(f"  {line}" for line in body),
        "  %next = add i64 %i, 1",
        f"  %more = icmp slt i64 %next, {ITERATIONS}",
        "  br i1 %more, label %loop, label %exit",
        "exit:",
        *(f"  {line}" for line in end),
        "  ret void",
        "}",
    ]
    return "\n".join(lines)


def parallel_run(symbol: str, text: str, numbers: np.ndarray, threads: int) -> partial[None]:
    """A function that runs such a loop on `threads` cores at once; `numbers` are float32."""
    code = LoadedCode([compile_text(text, native_target())], [symbol], thread_pool().imports)
    return partial(_run, code, numbers, symbol, threads)


def _run(code: LoadedCode, numbers: np.ndarray, symbol: str, threads: int) -> None:
    thread_pool().run(code.address(symbol), numbers.ctypes.data, threads)
