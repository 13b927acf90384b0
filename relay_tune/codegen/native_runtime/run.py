"""One run of a job on the threads of the native runtime.

The caller opens `@participants` to the workers, wakes those that sleep, works as thread 0, closes
the run to whoever comes late, and waits for those that are inside. While it works, its arithmetic
flushes subnormal results (`relay_tune.codegen.subnormals`), as that of the workers always does.
"""

from __future__ import annotations

RUN = """\
define void @relay_tune_run(ptr %function, ptr %context, i64 %threads) nounwind {{
entry:
  %single = icmp ult i64 %threads, 2
  br i1 %single, label %alone, label %try
try:
  %available = call i64 @relay_tune_threads(i64 %threads)
  %short = icmp ult i64 %available, 2
  br i1 %short, label %alone, label %claim
claim:
  %got = call i1 @acquire()
  br i1 %got, label %start, label %alone
start:
  store ptr %function, ptr @job, align 8
  store ptr %context, ptr @job_context, align 8
  store i64 %available, ptr @job_threads, align 8
  call void @place_workers()
  call void @relay_tune_next_round()
  %opened = atomicrmw and ptr @participants, i64 {all_but_closed} acq_rel
  %locked = call i32 @pthread_mutex_lock(ptr @mutex)
  %before = atomicrmw add ptr @generation, i64 1 acq_rel
  %asleep = load i64, ptr @sleepers, align 8
  %someone = icmp ne i64 %asleep, 0
  br i1 %someone, label %call, label %go
call:
  %woken = call i32 @pthread_cond_broadcast(ptr @wake)
  br label %go
go:
  %unlocked = call i32 @pthread_mutex_unlock(ptr @mutex)
  %control = call i32 @flush_subnormals()
  call void %function(ptr %context, i64 0, i64 %available)
  call void @restore_control(i32 %control)
  %shut = atomicrmw or ptr @participants, i64 {closed} acq_rel
  br label %wait
wait:
  %count = phi i64 [ 0, %go ], [ %more, %rest ]
  %inside = load atomic i64, ptr @participants acquire, align 8
  %complete = icmp eq i64 %inside, {closed}
  br i1 %complete, label %release, label %rest
rest:
  %more = call i64 @spin(i64 %count)
  br label %wait
release:
  store atomic i32 0, ptr @busy release, align 4
  ret void
alone:
  %own_control = call i32 @flush_subnormals()
  call void %function(ptr %context, i64 0, i64 1)
  call void @restore_control(i32 %own_control)
  ret void
}}

"""
