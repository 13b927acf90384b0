"""The clock that generated code reads."""

from __future__ import annotations

from relay_tune.codegen.builder.native_module import NativeModule
from relay_tune.codegen.builder.signature import function, internal

NOW = internal("i64", "now")

_MONOTONIC_CLOCK = {"darwin": 6, "macosx": 6}  # CLOCK_MONOTONIC of <time.h>; 1 on Linux
_GET_TIME = function("i32", "clock_gettime", "i32", "ptr")


def add_clock(module: NativeModule, triple: str) -> None:
    """The function that gives the nanoseconds of the monotonic clock."""
    clock = next((n for name, n in _MONOTONIC_CLOCK.items() if name in triple), 1)
    with module.define(NOW) as code:
        time = code.stack_slot(16)
        code.call(_GET_TIME, clock, time)
        code.ret(time.at("i64").load() * 1_000_000_000 + time.at("i64", 8).load())
