"""The worker threads of the native runtime: started when first wanted, joined in the end.

A worker waits for a new `@generation`, spinning first, then asleep. It counts itself into
`@participants` before it looks for work, which fails once the run is closed. The fields in
braces are filled in by `runtime_text`.
"""

from __future__ import annotations

WORKERS = """\
define internal ptr @worker(ptr %argument) nounwind {{
entry:
  %thread = ptrtoint ptr %argument to i64
  %control = call i32 @flush_subnormals()
  br label %idle
idle:
  %last = phi i64 [ 0, %entry ], [ %current, %next ]
  br label %spin
spin:
  %count = phi i64 [ 0, %idle ], [ %more, %again ]
  %now = load atomic i64, ptr @generation acquire, align 8
  %changed = icmp ne i64 %now, %last
  br i1 %changed, label %awake, label %again
again:
  {pause}
  %more = add i64 %count, 1
  %tired = icmp ugt i64 %more, {sleep}
  br i1 %tired, label %sleep, label %spin
sleep:
  %locked = call i32 @pthread_mutex_lock(ptr @mutex)
  %asleep = load i64, ptr @sleepers, align 8
  %one_more = add i64 %asleep, 1
  store i64 %one_more, ptr @sleepers, align 8
  br label %check
check:
  %seen = load atomic i64, ptr @generation acquire, align 8
  %same = icmp eq i64 %seen, %last
  br i1 %same, label %wait, label %up
wait:
  %waited = call i32 @pthread_cond_wait(ptr @wake, ptr @mutex)
  br label %check
up:
  %still = load i64, ptr @sleepers, align 8
  %one_less = sub i64 %still, 1
  store i64 %one_less, ptr @sleepers, align 8
  %unlocked = call i32 @pthread_mutex_unlock(ptr @mutex)
  br label %awake
awake:
  %current = load atomic i64, ptr @generation acquire, align 8
  %stop = load atomic i32, ptr @stopping acquire, align 4
  %ends = icmp ne i32 %stop, 0
  br i1 %ends, label %end, label %look
look:
  %inside = atomicrmw add ptr @participants, i64 1 acq_rel
  %closed = icmp uge i64 %inside, {closed}
  br i1 %closed, label %leave, label %join
join:
  %threads = load i64, ptr @job_threads, align 8
  %wanted = icmp ult i64 %thread, %threads
  br i1 %wanted, label %work, label %leave
work:
  %function = load ptr, ptr @job, align 8
  %context = load ptr, ptr @job_context, align 8
  call void %function(ptr %context, i64 %thread, i64 %threads)
  br label %leave
leave:
  %outside = atomicrmw sub ptr @participants, i64 1 acq_rel
  br label %next
next:
  br label %idle
end:
  ret ptr null
}}

define internal void @prepare() nounwind {{
entry:
  %own = call i32 @getpid()
  %known = load i32, ptr @owner, align 4
  %same = icmp eq i32 %own, %known
  br i1 %same, label %end, label %reset
reset:
  %m = call i32 @pthread_mutex_init(ptr @mutex, ptr null)
  %c = call i32 @pthread_cond_init(ptr @wake, ptr null)
  store i64 0, ptr @workers, align 8
  store i64 0, ptr @sleepers, align 8
  store i64 0, ptr @arrived, align 8
  store atomic i64 {closed}, ptr @participants release, align 8
  store atomic i64 0, ptr @generation release, align 8
  store atomic i32 0, ptr @stopping release, align 4
  store i32 %own, ptr @owner, align 4
  br label %end
end:
  ret void
}}

define internal i1 @acquire() nounwind {{
entry:
  %pair = cmpxchg ptr @busy, i32 0, i32 1 acq_rel acquire
  %won = extractvalue {{ i32, i1 }} %pair, 1
  br i1 %won, label %end, label %forked
forked:
  %own = call i32 @getpid()
  %known = load i32, ptr @owner, align 4
  %foreign = icmp ne i32 %own, %known
  br label %end
end:
  %result = phi i1 [ true, %entry ], [ %foreign, %forked ]
  ret i1 %result
}}

define i64 @relay_tune_threads(i64 %wanted) nounwind {{
entry:
  %few = icmp ult i64 %wanted, 2
  br i1 %few, label %alone, label %try
try:
  %got = call i1 @acquire()
  br i1 %got, label %start, label %alone
start:
  call void @prepare()
  %large = icmp ugt i64 %wanted, {maximum}
  %limit = select i1 %large, i64 {maximum}, i64 %wanted
  br label %grow
grow:
  %have = load i64, ptr @workers, align 8
  %total = add i64 %have, 1
  %enough = icmp uge i64 %total, %limit
  br i1 %enough, label %done, label %create
create:
  %slot = getelementptr i64, ptr @handles, i64 %have
  %argument = inttoptr i64 %total to ptr
  %failed = call i32 @pthread_create(ptr %slot, ptr null, ptr @worker, ptr %argument)
  %ok = icmp eq i32 %failed, 0
  br i1 %ok, label %created, label %done
created:
  store i64 %total, ptr @workers, align 8
  br label %grow
done:
  %final = load i64, ptr @workers, align 8
  %all = add i64 %final, 1
  %over = icmp ugt i64 %all, %limit
  %result = select i1 %over, i64 %limit, i64 %all
  store atomic i32 0, ptr @busy release, align 4
  ret i64 %result
alone:
  ret i64 1
}}

"""

SHUTDOWN = """\
define void @relay_tune_shutdown() nounwind {{
entry:
  %own = call i32 @getpid()
  %known = load i32, ptr @owner, align 4
  %mine = icmp eq i32 %own, %known
  br i1 %mine, label %stop, label %end
stop:
  store atomic i32 1, ptr @stopping release, align 4
  %locked = call i32 @pthread_mutex_lock(ptr @mutex)
  %before = atomicrmw add ptr @generation, i64 1 acq_rel
  %woken = call i32 @pthread_cond_broadcast(ptr @wake)
  %unlocked = call i32 @pthread_mutex_unlock(ptr @mutex)
  %workers = load i64, ptr @workers, align 8
  br label %next
next:
  %place = phi i64 [ 0, %stop ], [ %after, %join ]
  %all = icmp eq i64 %place, %workers
  br i1 %all, label %clear, label %join
join:
  %slot = getelementptr i64, ptr @handles, i64 %place
  %handle = load i64, ptr %slot, align 8
  %joined = call i32 @pthread_join(i64 %handle, ptr null)
  %after = add i64 %place, 1
  br label %next
clear:
  store i32 0, ptr @owner, align 4
  br label %end
end:
  ret void
}}
"""
