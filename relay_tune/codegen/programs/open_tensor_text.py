"""Tensors whose sizes are known at run time only, as LLVM IR.

    { i64, i64 } tensor_room(i64 bytes)                  the size class of an object with so many
                                                         bytes of elements, and that class's bytes
    ptr allocate_open(ptr session, i64 bytes)            a new object with room for these elements
    ptr reshaped(ptr session, ptr tensor, i64 bytes)     the tensor, if it may get another shape;
                                                         else a copy, and one reference less

The class of a size is found as `relay_tune.first_order.layouts.size_class` does: steps of 16 bytes,
then four classes a power of two.
"""

from __future__ import annotations

from relay_tune.first_order.layouts import SMALL_LIMIT, SMALL_STEP, TENSOR_DATA


def open_tensor_text() -> str:
    """The functions; they need the heap's."""
    small_classes = SMALL_LIMIT // SMALL_STEP
    return _TEMPLATE.format(
        header=TENSOR_DATA + 63,
        data=TENSOR_DATA,
        limit=SMALL_LIMIT,
        step=SMALL_STEP,
        before=small_classes - 4 * (SMALL_LIMIT.bit_length() - 1) - 1,
    )


_TEMPLATE = """\
define internal {{ i64, i64 }} @tensor_room(i64 %bytes) nounwind {{
entry:
  %padded = add i64 %bytes, {header}
  %size = and i64 %padded, -64
  %is_small = icmp ule i64 %size, {limit}
  br i1 %is_small, label %small, label %large
small:
  %steps = udiv i64 %size, {step}
  %small_class = sub i64 %steps, 1
  br label %end
large:
  %last = sub i64 %size, 1
  %zeros = call i64 @llvm.ctlz.i64(i64 %last, i1 true)
  %power = sub i64 63, %zeros
  %shift = sub i64 %power, 2
  %quarter = shl i64 1, %shift
  %whole = shl i64 1, %power
  %over = sub i64 %size, %whole
  %rounded = add i64 %over, %quarter
  %up = sub i64 %rounded, 1
  %quarters = lshr i64 %up, %shift
  %fours = shl i64 %power, 2
  %base = add i64 %fours, {before}
  %large_class = add i64 %base, %quarters
  %part = shl i64 %quarters, %shift
  %large_bytes = add i64 %whole, %part
  br label %end
end:
  %class = phi i64 [ %small_class, %small ], [ %large_class, %large ]
  %class_bytes = phi i64 [ %size, %small ], [ %large_bytes, %large ]
  %first = insertvalue {{ i64, i64 }} poison, i64 %class, 0
  %both = insertvalue {{ i64, i64 }} %first, i64 %class_bytes, 1
  ret {{ i64, i64 }} %both
}}

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
