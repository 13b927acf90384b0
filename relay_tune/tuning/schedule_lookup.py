"""The best schedules of a tuning log, for builds.

choose = schedule_lookup("tuning.db", target, threads, CODE_VERSION)
schedule = choose(primitive_key(function), plan)         # None: take the default one
print(choose.report)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from os import PathLike

import logs
from relay_tune.codegen.target import Target
from relay_tune.errors import InputError
from relay_tune.op.primitive_key import PrimitiveKey
from relay_tune.runtime.machine_limits import MachineLimits
from relay_tune.schedule.apply import Plan, read_schedule
from relay_tune.schedule.schedule import Schedule
from relay_tune.tuning.keeper import log_errors


@dataclass(slots=True)
class LookupReport:
    """What a lookup was asked for.

    Attributes:
        covered: primitives with a schedule from the log.
        default: primitives that the log does not know.
        skipped: why records were passed over, and how many for each reason.
    """

    covered: int = 0
    default: int = 0
    skipped: Counter[str] = field(default_factory=Counter)

    def __str__(self) -> str:
        text = f"{self.covered} of {self.covered + self.default} kernels tuned"
        count = self.skipped.total()
        return f"{text}, {count} records do not fit" if count else text


class ScheduleLookup:
    """Finds the schedule of a primitive; the log was read when this object was made.

    Attributes:
        report: what was asked for.
        limits: what one thread of the machine can reach, if the log tells.
    """

    def __init__(
        self, records: Iterable[logs.Record], threads: int, limits: MachineLimits | None = None
    ) -> None:
        self.report = LookupReport()
        self.limits = limits
        self._threads = threads
        self._records: dict[str, list[logs.Record]] = {}
        for record in records:
            if record.status is logs.Status.OK:
                self._records.setdefault(record.workload, []).append(record)

    def __call__(self, key: PrimitiveKey, plan: Plan) -> Schedule | None:
        """The fastest schedule that fits a primitive, or None if the log knows none.

        Schedules that were measured on as many threads come first.
        """
        for record in sorted(self._records.get(key.digest, []), key=self._preference):
            try:
                schedule = read_schedule(record.schedule, plan)
            except InputError as error:
                self.report.skipped[error.message] += 1
                continue
            self.report.covered += 1
            return schedule
        self.report.default += 1
        return None

    def _preference(self, record: logs.Record) -> tuple[int, float]:
        assert record.seconds is not None  # a record with status ok has a time
        return abs(record.threads - self._threads), record.seconds


def schedule_lookup(
    log: str | PathLike[str], target: Target, threads: int, code_version: str
) -> ScheduleLookup:
    """The best schedules of the log at a path for a target.

    A schedule that was measured on another number of threads serves where there is no other.
    Raises InputError if the log cannot be read.
    """
    with log_errors(), logs.open_log(log, create=False, readonly=True) as opened:
        records = list(opened.history(target=target.key, code_version=code_version))
        limits = MachineLimits.from_entries(opened.limits(target.key), 1)
    return ScheduleLookup(records, threads, limits)
