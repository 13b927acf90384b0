"""Kernels that note when they run: functions that call them, with a stamp before and after.

Before: `call void @kernel(ptr %a, ptr %b, i64 %share, i64 %shares)`. After, `@traced3` takes its
place for the kernel with number 3:

    %begin = call i64 @now()
    call void @kernel(ptr %a, ptr %b, i64 %share, i64 %shares)
    %end = call i64 @now()
    events[atomic count++] = {3, share, shares, pthread_self(), begin, end}

The events are in memory whose address stands at `EVENTS_SYMBOL`: their count in the first word, in
the second for how many there is room, and after `HEAD_WORDS` words records of `EVENT_WORDS` words.
Those that find no room are counted only.

A kernel of a region has a number for each step that calls it, and the function of the region calls
those functions. The kernel is called `untraced_NAME` there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from relay_tune.codegen.clock import clock_text
from relay_tune.codegen.main_function import KernelCall

EVENTS_SYMBOL = "relay_tune_events"
"""Where the address of the events stands."""

EVENT_WORDS = 6
HEAD_WORDS = 8
"""Words before the first event, a cache line of their own."""


@dataclass(frozen=True, slots=True)
class TracedKernel:
    """A function that calls a kernel with stamps.

    Attributes:
        symbol: its name.
        kernel: the name of the kernel that it calls.
        arguments: how many addresses both take.
        sizes: how many dynamic sizes.
    """

    symbol: str
    kernel: str
    arguments: int
    sizes: int

    @property
    def types(self) -> tuple[str, ...]:
        """The types of the arguments, without the share."""
        return (*["ptr"] * self.arguments, *["i64"] * self.sizes)


def traced_call(number: int, call: KernelCall, kernel: str) -> TracedKernel:
    """The stamping function that replaces a call of a kernel."""
    return TracedKernel(f"traced{number}", kernel, len(call.arguments), len(call.sizes))


def traced_kernels_text(kernels: Sequence[TracedKernel], triple: str) -> str:
    """The LLVM module of functions with stamps; the number of each is its place."""
    head = [
        f'target triple = "{triple}"',
        "declare i64 @pthread_self()",
        f"@{EVENTS_SYMBOL} = external global ptr",
        clock_text(triple),
    ]
    declarations = dict.fromkeys(_declaration(kernel.kernel, kernel) for kernel in kernels)
    wrappers = [_wrapper(number, kernel) for number, kernel in enumerate(kernels)]
    return "\n".join([*head, *declarations, *wrappers])


def untraced(symbol: str) -> str:
    """The name of a kernel where functions with stamps call it."""
    return f"untraced_{symbol}"


def _declaration(symbol: str, kernel: TracedKernel) -> str:
    return f"declare void @{symbol}({', '.join((*kernel.types, 'i64', 'i64'))})"


def _wrapper(number: int, kernel: TracedKernel) -> str:
    """The function that runs a kernel and stores when."""
    named = [f"{type_} %a{n}" for n, type_ in enumerate(kernel.types)]
    arguments = ", ".join([*named, "i64 %share", "i64 %shares"])
    values = (str(number), "%share", "%shares", "%thread", "%begin", "%end")
    stores = []
    for word, value in enumerate(values):
        stores.append(f"  %at{word} = getelementptr i64, ptr %event, i64 {word}")
        stores.append(f"  store i64 {value}, ptr %at{word}, align 8")
    lines = [
        f"define void @{kernel.symbol}({arguments}) nounwind {{",
        "entry:",
        "  %begin = call i64 @now()",
        f"  call void @{kernel.kernel}({arguments})",
        "  %end = call i64 @now()",
        f"  %events = load ptr, ptr @{EVENTS_SYMBOL}, align 8",
        "  %index = atomicrmw add ptr %events, i64 1 monotonic",
        "  %capacity_at = getelementptr i64, ptr %events, i64 1",
        "  %capacity = load i64, ptr %capacity_at, align 8",
        "  %fits = icmp ult i64 %index, %capacity",
        "  br i1 %fits, label %note, label %leave",
        "note:",
        "  %thread = call i64 @pthread_self()",
        f"  %words = mul i64 %index, {EVENT_WORDS}",
        f"  %first = add i64 %words, {HEAD_WORDS}",
        "  %event = getelementptr i64, ptr %events, i64 %first",
        *stores,
        "  br label %leave",
        "leave:",
        "  ret void",
        "}",
        "",
    ]
    return "\n".join(lines)
