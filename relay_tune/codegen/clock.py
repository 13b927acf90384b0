"""The clocks that generated code reads."""

from __future__ import annotations

from relay_tune.codegen.builder.native_module import NativeModule
from relay_tune.codegen.builder.signature import function, internal

NOW = internal("i64", "now")
TIME_OF = internal("i64", "time_of", "i64")

_MONOTONIC_CLOCK = {"darwin": 6, "macosx": 6}  # CLOCK_MONOTONIC of <time.h>; 1 on Linux
_GET_TIME = function("i32", "clock_gettime", "i32", "ptr")


def add_clock(module: NativeModule, triple: str) -> None:
    """The function that gives the nanoseconds of the monotonic clock."""
    clock = next((n for name, n in _MONOTONIC_CLOCK.items() if name in triple), 1)
    add_time_of(module)
    with module.define(NOW) as code:
        code.ret(code.call(TIME_OF, clock))


def add_time_of(module: NativeModule) -> None:
    """The function that gives the nanoseconds of a clock, by its number in <time.h>."""
    with module.define(TIME_OF) as code:
        (clock,) = code.parameters
        time = code.stack_slot(16)
        code.call(_GET_TIME, clock.trunc("i32"), time)
        code.ret(time.at("i64").load() * 1_000_000_000 + time.at("i64", 8).load())
