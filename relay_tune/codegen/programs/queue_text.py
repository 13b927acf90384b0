"""The kernels that wait to be run, as LLVM IR.

    void note.N(ptr session, arguments..., results...)    note that kernel number N is to be run
    void run_queue(ptr session)                           run all kernels that wait

The first kernels are those of which several calls can be one. The link of a tensor whose elements
are still to be computed is its level: for results of these kernels, one more than the greatest
level of their arguments; for those of others, that greatest level, and if it is 0 they do not wait.
So at each level all calls of a kernel that can be joined are independent, and as many as possible;
the other calls follow in the order in which they were noted
(`relay_tune.codegen.programs.queue_steps`).

    offset 0    i32 [LEVELS][joined + 2]   the number, from 1, of the first record of each kernel's
                                           list, and of the first and the last other record
           ...  ptr [RECORDS]              the records of the list that is run
           ...  records: a word for the number of the next one and, 32 bits higher, of the kernel;
                a word for each argument and result

The queue is run before elements are needed, when it is full, and when its results have many bytes.
"""

from __future__ import annotations

from dataclasses import dataclass

from relay_tune.codegen.programs.session import DEEPEST, QUEUED, QUEUED_BYTES

RECORDS = 2048
LEVELS = 512
MOST_BYTES = 16 << 20
"""Results that wait should still be in the cache when they are read."""


@dataclass(frozen=True, slots=True)
class QueueLayout:
    """The queue of a session.

    Attributes:
        begin: its offset in the session.
        joined: of how many kernels several calls can be one.
        kernels: how many kernels may wait.
        words: the words of a record.
    """

    begin: int
    joined: int
    kernels: int
    words: int

    @property
    def lists(self) -> int:
        """How many numbers a level has."""
        return self.joined + 2

    @property
    def group(self) -> int:
        """The offset of the table of the records that are run."""
        return self.begin + 4 * LEVELS * self.lists

    @property
    def records(self) -> int:
        """The offset of the records."""
        return self.group + 8 * RECORDS

    @property
    def end(self) -> int:
        """The offset of what comes after the queue."""
        return self.records + 8 * RECORDS * self.words


def queue_text(layout: QueueLayout) -> str:
    """The functions that serve all kernels; they need the tables `runs` and `follows`."""
    return _TEMPLATE.format(
        begin=layout.begin,
        group=layout.group,
        records=layout.records,
        joined=layout.joined,
        kernels=layout.kernels,
        lists=layout.lists,
        record_bytes=8 * layout.words,
        most_records=RECORDS,
        most_level=LEVELS - 1,
        most_bytes=MOST_BYTES,
        queued=QUEUED,
        deepest=DEEPEST,
        bytes=QUEUED_BYTES,
    )


EMPTY_QUEUE = """\
define internal void @run_queue(ptr %session) nounwind alwaysinline {
  ret void
}
define void @relay_tune_forget_queue(ptr %session) nounwind alwaysinline {
  ret void
}
"""
"""The functions of a program in which no kernel waits."""

_TEMPLATE = """\
declare i64 @llvm.umax.i64(i64, i64)
declare i64 @llvm.umin.i64(i64, i64)

define internal ptr @list(ptr %session, i64 %level, i64 %number) nounwind alwaysinline {{
  %row = mul i64 %level, {lists}
  %place = add i64 %row, %number
  %lists = getelementptr i8, ptr %session, i64 {begin}
  %list = getelementptr i32, ptr %lists, i64 %place
  ret ptr %list
}}

define internal ptr @record(ptr %session, i64 %number) nounwind alwaysinline {{
  %place = sub i64 %number, 1
  %offset = mul i64 %place, {record_bytes}
  %records = getelementptr i8, ptr %session, i64 {records}
  %record = getelementptr i8, ptr %records, i64 %offset
  ret ptr %record
}}

define internal i64 @count_record(ptr %session, i64 %level) nounwind alwaysinline {{
  %queued_at = getelementptr i8, ptr %session, i64 {queued}
  %before = load i64, ptr %queued_at, align 8
  %number = add i64 %before, 1
  store i64 %number, ptr %queued_at, align 8
  %deepest_at = getelementptr i8, ptr %session, i64 {deepest}
  %known = load i64, ptr %deepest_at, align 8
  %deepest = call i64 @llvm.umax.i64(i64 %known, i64 %level)
  store i64 %deepest, ptr %deepest_at, align 8
  ret i64 %number
}}

define internal ptr @join_record(ptr %session, i64 %kernel, i64 %level) nounwind alwaysinline {{
  %number = call i64 @count_record(ptr %session, i64 %level)
  %list = call ptr @list(ptr %session, i64 %level, i64 %kernel)
  %others = load i32, ptr %list, align 4
  %next = zext i32 %others to i64
  %first = trunc i64 %number to i32
  store i32 %first, ptr %list, align 4
  %record = call ptr @record(ptr %session, i64 %number)
  store i64 %next, ptr %record, align 8
  ret ptr %record
}}

define internal ptr @follow_record(ptr %session, i64 %kernel, i64 %level) nounwind {{
entry:
  %number = call i64 @count_record(ptr %session, i64 %level)
  %new = trunc i64 %number to i32
  %first_at = call ptr @list(ptr %session, i64 %level, i64 {joined})
  %last_at = getelementptr i32, ptr %first_at, i64 1
  %last = load i32, ptr %last_at, align 4
  store i32 %new, ptr %last_at, align 4
  %none = icmp eq i32 %last, 0
  br i1 %none, label %first, label %link
first:
  store i32 %new, ptr %first_at, align 4
  br label %end
link:
  %last_number = zext i32 %last to i64
  %last_record = call ptr @record(ptr %session, i64 %last_number)
  store i32 %new, ptr %last_record, align 8
  br label %end
end:
  %record = call ptr @record(ptr %session, i64 %number)
  %kernel_bits = shl i64 %kernel, 32
  store i64 %kernel_bits, ptr %record, align 8
  ret ptr %record
}}

define internal void @limit_queue(ptr %session, i64 %level, i64 %new_bytes) nounwind {{
entry:
  %bytes_at = getelementptr i8, ptr %session, i64 {bytes}
  %known = load i64, ptr %bytes_at, align 8
  %bytes = add i64 %known, %new_bytes
  store i64 %bytes, ptr %bytes_at, align 8
  %queued_at = getelementptr i8, ptr %session, i64 {queued}
  %queued = load i64, ptr %queued_at, align 8
  %full = icmp eq i64 %queued, {most_records}
  %deep = icmp eq i64 %level, {most_level}
  %large = icmp ugt i64 %bytes, {most_bytes}
  %either = or i1 %full, %deep
  %any = or i1 %either, %large
  br i1 %any, label %run, label %end, !prof !0
run:
  call void @run_all(ptr %session)
  br label %end
end:
  ret void
}}

define internal void @run_queue(ptr %session) nounwind alwaysinline {{
entry:
  %queued_at = getelementptr i8, ptr %session, i64 {queued}
  %queued = load i64, ptr %queued_at, align 8
  %none = icmp eq i64 %queued, 0
  br i1 %none, label %end, label %run
run:
  call void @run_all(ptr %session)
  br label %end
end:
  ret void
}}

define void @relay_tune_forget_queue(ptr %session) nounwind {{
entry:
  %deepest_at = getelementptr i8, ptr %session, i64 {deepest}
  %deepest = load i64, ptr %deepest_at, align 8
  %rows = add i64 %deepest, 1
  %cells = mul i64 %rows, {lists}
  %bytes = mul i64 %cells, 4
  %lists = getelementptr i8, ptr %session, i64 {begin}
  call void @llvm.memset.p0.i64(ptr %lists, i8 0, i64 %bytes, i1 false)
  call void @clear_counts(ptr %session)
  ret void
}}

define internal void @clear_counts(ptr %session) nounwind alwaysinline {{
  %queued_at = getelementptr i8, ptr %session, i64 {queued}
  store i64 0, ptr %queued_at, align 8
  %deepest_at = getelementptr i8, ptr %session, i64 {deepest}
  store i64 0, ptr %deepest_at, align 8
  %bytes_at = getelementptr i8, ptr %session, i64 {bytes}
  store i64 0, ptr %bytes_at, align 8
  ret void
}}

define internal void @run_all(ptr %session) noinline nounwind {{
entry:
  %group = getelementptr i8, ptr %session, i64 {group}
  %deepest_at = getelementptr i8, ptr %session, i64 {deepest}
  %deepest = load i64, ptr %deepest_at, align 8
  br label %level
level:
  %depth = phi i64 [ 1, %entry ], [ %deeper, %level_end ]
  %over = icmp ugt i64 %depth, %deepest
  br i1 %over, label %done, label %joined
joined:
  %kernel = phi i64 [ 0, %level ], [ %next_kernel, %joined_end ]
  %last = icmp eq i64 %kernel, {joined}
  br i1 %last, label %others, label %open
open:
  %list = call ptr @list(ptr %session, i64 %depth, i64 %kernel)
  %first32 = load i32, ptr %list, align 4
  store i32 0, ptr %list, align 4
  %first = zext i32 %first32 to i64
  br label %collect
collect:
  %number = phi i64 [ %first, %open ], [ %link, %take ]
  %count = phi i64 [ 0, %open ], [ %more, %take ]
  %all = icmp eq i64 %number, 0
  br i1 %all, label %collected, label %take
take:
  %record = call ptr @record(ptr %session, i64 %number)
  %group_at = getelementptr ptr, ptr %group, i64 %count
  store ptr %record, ptr %group_at, align 8
  %more = add i64 %count, 1
  %link = load i64, ptr %record, align 8
  br label %collect
collected:
  %empty = icmp eq i64 %count, 0
  br i1 %empty, label %joined_end, label %run
run:
  %run_at = getelementptr [{joined} x ptr], ptr @runs, i64 0, i64 %kernel
  %function = load ptr, ptr %run_at, align 8
  call void %function(ptr %session, ptr %group, i64 %count)
  br label %joined_end
joined_end:
  %next_kernel = add i64 %kernel, 1
  br label %joined
others:
  %others_at = call ptr @list(ptr %session, i64 %depth, i64 {joined})
  %first_other32 = load i32, ptr %others_at, align 4
  store i64 0, ptr %others_at, align 4
  %first_other = zext i32 %first_other32 to i64
  br label %other
other:
  %other_number = phi i64 [ %first_other, %others ], [ %other_link, %follow ]
  %no_other = icmp eq i64 %other_number, 0
  br i1 %no_other, label %level_end, label %follow
follow:
  %other_record = call ptr @record(ptr %session, i64 %other_number)
  %other_word = load i64, ptr %other_record, align 8
  %other_link = and i64 %other_word, 4294967295
  %other_kernel = lshr i64 %other_word, 32
  %follow_at = getelementptr [{kernels} x ptr], ptr @follows, i64 0, i64 %other_kernel
  %follow_function = load ptr, ptr %follow_at, align 8
  call void %follow_function(ptr %session, ptr %other_record)
  br label %other
level_end:
  %deeper = add i64 %depth, 1
  br label %level
done:
  call void @clear_counts(ptr %session)
  ret void
}}
"""
