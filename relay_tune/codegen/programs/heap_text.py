"""The heap of a session as LLVM IR: blocks of size classes for its objects.

Blocks of a class form a free list, linked through the objects' second word. New blocks come from
regions of the system's allocator (`region_text`), many small ones from one region, and stay in
their class until the session ends or is reset; so the memory of a program that runs on and on is
that of its peak. The link of a living object is null; `count_text` has how it dies.
"""

from __future__ import annotations

from relay_tune.codegen.programs.count_text import COUNT_TEXT
from relay_tune.codegen.programs.region_text import FIND_FREE_LIST
from relay_tune.codegen.programs.session import ERROR, NO_MEMORY


def heap_text() -> str:
    """The heap's functions that become parts of others: they take blocks and count references."""
    blocks = _BLOCKS.format(find_free_list=FIND_FREE_LIST, error=ERROR, no_memory=NO_MEMORY)
    return blocks + COUNT_TEXT + '!0 = !{!"branch_weights", i32 1, i32 2000}\n'


_BLOCKS = """\
define internal ptr @take_block(ptr %session, i64 %class, i64 %bytes) nounwind {{
entry:
{find_free_list}
  %head = load ptr, ptr %slot, align 8
  %empty = icmp eq ptr %head, null
  br i1 %empty, label %more, label %take
more:
  %new = call ptr @relay_tune_new_region(ptr %session, i64 %class, i64 %bytes)
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
