"""One native function for a whole program: every kernel called in order with its addresses.

    void NAME(ptr buffers, i64 thread, i64 threads)

`buffers` is a table of addresses: inputs, outputs, constants and the workspace. Each thread runs
the whole sequence; the threads meet in a barrier after each kernel.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Place:
    """Where a tensor lies: a slot of the buffer table and an offset in bytes from it."""

    slot: int
    offset: int = 0


@dataclass(frozen=True, slots=True)
class KernelCall:
    """A call of a kernel with the places of its arguments."""

    symbol: str
    arguments: tuple[Place, ...]


def main_text(name: str, calls: Sequence[KernelCall], triple: str) -> str:
    """The LLVM module of a program's main function; kernels and runtime stay external."""
    lines = [f'target triple = "{triple}"', "declare void @relay_tune_barrier(i64)"]
    arity = {call.symbol: len(call.arguments) for call in calls}
    for symbol, count in arity.items():
        types = ", ".join(["ptr"] * count + ["i64", "i64"])
        lines.append(f"declare void @{symbol}({types})")
    lines.append(f"define void @{name}(ptr %buffers, i64 %thread, i64 %threads) nounwind {{")
    lines.append("entry:")
    bases = sorted({place.slot for call in calls for place in call.arguments})
    for slot in bases:
        lines.append(f"  %slot{slot} = getelementptr ptr, ptr %buffers, i64 {slot}")
        lines.append(f"  %base{slot} = load ptr, ptr %slot{slot}, align 8")
    for number, call in enumerate(calls):
        lines += _call_lines(number, call, is_last=number == len(calls) - 1)
    lines += ["  ret void", "}"]
    return "\n".join(lines) + "\n"


def _call_lines(number: int, call: KernelCall, *, is_last: bool) -> list[str]:
    lines, texts = [], []
    for position, place in enumerate(call.arguments):
        if place.offset == 0:
            texts.append(f"ptr %base{place.slot}")
            continue
        name = f"%a{number}_{position}"
        lines.append(f"  {name} = getelementptr i8, ptr %base{place.slot}, i64 {place.offset}")
        texts.append(f"ptr {name}")
    arguments = ", ".join([*texts, "i64 %thread", "i64 %threads"])
    lines.append(f"  call void @{call.symbol}({arguments})")
    if not is_last:
        lines.append("  call void @relay_tune_barrier(i64 %threads)")
    return lines
