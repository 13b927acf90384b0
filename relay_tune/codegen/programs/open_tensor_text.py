"""Tensors whose sizes are known at run time only, as LLVM IR.

ptr allocate_open(ptr session, i64 bytes)            a new object with room for these elements
ptr reshaped(ptr session, ptr tensor, i64 bytes)     the tensor, if it may get another shape;
                                                     else a copy, and one reference less
"""

from __future__ import annotations

from relay_tune.first_order.layouts import TENSOR_DATA


def open_tensor_text() -> str:
    """The functions; they need the heap's."""
    return _TEMPLATE.format(data=TENSOR_DATA)


_TEMPLATE = """\
define internal ptr @allocate_open(ptr %session, i64 %bytes) nounwind {{
entry:
  %found = call {{ i64, i64 }} @tensor_room(i64 %bytes)
  %class = extractvalue {{ i64, i64 }} %found, 0
  %room = extractvalue {{ i64, i64 }} %found, 1
  %info = trunc i64 %class to i32
  %object = call ptr @allocate(ptr %session, i64 %class, i64 %room, i32 %info)
  ret ptr %object
}}

define internal ptr @reshaped(ptr %session, ptr %tensor, i64 %bytes) nounwind {{
entry:
  %count = load i32, ptr %tensor, align 8
  %is_own = icmp eq i32 %count, 1
  br i1 %is_own, label %same, label %copy
same:
  ret ptr %tensor
copy:
  %object = call ptr @allocate_open(ptr %session, i64 %bytes)
  %target = getelementptr i8, ptr %object, i64 {data}
  %source = getelementptr i8, ptr %tensor, i64 {data}
  call void @llvm.memcpy.p0.p0.i64(ptr %target, ptr %source, i64 %bytes, i1 false)
  %dead = call i1 @lose(ptr %tensor)
  ret ptr %object
}}
"""
