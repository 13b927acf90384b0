"""Native functions that run code several times and take the time, without Python between.

    i64 measure_calls(ptr call, ptr session, ptr inputs, ptr outputs, i64 count)
    void measure_repeat(ptr context, i64 thread, i64 threads)

The first calls a program in a session and gives the nanoseconds of all calls, or -1 where one
failed. Of the second, `context` holds tables of addresses, one beside the other, which the runs use
in turn, how often to run, and room for the nanoseconds of all runs.
It is meant to be a job of the thread pool. All threads have arrived before the clock starts, and
none begins to work before: between two barriers, the thread that reads the clock reads it. With one
barrier, a thread that loses its processor before it has read the clock misses work of the others.
"""

from __future__ import annotations

import ctypes

from relay_tune.codegen.clock import clock_text

CALLS_SYMBOL = "measure_calls"
REPEAT_SYMBOL = "measure_repeat"
MEASURED_SYMBOL = "measure_main"
"""The function that is repeated; it has the signature of a program's main function."""


class RepeatContext(ctypes.Structure):
    """The argument of `measure_repeat`.

    Attributes:
        tables: the tables of addresses.
        count: how often to run.
        nanoseconds: of all runs; set by the function.
        slots: the addresses in a table.
        number: how many tables there are.
        first: the table of the first run.
    """

    _fields_ = (
        ("tables", ctypes.c_void_p),
        ("count", ctypes.c_int64),
        ("nanoseconds", ctypes.c_int64),
        ("slots", ctypes.c_int64),
        ("number", ctypes.c_int64),
        ("first", ctypes.c_int64),
    )


def calls_text(triple: str) -> str:
    """The LLVM module of `measure_calls`."""
    return _CALLS.format(triple=triple, clock=clock_text(triple), calls=CALLS_SYMBOL)


def repeat_text(triple: str) -> str:
    """The LLVM module of `measure_repeat`."""
    return _TEMPLATE.format(
        triple=triple, clock=clock_text(triple), repeat=REPEAT_SYMBOL, measured=MEASURED_SYMBOL
    )


_CALLS = """\
target triple = "{triple}"

{clock}
define i64 @{calls}(ptr %call, ptr %session, ptr %inputs, ptr %outputs, i64 %count) nounwind {{
entry:
  %begin = call i64 @now()
  br label %loop
loop:
  %done = phi i64 [ 0, %entry ], [ %next, %again ]
  %error = call i32 %call(ptr %session, ptr %inputs, ptr %outputs)
  %right = icmp eq i32 %error, 0
  br i1 %right, label %again, label %failed
again:
  %next = add i64 %done, 1
  %more = icmp slt i64 %next, %count
  br i1 %more, label %loop, label %end
end:
  %finish = call i64 @now()
  %elapsed = sub i64 %finish, %begin
  ret i64 %elapsed
failed:
  ret i64 -1
}}
"""

_TEMPLATE = """\
target triple = "{triple}"

declare void @{measured}(ptr, i64, i64)
declare void @relay_tune_barrier(i64)
declare void @relay_tune_next_round()

{clock}
define void @{repeat}(ptr %context, i64 %thread, i64 %threads) nounwind {{
entry:
  %tables = load ptr, ptr %context, align 8
  %count_at = getelementptr i64, ptr %context, i64 1
  %count = load i64, ptr %count_at, align 8
  %slots_at = getelementptr i64, ptr %context, i64 3
  %slots = load i64, ptr %slots_at, align 8
  %number_at = getelementptr i64, ptr %context, i64 4
  %number = load i64, ptr %number_at, align 8
  %first_at = getelementptr i64, ptr %context, i64 5
  %first_table = load i64, ptr %first_at, align 8
  call void @relay_tune_barrier(i64 %threads)
  %begin = call i64 @now()
  call void @relay_tune_barrier(i64 %threads)
  br label %loop
loop:
  %done = phi i64 [ 0, %entry ], [ %next, %again ]
  %turn = add i64 %done, %first_table
  %which = urem i64 %turn, %number
  %offset = mul i64 %which, %slots
  %table = getelementptr ptr, ptr %tables, i64 %offset
  call void @{measured}(ptr %table, i64 %thread, i64 %threads)
  call void @relay_tune_barrier(i64 %threads)
  %main = icmp eq i64 %thread, 0
  br i1 %main, label %renew, label %again
renew:
  call void @relay_tune_next_round()
  br label %again
again:
  call void @relay_tune_barrier(i64 %threads)
  %next = add i64 %done, 1
  %more = icmp slt i64 %next, %count
  br i1 %more, label %loop, label %end
end:
  %finish = call i64 @now()
  %first = icmp eq i64 %thread, 0
  br i1 %first, label %report, label %leave
report:
  %elapsed = sub i64 %finish, %begin
  %elapsed_at = getelementptr i64, ptr %context, i64 2
  store i64 %elapsed, ptr %elapsed_at, align 8
  br label %leave
leave:
  ret void
}}
"""
