"""The least time in which a core reads and writes so many bytes, measured.

A loop that copies as many bytes as are both read and written, line after line, and reads or writes
the rest. What a kernel takes longer than this loop with its own numbers of bytes is not owed to the
caches or the memory.
"""

from __future__ import annotations

import ctypes

import numpy as np

from relay_tune.codegen.compiler import compile_text
from relay_tune.codegen.loaded_code import LoadedCode
from relay_tune.codegen.target import Target, native_target

SYMBOL = "move_bytes"
VECTORS = 4
"""Vectors that a step moves."""

LINE_BYTES = 64


def moving_text(target: Target) -> str:
    """`void move_bytes(i8 *to, i8 *from, i64 copied, i64 read, i64 written, i64 rounds)`.

    The numbers of bytes are multiples of `step_bytes`; `read` and `written` come after the copied
    ones.
    """
    width = target.vector_bits // 8
    steps = range(VECTORS)
    copies = [
        line
        for n in steps
        for line in (*_load("both", n, width), *_store("both", n, width, f"%both.v{n}"))
    ]
    reads = [line for n in steps for line in _load("load", n, width)]
    writes = [line for n in steps for line in _store("store", n, width, "zeroinitializer")]
    step = VECTORS * width
    lines = [
        f'target triple = "{target.triple}"',
        f"define void @{SYMBOL}(ptr %to, ptr %from, i64 %copied, i64 %read, i64 %written,"
        " i64 %rounds) nounwind {",
        "entry:",
        "  br label %round",
        "round:",
        "  %done = phi i64 [ 0, %entry ], [ %again, %end ]",
        "  br label %both.enter",
        *_loop("both", ("0", "%copied", step), copies, "load.enter"),
        *_loop("load", ("%copied", "%read", step), reads, "store.enter"),
        *_loop("store", ("%copied", "%written", step), writes, "end"),
        "end:",
        "  %again = add i64 %done, 1",
        "  %more = icmp slt i64 %again, %rounds",
        "  br i1 %more, label %round, label %exit",
        "exit:",
        "  ret void",
        "}",
    ]
    return "\n".join(lines) + "\n"


def _loop(name: str, span: tuple[str, str, int], body: list[str], following: str) -> list[str]:
    """Blocks that run `body` for %name.at in `span` (first, how many, step), then go on."""
    begin, count, step = span
    return [
        f"{name}.enter:",
        f"  %{name}.some = icmp sgt i64 {count}, 0",
        f"  %{name}.stop = add i64 {begin}, {count}",
        f"  br i1 %{name}.some, label %{name}, label %{following}",
        f"{name}:",
        f"  %{name}.at = phi i64 [ {begin}, %{name}.enter ], [ %{name}.next, %{name} ]",
        *body,
        f"  %{name}.next = add i64 %{name}.at, {step}",
        f"  %{name}.more = icmp slt i64 %{name}.next, %{name}.stop",
        f"  br i1 %{name}.more, label %{name}, label %{following}",
    ]


def _load(name: str, n: int, width: int) -> list[str]:
    """Loads vector `n` of a step as %name.vN."""
    return [
        f"  %{name}.p{n} = add i64 %{name}.at, {n * width}",
        f"  %{name}.q{n} = getelementptr i8, ptr %from, i64 %{name}.p{n}",
        f"  %{name}.v{n} = load volatile {_vector(width)}, ptr %{name}.q{n}, align {width}",
    ]


def _store(name: str, n: int, width: int, value: str) -> list[str]:
    """Stores `value` as vector `n` of a step."""
    return [
        f"  %{name}.s{n} = add i64 %{name}.at, {n * width}",
        f"  %{name}.t{n} = getelementptr i8, ptr %to, i64 %{name}.s{n}",
        f"  store volatile {_vector(width)} {value}, ptr %{name}.t{n}, align {width}",
    ]


def _vector(width: int) -> str:
    """The type of a vector of so many bytes."""
    return f"<{width // 4} x float>"


def step_bytes(target: Target) -> int:
    """Bytes that a step of the loop moves."""
    return VECTORS * target.vector_bits // 8


class Mover:
    """Calls the loop on buffers of its own, on one core.

    Arguments: the bytes that are read and written, and how often in one call.
    """

    def __init__(self, read: int, written: int, rounds: int) -> None:
        target = native_target()
        step = step_bytes(target)
        copied = min(read, written) // step * step
        self._code = LoadedCode([compile_text(moving_text(target), target)], [SYMBOL])
        self._read_only = (read - copied) // step * step
        self._written_only = (written - copied) // step * step
        self._copied, self._rounds = copied, rounds
        self.source = _aligned_array(read)
        self.target = _aligned_array(written)
        signature = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 2, *[ctypes.c_int64] * 4)
        self._call = signature(self._code.address(SYMBOL))

    def __call__(self) -> None:
        """Move everything `rounds` times."""
        self._call(
            self.target.ctypes.data,
            self.source.ctypes.data,
            self._copied,
            self._read_only,
            self._written_only,
            self._rounds,
        )


def _aligned_array(count: int) -> np.ndarray:
    """`count` bytes from the beginning of a cache line on.

    They are written once: pages of zeros that nobody wrote to are one page for the processor.
    """
    memory = np.ones(count + LINE_BYTES, np.uint8)
    start = -memory.ctypes.data % LINE_BYTES
    return memory[start : start + count]
