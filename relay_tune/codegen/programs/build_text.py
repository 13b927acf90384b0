"""Objects made from a flat description, as LLVM IR: how callers pass large values quickly.

    i64 relay_tune_build(ptr session, ptr codes, i64 count, ptr leaves, ptr stack)
                                                                   1, or 0 without memory

A value is described by one i16 for each of its parts, a part before its own parts, left to right:
the layout number of an object, or FIRST_LEAF and the number of a kind of leaf. The leaves of a
kind, tensors of a shape or scalars of an element type, stand one after the other in a column. Of
each kind `leaves` has five words:

    the end of its column, the bytes of an element of the column, size class, bytes of the class,
    the address of the sizes that the tensors' headers get, all that there is room for, or 0

where a scalar has no class (0 bytes). The codes are read backward, so that parts are made before
the whole; they wait on `stack`, which must have room for a word for each code. What is described is
left in its first word, the columns' ends are moved to their beginnings.
"""

from __future__ import annotations

from relay_tune.codegen.programs.layout_tables import FORMS, Form, field_switch_lines
from relay_tune.codegen.word_table import ADDRESS, NUMBER, Word, load_entry
from relay_tune.first_order.kinds import MAXIMUM_OPEN_RANK
from relay_tune.first_order.layouts import (
    MAXIMUM_LAYOUTS,
    TENSOR_DATA,
    TENSOR_SHAPE,
)

FIRST_LEAF = MAXIMUM_LAYOUTS

BUILD_SYMBOL = "relay_tune_build"


class LeafColumn(Word):
    """The words of a kind of leaf in `leaves`."""

    END = ADDRESS
    BYTES = NUMBER
    CLASS = NUMBER
    ROOM = NUMBER
    SIZES = ADDRESS


def build_text() -> str:
    """The function; it needs the heap's functions and the tables of the layouts."""
    return _TEMPLATE.format(
        first_leaf=FIRST_LEAF,
        data=TENSOR_DATA,
        shape=TENSOR_SHAPE,
        shape_bytes=8 * MAXIMUM_OPEN_RANK,
        load_column=load_entry("%column", "%leaves", "%kind", *LeafColumn, prefix="leaf_"),
        load_form=load_entry("%form", FORMS, "%code", *Form, prefix="form_"),
        field_switch=field_switch_lines("%made", "%target"),
    )


_TEMPLATE = """\
@relay_tune_forms = external constant ptr

define i64 @relay_tune_build(ptr %session, ptr %codes, i64 %count, ptr %leaves,
                             ptr %stack) nounwind {{
entry:
  %slot = alloca i64, align 8
  br label %next
next:
  %place = phi i64 [ %count, %entry ], [ %before, %pushed ]
  %top = phi i64 [ 0, %entry ], [ %above, %pushed ]
  %end = icmp eq i64 %place, 0
  br i1 %end, label %done, label %decode
decode:
  %before = sub i64 %place, 1
  %code_at = getelementptr i16, ptr %codes, i64 %before
  %code16 = load i16, ptr %code_at, align 2
  %code = zext i16 %code16 to i64
  %is_leaf = icmp uge i64 %code, {first_leaf}
  br i1 %is_leaf, label %leaf, label %object
leaf:
  %kind = sub i64 %code, {first_leaf}
{load_column}
  %negative = sub i64 0, %leaf_bytes
  %source = getelementptr i8, ptr %leaf_end, i64 %negative
  store ptr %source, ptr %column, align 8
  %is_scalar = icmp eq i64 %leaf_room, 0
  br i1 %is_scalar, label %scalar, label %tensor
scalar:
  store i64 0, ptr %slot, align 8
  call void @llvm.memcpy.p0.p0.i64(ptr %slot, ptr %source, i64 %leaf_bytes, i1 false)
  %number = load i64, ptr %slot, align 8
  br label %push
tensor:
  %elements = call ptr @take_block(ptr %session, i64 %leaf_class, i64 %leaf_room)
  %no_tensor = icmp eq ptr %elements, null
  br i1 %no_tensor, label %poor, label %copy
copy:
  %tensor_info = trunc i64 %leaf_class to i32
  call void @write_header(ptr %elements, i32 %tensor_info)
  %data = getelementptr i8, ptr %elements, i64 {data}
  call void @llvm.memcpy.p0.p0.i64(ptr %data, ptr %source, i64 %leaf_bytes, i1 false)
  %tensor_word = ptrtoint ptr %elements to i64
  %is_known = icmp eq ptr %leaf_sizes, null
  br i1 %is_known, label %copied, label %sized
sized:
  %shape_at = getelementptr i8, ptr %elements, i64 {shape}
  call void @llvm.memcpy.p0.p0.i64(ptr %shape_at, ptr %leaf_sizes, i64 {shape_bytes}, i1 false)
  br label %copied
copied:
  br label %push
object:
{load_form}
  %static_word = ptrtoint ptr %form_static to i64
  %is_static = icmp ne ptr %form_static, null
  br i1 %is_static, label %push, label %take
take:
  %made = call ptr @take_block(ptr %session, i64 %form_class, i64 %form_bytes)
  %no_object = icmp eq ptr %made, null
  br i1 %no_object, label %poor, label %header
poor:
  ret i64 0
header:
  %layout_bits = shl i64 %code, 16
  %info64 = or i64 %layout_bits, %form_class
  %info = trunc i64 %info64 to i32
  call void @write_header(ptr %made, i32 %info)
  %made_word = ptrtoint ptr %made to i64
  br label %field
field:
  %index = phi i64 [ 0, %header ], [ %following, %stored ]
  %waiting = phi i64 [ %top, %header ], [ %popped, %stored ]
  %all = icmp eq i64 %index, %form_count
  br i1 %all, label %push, label %store
store:
  %following = add i64 %index, 1
  %popped = sub i64 %waiting, 1
  %value_at = getelementptr i64, ptr %stack, i64 %popped
  %value = load i64, ptr %value_at, align 8
{field_switch}
byte:
  %value8 = trunc i64 %value to i8
  store i8 %value8, ptr %target, align 1
  br label %stored
two_bytes:
  %value16 = trunc i64 %value to i16
  store i16 %value16, ptr %target, align 2
  br label %stored
four_bytes:
  %value32 = trunc i64 %value to i32
  store i32 %value32, ptr %target, align 4
  br label %stored
eight:
  store i64 %value, ptr %target, align 8
  br label %stored
stored:
  br label %field
push:
  %bottom = phi i64 [ %top, %scalar ], [ %top, %copied ], [ %top, %object ],
            [ %waiting, %field ]
  %word = phi i64 [ %number, %scalar ], [ %tensor_word, %copied ], [ %static_word, %object ],
          [ %made_word, %field ]
  %push_at = getelementptr i64, ptr %stack, i64 %bottom
  store i64 %word, ptr %push_at, align 8
  br label %pushed
pushed:
  %above = add i64 %bottom, 1
  br label %next
done:
  ret i64 1
}}
"""
