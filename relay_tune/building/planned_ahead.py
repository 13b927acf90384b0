"""Primitives in the order in which their schedules are known, most chosen by other processes.

    this process     plan a, plan b | write c, plan z, write z, write d, ...
    another one                     | plan c, plan d, plan e, ...

Choosing schedules takes most of the time of a build. Workers take primitives from the front, and
this process those at the end while none of theirs is ready. They start once what is left is
expected to take longer than their start.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait

from relay_tune.building.default_schedules import DefaultSchedules
from relay_tune.building.plain_data import encoded
from relay_tune.building.primitive import Primitive
from relay_tune.codegen.worker_pool import WorkerPool
from relay_tune.codegen.worker_process import start_worker
from relay_tune.errors import BuildError
from relay_tune.runtime.threads import available_processors

STARTING_SECONDS = 1.0
"""Work that is worth the start of a process, which takes half of it."""


def planned_ahead(
    primitives: Iterable[Primitive], defaults: DefaultSchedules
) -> Iterator[Primitive]:
    """The primitives in the order in which the caller should write them.

    Their default schedules are known then, or are left to the caller to choose.
    """
    waiting = list(primitives)
    begin, count = time.perf_counter(), len(waiting)
    while waiting:
        seconds = time.perf_counter() - begin
        each = seconds / (count - len(waiting)) if len(waiting) < count else 0.0
        if each * len(waiting) > STARTING_SECONDS and available_processors() > 1:
            yield from _with_workers(waiting, defaults)
            return
        yield waiting.pop(0)


def _with_workers(
    primitives: Iterable[Primitive], defaults: DefaultSchedules
) -> Iterator[Primitive]:
    """The primitives as their schedules come; the last ones meanwhile, to plan in this process."""
    listed = list(primitives)
    machine = encoded(defaults.machine)
    requests = {p: _request(p, defaults) for p in listed} if machine is not None else {}
    asked = {primitive: text for primitive, text in requests.items() if text is not None}
    yield from (primitive for primitive in listed if primitive not in asked)

    def start() -> subprocess.Popen[bytes]:
        arguments = [str(machine), str(defaults.threads), str(defaults.accuracy)]
        return start_worker("relay_tune.building.schedule_worker", arguments)

    workers = available_processors() - 1
    with WorkerPool(start, workers) as pool:
        replies = {pool.submit(text.encode()): p for p, text in asked.items()}
        yield from _as_they_come(replies, workers, defaults)


def _request(primitive: Primitive, defaults: DefaultSchedules) -> str | None:
    """The program of a primitive whose default schedule is missing, where it can be sent."""
    is_free = primitive.open is None and primitive.schedule is None and primitive.plan is None
    if not is_free or not defaults.are_missing(primitive.key.digest):
        return None
    return encoded(primitive.program)


def _as_they_come(
    replies: dict[Future[bytes], Primitive], workers: int, defaults: DefaultSchedules
) -> Iterator[Primitive]:
    """The primitives; those that no worker has begun wait for one, or are left to the caller."""
    while replies:
        done = next((future for future in replies if future.done()), None)
        if done is None:
            own = next((f for f in reversed(list(replies)[workers:]) if f.cancel()), None)
            if own is None:
                wait(replies, return_when=FIRST_COMPLETED)
                continue
            yield replies.pop(own)
            continue
        primitive = replies.pop(done)
        try:
            defaults.remember(primitive.key.digest, done.result().decode())
        except BuildError:  # the worker could not; the caller will, or will tell why
            yield primitive
            continue
        yield primitive
