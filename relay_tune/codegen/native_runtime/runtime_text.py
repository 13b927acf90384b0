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

from relay_tune.codegen.native_runtime.placing import NO_PLACING, PLACING
from relay_tune.codegen.native_runtime.run import RUN
from relay_tune.codegen.native_runtime.shares import SHARES
from relay_tune.codegen.native_runtime.workers import SHUTDOWN, WORKERS
from relay_tune.codegen.subnormals import subnormals_text
from relay_tune.targets.registry import architecture_of

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


MAXIMUM_THREADS = 256
MAXIMUM_QUEUES = 16
SLOT_BYTES = 64 * (1 + MAXIMUM_QUEUES)
SPINS_BEFORE_SLEEP = 4000
SPINS_BEFORE_YIELD = 8000

CLOSED = 1 << 62
"""The bit of `@participants` that is set while no run is open; the others count who is inside."""

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
    declaration, pause = architecture_of(triple).pause
    return _TEMPLATE.format(
        triple=triple,
        pause=pause,
        pause_declaration=declaration,
        subnormals=subnormals_text(triple),
        placing=PLACING if "linux" in triple else NO_PLACING,
        maximum=MAXIMUM_THREADS,
        sleep=SPINS_BEFORE_SLEEP,
        yield_after=SPINS_BEFORE_YIELD,
        closed=CLOSED,
        all_but_closed=CLOSED - 1,
    )


_STATE = """\
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
@participants = internal global i64 {closed}, align 64
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

{subnormals}
"""

_TEMPLATE = "".join((_STATE, WORKERS, RUN, "{placing}\n", SHARES, MEETING, SHUTDOWN))
