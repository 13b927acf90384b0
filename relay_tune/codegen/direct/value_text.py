"""A value made of components, by a list of steps that push on a stack, in LLVM IR.

    ptr make_value(ptr call, ptr steps, i64 step_count, ptr row)      an object of Python, or null
    void clean_links(ptr steps, i64 step_count, ptr row)

`row` has the components. A tensor that is shared is made once; it is known again by the link in its
object, which has the address of the array from then on, until `clean_links` follows the same steps.
The elements of a large tensor that nobody else has stay where they are: the session hands their
memory over, and the array frees it when it goes. Those of others are copied.

Null is an error of Python's; what the steps have pushed is given up then.
"""

from __future__ import annotations

from relay_tune.codegen.direct.array_check_text import ALIGNED, CONTIGUOUS, DATA, WRITEABLE
from relay_tune.codegen.direct.words import Call, Layout, Step, StepKind
from relay_tune.codegen.word_table import load_entry, load_words
from relay_tune.first_order.layouts import LINK, TENSOR_DATA, TENSOR_SHAPE


def value_text(head: int) -> str:
    """The functions; they need `drop`. `head` are the bytes before the fields of an object."""
    make = _MAKE.format(
        load_call=load_words("%call", Call.LAYOUTS, Call.MADE, Call.VALUES, Call.HAND_OVER),
        load_step=load_entry("%step", "%steps", "%number", *Step),
        load_layout=load_entry("%layout", "%layouts", "%layout_number", Layout.STATIC),
        elements=head + DATA,
        shape=TENSOR_SHAPE,
        data=TENSOR_DATA,
        link=LINK,
        array=StepKind.ARRAY,
        scalar=StepKind.SCALAR,
        tensor=StepKind.TENSOR,
        object=StepKind.OBJECT,
    )
    clean = _CLEAN.format(
        load_step=load_entry("%step", "%steps", "%number", Step.KIND, Step.PLACE),
        tensor=StepKind.TENSOR,
        link=LINK,
    )
    wrap = _WRAP.format(flags=CONTIGUOUS | ALIGNED | WRITEABLE)
    return f"{wrap}\n{make}\n{clean}"


_WRAP = """\
define internal void @free_memory(ptr %owner) nounwind {{
entry:
  %memory = call ptr @PyCapsule_GetPointer(ptr %owner, ptr null)
  call void @free(ptr %memory)
  ret void
}}

define internal ptr @array_of_memory(ptr %memory, ptr %elements, i32 %rank, ptr %shape,
                                     ptr %dtype) nounwind {{
entry:
  %owner = call ptr @PyCapsule_New(ptr %memory, ptr null, ptr @free_memory)
  %no_owner = icmp eq ptr %owner, null
  br i1 %no_owner, label %give_up, label %wrap
give_up:
  call void @free(ptr %memory)
  call void @Py_DecRef(ptr %dtype)
  ret ptr null
wrap:
  %array = call ptr @relay_tune_wrap_array(ptr @relay_tune_class_array, ptr %dtype, i32 %rank,
      ptr %shape, ptr null, ptr %elements, i32 {flags}, ptr null)
  %no_array = icmp eq ptr %array, null
  br i1 %no_array, label %drop_owner, label %own
drop_owner:
  call void @Py_DecRef(ptr %owner)
  ret ptr null
own:
  %status = call i32 @relay_tune_set_owner(ptr %array, ptr %owner)
  %not_own = icmp ne i32 %status, 0
  br i1 %not_own, label %drop_array, label %done
drop_array:
  call void @Py_DecRef(ptr %array)
  ret ptr null
done:
  ret ptr %array
}}
"""

_MAKE = """\
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
{load_step}
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
  %source = getelementptr i8, ptr %tensor, i64 {data}
  %memory = call ptr %hand_over(ptr %tensor)
  %stays = icmp eq ptr %memory, null
  br i1 %stays, label %copy_tensor, label %wrap_tensor
wrap_tensor:
  %wrapped = call ptr @array_of_memory(ptr %memory, ptr %source, i32 %rank32, ptr %shape,
                                       ptr %dtype)
  %not_wrapped = icmp eq ptr %wrapped, null
  br i1 %not_wrapped, label %fail, label %push
copy_tensor:
  %made_tensor = call ptr @relay_tune_new_array(i32 %rank32, ptr %shape, ptr %dtype, i32 0)
  %no_tensor = icmp eq ptr %made_tensor, null
  br i1 %no_tensor, label %fail, label %measure
measure:
  %axis = phi i64 [ 0, %copy_tensor ], [ %next_axis, %multiply ]
  %size = phi i64 [ %bytes, %copy_tensor ], [ %product, %multiply ]
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
            [ %wrapped, %wrap_tensor ], [ %made_tensor, %fill_tensor ], [ %made_tensor, %mark ],
            [ %object, %refer ], [ %tuple, %item ]
  %height = phi i64 [ %top, %take_array ], [ %top, %fill_scalar ], [ %top, %again ],
            [ %top, %wrap_tensor ], [ %top, %fill_tensor ], [ %top, %mark ], [ %top, %refer ],
            [ %bottom, %item ]
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
