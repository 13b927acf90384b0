"""When the clock of repeated runs is read."""

from __future__ import annotations

import ctypes

from relay_tune.codegen.compiler import compile_text
from relay_tune.codegen.loaded_code import LoadedCode
from relay_tune.codegen.repeat_function import (
    MEASURED_SYMBOL,
    REPEAT_SYMBOL,
    RepeatContext,
    repeat_text,
)
from relay_tune.codegen.target import native_target

SIGNATURES = {
    "relay_tune_barrier": ctypes.CFUNCTYPE(None, ctypes.c_int64),
    "relay_tune_next_round": ctypes.CFUNCTYPE(None),
    "clock_gettime": ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_void_p),
    MEASURED_SYMBOL: ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64),
}
"""What the function calls."""


def called(runs: int) -> list[str]:
    """The names of what thread 0 of two calls for so many runs, in order."""
    found: list[str] = []
    callbacks = {
        name: signature(lambda *_, name=name: found.append(name) or 0)
        for name, signature in SIGNATURES.items()
    }
    imports = {name: ctypes.cast(call, ctypes.c_void_p).value for name, call in callbacks.items()}
    target = native_target()
    code = LoadedCode([compile_text(repeat_text(target.triple), target)], [REPEAT_SYMBOL], imports)
    tables = (ctypes.c_void_p * 1)()
    context = RepeatContext(ctypes.addressof(tables), runs, 0, 0, 1, 0)
    repeat = code.function(REPEAT_SYMBOL, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
    repeat(ctypes.addressof(context), 0, 2)
    return found


def test_nobody_begins_before_the_clock_is_read() -> None:
    """Thread 0 may lose its processor anywhere: the others must still need it to begin."""
    before_work = called(1)[: called(1).index(MEASURED_SYMBOL)]
    assert before_work == ["relay_tune_barrier", "clock_gettime", "relay_tune_barrier"]


def test_the_clock_is_read_again_when_all_have_finished() -> None:
    calls = called(3)
    assert calls.count(MEASURED_SYMBOL) == 3
    assert calls.count("clock_gettime") == 2
    after_work = calls[len(calls) - calls[::-1].index(MEASURED_SYMBOL) :]
    assert after_work[0] == "relay_tune_barrier" and after_work[-1] == "clock_gettime"
