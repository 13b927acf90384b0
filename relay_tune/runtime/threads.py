"""How many threads, and the one pool that all programs of this process share."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from functools import cache
from numbers import Integral

from relay_tune.codegen.compiler import compile_text
from relay_tune.codegen.loaded_code import LoadedCode
from relay_tune.codegen.native_runtime.runtime_text import RUNTIME_SYMBOLS, runtime_text
from relay_tune.codegen.native_runtime.state import MAXIMUM_THREADS
from relay_tune.codegen.target import native_target
from relay_tune.errors import InputError
from relay_tune.quick_dataclass import dataclass


def available_processors() -> int:
    """Processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def thread_count(threads: int | None) -> int:
    """The number of threads that is meant, all processors for None.

    Raises InputError unless it is a whole number that the pool can have.
    """
    if threads is None:
        return available_processors()
    if not isinstance(threads, Integral) or not 1 <= threads <= MAXIMUM_THREADS:
        raise InputError(
            f"threads is {threads!r}, but must be a whole number from 1 to {MAXIMUM_THREADS}.",
            remedy="Omit it to use all processors.",
        )
    return int(threads)


@dataclass(frozen=True, eq=False, slots=True)
class ThreadPool:
    """The native thread pool.

    Attributes:
        code: keeps the machine code alive.
        run: `run(job, context, threads)` calls job(context, thread, threads) on each thread.
    """

    code: LoadedCode
    run: Callable[..., None]

    @property
    def imports(self) -> dict[str, int]:
        """The addresses that programs link against."""
        return {symbol: self.code.address(symbol) for symbol in RUNTIME_SYMBOLS}


@cache
def thread_pool() -> ThreadPool:
    """The pool of this process; its threads start with the first run that wants them."""
    target = native_target()
    code = LoadedCode([compile_text(runtime_text(target.triple), target)], RUNTIME_SYMBOLS)
    run = code.function("relay_tune_run", ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
    return ThreadPool(code, run)
