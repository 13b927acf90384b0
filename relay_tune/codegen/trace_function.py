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

from relay_tune.codegen.builder.native_module import NativeModule
from relay_tune.codegen.builder.signature import function
from relay_tune.codegen.clock import NOW, add_clock
from relay_tune.codegen.kernel_calls import KernelCall
from relay_tune.quick_dataclass import dataclass

EVENTS_SYMBOL = "relay_tune_events"
"""Where the address of the events stands."""

_THREAD = function("i64", "pthread_self")

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
    """The LLVM module of functions with stamps; the number of each is its index."""
    module = NativeModule()
    module.external(EVENTS_SYMBOL, "ptr")
    add_clock(module, triple)
    for number, kernel in enumerate(kernels):
        _add_wrapper(module, number, kernel)
    return module.text(triple)


def untraced(symbol: str) -> str:
    """The name of a kernel where functions with stamps call it."""
    return f"untraced_{symbol}"


def _add_wrapper(module: NativeModule, number: int, kernel: TracedKernel) -> None:
    """The function that runs a kernel and stores when."""
    types = (*kernel.types, "i64", "i64")
    with module.define(function("void", kernel.symbol, *types)) as code:
        *_, share, shares = code.parameters
        begin = code.call(NOW)
        code.call(function("void", kernel.kernel, *types, attributes=""), *code.parameters)
        end = code.call(NOW)
        events = code.symbol(EVENTS_SYMBOL).load("ptr")
        index = events.at("i64").update("add", 1, "monotonic")
        code.ret_if(index.uge(events.at("i64", 8).load()))
        event = events.offset(index * EVENT_WORDS + HEAD_WORDS, "i64")
        values = (code.number(number), share, shares, code.call(_THREAD), begin, end)
        for word, value in enumerate(values):
            event.at("i64", 8 * word).store(value)
