"""Making and ending sessions, and objects that callers build, as LLVM IR.

ptr  relay_tune_open(i64 threads)              a session, or null without memory
void relay_tune_close(ptr session)
void relay_tune_reset(ptr session)             frees all objects
ptr  relay_tune_object(ptr session, i64 class, i64 bytes, i32 info)   an object, or null
ptr  relay_tune_tensor(ptr session, ptr elements, i64 bytes)          a tensor, or null
ptr  relay_tune_retain(ptr object)             the object
void relay_tune_release(ptr session, ptr object)
"""

from __future__ import annotations

from relay_tune.codegen.programs.session import FREE_LISTS, REGIONS, THREADS
from relay_tune.first_order.layouts import SIZE_CLASSES, TENSOR_DATA

SESSION_SYMBOLS = (
    "relay_tune_open",
    "relay_tune_close",
    "relay_tune_reset",
    "relay_tune_retain",
    "relay_tune_release",
    "relay_tune_hand_over",
)


def session_text() -> str:
    """The functions of sessions; they need those of the heap, of the stack and of the queue."""
    return _TEMPLATE.format(
        threads=THREADS,
        data=TENSOR_DATA,
        regions=REGIONS,
        free_lists=FREE_LISTS,
        list_bytes=8 * SIZE_CLASSES,
    )


_TEMPLATE = """\
@relay_tune_session_bytes = external constant i64

declare i1 @relay_tune_map_stack(ptr)
declare void @relay_tune_unmap_stack(ptr)
declare void @relay_tune_forget_queue(ptr)
declare ptr @calloc(i64, i64)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)

define ptr @relay_tune_open(i64 %threads) nounwind {{
entry:
  %bytes = load i64, ptr @relay_tune_session_bytes, align 8
  %session = call ptr @calloc(i64 1, i64 %bytes)
  %poor = icmp eq ptr %session, null
  br i1 %poor, label %none, label %fill
fill:
  %threads_at = getelementptr i8, ptr %session, i64 {threads}
  store i64 %threads, ptr %threads_at, align 8
  %mapped = call i1 @relay_tune_map_stack(ptr %session)
  br i1 %mapped, label %opened, label %drop
opened:
  ret ptr %session
drop:
  call void @free(ptr %session)
  br label %none
none:
  ret ptr null
}}

define void @relay_tune_close(ptr %session) nounwind {{
entry:
  call void @relay_tune_reset(ptr %session)
  call void @relay_tune_unmap_stack(ptr %session)
  call void @free(ptr %session)
  ret void
}}

define void @relay_tune_reset(ptr %session) nounwind {{
entry:
  call void @relay_tune_forget_queue(ptr %session)
  %list = getelementptr i8, ptr %session, i64 {regions}
  %first = load ptr, ptr %list, align 8
  store ptr null, ptr %list, align 8
  %lists = getelementptr i8, ptr %session, i64 {free_lists}
  call void @llvm.memset.p0.i64(ptr %lists, i8 0, i64 {list_bytes}, i1 false)
  br label %next
next:
  %region = phi ptr [ %first, %entry ], [ %following, %free ]
  %end = icmp eq ptr %region, null
  br i1 %end, label %done, label %free
free:
  %following = load ptr, ptr %region, align 8
  call void @free(ptr %region)
  br label %next
done:
  ret void
}}

define ptr @relay_tune_object(ptr %session, i64 %class, i64 %bytes, i32 %info) nounwind {{
entry:
  %block = call ptr @take_block(ptr %session, i64 %class, i64 %bytes)
  %none = icmp eq ptr %block, null
  br i1 %none, label %end, label %fill
fill:
  call void @write_header(ptr %block, i32 %info)
  br label %end
end:
  ret ptr %block
}}

define ptr @relay_tune_tensor(ptr %session, ptr %elements, i64 %bytes) nounwind {{
entry:
  %found = call {{ i64, i64 }} @tensor_room(i64 %bytes)
  %class = extractvalue {{ i64, i64 }} %found, 0
  %room = extractvalue {{ i64, i64 }} %found, 1
  %info = trunc i64 %class to i32
  %object = call ptr @relay_tune_object(ptr %session, i64 %class, i64 %room, i32 %info)
  %none = icmp eq ptr %object, null
  br i1 %none, label %end, label %copy
copy:
  %target = getelementptr i8, ptr %object, i64 {data}
  call void @llvm.memcpy.p0.p0.i64(ptr %target, ptr %elements, i64 %bytes, i1 false)
  br label %end
end:
  ret ptr %object
}}

define ptr @relay_tune_retain(ptr %object) nounwind {{
entry:
  call void @retain(ptr %object)
  ret ptr %object
}}

define void @relay_tune_release(ptr %session, ptr %object) nounwind {{
entry:
  call void @release(ptr %session, ptr %object)
  ret void
}}
"""
