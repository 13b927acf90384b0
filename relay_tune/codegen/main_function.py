"""One native function for a whole program: every kernel called in order with its addresses.

    void NAME(ptr buffers, i64 thread, i64 threads)

`buffers` is a table of addresses: inputs, outputs, constants and the workspace. With one thread the
kernels are called one after the other. With more, every thread goes through the same sequence and
works on shares of each kernel that it claims; share i of n is the kernel called with (i, n).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from relay_tune.codegen.native_runtime import MAXIMUM_QUEUES, SLOT_BYTES
from relay_tune.tensor.loops import Kernel
from relay_tune.tensor.touched import has_parallel_loop

GRAINS = ((4_000_000, 4), (500_000, 2), (0, 1))
"""(points at least, shares for each thread): small kernels are not worth many claims."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a tensor lies: a slot of the buffer table and an offset in bytes from it."""

    slot: int
    offset: int = 0


@dataclass(frozen=True, slots=True)
class KernelCall:
    """A call of a kernel.

    Attributes:
        symbol: the kernel.
        arguments: the places of its arguments.
        grain: the shares for each thread; 0 for a kernel that runs on one thread.
    """

    symbol: str
    arguments: tuple[Place, ...]
    grain: int = 1


def call_of(kernel: Kernel, arguments: Sequence[Place]) -> KernelCall:
    """A call of a kernel, cut into as many shares as its size is worth."""
    if not has_parallel_loop(kernel.body):
        return KernelCall(kernel.name, tuple(arguments), 0)
    grain = next(grain for least, grain in GRAINS if kernel.points >= least)
    return KernelCall(kernel.name, tuple(arguments), grain)


def main_text(name: str, calls: Sequence[KernelCall], triple: str) -> str:
    """The LLVM module of a program's main function; kernels and runtime stay external."""
    arity = {call.symbol: len(call.arguments) for call in calls}
    declarations = [
        f"declare void @{symbol}({', '.join(['ptr'] * count + ['i64', 'i64'])})"
        for symbol, count in arity.items()
    ]
    lines = [
        f'target triple = "{triple}"',
        "declare i64 @relay_tune_claim(ptr, i64, i64, i64)",
        "declare void @relay_tune_complete(ptr, i64, i64)",
        *declarations,
        f"@slots = internal global [{max(len(calls), 1) * SLOT_BYTES} x i8] zeroinitializer, "
        "align 64",
        f"define void @{name}(ptr %buffers, i64 %thread, i64 %threads) nounwind {{",
        "entry:",
        *_base_lines(calls),
        "  %single = icmp ult i64 %threads, 2",
        "  br i1 %single, label %alone, label %together",
        "alone:",
    ]
    for number, call in enumerate(calls):
        lines += _call_lines(f"s{number}", call, "i64 0, i64 1")
    lines += ["  ret void", "together:", *_queue_lines()]
    previous = "together"
    for number, call in enumerate(calls):
        lines += _shared_lines(number, call, previous)
        previous = f"wait{number}"
    return "\n".join([*lines, "  ret void", "}", ""])


def _base_lines(calls: Sequence[KernelCall]) -> list[str]:
    """Load the slots of the buffer table that are needed."""
    lines = []
    for slot in sorted({place.slot for call in calls for place in call.arguments}):
        lines.append(f"  %slot{slot} = getelementptr ptr, ptr %buffers, i64 {slot}")
        lines.append(f"  %base{slot} = load ptr, ptr %slot{slot}, align 8")
    return lines


def _queue_lines() -> list[str]:
    """This thread's queue, and how many there are."""
    return [
        f"  %many = icmp ugt i64 %threads, {MAXIMUM_QUEUES}",
        f"  %queues = select i1 %many, i64 {MAXIMUM_QUEUES}, i64 %threads",
        "  %queue = urem i64 %thread, %queues",
    ]


def _shared_lines(number: int, call: KernelCall, previous: str) -> list[str]:
    """Claim shares of a kernel and work on them until none is left; wait for those of others."""
    slot = f"%claims{number}"
    queue, queues, grain = ("%queue", "%queues", call.grain) if call.grain else ("0", "1", 1)
    return [
        f"  {slot} = getelementptr i8, ptr @slots, i64 {number * SLOT_BYTES}",
        f"  %shares{number} = mul i64 {queues}, {grain}",
        f"  br label %claim{number}",
        f"claim{number}:",
        f"  %done{number} = phi i64 [ 0, %{previous} ], [ %more{number}, %work{number} ]",
        f"  %share{number} = call i64 @relay_tune_claim("
        f"ptr {slot}, i64 {queue}, i64 {queues}, i64 {grain})",
        f"  %none{number} = icmp slt i64 %share{number}, 0",
        f"  br i1 %none{number}, label %wait{number}, label %work{number}",
        f"work{number}:",
        *_call_lines(f"t{number}", call, f"i64 %share{number}, i64 %shares{number}"),
        f"  %more{number} = add i64 %done{number}, 1",
        f"  br label %claim{number}",
        f"wait{number}:",
        f"  call void @relay_tune_complete(ptr {slot}, i64 %done{number}, i64 %shares{number})",
    ]


def _call_lines(prefix: str, call: KernelCall, share: str) -> list[str]:
    lines, texts = [], []
    for position, place in enumerate(call.arguments):
        if place.offset == 0:
            texts.append(f"ptr %base{place.slot}")
            continue
        name = f"%{prefix}_{position}"
        lines.append(f"  {name} = getelementptr i8, ptr %base{place.slot}, i64 {place.offset}")
        texts.append(f"ptr {name}")
    lines.append(f"  call void @{call.symbol}({', '.join([*texts, share])})")
    return lines
