"""Outputs that a caller in C gets as tensors of its own, as LLVM IR.

    ptr  new_output(i64 bytes)                          room for elements, or null
    i1   give(ptr session, ptr object, ptr place, ptr shape, i64 rank, i64 item)
                                                        false without memory
    void drop_outputs(ptr outputs, i64 count)           after an error
    void NAME_free(ptr output)

`give` puts the address of an object's elements into `place`, and its sizes where the caller wants
them. A large tensor is taken out of the session's heap, of a small one there is a copy. All
elements begin HEAD_BYTES behind the start of their memory.
"""

from __future__ import annotations

from relay_tune.codegen.programs.region_text import REGION_HEAD_BYTES
from relay_tune.first_order.layouts import TENSOR_DATA, TENSOR_SHAPE

HEAD_BYTES = REGION_HEAD_BYTES + TENSOR_DATA
"""What stands before the elements of a tensor that is alone in its memory."""


def giving_text(name: str) -> str:
    """The functions of the library `name`."""
    return _GIVING.format(name=name, head=HEAD_BYTES, data=TENSOR_DATA, sizes=TENSOR_SHAPE)


_GIVING = """\
declare i32 @posix_memalign(ptr, i64, i64)
declare void @free(ptr)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare ptr @relay_tune_hand_over(ptr)
declare void @relay_tune_release(ptr, ptr)

define internal ptr @new_output(i64 %bytes) nounwind {{
entry:
  %room = alloca ptr, align 8
  %all = add i64 %bytes, {head}
  %failed = call i32 @posix_memalign(ptr %room, i64 64, i64 %all)
  %bad = icmp ne i32 %failed, 0
  br i1 %bad, label %poor, label %fine
fine:
  %memory = load ptr, ptr %room, align 8
  %elements = getelementptr i8, ptr %memory, i64 {head}
  ret ptr %elements
poor:
  ret ptr null
}}

define void @{name}_free(ptr %output) nounwind {{
entry:
  %none = icmp eq ptr %output, null
  br i1 %none, label %end, label %give
give:
  %memory = getelementptr i8, ptr %output, i64 -{head}
  call void @free(ptr %memory)
  br label %end
end:
  ret void
}}

define internal void @drop_outputs(ptr %outputs, i64 %count) nounwind {{
entry:
  br label %next
next:
  %number = phi i64 [ 0, %entry ], [ %following, %drop ]
  %all = icmp eq i64 %number, %count
  br i1 %all, label %end, label %drop
drop:
  %following = add i64 %number, 1
  %place = getelementptr ptr, ptr %outputs, i64 %number
  %output = load ptr, ptr %place, align 8
  call void @{name}_free(ptr %output)
  store ptr null, ptr %place, align 8
  br label %next
end:
  ret void
}}

define internal i1 @give(ptr %session, ptr %object, ptr %place, ptr %shape, i64 %rank,
                         i64 %item) nounwind {{
entry:
  %sizes = getelementptr i8, ptr %object, i64 {sizes}
  %shape_bytes = shl i64 %rank, 3
  call void @llvm.memcpy.p0.p0.i64(ptr %shape, ptr %sizes, i64 %shape_bytes, i1 false)
  %elements = getelementptr i8, ptr %object, i64 {data}
  %memory = call ptr @relay_tune_hand_over(ptr %object)
  %stays = icmp eq ptr %memory, null
  br i1 %stays, label %next, label %fine
next:
  %axis = phi i64 [ 0, %entry ], [ %following, %more ]
  %bytes = phi i64 [ %item, %entry ], [ %product, %more ]
  %all = icmp eq i64 %axis, %rank
  br i1 %all, label %copy, label %more
more:
  %following = add i64 %axis, 1
  %size_at = getelementptr i64, ptr %sizes, i64 %axis
  %size = load i64, ptr %size_at, align 8
  %product = mul i64 %bytes, %size
  br label %next
copy:
  %new = call ptr @new_output(i64 %bytes)
  %none = icmp eq ptr %new, null
  br i1 %none, label %poor, label %fill
fill:
  call void @llvm.memcpy.p0.p0.i64(ptr %new, ptr %elements, i64 %bytes, i1 false)
  call void @relay_tune_release(ptr %session, ptr %object)
  br label %fine
fine:
  %given = phi ptr [ %elements, %entry ], [ %new, %fill ]
  store ptr %given, ptr %place, align 8
  ret i1 true
poor:
  ret i1 false
}}
"""
