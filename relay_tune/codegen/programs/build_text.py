"""Objects made from a description in words, as LLVM IR: how callers pass large values quickly.

    i64 relay_tune_build(ptr session, ptr words, i64 count, ptr stack)    1, or 0 without memory

The words are commands of a machine with a stack of words, which must have room for all that is
pushed; the value that is described is left in its first word:

    PUSH      value                                               a scalar's bits
    TENSOR    class, bytes of the class, elements, bytes of them  push a new tensor object
    OBJECT    class, bytes of the class, header, fields, ...      pop the fields, push a new object

`header` is the second word of an object's header, and of each field stands its offset and, 32 bits
higher, its size.
"""

from __future__ import annotations

from relay_tune.first_order.layouts import TENSOR_DATA

PUSH, TENSOR, OBJECT = range(3)

BUILD_SYMBOL = "relay_tune_build"


def build_text() -> str:
    """The function; it needs the heap's."""
    return _TEMPLATE.format(push=PUSH, tensor=TENSOR, data=TENSOR_DATA)


_TEMPLATE = """\
define internal i64 @word(ptr %words, i64 %place) nounwind alwaysinline {{
entry:
  %at = getelementptr i64, ptr %words, i64 %place
  %word = load i64, ptr %at, align 8
  ret i64 %word
}}

define i64 @relay_tune_build(ptr %session, ptr %words, i64 %count, ptr %stack) nounwind {{
entry:
  br label %next
next:
  %place = phi i64 [ 0, %entry ], [ %after_push, %push ], [ %after_tensor, %copy ],
           [ %fields, %made ]
  %top = phi i64 [ 0, %entry ], [ %pushed, %push ], [ %pushed_tensor, %copy ],
         [ %pushed_object, %made ]
  %end = icmp uge i64 %place, %count
  br i1 %end, label %done, label %decode
decode:
  %first = add i64 %place, 1
  %command = call i64 @word(ptr %words, i64 %place)
  %one = call i64 @word(ptr %words, i64 %first)
  %is_push = icmp eq i64 %command, {push}
  br i1 %is_push, label %push, label %allocate
push:
  %push_at = getelementptr i64, ptr %stack, i64 %top
  store i64 %one, ptr %push_at, align 8
  %pushed = add i64 %top, 1
  %after_push = add i64 %place, 2
  br label %next
allocate:
  %second = add i64 %place, 2
  %third = add i64 %place, 3
  %fourth = add i64 %place, 4
  %class_bytes = call i64 @word(ptr %words, i64 %second)
  %three = call i64 @word(ptr %words, i64 %third)
  %four = call i64 @word(ptr %words, i64 %fourth)
  %object = call ptr @take_block(ptr %session, i64 %one, i64 %class_bytes)
  %none = icmp eq ptr %object, null
  br i1 %none, label %poor, label %header
poor:
  ret i64 0
header:
  store i32 1, ptr %object, align 8
  %info_at = getelementptr i8, ptr %object, i64 4
  %is_tensor = icmp eq i64 %command, {tensor}
  br i1 %is_tensor, label %copy, label %object_header
copy:
  %class = trunc i64 %one to i32
  store i32 %class, ptr %info_at, align 4
  %data = getelementptr i8, ptr %object, i64 {data}
  %source = inttoptr i64 %three to ptr
  call void @llvm.memcpy.p0.p0.i64(ptr %data, ptr %source, i64 %four, i1 false)
  %tensor_at = getelementptr ptr, ptr %stack, i64 %top
  store ptr %object, ptr %tensor_at, align 8
  %pushed_tensor = add i64 %top, 1
  %after_tensor = add i64 %place, 5
  br label %next
object_header:
  %info = trunc i64 %three to i32
  store i32 %info, ptr %info_at, align 4
  %begin = add i64 %place, 5
  %fields = add i64 %begin, %four
  %bottom = sub i64 %top, %four
  br label %field
field:
  %number = phi i64 [ 0, %object_header ], [ %following, %stored ]
  %all = icmp eq i64 %number, %four
  br i1 %all, label %made, label %store
store:
  %following = add i64 %number, 1
  %described = add i64 %begin, %number
  %description = call i64 @word(ptr %words, i64 %described)
  %popped = add i64 %bottom, %number
  %value = call i64 @word(ptr %stack, i64 %popped)
  %offset = and i64 %description, 4294967295
  %size = lshr i64 %description, 32
  %target = getelementptr i8, ptr %object, i64 %offset
  switch i64 %size, label %eight [
    i64 1, label %byte
    i64 2, label %two_bytes
    i64 4, label %four_bytes
  ]
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
made:
  %object_at = getelementptr ptr, ptr %stack, i64 %bottom
  store ptr %object, ptr %object_at, align 8
  %pushed_object = add i64 %bottom, 1
  br label %next
done:
  ret i64 1
}}
"""
