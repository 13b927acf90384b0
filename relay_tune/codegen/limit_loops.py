"""Loops that do nothing but what is measured: arithmetic in registers, or reading.

    void limit_...(ptr context, i64 thread, i64 threads)

are jobs of the thread pool; all threads have arrived before a loop starts. `context` is a
`LoopContext`: a buffer for each thread, and how often to do the body of the loop.
"""

from __future__ import annotations

import ctypes

from relay_tune.codegen.target import Target
from relay_tune.machine.intrinsic import PeakLoop

CHAINS = 12
"""Independent chains of operations: latency times throughput of current cores, and some more."""

LINE_BYTES = 64
"""The distance at which a buffer is flushed; no current processor has shorter cache lines."""

READING_SYMBOL = "limit_read"
FLUSHING_SYMBOL = "limit_flush"


class LoopContext(ctypes.Structure):
    """The argument of the loops.

    `buffer` has `bytes` for each thread, a multiple of `step_bytes`. The reading loop goes `count`
    times through them; an arithmetic loop does CHAINS operations `count` times.
    """

    _fields_ = (
        ("buffer", ctypes.c_void_p),
        ("bytes", ctypes.c_int64),
        ("count", ctypes.c_int64),
    )


def step_bytes(target: Target) -> int:
    """Bytes that one step of the reading loop reads."""
    return CHAINS * target.vector_bits // 8


def reading_text(target: Target) -> str:
    """The LLVM module of the loop that reads each thread's buffer again and again."""
    vector = f"<{target.lanes('float32')} x float>"
    width = target.vector_bits // 8
    carried, sums, steps = [], [], []
    for n in range(CHAINS):
        carried.append(f"  %c{n} = phi {vector} [ zeroinitializer, %entry ], [ %next{n}, %again ]")
        sums.append(f"  %sum{n} = phi {vector} [ %c{n}, %round ], [ %next{n}, %loop ]")
        steps += [
            f"  %place{n} = getelementptr i8, ptr %row, i64 {n * width}",
            f"  %read{n} = load {vector}, ptr %place{n}, align {width}",
            f"  %next{n} = fadd {vector} %sum{n}, %read{n}",
        ]
    lines = [
        f'target triple = "{target.triple}"',
        *loop_entry(READING_SYMBOL),
        "  br label %round",
        "round:",
        "  %done = phi i64 [ 0, %entry ], [ %following, %again ]",
        *carried,
        "  br label %loop",
        "loop:",
        "  %at = phi i64 [ 0, %round ], [ %beyond, %loop ]",
        *sums,
        "  %row = getelementptr i8, ptr %buffer, i64 %at",
        *steps,
        f"  %beyond = add i64 %at, {step_bytes(target)}",
        "  %inside = icmp ult i64 %beyond, %bytes",
        "  br i1 %inside, label %loop, label %again",
        "again:",
        "  %following = add i64 %done, 1",
        "  %more = icmp ult i64 %following, %count",
        "  br i1 %more, label %round, label %end",
        "end:",
        *stored_chains(vector),
        "  ret void",
        "}",
    ]
    return "\n".join(lines) + "\n"


def can_flush(target: Target) -> bool:
    """Whether a machine has the instruction that empties its caches of a line."""
    return "+clflushopt" in target.features.split(",")


def flushing_text(target: Target) -> str:
    """The LLVM module of the function after which no cache has any of the buffer.

    The target must be one of those that `can_flush`.
    """
    lines = [
        f'target triple = "{target.triple}"',
        "declare void @llvm.x86.clflushopt(ptr)",
        "declare void @llvm.x86.sse2.mfence()",
        *loop_entry(FLUSHING_SYMBOL),
        "  br label %loop",
        "loop:",
        "  %at = phi i64 [ 0, %entry ], [ %beyond, %loop ]",
        "  %line = getelementptr i8, ptr %buffer, i64 %at",
        "  call void @llvm.x86.clflushopt(ptr %line)",
        f"  %beyond = add i64 %at, {LINE_BYTES}",
        "  %inside = icmp ult i64 %beyond, %bytes",
        "  br i1 %inside, label %loop, label %end",
        "end:",
        "  call void @llvm.x86.sse2.mfence()",
        "  ret void",
        "}",
    ]
    return "\n".join(lines) + "\n"


def peak_text(peak: PeakLoop, target: Target) -> str:
    """The LLVM module of the loop that measures an intrinsic."""
    head = f'target triple = "{target.triple}"'
    return "\n".join([head, *peak.declarations, *loop_entry(peak.symbol), *peak.body, "}", ""])


def loop_entry(symbol: str) -> list[str]:
    """The head of a loop's function: %buffer, %bytes and %count are this thread's."""
    return [
        "declare void @relay_tune_barrier(i64)",
        f"define void @{symbol}(ptr %context, i64 %thread, i64 %threads) nounwind {{",
        "entry:",
        "  call void @relay_tune_barrier(i64 %threads)",
        "  %memory = load ptr, ptr %context, align 8",
        "  %bytes_at = getelementptr i64, ptr %context, i64 1",
        "  %bytes = load i64, ptr %bytes_at, align 8",
        "  %count_at = getelementptr i64, ptr %context, i64 2",
        "  %count = load i64, ptr %count_at, align 8",
        "  %offset = mul i64 %thread, %bytes",
        "  %buffer = getelementptr i8, ptr %memory, i64 %offset",
    ]


def stored_chains(vector: str) -> list[str]:
    """Stores of the ends of all chains, so that none of them is dead code."""
    return [f"  store {vector} %next{n}, ptr %buffer, align 4" for n in range(CHAINS)]
