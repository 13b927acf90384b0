"""The heap of a session as LLVM IR: blocks of size classes for its objects.

Blocks of a class form a free list, linked through the objects' second word. New blocks come from
regions of the system's allocator (`region_text`), many small ones from one region, and stay in
their class until the session ends or is reset; so the memory of a program that runs on and on is
that of its peak. The link of a living object is null; `count_text` has how it dies.
"""

from __future__ import annotations

from collections.abc import Sequence

from relay_tune.codegen.programs.count_text import count_text
from relay_tune.codegen.programs.layout_tables import layout_tables_text
from relay_tune.codegen.programs.region_text import FIND_FREE_LIST, region_text
from relay_tune.codegen.programs.session import (
    ERROR,
    FREE_LISTS,
    NO_MEMORY,
    REGIONS,
)
from relay_tune.first_order.layouts import SIZE_CLASSES, ObjectLayout


def heap_text(layouts: Sequence[ObjectLayout]) -> str:
    """The heap's functions, for objects of these layouts."""
    blocks = _BLOCKS.format(find_free_list=FIND_FREE_LIST, error=ERROR, no_memory=NO_MEMORY)
    reset = _RESET.format(regions=REGIONS, free_lists=FREE_LISTS, list_bytes=8 * SIZE_CLASSES)
    tables = layout_tables_text(layouts)
    counts = count_text(len(layouts) + 1)
    return "".join((tables, _DECLARATIONS, region_text(), blocks, counts, reset))


_DECLARATIONS = """\
declare i32 @posix_memalign(ptr, i64, i64)
declare void @free(ptr)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)

"""

_BLOCKS = """\
define internal ptr @take_block(ptr %session, i64 %class, i64 %bytes) nounwind {{
entry:
{find_free_list}
  %head = load ptr, ptr %slot, align 8
  %empty = icmp eq ptr %head, null
  br i1 %empty, label %more, label %take
more:
  %new = call ptr @new_region(ptr %session, i64 %class, i64 %bytes)
  ret ptr %new
take:
  %link_at = getelementptr i8, ptr %head, i64 8
  %following = load ptr, ptr %link_at, align 8
  store ptr %following, ptr %slot, align 8
  ret ptr %head
}}

define internal ptr @allocate(ptr %session, i64 %class, i64 %bytes, i32 %info) nounwind {{
entry:
  %block = call ptr @take_block(ptr %session, i64 %class, i64 %bytes)
  %none = icmp eq ptr %block, null
  br i1 %none, label %poor, label %fill, !prof !0
poor:
  call void @fail(ptr %session, i64 {no_memory})
  unreachable
fill:
  call void @write_header(ptr %block, i32 %info)
  ret ptr %block
}}

define internal void @write_header(ptr %block, i32 %info) nounwind alwaysinline {{
entry:
  store i32 1, ptr %block, align 8
  %info_at = getelementptr i8, ptr %block, i64 4
  store i32 %info, ptr %info_at, align 4
  %link_at = getelementptr i8, ptr %block, i64 8
  store ptr null, ptr %link_at, align 8
  ret void
}}

define internal void @fail(ptr %session, i64 %error) noinline noreturn nounwind cold {{
entry:
  %error_at = getelementptr i8, ptr %session, i64 {error}
  store i64 %error, ptr %error_at, align 8
  call void @relay_tune_abort(ptr %session)
  unreachable
}}

define internal void @give_block(ptr %session, ptr %object, i64 %class) nounwind {{
entry:
{find_free_list}
  %head = load ptr, ptr %slot, align 8
  %link_at = getelementptr i8, ptr %object, i64 8
  store ptr %head, ptr %link_at, align 8
  store ptr %object, ptr %slot, align 8
  ret void
}}

"""

_RESET = """\
define void @relay_tune_reset(ptr %session) nounwind {{
entry:
  call void @forget_queue(ptr %session)
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
!0 = !{{!"branch_weights", i32 1, i32 2000}}
"""
