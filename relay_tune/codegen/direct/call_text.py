"""A call of a program from Python as one native function, in LLVM IR.

    PyObject *relay_tune_direct_call(PyObject *call, PyObject **arguments, i64 count)
    PyObject *relay_tune_direct_results(PyObject *call, PyObject *)

They are functions of Python's C interface (calling conventions METH_FASTCALL and METH_NOARGS).
`call` is a Python number: the address of the words that describe the call
(`relay_tune.codegen.direct.words`). Arguments are those of the program, then the number of threads.
The first function reads them, makes arrays for the outputs whose shapes are known, runs the program
without Python's lock, and makes the result; the second makes the result only, after there was too
little room for it.

The result is None, and nothing was run, if an argument is not exactly as wanted. It is a number,
which no program gives, if something is missing: NO_ROOM or NO_RESULT_ROOM to describe values, or
NO_INPUT_MEMORY for objects of the program; a number above 0 is the error of the program.
"""

from __future__ import annotations

from collections.abc import Mapping

from relay_tune.codegen.direct.argument_text import NO_ROOM, argument_text
from relay_tune.codegen.direct.array_check_text import DATA
from relay_tune.codegen.direct.result_text import result_text
from relay_tune.codegen.direct.words import Call, FixedOutput
from relay_tune.codegen.programs.session import THREADS
from relay_tune.codegen.word_table import load_entry, load_words

DIRECT_CALL_SYMBOL, DIRECT_RESULTS_SYMBOL = "relay_tune_direct_call", "relay_tune_direct_results"

NO_INPUT_MEMORY = -4

PYTHON_FUNCTIONS = {
    "PyLong_AsVoidPtr": "ptr (ptr)",
    "PyLong_AsLongLong": "i64 (ptr)",
    "PyLong_FromLongLong": "ptr (i64)",
    "PyEval_SaveThread": "ptr ()",
    "PyEval_RestoreThread": "void (ptr)",
    "PyObject_GetAttrString": "ptr (ptr, ptr)",
    "PyErr_Clear": "void ()",
    "PyUnicode_CompareWithASCIIString": "i32 (ptr, ptr)",
    "PyTuple_New": "ptr (i64)",
    "PyTuple_SetItem": "i32 (ptr, i64, ptr)",
    "PyType_GenericAlloc": "ptr (ptr, i64)",
    "Py_IncRef": "void (ptr)",
    "Py_DecRef": "void (ptr)",
    "PyCapsule_New": "ptr (ptr, ptr, ptr)",
    "PyCapsule_GetPointer": "ptr (ptr, ptr)",
}
"""The functions of Python that it calls, all of the stable interface."""

NEW_ARRAY_SYMBOL = "relay_tune_new_array"
"""`PyArray_Empty` of numpy's C interface."""

WRAP_ARRAY_SYMBOL, SET_OWNER_SYMBOL = "relay_tune_wrap_array", "relay_tune_set_owner"
"""`PyArray_NewFromDescr` and `PyArray_SetBaseObject` of it."""

NONE_SYMBOL = "relay_tune_none"

CLASSES = ("array", "tuple", "value", "constructor")
"""The classes whose objects it looks into; imported as `relay_tune_class_` and the name."""

SLOTS = ("value_constructor", "value_fields")
"""The slots of values that it reads and writes, whose offsets in their objects it is given."""


def direct_call_text(triple: str, head: int, slots: Mapping[str, int]) -> str:
    """The LLVM module; `head` are the bytes before the fields of an object."""
    return "\n".join(
        [
            f'target triple = "{triple}"',
            *map(_declaration, PYTHON_FUNCTIONS.items()),
            f"declare ptr @{NEW_ARRAY_SYMBOL}(i32, ptr, ptr, i32)",
            f"declare ptr @{WRAP_ARRAY_SYMBOL}(ptr, ptr, i32, ptr, ptr, ptr, i32, ptr)",
            f"declare i32 @{SET_OWNER_SYMBOL}(ptr, ptr)",
            "declare void @free(ptr)",
            "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)",
            *(f"@relay_tune_class_{name} = external global i8" for name in CLASSES),
            f"@{NONE_SYMBOL} = external global i8",
            '@name = internal constant [5 x i8] c"name\\00"',
            argument_text(head, slots),
            result_text(head, slots),
            _run_text(),
            _call_text(head),
        ]
    )


def _declaration(function: tuple[str, str]) -> str:
    name, type_ = function
    result, parameters = type_.split(" ", 1)
    return f"declare {result} @{name}{parameters}"


def _run_text() -> str:
    return _RUN.format(
        threads_offset=THREADS,
        load_program=load_words("%call", Call.INPUTS, Call.OUTPUTS, Call.FUNCTION, Call.SESSION),
        load_session=load_words("%call", Call.SESSION, Call.RESET),
        load_build=load_words(
            "%call",
            Call.SESSION,
            Call.BUILD,
            Call.CODES,
            Call.PAIRS,
            Call.LEAVES,
            Call.PLACES,
            Call.PLACE_COUNT,
        ),
    )


def _call_text(head: int) -> str:
    return _CALL.format(
        symbol=DIRECT_CALL_SYMBOL,
        results=DIRECT_RESULTS_SYMBOL,
        new_array=NEW_ARRAY_SYMBOL,
        none=NONE_SYMBOL,
        no_room=NO_ROOM,
        no_memory=NO_INPUT_MEMORY,
        elements=head + DATA,
        load_call=load_words("%call", Call.ARGUMENT_COUNT, Call.FIXED, Call.FIXED_COUNT),
        load_output=load_entry("%output", "%fixed", "%output_number", *FixedOutput),
    )


_RUN = """\
define internal i64 @run_program(ptr %call, i64 %threads) nounwind {{
{load_program}
  %threads_at = getelementptr i8, ptr %session, i64 {threads_offset}
  store i64 %threads, ptr %threads_at, align 8
  %error = call i32 %function(ptr %session, ptr %inputs, ptr %outputs)
  %wide = sext i32 %error to i64
  ret i64 %wide
}}

define internal void @empty_session(ptr %call) nounwind {{
entry:
{load_session}
  %none = icmp eq ptr %session, null
  br i1 %none, label %done, label %empty
empty:
  call void %reset(ptr %session)
  br label %done
done:
  ret void
}}

define internal i64 @build_inputs(ptr %call, i64 %codes_written) nounwind {{
entry:
{load_build}
  %built = call i64 %build(ptr %session, ptr %codes, i64 %codes_written, ptr %leaves, ptr %pairs)
  %poor = icmp eq i64 %built, 0
  br i1 %poor, label %done, label %next
next:
  %number = phi i64 [ 0, %entry ], [ %following, %put ]
  %end = icmp eq i64 %number, %place_count
  br i1 %end, label %done, label %put
put:
  %object_at = getelementptr ptr, ptr %pairs, i64 %number
  %place_at = getelementptr ptr, ptr %places, i64 %number
  %object = load ptr, ptr %object_at, align 8
  %place = load ptr, ptr %place_at, align 8
  store ptr %object, ptr %place, align 8
  %following = add i64 %number, 1
  br label %next
done:
  ret i64 %built
}}
"""

_CALL = """\
define ptr @{symbol}(ptr %self, ptr %arguments, i64 %count) nounwind {{
entry:
  %call = call ptr @PyLong_AsVoidPtr(ptr %self)
{load_call}
  %wanted = add i64 %argument_count, 1
  %complete = icmp eq i64 %count, %wanted
  br i1 %complete, label %read, label %refuse
read:
  %codes = call i64 @read_arguments(ptr %arguments, ptr %call)
  %fits = icmp sge i64 %codes, 0
  br i1 %fits, label %fit, label %unfit
unfit:
  %is_poor = icmp eq i64 %codes, {no_room}
  br i1 %is_poor, label %number, label %refuse
fit:
  %has_values = icmp ne i64 %codes, 0
  br i1 %has_values, label %build, label %next
build:
  %built = call i64 @build_inputs(ptr %call, i64 %codes)
  %is_built = icmp ne i64 %built, 0
  br i1 %is_built, label %next, label %no_memory
no_memory:
  call void @empty_session(ptr %call)
  br label %number

next:
  %output_number = phi i64 [ 0, %fit ], [ 0, %build ], [ %following, %keep ]
  %all = icmp eq i64 %output_number, %fixed_count
  br i1 %all, label %run, label %new
new:
{load_output}
  call void @Py_IncRef(ptr %dtype)
  %array = call ptr @{new_array}(i32 %rank, ptr %sizes, ptr %dtype, i32 0)
  %no_array = icmp eq ptr %array, null
  br i1 %no_array, label %fail, label %keep
keep:
  %elements_at = getelementptr i8, ptr %array, i64 {elements}
  %elements = load ptr, ptr %elements_at, align 8
  store ptr %elements, ptr %slot, align 8
  store ptr %array, ptr %component, align 8
  %following = add i64 %output_number, 1
  br label %next
fail:
  call void @drop_outputs(ptr %call)
  call void @empty_session(ptr %call)
  ret ptr null

run:
  %threads_at = getelementptr ptr, ptr %arguments, i64 %argument_count
  %threads_object = load ptr, ptr %threads_at, align 8
  %threads = call i64 @PyLong_AsLongLong(ptr %threads_object)
  %state = call ptr @PyEval_SaveThread()
  %status = call i64 @run_program(ptr %call, i64 %threads)
  call void @PyEval_RestoreThread(ptr %state)
  %failed = icmp ne i64 %status, 0
  br i1 %failed, label %failure, label %finish
failure:
  call void @drop_outputs(ptr %call)
  br label %number
finish:
  %result = call ptr @make_results(ptr %call)
  ret ptr %result

number:
  %code = phi i64 [ {no_room}, %unfit ], [ {no_memory}, %no_memory ], [ %status, %failure ]
  %code_object = call ptr @PyLong_FromLongLong(i64 %code)
  ret ptr %code_object
refuse:
  call void @Py_IncRef(ptr @{none})
  ret ptr @{none}
}}

define ptr @{results}(ptr %self, ptr %unused) nounwind {{
  %call = call ptr @PyLong_AsVoidPtr(ptr %self)
  %result = call ptr @make_results(ptr %call)
  ret ptr %result
}}
"""
