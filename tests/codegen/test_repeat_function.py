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


CLOCK = 3
"""The clock that is asked for."""


def calls(runs: int) -> list[tuple[str, tuple[int, ...]]]:
    """What thread 0 of two calls for so many runs, in order, and its arguments."""
    found: list[tuple[str, tuple[int, ...]]] = []
    callbacks = {
        name: signature(lambda *args, name=name: found.append((name, args)) or 0)
        for name, signature in SIGNATURES.items()
    }
    imports = {name: ctypes.cast(call, ctypes.c_void_p).value for name, call in callbacks.items()}
    target = native_target()
    code = LoadedCode([compile_text(repeat_text(target.triple), target)], [REPEAT_SYMBOL], imports)
    tables = (ctypes.c_void_p * 1)()
    context = RepeatContext(ctypes.addressof(tables), runs, 0, 0, 1, 0, CLOCK)
    repeat = code.function(REPEAT_SYMBOL, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
    repeat(ctypes.addressof(context), 0, 2)
    return found


def called(runs: int) -> list[str]:
    """The names alone."""
    return [name for name, _ in calls(runs)]


def test_the_clock_is_the_one_that_is_asked_for() -> None:
    assert [args[0] for name, args in calls(2) if name == "clock_gettime"] == [CLOCK, CLOCK]


def test_nobody_begins_before_the_clock_is_read() -> None:
    """Thread 0 may lose its processor anywhere: the others must still need it to begin."""
    before_work = called(1)[: called(1).index(MEASURED_SYMBOL)]
    assert before_work == ["relay_tune_barrier", "clock_gettime", "relay_tune_barrier"]


def test_the_clock_is_read_again_when_all_have_finished() -> None:
    names = called(3)
    assert names.count(MEASURED_SYMBOL) == 3
    assert names.count("clock_gettime") == 2
    after_work = names[len(names) - names[::-1].index(MEASURED_SYMBOL) :]
    assert after_work[0] == "relay_tune_barrier" and after_work[-1] == "clock_gettime"
