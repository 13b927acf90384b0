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

from relay_tune.codegen.programs.session import THREADS
from relay_tune.first_order.layouts import TENSOR_DATA

SESSION_SYMBOLS = (
    "relay_tune_open",
    "relay_tune_close",
    "relay_tune_reset",
    "relay_tune_retain",
    "relay_tune_release",
    "relay_tune_hand_over",
)


def session_text(session_bytes: int) -> str:
    """The functions of sessions of so many bytes; they need those of the stack."""
    return _TEMPLATE.format(session_bytes=session_bytes, threads=THREADS, data=TENSOR_DATA)


_TEMPLATE = """\
declare i64 @llvm.ctlz.i64(i64, i1)
declare ptr @calloc(i64, i64)

define ptr @relay_tune_open(i64 %threads) nounwind {{
entry:
  %session = call ptr @calloc(i64 1, i64 {session_bytes})
  %poor = icmp eq ptr %session, null
  br i1 %poor, label %none, label %fill
fill:
  %threads_at = getelementptr i8, ptr %session, i64 {threads}
  store i64 %threads, ptr %threads_at, align 8
  %mapped = call i1 @map_stack(ptr %session)
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
  call void @unmap_stack(ptr %session)
  call void @free(ptr %session)
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
