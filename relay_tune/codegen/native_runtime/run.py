"""One run of a job on the threads of the native runtime.

The caller opens PARTICIPANTS to the workers, wakes those that sleep, works as thread 0, closes the
run to whoever comes late, and waits for those that are inside. While it works, its arithmetic
flushes subnormal results (`relay_tune.codegen.subnormals`), as that of the workers always does.
"""

from __future__ import annotations

from relay_tune.codegen.builder.function_builder import FunctionBuilder
from relay_tune.codegen.builder.native_module import NativeModule
from relay_tune.codegen.builder.operand import Operand
from relay_tune.codegen.builder.signature import function
from relay_tune.codegen.native_runtime import state
from relay_tune.codegen.native_runtime.placing import PLACE_WORKERS
from relay_tune.codegen.native_runtime.shares import NEXT_ROUND, spin_until
from relay_tune.codegen.native_runtime.workers import THREADS
from relay_tune.codegen.subnormals import FLUSH_SUBNORMALS, RESTORE_CONTROL

RUN = function("void", "relay_tune_run", "ptr", "ptr", "i64")


def add_run(module: NativeModule) -> None:
    """The function."""
    with module.define(RUN) as code:
        function_, context, threads = code.parameters
        with code.block() as alone:
            alone.leave_if(threads.ult(2))
            available = code.call(THREADS, threads)
            alone.leave_if(available.ult(2))
            alone.leave_if(~code.call(state.ACQUIRE))
            _open_run(code, function_, context, available)
            _work(code, function_, context, available)
            participants = code.at(state.PARTICIPANTS)
            participants.update("or", state.CLOSED)
            spin_until(code, participants, lambda inside: inside.eq(state.CLOSED))
            code.at(state.BUSY).store(0, "release")
            code.ret()
        _work(code, function_, context, code.number(1))


def _open_run(code: FunctionBuilder, job: Operand, context: Operand, threads: Operand) -> None:
    code.at(state.JOB).store(job)
    code.at(state.JOB_CONTEXT).store(context)
    code.at(state.JOB_THREADS).store(threads)
    code.call(PLACE_WORKERS)
    code.call(NEXT_ROUND)
    code.at(state.PARTICIPANTS).update("and", state.CLOSED - 1)
    mutex = code.at(state.MUTEX).pointer
    code.call(state.LOCK, mutex)
    code.at(state.GENERATION).update("add", 1)
    with code.when(code.at(state.SLEEPERS).load().ne(0)):
        code.call(state.BROADCAST, code.at(state.WAKE).pointer)
    code.call(state.UNLOCK, mutex)


def _work(code: FunctionBuilder, job: Operand, context: Operand, threads: Operand) -> None:
    """Thread 0's part."""
    control = code.call(FLUSH_SUBNORMALS)
    code.call_through(job, state.PROGRAM, context, 0, threads)
    code.call(RESTORE_CONTROL, control)
