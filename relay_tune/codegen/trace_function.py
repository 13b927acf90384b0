"""Kernels that note when they run: a main function of a program, with a stamp around each call.

Before: `call void @kernel(ptr %a, ptr %b, i64 %share, i64 %shares)`. After, `@traced3` takes its
place for the call with number 3:

    %begin = call i64 @now()
    call void @kernel(ptr %a, ptr %b, i64 %share, i64 %shares)
    %end = call i64 @now()
    events[atomic count++] = {3, share, shares, pthread_self(), begin, end}

The events are in memory of the caller: a count in the first word, and after `HEAD_WORDS` words
records of `EVENT_WORDS` words. Those that find no room are counted only.

In a program with control flow, the function with the stamps takes the name of the kernel, which is
called `untraced_NAME` instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from relay_tune.codegen.clock import clock_text
from relay_tune.codegen.main_function import KernelCall, main_text
from relay_tune.codegen.programs.compiled import KernelFunction

TRACED_MAIN_SYMBOL = "relay_tune_traced_main"
EVENT_WORDS = 6
HEAD_WORDS = 8
"""Words before the first event, a cache line of their own."""


def trace_text(calls: Sequence[KernelCall], triple: str, address: int, capacity: int) -> str:
    """The LLVM module of the traced main function; at the address is room for so many events."""
    traced = [replace(call, symbol=f"traced{number}") for number, call in enumerate(calls)]
    wrappers = [
        _wrapper(
            number,
            f"internal void @traced{number}",
            KernelFunction(call.symbol, len(call.arguments), len(call.sizes)),
            call.symbol,
            capacity,
        )
        for number, call in enumerate(calls)
    ]
    kernels = {call.symbol: _types(call) for call in calls}
    declarations = [f"declare void @{name}({types})" for name, types in kernels.items()]
    main = main_text(TRACED_MAIN_SYMBOL, traced, triple)
    for call in traced:  # they are defined here
        main = main.replace(f"declare void @{call.symbol}({_types(call)})\n", "", 1)
    return "\n".join([main, *declarations, *_head(triple, address), *wrappers])


def kernels_trace_text(
    kernels: Sequence[KernelFunction], triple: str, address: int, capacity: int
) -> str:
    """The LLVM module of functions with the names of kernels, which call them with stamps."""
    wrappers = [
        _wrapper(number, f"void @{kernel.symbol}", kernel, untraced(kernel.symbol), capacity)
        for number, kernel in enumerate(kernels)
    ]
    declarations = [
        f"declare void @{untraced(kernel.symbol)}"
        f"({', '.join(['ptr'] * kernel.arguments + ['i64'] * (kernel.sizes + 2))})"
        for kernel in kernels
    ]
    return "\n".join([*declarations, *_head(triple, address), *wrappers])


def untraced(symbol: str) -> str:
    """What a kernel is called where a traced function has its name."""
    return f"untraced_{symbol}"


def _head(triple: str, address: int) -> tuple[str, ...]:
    events = f"@events = internal constant ptr inttoptr (i64 {address} to ptr)\n"
    return ("declare i64 @pthread_self()", events, clock_text(triple))


def _types(call: KernelCall) -> str:
    return ", ".join(["ptr"] * len(call.arguments) + ["i64"] * (len(call.sizes) + 2))


def _wrapper(number: int, head: str, kernel: KernelFunction, callee: str, capacity: int) -> str:
    """The function that runs a kernel, called `callee`, and stores when."""
    types = ["ptr"] * kernel.arguments + ["i64"] * kernel.sizes
    named = [f"{type_} %a{n}" for n, type_ in enumerate(types)]
    arguments = ", ".join([*named, "i64 %share", "i64 %shares"])
    values = (str(number), "%share", "%shares", "%thread", "%begin", "%end")
    stores = []
    for word, value in enumerate(values):
        stores.append(f"  %at{word} = getelementptr i64, ptr %event, i64 {word}")
        stores.append(f"  store i64 {value}, ptr %at{word}, align 8")
    lines = [
        f"define {head}({arguments}) nounwind {{",
        "entry:",
        "  %begin = call i64 @now()",
        f"  call void @{callee}({arguments})",
        "  %end = call i64 @now()",
        "  %events = load ptr, ptr @events, align 8",
        "  %index = atomicrmw add ptr %events, i64 1 monotonic",
        f"  %fits = icmp ult i64 %index, {capacity}",
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
