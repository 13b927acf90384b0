"""The thread pool of compiled programs, as LLVM IR that needs libc alone.

    i64  relay_tune_threads(i64 wanted)             how many threads a run can have; starts workers
    void relay_tune_run(ptr job, ptr context, i64 threads)
                                                    job(context, thread, threads) on the threads
    i64  relay_tune_claim(ptr slot, i64 queue, i64 queues, i64 grain, i64 patience)
                                                    the next share of a kernel, or -1
    void relay_tune_complete(ptr slot, i64 done, i64 shares)
                                                    `done` shares are finished; wait for the others
    void relay_tune_barrier(i64 threads)            all threads of a run meet here
    void relay_tune_next_round()                    all shares may be claimed again
    i64  relay_tune_turn(ptr word)                  0 or 1: flips once a run, equal for all threads
    void relay_tune_shutdown()                      end and join the workers

The caller is thread 0 of a run; the workers are woken once for the whole network. A kernel's work
is cut into shares: a thread takes those of its own queue, then those that are left of the others',
and goes on to the next kernel when all shares of this one are finished. So a worker that the system
does not let run delays nobody: it joins late, or not at all, because a run that has ended is closed
to it. With `patience`, a share is taken from another's queue only if its owner has taken none for
so many spins: what a share reads may lie in the owner's cache. Workers spin briefly after a run,
then sleep. A second caller at the same time, and a process that could start no thread, runs alone;
a forked child starts its own workers.

On Linux the workers may run on all processors but the caller's own. Nobody is bound to one; but a
system that wakes a worker beside its caller, as it does when another program spins on the other
processors, would leave both to share one processor.

A slot is memory of SLOT_BYTES that starts as zeros: the finished shares, then the claimed ones of
each queue, a cache line apart. The numbers count from `round * 2^20`, so that nobody clears them.
"""

from __future__ import annotations

from relay_tune.codegen.native_placing import NO_PLACING, PLACING

MAXIMUM_THREADS = 256
MAXIMUM_QUEUES = 16
SLOT_BYTES = 64 * (1 + MAXIMUM_QUEUES)
SPINS_BEFORE_SLEEP = 4000
SPINS_BEFORE_YIELD = 8000

RUNTIME_SYMBOLS = (
    "relay_tune_threads",
    "relay_tune_run",
    "relay_tune_claim",
    "relay_tune_complete",
    "relay_tune_barrier",
    "relay_tune_next_round",
    "relay_tune_turn",
    "relay_tune_shutdown",
)


def runtime_text(triple: str) -> str:
    """The LLVM module of the runtime for a target triple."""
    declaration, pause = _pause(triple)
    return _TEMPLATE.format(
        triple=triple,
        pause=pause,
        pause_declaration=declaration,
        placing=PLACING if "linux" in triple else NO_PLACING,
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
@owner = internal global i32 0, align 64
@workers = internal global i64 0, align 64
@busy = internal global i32 0, align 64
@stopping = internal global i32 0, align 64
@sleepers = internal global i64 0, align 64
@generation = internal global i64 0, align 64
@participants = internal global i64 4611686018427387904, align 64
@round = internal global i64 1, align 64
@job = internal global ptr null, align 64
@job_context = internal global ptr null, align 64
@job_threads = internal global i64 0, align 64
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
  %closed = icmp uge i64 %inside, 4611686018427387904
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
  store atomic i64 4611686018427387904, ptr @participants release, align 8
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
  %opened = atomicrmw and ptr @participants, i64 4611686018427387903 acq_rel
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
  call void %function(ptr %context, i64 0, i64 %available)
  %shut = atomicrmw or ptr @participants, i64 4611686018427387904 acq_rel
  br label %wait
wait:
  %count = phi i64 [ 0, %go ], [ %more, %rest ]
  %inside = load atomic i64, ptr @participants acquire, align 8
  %complete = icmp eq i64 %inside, 4611686018427387904
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

{placing}
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
