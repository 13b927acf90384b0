"""How threads of the native runtime share a kernel's work: claims, and waiting for their ends.

Counters that are below the base of the present round count as zero, so that nobody clears them.
"""

from __future__ import annotations

SHARES = """\
define void @relay_tune_next_round() nounwind {{
entry:
  %before = atomicrmw add ptr @round, i64 1 acq_rel
  ret void
}}

define internal i64 @first_number() nounwind {{
entry:
  %round = load atomic i64, ptr @round acquire, align 8
  %base = shl i64 %round, 20
  ret i64 %base
}}

define i64 @relay_tune_claim(
    ptr %slot, i64 %queue, i64 %queues, i64 %grain, i64 %patience) nounwind {{
entry:
  %base = call i64 @first_number()
  br label %look
look:
  %tried = phi i64 [ 0, %entry ], [ %more, %next ]
  %place = add i64 %queue, %tried
  %number = urem i64 %place, %queues
  %lines = add i64 %number, 1
  %offset = shl i64 %lines, 6
  %counter = getelementptr i8, ptr %slot, i64 %offset
  br label %read
read:
  %last = phi i64 [ 0, %look ], [ %value, %rest ], [ %value, %take ]
  %waited = phi i64 [ 0, %look ], [ %longer, %rest ], [ 0, %take ]
  %value = load atomic i64, ptr %counter acquire, align 8
  %old = icmp ult i64 %value, %base
  %from = select i1 %old, i64 %base, i64 %value
  %taken = sub i64 %from, %base
  %empty = icmp uge i64 %taken, %grain
  br i1 %empty, label %next, label %whose
whose:
  %foreign = icmp ne i64 %tried, 0
  %begun = icmp ne i64 %taken, 0
  %working = and i1 %foreign, %begun
  %same = icmp eq i64 %value, %last
  %so_far = select i1 %same, i64 %waited, i64 0
  %hopeful = icmp ult i64 %so_far, %patience
  %waits = and i1 %working, %hopeful
  br i1 %waits, label %rest, label %take
rest:
  {pause}
  %longer = add i64 %so_far, 1
  br label %read
take:
  %after = add i64 %from, 1
  %pair = cmpxchg ptr %counter, i64 %value, i64 %after acq_rel acquire
  %won = extractvalue {{ i64, i1 }} %pair, 1
  br i1 %won, label %found, label %read
found:
  %first = mul i64 %number, %grain
  %share = add i64 %first, %taken
  ret i64 %share
next:
  %more = add i64 %tried, 1
  %all = icmp uge i64 %more, %queues
  br i1 %all, label %none, label %look
none:
  ret i64 -1
}}

define void @relay_tune_complete(ptr %slot, i64 %done, i64 %shares) nounwind {{
entry:
  %base = call i64 @first_number()
  %goal = add i64 %base, %shares
  %idle = icmp eq i64 %done, 0
  br i1 %idle, label %wait, label %read
read:
  %value = load atomic i64, ptr %slot acquire, align 8
  %old = icmp ult i64 %value, %base
  %from = select i1 %old, i64 %base, i64 %value
  %after = add i64 %from, %done
  %pair = cmpxchg ptr %slot, i64 %value, i64 %after acq_rel acquire
  %won = extractvalue {{ i64, i1 }} %pair, 1
  br i1 %won, label %wait, label %read
wait:
  %count = phi i64 [ 0, %entry ], [ 0, %read ], [ %more, %rest ]
  %now = load atomic i64, ptr %slot acquire, align 8
  %ready = icmp uge i64 %now, %goal
  br i1 %ready, label %end, label %rest
rest:
  %more = call i64 @spin(i64 %count)
  br label %wait
end:
  ret void
}}

define internal i64 @spin(i64 %count) nounwind {{
entry:
  {pause}
  %more = add i64 %count, 1
  %long = icmp ugt i64 %more, {yield_after}
  br i1 %long, label %yield, label %end
yield:
  %yielded = call i32 @sched_yield()
  br label %end
end:
  ret i64 %more
}}

"""
