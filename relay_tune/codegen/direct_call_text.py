"""A call of a model from Python as one native function, in LLVM IR.

    PyObject *relay_tune_direct_call(PyObject *description, PyObject **arguments, i64 count)

It is a function of Python's C interface (calling convention METH_FASTCALL). Arguments are the
arrays of all inputs and outputs, then the number of threads. It compares type, element type, rank,
sizes and flags of each array with what the description wants, writes the addresses of the elements
into the table of the program, and runs the program without Python's lock. The result is True; it is
False, and nothing was run, if an argument is not exactly as wanted.

`description` is a Python number: the address of DESCRIPTION_HEAD words, then ARRAY_WORDS for each
array:

    arrays, type of arrays, table of addresses, function of the program
    element type, rank, address of the sizes
"""

from __future__ import annotations

from relay_tune.codegen.array_check_text import array_check_text

DIRECT_CALL_SYMBOL = "relay_tune_direct_call"
PYTHON_FUNCTIONS = (
    "PyLong_AsVoidPtr",
    "PyLong_AsLong",
    "PyEval_SaveThread",
    "PyEval_RestoreThread",
    "Py_IncRef",
)
"""What it needs of Python, all of the stable interface."""

TRUE_SYMBOL, FALSE_SYMBOL = "relay_tune_true", "relay_tune_false"
"""The objects True and False."""

WORD = 8
DESCRIPTION_HEAD = 4
ARRAY_WORDS = 3


def direct_call_text(triple: str, head: int) -> str:
    """The LLVM module; `head` are the bytes before the fields of an object."""
    return _TEMPLATE.format(
        triple=triple,
        true=TRUE_SYMBOL,
        false=FALSE_SYMBOL,
        symbol=DIRECT_CALL_SYMBOL,
        type=head - WORD,
        array_check=array_check_text(head, "%argument", "fits"),
        head_bytes=DESCRIPTION_HEAD * WORD,
        array_bytes=ARRAY_WORDS * WORD,
    )


_TEMPLATE = """\
target triple = "{triple}"

declare ptr @PyLong_AsVoidPtr(ptr)
declare i64 @PyLong_AsLong(ptr)
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)
declare void @Py_IncRef(ptr)
declare void @relay_tune_run(ptr, ptr, i64)
@{true} = external global i8
@{false} = external global i8

define ptr @{symbol}(ptr %self, ptr %arguments, i64 %count) nounwind {{
entry:
  %description = call ptr @PyLong_AsVoidPtr(ptr %self)
  %arrays = load i64, ptr %description, align 8
  %wanted = add i64 %arrays, 1
  %complete = icmp eq i64 %count, %wanted
  br i1 %complete, label %begin, label %refuse
begin:
  %type_place = getelementptr ptr, ptr %description, i64 1
  %table_place = getelementptr ptr, ptr %description, i64 2
  %function_place = getelementptr ptr, ptr %description, i64 3
  %wanted_type = load ptr, ptr %type_place, align 8
  %table = load ptr, ptr %table_place, align 8
  %function = load ptr, ptr %function_place, align 8
  br label %next
next:
  %number = phi i64 [ 0, %begin ], [ %following, %fits ]
  %again = icmp ult i64 %number, %arrays
  br i1 %again, label %look, label %run
look:
  %argument_place = getelementptr ptr, ptr %arguments, i64 %number
  %argument = load ptr, ptr %argument_place, align 8
  %argument_type_place = getelementptr i8, ptr %argument, i64 {type}
  %argument_type = load ptr, ptr %argument_type_place, align 8
  %is_array = icmp eq ptr %argument_type, %wanted_type
  br i1 %is_array, label %array, label %refuse
array:
  %record_offset = mul i64 %number, {array_bytes}
  %record_start = add i64 %record_offset, {head_bytes}
  %record = getelementptr i8, ptr %description, i64 %record_start
  %wanted_rank_place = getelementptr ptr, ptr %record, i64 1
  %wanted_sizes_place = getelementptr ptr, ptr %record, i64 2
  %wanted_dtype = load ptr, ptr %record, align 8
  %wanted_rank = load i32, ptr %wanted_rank_place, align 8
  %wanted_sizes = load ptr, ptr %wanted_sizes_place, align 8
{array_check}fits:
  %slot = getelementptr ptr, ptr %table, i64 %number
  store ptr %elements, ptr %slot, align 8
  %following = add i64 %number, 1
  br label %next
run:
  %threads_place = getelementptr ptr, ptr %arguments, i64 %arrays
  %threads_object = load ptr, ptr %threads_place, align 8
  %threads = call i64 @PyLong_AsLong(ptr %threads_object)
  %state = call ptr @PyEval_SaveThread()
  call void @relay_tune_run(ptr %function, ptr %table, i64 %threads)
  call void @PyEval_RestoreThread(ptr %state)
  call void @Py_IncRef(ptr @{true})
  ret ptr @{true}
refuse:
  call void @Py_IncRef(ptr @{false})
  ret ptr @{false}
}}
"""
