"""The thread pool of compiled programs, as LLVM IR that needs libc alone.

    i64  relay_tune_threads(i64 wanted)             how many threads a run can have; starts workers
    void relay_tune_run(ptr job, ptr context, i64 threads)
                                                    job(context, thread, threads) on each thread
    void relay_tune_barrier(i64 threads)            all threads of a run meet here
    void relay_tune_shutdown()                      end and join the workers

The caller is thread 0 of a run; the others are woken once for the whole network and meet in
spinning barriers between kernels. Workers spin briefly after a run, then sleep. A second caller at
the same time, and a process that could start no thread, runs alone; a forked child starts its own
workers.

`@generation` holds a run number and, in its low 16 bits, the threads of that run, so that a worker
which is not part of a run, and which nobody waits for, can never mistake one run for the next.
"""

from __future__ import annotations

MAXIMUM_THREADS = 256
SPINS_BEFORE_SLEEP = 4000
SPINS_BEFORE_YIELD = 8000

RUNTIME_SYMBOLS = (
    "relay_tune_threads",
    "relay_tune_run",
    "relay_tune_barrier",
    "relay_tune_shutdown",
)


def runtime_text(triple: str) -> str:
    """The LLVM module of the runtime for a target triple."""
    declaration, pause = _pause(triple)
    return _TEMPLATE.format(
        triple=triple,
        pause=pause,
        pause_declaration=declaration,
        maximum=MAXIMUM_THREADS,
        sleep=SPINS_BEFORE_SLEEP,
        yield_after=SPINS_BEFORE_YIELD,
    )


def _pause(triple: str) -> tuple[str, str]:
    """The declaration and call that tell the processor that a thread is spinning."""
    if triple.startswith(("x86_64", "i686", "i386")):
        return "declare void @llvm.x86.sse2.pause()", "call void @llvm.x86.sse2.pause()"
    if triple.startswith(("aarch64", "arm64")):
        return "declare void @llvm.aarch64.hint(i32)", "call void @llvm.aarch64.hint(i32 1)"
    return "", "fence seq_cst"


_TEMPLATE = """\
target triple = "{triple}"

@mutex = internal global [128 x i8] zeroinitializer, align 64
@wake = internal global [128 x i8] zeroinitializer, align 64
@handles = internal global [{maximum} x i64] zeroinitializer, align 64
@births = internal global [{maximum} x i64] zeroinitializer, align 64
@owner = internal global i32 0, align 64
@workers = internal global i64 0, align 64
@busy = internal global i32 0, align 64
@stopping = internal global i32 0, align 64
@sleepers = internal global i64 0, align 64
@generation = internal global i64 0, align 64
@finished = internal global i64 0, align 64
@job = internal global ptr null, align 64
@job_context = internal global ptr null, align 64
@arrived = internal global i64 0, align 64
@phase = internal global i64 0, align 64

declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_join(i64, ptr)
declare i32 @pthread_mutex_init(ptr, ptr)
declare i32 @pthread_mutex_lock(ptr)
declare i32 @pthread_mutex_unlock(ptr)
declare i32 @pthread_cond_init(ptr, ptr)
declare i32 @pthread_cond_wait(ptr, ptr)
declare i32 @pthread_cond_broadcast(ptr)
declare i32 @sched_yield()
declare i32 @getpid()
{pause_declaration}

define internal ptr @worker(ptr %argument) nounwind {{
entry:
  %thread = ptrtoint ptr %argument to i64
  %birth = getelementptr i64, ptr @births, i64 %thread
  %born = load i64, ptr %birth, align 8
  br label %idle
idle:
  %last = phi i64 [ %born, %entry ], [ %current, %next ]
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
  %threads = and i64 %current, 65535
  %wanted = icmp ult i64 %thread, %threads
  br i1 %wanted, label %work, label %next
work:
  %function = load ptr, ptr @job, align 8
  %context = load ptr, ptr @job_context, align 8
  call void %function(ptr %context, i64 %thread, i64 %threads)
  %before = atomicrmw add ptr @finished, i64 1 acq_rel
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
  %birth = getelementptr i64, ptr @births, i64 %total
  %generation = load atomic i64, ptr @generation acquire, align 8
  store i64 %generation, ptr %birth, align 8
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
  store atomic i64 0, ptr @finished release, align 8
  %locked = call i32 @pthread_mutex_lock(ptr @mutex)
  %generation = load i64, ptr @generation, align 8
  %counted = and i64 %generation, -65536
  %advanced = add i64 %counted, 65536
  %following = or i64 %advanced, %available
  store atomic i64 %following, ptr @generation release, align 8
  %asleep = load i64, ptr @sleepers, align 8
  %someone = icmp ne i64 %asleep, 0
  br i1 %someone, label %call, label %go
call:
  %woken = call i32 @pthread_cond_broadcast(ptr @wake)
  br label %go
go:
  %unlocked = call i32 @pthread_mutex_unlock(ptr @mutex)
  call void %function(ptr %context, i64 0, i64 %available)
  %others = sub i64 %available, 1
  br label %wait
wait:
  %count = phi i64 [ 0, %go ], [ %more, %rest ]
  %ready = load atomic i64, ptr @finished acquire, align 8
  %complete = icmp uge i64 %ready, %others
  br i1 %complete, label %release, label %rest
rest:
  %more = call i64 @spin(i64 %count)
  br label %wait
release:
  store atomic i32 0, ptr @busy release, align 4
  ret void
alone:
  call void %function(ptr %context, i64 0, i64 1)
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

define void @relay_tune_shutdown() nounwind {{
entry:
  %own = call i32 @getpid()
  %known = load i32, ptr @owner, align 4
  %mine = icmp eq i32 %own, %known
  br i1 %mine, label %stop, label %end
stop:
  store atomic i32 1, ptr @stopping release, align 4
  %locked = call i32 @pthread_mutex_lock(ptr @mutex)
  %generation = load i64, ptr @generation, align 8
  %counted = and i64 %generation, -65536
  %following = add i64 %counted, 65536
  store atomic i64 %following, ptr @generation release, align 8
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
