"""The worker threads of the native runtime: started when first wanted, joined in the end.

A worker waits for a new GENERATION, spinning first, then asleep. It counts itself into PARTICIPANTS
before it looks for work, which fails once the run is closed.
"""

from __future__ import annotations

from relay_tune.codegen.builder.control_flow import Local
from relay_tune.codegen.builder.function_builder import FunctionBuilder
from relay_tune.codegen.builder.native_module import NativeModule
from relay_tune.codegen.builder.operand import Operand
from relay_tune.codegen.builder.signature import function, internal
from relay_tune.codegen.native_runtime import state
from relay_tune.codegen.subnormals import FLUSH_SUBNORMALS

THREADS = function("i64", "relay_tune_threads", "i64")
SHUTDOWN = function("void", "relay_tune_shutdown")

_WORKER = internal("ptr", "worker", "ptr")
_PREPARE = internal("void", "prepare")

_CREATE = function("i32", "pthread_create", "ptr", "ptr", "ptr", "ptr")
_JOIN = function("i32", "pthread_join", "i64", "ptr")
_INIT_MUTEX = function("i32", "pthread_mutex_init", "ptr", "ptr")
_INIT_CONDITION = function("i32", "pthread_cond_init", "ptr", "ptr")
_WAIT = function("i32", "pthread_cond_wait", "ptr", "ptr")

_SPINS_BEFORE_SLEEP = 4000


def add_workers(module: NativeModule, pause: str) -> None:
    """The functions; `pause` is the instruction of a thread that spins."""
    _add_worker(module, pause)
    _add_prepare(module)
    _add_acquire(module)
    _add_threads(module)
    _add_shutdown(module)


def _add_worker(module: NativeModule, pause: str) -> None:
    with module.define(_WORKER) as code:
        thread = code.parameters[0].to_int()
        code.call(FLUSH_SUBNORMALS)
        last = code.local(0)
        with code.loop():
            _await_generation(code, last, pause)
            last.set(code.at(state.GENERATION).load("acquire"))
            code.ret_if(code.at(state.STOPPING).load("acquire").ne(0), code.null)
            inside = code.at(state.PARTICIPANTS).update("add", 1)
            with code.block() as idle:
                idle.leave_if(inside.uge(state.CLOSED))
                threads = code.at(state.JOB_THREADS).load()
                idle.leave_if(thread.uge(threads))
                context = code.at(state.JOB_CONTEXT).load()
                code.call_through(
                    code.at(state.JOB).load(), state.PROGRAM, context, thread, threads
                )
            code.at(state.PARTICIPANTS).update("sub", 1)


def _await_generation(code: FunctionBuilder, last: Local, pause: str) -> None:
    """Spin, then sleep, until there is another generation than the last one."""
    generation = code.at(state.GENERATION)
    spins = code.local(0)
    with code.loop() as spinning:
        spinning.leave_if(generation.load("acquire").ne(last.value))
        code.line(pause)
        spins.set(spins.value + 1)
        spinning.again_if(spins.value.ule(_SPINS_BEFORE_SLEEP))
        mutex, sleepers = code.at(state.MUTEX).pointer, code.at(state.SLEEPERS)
        code.call(state.LOCK, mutex)
        sleepers.store(sleepers.load() + 1)
        with code.loop() as sleeping:
            sleeping.leave_if(generation.load("acquire").ne(last.value))
            code.call(_WAIT, code.at(state.WAKE).pointer, mutex)
        sleepers.store(sleepers.load() - 1)
        code.call(state.UNLOCK, mutex)
        spinning.leave()


def _is_foreign(code: FunctionBuilder) -> Operand:
    """Whether another process, of which this one was forked, started the workers."""
    return code.call(state.GETPID).ne(code.at(state.OWNER).load())


def _add_prepare(module: NativeModule) -> None:
    """The state of a process that has no workers yet."""
    with module.define(_PREPARE) as code:
        own = code.call(state.GETPID)
        code.ret_if(own.eq(code.at(state.OWNER).load()))
        code.call(_INIT_MUTEX, code.at(state.MUTEX).pointer, code.null)
        code.call(_INIT_CONDITION, code.at(state.WAKE).pointer, code.null)
        for counter in (state.WORKERS, state.SLEEPERS, state.ARRIVED):
            code.at(counter).store(0)
        code.at(state.PARTICIPANTS).store(state.CLOSED, "release")
        code.at(state.GENERATION).store(0, "release")
        code.at(state.STOPPING).store(0, "release")
        code.at(state.OWNER).store(own)


def _add_acquire(module: NativeModule) -> None:
    """Whether the caller has the workers to itself now."""
    with module.define(state.ACQUIRE) as code:
        code.ret_if(code.at(state.BUSY).replace(0, 1), True)
        code.ret(_is_foreign(code))


def _add_threads(module: NativeModule) -> None:
    with module.define(THREADS) as code:
        wanted = code.parameters[0]
        code.ret_if(wanted.ult(2), 1)
        code.ret_if(~code.call(state.ACQUIRE), 1)
        code.call(_PREPARE)
        limit = wanted.ugt(state.MAXIMUM_THREADS).select(code.number(state.MAXIMUM_THREADS), wanted)
        workers = code.at(state.WORKERS)
        with code.loop() as growing:
            have = workers.load()
            total = have + 1
            growing.leave_if(total.uge(limit))
            handle = code.at(state.HANDLES).pointer.offset(have, "i64")
            failed = code.call(_CREATE, handle, code.null, code.address(_WORKER), total.to_ptr())
            growing.leave_if(failed.ne(0))
            workers.store(total)
        count = workers.load() + 1
        result = count.ugt(limit).select(limit, count)
        code.at(state.BUSY).store(0, "release")
        code.ret(result)


def _add_shutdown(module: NativeModule) -> None:
    with module.define(SHUTDOWN) as code:
        code.ret_if(_is_foreign(code))
        code.at(state.STOPPING).store(1, "release")
        mutex = code.at(state.MUTEX).pointer
        code.call(state.LOCK, mutex)
        code.at(state.GENERATION).update("add", 1)
        code.call(state.BROADCAST, code.at(state.WAKE).pointer)
        code.call(state.UNLOCK, mutex)
        with code.count(code.at(state.WORKERS).load()) as each:
            handle = code.at(state.HANDLES).pointer.item("i64", each.index).load()
            code.call(_JOIN, handle, code.null)
        code.at(state.OWNER).store(0)
