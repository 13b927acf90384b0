"""The memory of a session's heap as LLVM IR: regions of the system's allocator.

`relay_tune_new_region(session, class, bytes)` gives a block of so many bytes. Small ones share a
region: the others of it are put into the free list of their class.

A region begins with the next region and the address of the pointer to this one, so that a region
can leave the list alone. `relay_tune_hand_over(object)` takes a tensor whose only reference is the
caller's, and whose block is a region, out of the session: the result is the memory, which the
caller frees with the system's `free`. The object stays readable until then, and is not counted any
more. The result is null, and nothing has changed, for any other object.
"""

from __future__ import annotations

from relay_tune.codegen.programs.session import FREE_LISTS, REGIONS
from relay_tune.first_order.layouts import size_class

REGION_BYTES = 1 << 16
REGION_HEAD_BYTES = 64
LARGEST_CARVED = 1 << 13
"""Blocks up to this size share a region."""

LARGEST_COPIED = 1 << 14
"""Blocks up to this size are not handed over: to copy a few elements is quicker."""

FIND_FREE_LIST = f"""\
  %slot_offset = shl i64 %class, 3
  %lists = getelementptr i8, ptr %session, i64 {FREE_LISTS}
  %slot = getelementptr i8, ptr %lists, i64 %slot_offset"""
"""Where `%slot` is the first block of size class `%class`."""


def region_text() -> str:
    """The functions that take regions from the system, and give one away."""
    return _TEMPLATE.format(
        find_free_list=FIND_FREE_LIST,
        regions=REGIONS,
        region_bytes=REGION_BYTES,
        largest=LARGEST_CARVED,
        largest_copied=size_class(LARGEST_COPIED),
        head_bytes=REGION_HEAD_BYTES,
    )


_TEMPLATE = """\
declare i32 @posix_memalign(ptr, i64, i64)
declare void @free(ptr)

define ptr @relay_tune_new_region(ptr %session, i64 %class, i64 %bytes) noinline nounwind {{
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

"""
