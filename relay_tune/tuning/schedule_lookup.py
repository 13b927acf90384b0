"""The best schedules of a tuning log, for builds.

choose = schedule_lookup("tuning.db", target, threads, CODE_VERSION)
schedule = choose(primitive_key(function), plan)         # None: take the default one
print(choose.skipped)                                    # records that did not fit, and why
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from os import PathLike
from types import MappingProxyType

import logs
from relay_tune.codegen.target import Target
from relay_tune.errors import InputError
from relay_tune.op.primitive_key import PrimitiveKey
from relay_tune.quick_dataclass import dataclass
from relay_tune.runtime.machine_limits import MachineLimits
from relay_tune.runtime.target_machine import machine_of
from relay_tune.schedule.plan import Plan, read_schedule
from relay_tune.schedule.schedule import Schedule
from relay_tune.tuning.kept_schedules import KEPT, KeptSchedule
from relay_tune.tuning.log_errors import log_errors
from relay_tune.tuning.log_keeper import description_of


@dataclass(frozen=True, slots=True)
class _Known:
    """A schedule that the log offers; `seconds` decides between those of as many threads.

    Those that are older than a mark serve where the schedule of the mark does not fit.
    """

    threads: int
    seconds: float
    schedule: str
    is_older: bool = False


class ScheduleLookup:
    """Finds the schedule of a primitive; the log was read when this object was made.

    Attributes:
        skipped: why records were passed over, and how many for each reason.
        limits: what one thread of the machine can reach, if the log tells.
        logged: the rows that the log has of the machine.
    """

    def __init__(
        self,
        records: Iterable[logs.Record],
        target: Target,
        threads: int,
        kept: Mapping[str, Sequence[KeptSchedule]] = MappingProxyType({}),
        logged: Mapping[str, float] = MappingProxyType({}),
    ) -> None:
        """A lookup in correct and other records; `kept` are the marks by digest of the task."""
        self.skipped: Counter[str] = Counter()
        self.logged = logged
        self.limits = MachineLimits.from_entries(logged, 1)
        self._machine = machine_of(target)
        self._threads = threads
        self._known: dict[str, list[_Known]] = {}
        since: dict[tuple[str, int], float] = {}
        for digest, marks in kept.items():
            for mark in marks:
                since[digest, mark.scope.threads] = mark.time
                known = _Known(mark.scope.threads, mark.seconds, mark.schedule)
                self._known.setdefault(digest, []).append(known)
        for record in records:
            is_older = record.created <= since.get((record.workload, record.threads), -math.inf)
            if record.status is logs.Status.OK and record.seconds is not None:
                known = _Known(record.threads, record.seconds, record.schedule, is_older)
                self._known.setdefault(record.workload, []).append(known)

    @property
    def fingerprint(self) -> str:
        """A digest of all schedules that the log offers; others may give other kernels."""
        if not self._known:
            return ""
        text = repr(sorted((digest, repr(known)) for digest, known in self._known.items()))
        return hashlib.sha256(text.encode()).hexdigest()

    def offers(self, digest: str) -> bool:
        """Whether the log has schedules of a primitive, which may fit or not."""
        return digest in self._known

    def __call__(self, key: PrimitiveKey, plan: Plan) -> Schedule | None:
        """The fastest schedule that fits a primitive, or None if the log knows none.

        Schedules for as many threads come first. One that held in a network comes before all that
        were measured earlier.
        """
        return next((schedule for _, schedule in self._fitting(key, plan)), None)

    def fastest(self, key: PrimitiveKey, plan: Plan, most: int, within: float) -> list[Schedule]:
        """The fastest schedules that fit a primitive: at most so many, the fastest first.

        The others were measured with as many threads, and take at most `within` of its time.
        """
        found: list[Schedule] = []
        least: _Known | None = None
        for known, schedule in self._fitting(key, plan):
            least = known if least is None else least
            is_near = known.seconds <= within * least.seconds and known.threads == least.threads
            if len(found) == most or not is_near:
                break
            if schedule not in found:
                found.append(schedule)
        return found

    def _fitting(self, key: PrimitiveKey, plan: Plan) -> Iterator[tuple[_Known, Schedule]]:
        """The log's schedules for a primitive, the preferred first."""
        for known in sorted(self._known.get(key.digest, []), key=self._preference):
            try:
                schedule = read_schedule(known.schedule, plan)
            except InputError as error:
                self.skipped[error.message.rstrip(".")] += 1
                continue
            if not schedule.algorithm.can_run(self._machine):
                self.skipped[f"The target cannot run the algorithm {schedule.algorithm}"] += 1
                continue
            yield known, schedule

    def _preference(self, known: _Known) -> tuple[bool, int, float]:
        return known.is_older, abs(known.threads - self._threads), known.seconds


def schedule_lookup(
    log: str | PathLike[str], target: Target, threads: int, code_version: str
) -> ScheduleLookup:
    """The best schedules of the log at a path for a target.

    A schedule that was measured on another number of threads serves where there is no other.
    Raises InputError if the log cannot be read.
    """
    with log_errors(), logs.open_log(log, create=False, readonly=True) as opened:
        records = list(opened.history(target=target.key, code_version=code_version))
        digests = {record.workload for record in records}
        texts = {digest: opened.task(digest) for digest in digests}
        logged = opened.limits(target.key)
        damaged = opened.damaged_rows
    kept = {
        digest: [
            mark
            for mark in KEPT.of(description_of(text))
            if (mark.scope.target, mark.scope.code_version) == (target.key, code_version)
        ]
        for digest, text in texts.items()
        if text is not None
    }
    lookup = ScheduleLookup(records, target, threads, kept, logged)
    if damaged:
        lookup.skipped["damaged rows"] += damaged
    return lookup
