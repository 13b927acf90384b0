"""The heap of a session as LLVM IR: blocks of size classes, reference counts, freeing.

Blocks of a class form a free list, linked through the objects' second word. New blocks come from
regions of the system's allocator, many small ones from one region, and stay in their class until
the session ends or is reset; so the memory of a program that runs on and on is that of its peak.
The link of a living object is null.

A region begins with the next region and the address of the pointer to this one, so that a region
can leave the list alone. `relay_tune_hand_over(object)` takes a tensor whose only reference is the
caller's, and whose block is a region, out of the session: the result is the memory, which the
caller frees with the system's `free`. The object stays readable until then, and is not counted any
more. The result is null, and nothing has changed, for any other object.

`drop` frees an object whose last reference has gone, and all that die with it. The dying objects
wait in a list that is linked through themselves, so a list of any length needs no stack.
"""

from __future__ import annotations

from collections.abc import Sequence

from relay_tune.codegen.programs.layout_tables import layout_tables_text
from relay_tune.codegen.programs.session import (
    ERROR,
    FREE_LISTS,
    NO_MEMORY,
    REGIONS,
)
from relay_tune.first_order.layouts import SIZE_CLASSES, ObjectLayout, size_class

REGION_BYTES = 1 << 16
REGION_HEAD_BYTES = 64
LARGEST_CARVED = 1 << 13
"""Blocks up to this size share a region."""

LARGEST_COPIED = 1 << 14
"""Blocks up to this size are not handed over: to copy a few elements is quicker."""


def heap_text(layouts: Sequence[ObjectLayout]) -> str:
    """The heap's functions, for objects of these layouts."""
    return layout_tables_text(layouts) + _TEMPLATE.format(
        find_free_list=_FIND_FREE_LIST,
        free_lists=FREE_LISTS,
        list_bytes=8 * SIZE_CLASSES,
        regions=REGIONS,
        error=ERROR,
        no_memory=NO_MEMORY,
        region_bytes=REGION_BYTES,
        largest=LARGEST_CARVED,
        largest_copied=size_class(LARGEST_COPIED),
        head_bytes=REGION_HEAD_BYTES,
        layouts=len(layouts) + 1,
    )


_FIND_FREE_LIST = f"""\
  %slot_offset = shl i64 %class, 3
  %lists = getelementptr i8, ptr %session, i64 {FREE_LISTS}
  %slot = getelementptr i8, ptr %lists, i64 %slot_offset"""
"""Where `%slot` is the first block of size class `%class`."""

_TEMPLATE = """\
declare i32 @posix_memalign(ptr, i64, i64)
declare void @free(ptr)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)

define internal ptr @new_region(ptr %session, i64 %class, i64 %bytes) noinline nounwind {{
entry:
  %room = alloca ptr, align 8
  %shared = icmp ule i64 %bytes, {largest}
  %size = select i1 %shared, i64 {region_bytes}, i64 %bytes
  %all = add i64 %size, {head_bytes}
  %failed = call i32 @posix_memalign(ptr %room, i64 64, i64 %all)
  %bad = icmp ne i32 %failed, 0
  br i1 %bad, label %none, label %link
none:
  ret ptr null
link:
  %region = load ptr, ptr %room, align 8
  %list = getelementptr i8, ptr %session, i64 {regions}
  %others = load ptr, ptr %list, align 8
  call void @join_regions(ptr %list, ptr %region)
  call void @join_regions(ptr %region, ptr %others)
  %first = getelementptr i8, ptr %region, i64 {head_bytes}
{find_free_list}
  br label %next
next:
  %place = phi i64 [ %bytes, %link ], [ %end, %carve ]
  %end = add i64 %place, %bytes
  %over = icmp ugt i64 %end, %size
  br i1 %over, label %done, label %carve
carve:
  %block = getelementptr i8, ptr %first, i64 %place
  %head = load ptr, ptr %slot, align 8
  %link_at = getelementptr i8, ptr %block, i64 8
  store ptr %head, ptr %link_at, align 8
  store ptr %block, ptr %slot, align 8
  br label %next
done:
  ret ptr %first
}}

define internal void @join_regions(ptr %pointer, ptr %region) nounwind {{
entry:
  store ptr %region, ptr %pointer, align 8
  %none = icmp eq ptr %region, null
  br i1 %none, label %done, label %point_back
point_back:
  %pointer_at = getelementptr i8, ptr %region, i64 8
  store ptr %pointer, ptr %pointer_at, align 8
  br label %done
done:
  ret void
}}

define ptr @relay_tune_hand_over(ptr %object) nounwind {{
entry:
  %count = load i32, ptr %object, align 8
  %is_own = icmp eq i32 %count, 1
  %class_at = getelementptr i8, ptr %object, i64 4
  %class = load i16, ptr %class_at, align 4
  %is_large = icmp ugt i16 %class, {largest_copied}
  %can_leave = and i1 %is_own, %is_large
  br i1 %can_leave, label %leave, label %stay
stay:
  ret ptr null
leave:
  %region = getelementptr i8, ptr %object, i64 -{head_bytes}
  %following = load ptr, ptr %region, align 8
  %pointer_at = getelementptr i8, ptr %region, i64 8
  %pointer = load ptr, ptr %pointer_at, align 8
  call void @join_regions(ptr %pointer, ptr %following)
  store i32 -1, ptr %object, align 8
  ret ptr %region
}}

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

define internal void @retain(ptr %object) nounwind {{
entry:
  %count = load i32, ptr %object, align 8
  %static = icmp slt i32 %count, 0
  br i1 %static, label %end, label %add
add:
  %more = add i32 %count, 1
  store i32 %more, ptr %object, align 8
  br label %end
end:
  ret void
}}

define internal i1 @lose(ptr %object) nounwind {{
entry:
  %count = load i32, ptr %object, align 8
  %static = icmp slt i32 %count, 0
  br i1 %static, label %end, label %subtract
subtract:
  %less = sub i32 %count, 1
  store i32 %less, ptr %object, align 8
  %dead = icmp eq i32 %less, 0
  br label %end
end:
  %result = phi i1 [ false, %entry ], [ %dead, %subtract ]
  ret i1 %result
}}

define internal void @release(ptr %session, ptr %object) nounwind {{
entry:
  %dead = call i1 @lose(ptr %object)
  br i1 %dead, label %gone, label %end
gone:
  call void @drop(ptr %session, ptr %object)
  br label %end
end:
  ret void
}}

define internal void @drop(ptr %session, ptr %object) noinline nounwind {{
entry:
  %first_link = getelementptr i8, ptr %object, i64 8
  store ptr null, ptr %first_link, align 8
  br label %next
next:
  %current = phi ptr [ %object, %entry ], [ %waiting, %free ]
  %link_at = getelementptr i8, ptr %current, i64 8
  %others = load ptr, ptr %link_at, align 8
  %layout_at = getelementptr i8, ptr %current, i64 6
  %layout = load i16, ptr %layout_at, align 2
  %table_at = getelementptr [{layouts} x ptr], ptr @layouts, i64 0, i16 %layout
  %table = load ptr, ptr %table_at, align 8
  br label %field
field:
  %number = phi i64 [ 0, %next ], [ %following, %fields ]
  %waiting = phi ptr [ %others, %next ], [ %longer, %fields ]
  %offset_at = getelementptr i32, ptr %table, i64 %number
  %offset = load i32, ptr %offset_at, align 4
  %all = icmp eq i32 %offset, 0
  br i1 %all, label %free, label %look
look:
  %wide = zext i32 %offset to i64
  %part_at = getelementptr i8, ptr %current, i64 %wide
  %part = load ptr, ptr %part_at, align 8
  %dead = call i1 @lose(ptr %part)
  br i1 %dead, label %push, label %fields
push:
  %part_link = getelementptr i8, ptr %part, i64 8
  store ptr %waiting, ptr %part_link, align 8
  br label %fields
fields:
  %longer = phi ptr [ %waiting, %look ], [ %part, %push ]
  %following = add i64 %number, 1
  br label %field
free:
  %class_at = getelementptr i8, ptr %current, i64 4
  %class = load i16, ptr %class_at, align 4
  %class_number = zext i16 %class to i64
  call void @give_block(ptr %session, ptr %current, i64 %class_number)
  %end = icmp eq ptr %waiting, null
  br i1 %end, label %done, label %next
done:
  ret void
}}

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
