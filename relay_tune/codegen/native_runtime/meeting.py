"""Where all threads of a run agree in the native runtime: barriers, words that flip once a run."""

from __future__ import annotations

MEETING = """\
define void @relay_tune_barrier(i64 %threads) nounwind {{
entry:
  %single = icmp ult i64 %threads, 2
  br i1 %single, label %end, label %meet
meet:
  %phase = load atomic i64, ptr @phase acquire, align 8
  %before = atomicrmw add ptr @arrived, i64 1 acq_rel
  %here = add i64 %before, 1
  %last = icmp eq i64 %here, %threads
  br i1 %last, label %open, label %wait
open:
  store atomic i64 0, ptr @arrived release, align 8
  %following = add i64 %phase, 1
  store atomic i64 %following, ptr @phase release, align 8
  ret void
wait:
  %count = phi i64 [ 0, %meet ], [ %more, %rest ]
  %now = load atomic i64, ptr @phase acquire, align 8
  %same = icmp eq i64 %now, %phase
  br i1 %same, label %rest, label %end
rest:
  %more = call i64 @spin(i64 %count)
  br label %wait
end:
  ret void
}}

define i64 @relay_tune_turn(ptr %word) nounwind {{
entry:
  %round = load atomic i64, ptr @round acquire, align 8
  br label %read
read:
  %value = load atomic i64, ptr %word acquire, align 8
  %known = lshr i64 %value, 1
  %turn = and i64 %value, 1
  %same = icmp eq i64 %known, %round
  br i1 %same, label %end, label %flip
flip:
  %other = xor i64 %turn, 1
  %base = shl i64 %round, 1
  %new = or i64 %base, %other
  %pair = cmpxchg ptr %word, i64 %value, i64 %new acq_rel acquire
  br label %read
end:
  ret i64 %turn
}}

"""
