"""Where the worker threads may run, as LLVM IR that is part of the native runtime.

`place_workers` is called before a run: on Linux it lets the workers run on all processors that the
caller may use but the one it is on.
"""

from __future__ import annotations

NO_PLACING = """\
define internal void @place_workers() nounwind {
entry:
  ret void
}
"""

PLACING = """\
@caller_processor = internal global i32 -1, align 64
@placed = internal global i64 0, align 64
@mask = internal global [16 x i64] zeroinitializer, align 64

declare i32 @sched_getcpu()
declare i32 @sched_getaffinity(i32, i64, ptr)
declare i32 @pthread_setaffinity_np(i64, i64, ptr)

define internal void @place_workers() nounwind {
entry:
  %processor = call i32 @sched_getcpu()
  %known = icmp ult i32 %processor, 1024
  br i1 %known, label %compare, label %end
compare:
  %before = load i32, ptr @caller_processor, align 4
  %placed = load i64, ptr @placed, align 8
  %workers = load i64, ptr @workers, align 8
  %moved = icmp ne i32 %before, %processor
  %grown = icmp ne i64 %placed, %workers
  %changed = or i1 %moved, %grown
  br i1 %changed, label %ask, label %end
ask:
  store i32 %processor, ptr @caller_processor, align 4
  store i64 %workers, ptr @placed, align 8
  %failed = call i32 @sched_getaffinity(i32 0, i64 128, ptr @mask)
  %bad = icmp slt i32 %failed, 0
  br i1 %bad, label %end, label %clear
clear:
  %number = zext i32 %processor to i64
  %word = lshr i64 %number, 6
  %bit = and i64 %number, 63
  %one = shl i64 1, %bit
  %others = xor i64 %one, -1
  %place = getelementptr i64, ptr @mask, i64 %word
  %bits = load i64, ptr %place, align 8
  %left = and i64 %bits, %others
  store i64 %left, ptr %place, align 8
  br label %count
count:
  %index = phi i64 [ 0, %clear ], [ %following, %count ]
  %any = phi i64 [ 0, %clear ], [ %sum, %count ]
  %entry_at = getelementptr i64, ptr @mask, i64 %index
  %part = load i64, ptr %entry_at, align 8
  %sum = or i64 %any, %part
  %following = add i64 %index, 1
  %last = icmp eq i64 %following, 16
  br i1 %last, label %decide, label %count
decide:
  %none = icmp eq i64 %sum, 0
  br i1 %none, label %end, label %each
each:
  %worker = phi i64 [ 0, %decide ], [ %next_worker, %set ]
  %all = icmp uge i64 %worker, %workers
  br i1 %all, label %end, label %set
set:
  %slot = getelementptr i64, ptr @handles, i64 %worker
  %handle = load i64, ptr %slot, align 8
  %status = call i32 @pthread_setaffinity_np(i64 %handle, i64 128, ptr @mask)
  %next_worker = add i64 %worker, 1
  br label %each
end:
  ret void
}
"""
