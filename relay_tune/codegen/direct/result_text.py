"""The result of a call, made by native code as objects of Python, in LLVM IR.

    PyObject *make_results(ptr call)

First come the values of data types: all objects are described at once
(`relay_tune.codegen.programs.read_text`), an object of Python is made for each, then they get their
fields. What an object has for fields, and what the result is, says a list of steps
(`relay_tune.codegen.direct.value_text`). At the end the references to the objects of the heap are
given up.

Where there is too little room to describe the objects, the result is the number NO_RESULT_ROOM and
nothing has changed. Null is an error of Python's, and all objects are gone.
"""

from __future__ import annotations

from collections.abc import Mapping

from relay_tune.codegen.direct.value_text import value_text
from relay_tune.codegen.direct.words import Call, FixedOutput, Layout
from relay_tune.codegen.word_table import WORD, load_entry, load_words

NO_RESULT_ROOM = -3


def result_text(head: int, slots: Mapping[str, int]) -> str:
    """The functions; `head` are the bytes before the fields of an object.

    `slots` are the offsets of the slots of values in their objects.
    """
    drop = _DROP.format(
        load_call=load_words("%call", Call.FIXED, Call.FIXED_COUNT),
        load_output=load_entry("%output", "%fixed", "%number", FixedOutput.COMPONENT),
    )
    results = _RESULTS.format(
        load_call=load_words("%call", *_CALL_WORDS),
        describe_own=_object_lines("%filled", "own_"),
        describe_clean=_object_lines("%cleaned", "clean_"),
        no_room=NO_RESULT_ROOM,
        word_bytes=WORD,
        **slots,
    )
    return "\n".join([value_text(head), drop, results])


def _object_lines(place: str, prefix: str) -> str:
    """The lines that load what object number `place` is described by: its layout's words, its row.

    Their names begin with the prefix.
    """
    number = f"%{prefix}number"
    return f"""\
  {number}_at = getelementptr i64, ptr %numbers, i64 {place}
  {number} = load i64, ptr {number}_at, align 8
{load_entry(f"%{prefix}layout", "%layouts", number, *_FIELD_WORDS, prefix=prefix)}
  %{prefix}offset = mul i64 {place}, %width
  %{prefix}row = getelementptr i64, ptr %rows, i64 %{prefix}offset"""


_CALL_WORDS = (
    Call.SESSION,
    Call.READ,
    Call.RELEASE,
    Call.RESET,
    Call.RESETS,
    Call.CELLS,
    Call.CELL_COUNT,
    Call.DATA_COUNT,
    Call.ROW,
    Call.STEPS,
    Call.STEP_COUNT,
    Call.LAYOUTS,
    Call.NUMBERS,
    Call.ROWS,
    Call.ROW_ROOM,
    Call.WIDTH,
    Call.MADE,
)

_FIELD_WORDS = (Layout.CONSTRUCTOR, Layout.STEPS, Layout.STEP_COUNT)

_DROP = """\
define internal void @drop(ptr %objects, i64 %count) nounwind {{
entry:
  br label %next
next:
  %number = phi i64 [ 0, %entry ], [ %following, %look ], [ %following, %give_up ]
  %end = icmp eq i64 %number, %count
  br i1 %end, label %done, label %look
look:
  %object_at = getelementptr ptr, ptr %objects, i64 %number
  %object = load ptr, ptr %object_at, align 8
  %following = add i64 %number, 1
  %is_none = icmp eq ptr %object, null
  br i1 %is_none, label %next, label %give_up
give_up:
  store ptr null, ptr %object_at, align 8
  call void @Py_DecRef(ptr %object)
  br label %next
done:
  ret void
}}

define internal void @drop_outputs(ptr %call) nounwind {{
entry:
{load_call}
  br label %next
next:
  %number = phi i64 [ 0, %entry ], [ %following, %look ]
  %end = icmp eq i64 %number, %fixed_count
  br i1 %end, label %done, label %look
look:
{load_output}
  call void @drop(ptr %component, i64 1)
  %following = add i64 %number, 1
  br label %next
done:
  ret void
}}
"""

_RESULTS = """\
define internal ptr @make_results(ptr %call) nounwind {{
entry:
{load_call}
  %cell_bytes = mul i64 %cell_count, {word_bytes}
  call void @llvm.memcpy.p0.p0.i64(ptr %row, ptr %cells, i64 %cell_bytes, i1 false)
  %has_data = icmp ne i64 %data_count, 0
  br i1 %has_data, label %describe, label %whole
describe:
  %found = call i64 %read(ptr %row, i64 %data_count, ptr %numbers, i64 %row_room, ptr %rows,
                          i64 %width)
  %poor = icmp slt i64 %found, 0
  br i1 %poor, label %no_room, label %allocate
no_room:
  %number_of_room = call ptr @PyLong_FromLongLong(i64 {no_room})
  ret ptr %number_of_room
allocate:
  %allocated = phi i64 [ 0, %describe ], [ %next_allocated, %keep ]
  %all_allocated = icmp eq i64 %allocated, %found
  br i1 %all_allocated, label %fill, label %new
new:
  %object = call ptr @PyType_GenericAlloc(ptr @relay_tune_class_value, i64 0)
  %no_object = icmp eq ptr %object, null
  br i1 %no_object, label %fail, label %keep
keep:
  %object_at = getelementptr ptr, ptr %made, i64 %allocated
  store ptr %object, ptr %object_at, align 8
  %next_allocated = add i64 %allocated, 1
  br label %allocate
fill:
  %filled = phi i64 [ 0, %allocate ], [ %next_filled, %set ]
  %all_filled = icmp eq i64 %filled, %found
  br i1 %all_filled, label %whole, label %fields
fields:
{describe_own}
  %tuple = call ptr @make_value(ptr %call, ptr %own_steps, i64 %own_step_count, ptr %own_row)
  %no_tuple = icmp eq ptr %tuple, null
  br i1 %no_tuple, label %fail, label %set
set:
  %filled_at = getelementptr ptr, ptr %made, i64 %filled
  %value = load ptr, ptr %filled_at, align 8
  %constructor_slot = getelementptr i8, ptr %value, i64 {value_constructor}
  %fields_slot = getelementptr i8, ptr %value, i64 {value_fields}
  call void @Py_IncRef(ptr %own_constructor)
  store ptr %own_constructor, ptr %constructor_slot, align 8
  store ptr %tuple, ptr %fields_slot, align 8
  %next_filled = add i64 %filled, 1
  br label %fill
whole:
  %count = phi i64 [ 0, %entry ], [ %found, %fill ]
  %result = call ptr @make_value(ptr %call, ptr %steps, i64 %step_count, ptr %row)
  %no_result = icmp eq ptr %result, null
  br i1 %no_result, label %fail, label %clean
clean:
  %cleaned = phi i64 [ 0, %whole ], [ %next_cleaned, %clean_one ]
  %all_clean = icmp eq i64 %cleaned, %count
  br i1 %all_clean, label %clean_whole, label %clean_one
clean_one:
{describe_clean}
  call void @clean_links(ptr %clean_steps, i64 %clean_step_count, ptr %clean_row)
  %next_cleaned = add i64 %cleaned, 1
  br label %clean
clean_whole:
  call void @clean_links(ptr %steps, i64 %step_count, ptr %row)
  call void @drop(ptr %made, i64 %count)
  %empties = icmp ne i64 %resets, 0
  br i1 %empties, label %empty, label %release_next
empty:
  call void %reset(ptr %session)
  br label %done
release_next:
  %released = phi i64 [ 0, %clean_whole ], [ %next_released, %release_one ]
  %all_released = icmp eq i64 %released, %cell_count
  br i1 %all_released, label %done, label %release_one
release_one:
  %cell_at = getelementptr ptr, ptr %cells, i64 %released
  %cell = load ptr, ptr %cell_at, align 8
  call void %release(ptr %session, ptr %cell)
  %next_released = add i64 %released, 1
  br label %release_next
done:
  ret ptr %result
fail:
  %made_count = phi i64 [ %allocated, %new ], [ %found, %fields ], [ %count, %whole ]
  call void @drop(ptr %made, i64 %made_count)
  call void @drop_outputs(ptr %call)
  call void @empty_session(ptr %call)
  ret ptr null
}}
"""
