"""Runs a main function whose kernels write numbers into a log."""

import ctypes
from collections.abc import Sequence

from relay_tune.codegen.compiler import compile_text
from relay_tune.codegen.kernel_calls import Calls
from relay_tune.codegen.loaded_code import LoadedCode
from relay_tune.codegen.main_function import main_text
from relay_tune.codegen.target import native_target
from relay_tune.runtime.threads import thread_pool

ROOM = 4096


def logged_runs(
    calls: Calls, kernel: str, threads: int, runs: int, words: Sequence[int] = ()
) -> list[list]:
    """What the calls of an LLVM function wrote into the log, their first argument, in each run.

    The log is full of -1 before. `words` stand behind it in the table.
    """
    target = native_target()
    triple = f'target triple = "{target.triple}"\n'
    texts = [main_text("main_run", calls, target.triple), triple + kernel]
    pool = thread_pool()
    code = LoadedCode([compile_text(text, target) for text in texts], ["main_run"], pool.imports)
    log = (ctypes.c_int64 * ROOM)(*[-1] * ROOM)
    table = (ctypes.c_void_p * (1 + len(words)))(ctypes.addressof(log), *words)
    found, begin = [], 0
    for _ in range(runs):
        pool.run(code.address("main_run"), table, threads)
        end = log[:].index(-1)
        found.append(log[begin:end])
        begin = end
    return found
