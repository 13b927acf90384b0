"""The thread pool of compiled programs, as LLVM IR that needs libc alone.

    i64  relay_tune_threads(i64 wanted)             how many threads a run can have; starts workers
    void relay_tune_run(ptr job, ptr context, i64 threads)
                                                    job(context, thread, threads) on the threads
    i64  relay_tune_claim(ptr slot, i64 queue, i64 queues, i64 grain, i64 patience)
                                                    the next share of a kernel, or -1
    void relay_tune_complete(ptr slot, i64 done, i64 shares)
                                                    `done` shares are finished; wait for the others
    void relay_tune_barrier(i64 threads)            all threads of a run meet here
    void relay_tune_next_round()                    all shares may be claimed again
    i64  relay_tune_turn(ptr word)                  0 or 1: flips once a run, equal for all threads
    void relay_tune_shutdown()                      end and join the workers

The caller is thread 0 of a run; the workers are woken once for the whole network. A kernel's work
is cut into shares: a thread takes those of its own queue, then those that are left of the others',
and goes on to the next kernel when all shares of this one are finished. So a worker that the system
does not let run delays nobody: it joins late, or not at all, because a run that has ended is closed
to it. With `patience`, a share is taken from another's queue only if its owner has taken none for
so many spins: what a share reads may lie in the owner's cache. Workers spin briefly after a run,
then sleep. A second caller at the same time, and a process that could start no thread, runs alone;
a forked child starts its own workers.

On Linux the workers may run on all processors but the caller's own. Nobody is bound to one; but a
system that wakes a worker beside its caller, as it does when another program spins on the other
processors, would leave both to share one processor.

A slot is memory of SLOT_BYTES that starts as zeros: the finished shares, then the claimed ones of
each queue, a cache line apart. The numbers count from `round * 2^20`, so that nobody clears them.
"""

from __future__ import annotations

from relay_tune.codegen.builder.native_module import NativeModule
from relay_tune.codegen.builder.signature import function
from relay_tune.codegen.native_runtime.placing import add_placing
from relay_tune.codegen.native_runtime.run import RUN, add_run
from relay_tune.codegen.native_runtime.shares import (
    CLAIM,
    COMPLETE,
    NEXT_ROUND,
    add_shares,
    spin_until,
)
from relay_tune.codegen.native_runtime.state import ARRIVED, PHASE, ROUND, STATE
from relay_tune.codegen.native_runtime.workers import SHUTDOWN, THREADS, add_workers
from relay_tune.codegen.subnormals import subnormals_text
from relay_tune.targets.registry import architecture_of

BARRIER = function("void", "relay_tune_barrier", "i64")
TURN = function("i64", "relay_tune_turn", "ptr")

MAXIMUM_QUEUES = 16
SLOT_BYTES = 64 * (1 + MAXIMUM_QUEUES)

RUNTIME_SYMBOLS = tuple(
    each.name for each in (THREADS, RUN, CLAIM, COMPLETE, BARRIER, NEXT_ROUND, TURN, SHUTDOWN)
)


def runtime_text(triple: str) -> str:
    """The LLVM module of the runtime for a target triple."""
    declaration, pause = architecture_of(triple).pause
    module = NativeModule()
    module.variables(*STATE)
    module.add(declaration)
    module.add(subnormals_text(triple))
    add_workers(module, pause)
    add_run(module)
    add_placing(module, triple)
    add_shares(module, pause)
    _add_barrier(module)
    _add_turn(module)
    return module.text(triple)


def _add_barrier(module: NativeModule) -> None:
    with module.define(BARRIER) as code:
        threads = code.parameters[0]
        code.ret_if(threads.ult(2))
        phase = code.at(PHASE).load("acquire")
        here = code.at(ARRIVED).update("add", 1) + 1
        with code.when(here.eq(threads)):
            code.at(ARRIVED).store(0, "release")
            code.at(PHASE).store(phase + 1, "release")
            code.ret()
        spin_until(code, code.at(PHASE), phase.ne)


def _add_turn(module: NativeModule) -> None:
    with module.define(TURN) as code:
        word = code.parameters[0].at("i64")
        number = code.at(ROUND).load("acquire")
        with code.loop():
            value = word.load("acquire")
            turn = value & 1
            code.ret_if(value.lshr(1).eq(number), turn)
            word.replace(value, (number << 1) | (turn ^ 1))
