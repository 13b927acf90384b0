"""Native functions that run code several times and take the time, without Python between.

    i64 measure_calls(ptr call, ptr session, ptr inputs, ptr outputs, i64 count)
    void measure_repeat(ptr context, i64 thread, i64 threads)

The first calls a program in a session and gives the nanoseconds of all calls, or -1 where one
failed. Of the second, `context` holds tables of addresses, one beside the other, which the runs use
in turn, how often to run, and room for the nanoseconds of all runs.
It is meant to be a job of the thread pool. All threads have arrived before the clock starts, and
none begins to work before: between two barriers, the thread that reads the clock reads it. With one
barrier, a thread that loses its processor before it has read the clock misses work of the others.
Its caller names the clock, by the number that the system has for it.
"""

from __future__ import annotations

import ctypes

from relay_tune.codegen.builder.function_builder import FunctionBuilder
from relay_tune.codegen.builder.native_module import NativeModule
from relay_tune.codegen.builder.operand import Location, Operand
from relay_tune.codegen.builder.signature import Signature, function
from relay_tune.codegen.clock import NOW, TIME_OF, add_clock, add_time_of
from relay_tune.codegen.native_runtime.runtime_text import BARRIER
from relay_tune.codegen.native_runtime.shares import NEXT_ROUND

CALLS_SYMBOL = "measure_calls"
REPEAT_SYMBOL = "measure_repeat"
MEASURED_SYMBOL = "measure_main"
"""The function that is repeated; it has the signature of a program's main function."""

_CALLS = function("i64", CALLS_SYMBOL, "ptr", "ptr", "ptr", "ptr", "i64")
_REPEAT = function("void", REPEAT_SYMBOL, "ptr", "i64", "i64")
_MEASURED = function("void", MEASURED_SYMBOL, "ptr", "i64", "i64")
_PROGRAM = Signature("i32", ("ptr", "ptr", "ptr"))


class RepeatContext(ctypes.Structure):
    """The argument of `measure_repeat`.

    Attributes:
        tables: the tables of addresses.
        count: how often to run.
        nanoseconds: of all runs; set by the function.
        slots: the addresses in a table.
        number: how many tables there are.
        first: the table of the first run.
        clock: which clock tells the time; one of the system's.
    """

    _fields_ = (
        ("tables", ctypes.c_void_p),
        ("count", ctypes.c_int64),
        ("nanoseconds", ctypes.c_int64),
        ("slots", ctypes.c_int64),
        ("number", ctypes.c_int64),
        ("first", ctypes.c_int64),
        ("clock", ctypes.c_int64),
    )


def calls_text(triple: str) -> str:
    """The LLVM module of `measure_calls`."""
    module = NativeModule()
    add_clock(module, triple)
    with module.define(_CALLS) as code:
        call, session, inputs, outputs, count = code.parameters
        begin = code.call(NOW)
        done = code.local(0)
        with code.loop() as calling:
            error = code.call_through(call, _PROGRAM, session, inputs, outputs)
            code.ret_if(error.ne(0), -1)
            done.set(done.value + 1)
            calling.leave_if(done.value.sge(count))
        code.ret(code.call(NOW) - begin)
    return module.text(triple)


def repeat_text(triple: str) -> str:
    """The LLVM module of `measure_repeat`."""
    module = NativeModule()
    add_time_of(module)
    with module.define(_REPEAT) as code:
        _write_repeat(code)
    return module.text(triple)


def _write_repeat(code: FunctionBuilder) -> None:
    context, thread, threads = code.parameters
    tables = context.load("ptr")
    count, slots, number, first, clock = (
        _field(context, name).load() for name in ("count", "slots", "number", "first", "clock")
    )
    code.call(BARRIER, threads)
    begin = code.call(TIME_OF, clock)
    code.call(BARRIER, threads)
    done = code.local(0)
    with code.loop() as running:
        which = (done.value + first).urem(number)
        code.call(_MEASURED, tables.offset(which * slots, "ptr"), thread, threads)
        code.call(BARRIER, threads)
        with code.when(thread.eq(0)):
            code.call(NEXT_ROUND)
        code.call(BARRIER, threads)
        done.set(done.value + 1)
        running.leave_if(done.value.sge(count))
    elapsed = code.call(TIME_OF, clock) - begin
    with code.when(thread.eq(0)):
        _field(context, "nanoseconds").store(elapsed)


def _field(context: Operand, name: str) -> Location:
    return context.at("i64", getattr(RepeatContext, name).offset)
