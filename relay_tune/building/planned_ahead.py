"""Primitives in the order in which their schedules are known, most chosen by other processes.

    this process     plan a, plan b | write c, plan z, write z, write d, ...
    another one                     | plan c, plan d, plan e, ...

Choosing schedules takes most of the time of a build. Workers take primitives from the front, and
this process those at the end while none of theirs is ready. They start once what is left is
expected to take longer than their start; for networks of many different layers, one of them while
the pipeline runs.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait

from relay_tune.building.default_schedules import DefaultSchedules
from relay_tune.building.plain_data import encoded
from relay_tune.building.primitive import Primitive
from relay_tune.building.workers import BuildWorkers
from relay_tune.errors import BuildError
from relay_tune.ir.expr import Call, Constant
from relay_tune.ir.known_type import known_type
from relay_tune.ir.module import Module
from relay_tune.ir.operator import Operator
from relay_tune.ir.traversal import post_order

STARTING_SECONDS = 1.0
"""Work that is worth the start of a process, which takes half of it."""


MANY_LAYERS = 12
"""Different layers with weights from which on a worker is started before the pipeline."""

LEAST_WEIGHTS = 4096
"""Elements of the weights of such a layer."""


def start_early(workers: BuildWorkers, module: Module) -> None:
    """Start a worker now if a typed module has many different layers."""
    if workers.can_choose and _different_layers(module) >= MANY_LAYERS:
        workers.start()


def _different_layers(module: Module) -> int:
    """How many calls with weights differ by operator or types."""
    found = set()
    for node in post_order(module.main.body):
        if isinstance(node, Call) and isinstance(node.callee, Operator):
            weights = [each.data for each in node.arguments if isinstance(each, Constant)]
            if any(data.ndim > 1 and data.size >= LEAST_WEIGHTS for data in weights):
                found.add((node.callee.name, *map(known_type, node.arguments)))
    return len(found)


def planned_ahead(
    primitives: Iterable[Primitive], defaults: DefaultSchedules, workers: BuildWorkers
) -> Iterator[Primitive]:
    """The primitives in the order in which the caller should write them.

    Their default schedules are known then, or are left to the caller to choose.
    """
    waiting = list(primitives)
    begin, count = time.perf_counter(), len(waiting)
    while waiting:
        seconds = time.perf_counter() - begin
        each = seconds / (count - len(waiting)) if len(waiting) < count else 0.0
        is_worth_it = workers.are_started or each * len(waiting) > STARTING_SECONDS
        if is_worth_it and workers.can_choose:
            yield from _with_workers(waiting, defaults, workers)
            return
        yield waiting.pop(0)


def _with_workers(
    primitives: Iterable[Primitive], defaults: DefaultSchedules, workers: BuildWorkers
) -> Iterator[Primitive]:
    """The primitives as their schedules come; the last ones meanwhile, to plan in this process."""
    listed = list(primitives)
    requests = {primitive: _request(primitive, defaults) for primitive in listed}
    asked = {primitive: text for primitive, text in requests.items() if text is not None}
    yield from (primitive for primitive in listed if primitive not in asked)
    replies = {workers.choose(text): primitive for primitive, text in asked.items()}
    yield from _as_they_come(replies, workers.count, defaults)


def _request(primitive: Primitive, defaults: DefaultSchedules) -> str | None:
    """The program of a primitive whose default schedule is missing, where it can be sent."""
    is_free = primitive.schedule is None and primitive.plan is None
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
