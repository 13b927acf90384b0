"""Measurements of a tuning log, with the nests and choices that estimates are about."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from math import inf

import logs
from relay_tune.errors import RelayError
from relay_tune.machine.machine import Machine
from relay_tune.op.lower import lower_function
from relay_tune.quick_dataclass import dataclass
from relay_tune.schedule.accuracy import Accuracy
from relay_tune.schedule.choice import TileChoice
from relay_tune.schedule.plan import Plan, plan_program, read_schedule
from relay_tune.schedule.space.choice_cost import ChoiceCost
from relay_tune.schedule.space.space import NestSpace
from relay_tune.tuning.log_keeper import description_of
from relay_tune.tuning.logged_programs import PROGRAM, logged_function

FARTHEST = 8.0
"""Schedules that take so many times as long as the best one of their kernel teach nothing: nobody
chooses between them."""


@dataclass(frozen=True, eq=False, slots=True)
class Observation:
    """A schedule that was measured.

    Attributes:
        kernel: the digest of the task, and the threads: what schedules are compared within.
        plan: under the schedule's algorithm.
        parts: the space of each nest, and what was chosen there.
        threads: that it ran on.
        seconds: that it took.
    """

    kernel: tuple[str, int]
    plan: Plan
    parts: Sequence[tuple[NestSpace, TileChoice]]
    threads: int
    seconds: float


def logged_observations(
    log: logs.TuningLog, target: str, code_version: str, machine: Machine, skipped: Counter[str]
) -> list[Observation]:
    """The usable measurements for a target in a log, kernel by kernel.

    `skipped` is told why others are not used, and how many.
    """
    kernels: dict[str, list[logs.Record]] = {}
    for record in log.history(target=target, code_version=code_version):
        kernels.setdefault(record.workload, []).append(record)
    found: list[Observation] = []
    for digest in sorted(kernels):
        records = [each for each in kernels[digest] if each.status is logs.Status.OK]
        text = log.task(digest)
        known = {} if text is None else description_of(text)
        function = logged_function(known, digest)
        if function is None:
            reason = "cannot be read" if PROGRAM in known else "is not in the log"
            skipped[f"the kernel's program {reason}"] += len(records)
            continue
        try:
            plan = plan_program(lower_function(function)).with_accuracy(Accuracy.RELAXED)
        except RelayError:
            skipped["the kernel's program has no schedule"] += len(records)
            continue
        found += _of_kernel(digest, plan, records, machine, skipped)
    return found


def _of_kernel(
    digest: str,
    plan: Plan,
    records: Sequence[logs.Record],
    machine: Machine,
    skipped: Counter[str],
) -> Iterator[Observation]:
    """The observations of one kernel."""
    best: dict[int, float] = {}
    for record in records:
        best[record.threads] = min(record.seconds or inf, best.get(record.threads, inf))
    for record in records:
        seconds = record.seconds
        if seconds is None or seconds > FARTHEST * best[record.threads]:
            skipped["far slower than the best of the kernel"] += 1
            continue
        try:
            schedule = read_schedule(record.schedule, plan)
        except RelayError:
            skipped["the schedule does not fit"] += 1
            continue
        own = plan.with_algorithm(schedule.algorithm)
        spaces = own.spaces(machine, record.threads)
        parts = tuple(zip(spaces, schedule.choices, strict=True))
        if all(ChoiceCost(*part).below(inf) < inf for part in parts):
            yield Observation((digest, record.threads), own, parts, record.threads, seconds)
        else:
            skipped["no estimate"] += 1
