"""The result of a call, made by native code as objects of Python, in LLVM IR.

    PyObject *make_results(ptr call)

First come the values of data types: all objects are described at once
(`relay_tune.codegen.programs.read_text`), an object of Python is made for each, then they get their
fields. What an object has for fields, and what the result is, says a list of steps that push on a
stack. Shared objects are made once; a tensor that is shared is known again by the link in its
object, which has the address of the array meanwhile. At the end the references to the objects of
the heap are given up.

Where there is too little room to describe the objects, the result is the number NO_RESULT_ROOM and
nothing has changed. Null is an error of Python's, and all objects are gone.
"""

from __future__ import annotations

from collections.abc import Mapping

from relay_tune.codegen.direct.array_check_text import DATA
from relay_tune.codegen.direct.words import (
    WORD,
    Call,
    FixedOutput,
    Layout,
    Step,
    StepKind,
    load_words,
)
from relay_tune.first_order.layouts import LINK, TENSOR_DATA, TENSOR_SHAPE

NO_RESULT_ROOM = -3


def result_text(head: int, slots: Mapping[str, int]) -> str:
    """The functions; `head` are the bytes before the fields of an object.

    `slots` are the offsets of the slots of values in their objects.
    """
    words = {
        "step_bytes": WORD * len(Step),
        "load_step": load_words("%step", "i64", Step.KIND, Step.PLACE, Step.RANK, Step.BYTES),
        "load_step_places": load_words("%step", "ptr", Step.DTYPE, Step.SIZES),
        "array": StepKind.ARRAY,
        "scalar": StepKind.SCALAR,
        "tensor": StepKind.TENSOR,
        "object": StepKind.OBJECT,
        "tuple": StepKind.TUPLE,
        "link": LINK,
    }
    value = _VALUE.format(
        load_call=load_words("%call", "ptr", Call.VALUES, Call.MADE, Call.LAYOUTS),
        load_layout=load_words("%layout", "ptr", Layout.STATIC),
        layout_bytes=WORD * len(Layout),
        elements=head + DATA,
        shape=TENSOR_SHAPE,
        data=TENSOR_DATA,
        **words,
    )
    drop = _DROP.format(
        load_call=load_words("%call", "ptr", Call.FIXED),
        load_count=load_words("%call", "i64", Call.FIXED_COUNT),
        load_output=load_words("%output", "ptr", FixedOutput.COMPONENT),
        output_bytes=WORD * len(FixedOutput),
    )
    results = _RESULTS.format(
        load_tables=load_words(
            "%call",
            "ptr",
            Call.CELLS,
            Call.ROW,
            Call.STEPS,
            Call.LAYOUTS,
            Call.NUMBERS,
            Call.ROWS,
            Call.MADE,
        ),
        load_functions=load_words("%call", "ptr", Call.READ, Call.RELEASE, Call.SESSION),
        load_reset=load_words("%call", "ptr", Call.RESET),
        load_counts=load_words(
            "%call",
            "i64",
            Call.CELL_COUNT,
            Call.DATA_COUNT,
            Call.STEP_COUNT,
            Call.ROW_ROOM,
            Call.WIDTH,
            Call.RESETS,
        ),
        load_layout=load_words("%layout", "ptr", Layout.CONSTRUCTOR, Layout.STEPS, prefix="own_"),
        load_layout_count=load_words("%layout", "i64", Layout.STEP_COUNT, prefix="own_"),
        load_clean=load_words("%clean_layout", "ptr", Layout.STEPS, prefix="clean_"),
        load_clean_count=load_words("%clean_layout", "i64", Layout.STEP_COUNT, prefix="clean_"),
        layout_bytes=WORD * len(Layout),
        no_room=NO_RESULT_ROOM,
        word_bytes=WORD,
        **slots,
    )
    return "\n".join([value, _CLEAN.format(**words), drop, results])


_VALUE = """\
define internal ptr @make_value(ptr %call, ptr %steps, i64 %step_count, ptr %row) nounwind {{
entry:
{load_call}
  br label %next
next:
  %number = phi i64 [ 0, %entry ], [ %following, %push ]
  %top = phi i64 [ 0, %entry ], [ %above, %push ]
  %end = icmp eq i64 %number, %step_count
  br i1 %end, label %done, label %look
look:
  %offset = mul i64 %number, {step_bytes}
  %step = getelementptr i8, ptr %steps, i64 %offset
{load_step}
{load_step_places}
  %following = add i64 %number, 1
  %word_at = getelementptr i64, ptr %row, i64 %place
  switch i64 %kind, label %build_tuple [
    i64 {array}, label %take_array
    i64 {scalar}, label %make_scalar
    i64 {tensor}, label %find_tensor
    i64 {object}, label %find_object
  ]

take_array:
  %own = load ptr, ptr %word_at, align 8
  store ptr null, ptr %word_at, align 8
  br label %push

make_scalar:
  call void @Py_IncRef(ptr %dtype)
  %scalar = call ptr @relay_tune_new_array(i32 0, ptr null, ptr %dtype, i32 0)
  %no_scalar = icmp eq ptr %scalar, null
  br i1 %no_scalar, label %fail, label %fill_scalar
fill_scalar:
  %scalar_elements_at = getelementptr i8, ptr %scalar, i64 {elements}
  %scalar_elements = load ptr, ptr %scalar_elements_at, align 8
  call void @llvm.memcpy.p0.p0.i64(ptr %scalar_elements, ptr %word_at, i64 %bytes, i1 false)
  br label %push

find_tensor:
  %tensor = load ptr, ptr %word_at, align 8
  %references = load i32, ptr %tensor, align 8
  %is_shared = icmp sgt i32 %references, 1
  %link_at = getelementptr i8, ptr %tensor, i64 {link}
  br i1 %is_shared, label %follow, label %make_tensor
follow:
  %link = load ptr, ptr %link_at, align 8
  %is_first = icmp eq ptr %link, null
  br i1 %is_first, label %make_tensor, label %again
again:
  call void @Py_IncRef(ptr %link)
  br label %push
make_tensor:
  %has_sizes = icmp eq ptr %sizes, null
  %own_sizes = getelementptr i8, ptr %tensor, i64 {shape}
  %shape = select i1 %has_sizes, ptr %own_sizes, ptr %sizes
  %rank32 = trunc i64 %rank to i32
  call void @Py_IncRef(ptr %dtype)
  %made_tensor = call ptr @relay_tune_new_array(i32 %rank32, ptr %shape, ptr %dtype, i32 0)
  %no_tensor = icmp eq ptr %made_tensor, null
  br i1 %no_tensor, label %fail, label %measure
measure:
  %axis = phi i64 [ 0, %make_tensor ], [ %next_axis, %multiply ]
  %size = phi i64 [ %bytes, %make_tensor ], [ %product, %multiply ]
  %measured = icmp eq i64 %axis, %rank
  br i1 %measured, label %fill_tensor, label %multiply
multiply:
  %extent_at = getelementptr i64, ptr %shape, i64 %axis
  %extent = load i64, ptr %extent_at, align 8
  %product = mul i64 %size, %extent
  %next_axis = add i64 %axis, 1
  br label %measure
fill_tensor:
  %elements_at = getelementptr i8, ptr %made_tensor, i64 {elements}
  %elements = load ptr, ptr %elements_at, align 8
  %source = getelementptr i8, ptr %tensor, i64 {data}
  call void @llvm.memcpy.p0.p0.i64(ptr %elements, ptr %source, i64 %size, i1 false)
  br i1 %is_shared, label %mark, label %push
mark:
  store ptr %made_tensor, ptr %link_at, align 8
  br label %push

find_object:
  %word = load i64, ptr %word_at, align 8
  %is_static = icmp slt i64 %word, 0
  br i1 %is_static, label %static_object, label %made_object
static_object:
  %layout_number = sub i64 0, %word
  %layout_offset = mul i64 %layout_number, {layout_bytes}
  %layout = getelementptr i8, ptr %layouts, i64 %layout_offset
{load_layout}
  br label %refer
made_object:
  %made_at = getelementptr ptr, ptr %made, i64 %word
  %one = load ptr, ptr %made_at, align 8
  br label %refer
refer:
  %object = phi ptr [ %static, %static_object ], [ %one, %made_object ]
  call void @Py_IncRef(ptr %object)
  br label %push

build_tuple:
  %tuple = call ptr @PyTuple_New(i64 %place)
  %no_tuple = icmp eq ptr %tuple, null
  br i1 %no_tuple, label %fail, label %fill_tuple
fill_tuple:
  %bottom = sub i64 %top, %place
  br label %item
item:
  %index = phi i64 [ 0, %fill_tuple ], [ %next_index, %set_item ]
  %all = icmp eq i64 %index, %place
  br i1 %all, label %push, label %set_item
set_item:
  %item_number = add i64 %bottom, %index
  %item_at = getelementptr ptr, ptr %values, i64 %item_number
  %value = load ptr, ptr %item_at, align 8
  %set = call i32 @PyTuple_SetItem(ptr %tuple, i64 %index, ptr %value)
  %next_index = add i64 %index, 1
  br label %item

push:
  %pushed = phi ptr [ %own, %take_array ], [ %scalar, %fill_scalar ], [ %link, %again ],
            [ %made_tensor, %fill_tensor ], [ %made_tensor, %mark ], [ %object, %refer ],
            [ %tuple, %item ]
  %height = phi i64 [ %top, %take_array ], [ %top, %fill_scalar ], [ %top, %again ],
            [ %top, %fill_tensor ], [ %top, %mark ], [ %top, %refer ], [ %bottom, %item ]
  %pushed_at = getelementptr ptr, ptr %values, i64 %height
  store ptr %pushed, ptr %pushed_at, align 8
  %above = add i64 %height, 1
  br label %next
done:
  %result = load ptr, ptr %values, align 8
  ret ptr %result
fail:
  call void @drop(ptr %values, i64 %top)
  ret ptr null
}}
"""

_CLEAN = """\
define internal void @clean_links(ptr %steps, i64 %step_count, ptr %row) nounwind {{
entry:
  br label %next
next:
  %number = phi i64 [ 0, %entry ], [ %following, %look ], [ %following, %tensor ],
            [ %following, %clean ]
  %end = icmp eq i64 %number, %step_count
  br i1 %end, label %done, label %look
look:
  %offset = mul i64 %number, {step_bytes}
  %step = getelementptr i8, ptr %steps, i64 %offset
{load_step}
  %following = add i64 %number, 1
  %is_tensor = icmp eq i64 %kind, {tensor}
  br i1 %is_tensor, label %tensor, label %next
tensor:
  %word_at = getelementptr i64, ptr %row, i64 %place
  %object = load ptr, ptr %word_at, align 8
  %references = load i32, ptr %object, align 8
  %is_shared = icmp sgt i32 %references, 1
  br i1 %is_shared, label %clean, label %next
clean:
  %link_at = getelementptr i8, ptr %object, i64 {link}
  store ptr null, ptr %link_at, align 8
  br label %next
done:
  ret void
}}
"""

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
{load_count}
  br label %next
next:
  %number = phi i64 [ 0, %entry ], [ %following, %look ]
  %end = icmp eq i64 %number, %fixed_count
  br i1 %end, label %done, label %look
look:
  %offset = mul i64 %number, {output_bytes}
  %output = getelementptr i8, ptr %fixed, i64 %offset
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
{load_tables}
{load_functions}
{load_reset}
{load_counts}
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
  %number_at = getelementptr i64, ptr %numbers, i64 %filled
  %number = load i64, ptr %number_at, align 8
  %layout_offset = mul i64 %number, {layout_bytes}
  %layout = getelementptr i8, ptr %layouts, i64 %layout_offset
{load_layout}
{load_layout_count}
  %own_offset = mul i64 %filled, %width
  %own_row = getelementptr i64, ptr %rows, i64 %own_offset
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
  %clean_at = getelementptr i64, ptr %numbers, i64 %cleaned
  %clean_number = load i64, ptr %clean_at, align 8
  %clean_offset = mul i64 %clean_number, {layout_bytes}
  %clean_layout = getelementptr i8, ptr %layouts, i64 %clean_offset
{load_clean}
{load_clean_count}
  %clean_row_offset = mul i64 %cleaned, %width
  %clean_row = getelementptr i64, ptr %rows, i64 %clean_row_offset
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
