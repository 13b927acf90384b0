"""What the threads of the native runtime share, and what they need of libc."""

from __future__ import annotations

from relay_tune.codegen.builder.signature import Signature, Variable, function, internal

MAXIMUM_THREADS = 256

CLOSED = 1 << 62
"""The bit of PARTICIPANTS that is set while no run is open; the others count who is inside."""

MUTEX = Variable("mutex", "[128 x i8]", "zeroinitializer")
WAKE = Variable("wake", "[128 x i8]", "zeroinitializer")
HANDLES = Variable("handles", f"[{MAXIMUM_THREADS} x i64]", "zeroinitializer")
OWNER = Variable("owner", "i32")
WORKERS = Variable("workers", "i64")
BUSY = Variable("busy", "i32")
STOPPING = Variable("stopping", "i32")
SLEEPERS = Variable("sleepers", "i64")
GENERATION = Variable("generation", "i64")
PARTICIPANTS = Variable("participants", "i64", str(CLOSED))
ROUND = Variable("round", "i64", "1")
JOB = Variable("job", "ptr", "null")
JOB_CONTEXT = Variable("job_context", "ptr", "null")
JOB_THREADS = Variable("job_threads", "i64")
ARRIVED = Variable("arrived", "i64")
PHASE = Variable("phase", "i64")

STATE = (
    *(MUTEX, WAKE, HANDLES, OWNER, WORKERS, BUSY, STOPPING, SLEEPERS, GENERATION, PARTICIPANTS),
    *(ROUND, JOB, JOB_CONTEXT, JOB_THREADS, ARRIVED, PHASE),
)

PROGRAM = Signature("void", ("ptr", "i64", "i64"))
"""A job: of a context, the number of a thread, and how many there are."""

GETPID = function("i32", "getpid")
LOCK = function("i32", "pthread_mutex_lock", "ptr")
UNLOCK = function("i32", "pthread_mutex_unlock", "ptr")
BROADCAST = function("i32", "pthread_cond_broadcast", "ptr")

SPIN = internal("i64", "spin", "i64")
ACQUIRE = internal("i1", "acquire")
