"""A runner whose times are computed instead of measured."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence

from relay_tune.runtime.machine_limits import CacheLimit, MachineLimits
from relay_tune.runtime.measuring.measurement import Measurement, Outcome
from relay_tune.schedule.schedule import Schedule
from relay_tune.tuning.runner import Draft, Patience, Prepared, endless
from relay_tune.tuning.tasks import Task


class SimulatedRunner:
    """Times follow from the text of the schedule; every seventh candidate or so crashes."""

    def __init__(self, failing: bool = False, interrupt_after: int | None = None) -> None:
        self.measured: list[str] = []
        self.failing = failing
        self.interrupt_after = interrupt_after

    def draft(self, task: Task, schedule: Schedule) -> Draft:
        return Draft(schedule)

    def prepare(
        self, task: Task, drafts: Sequence[Draft], best: float | None, patience: Patience = endless
    ) -> Iterable[Prepared]:
        return [Prepared(draft.schedule) for draft in drafts]

    def measure(self, task: Task, prepared: Prepared, best: float | None) -> Measurement:
        if self.interrupt_after is not None and len(self.measured) >= self.interrupt_after:
            raise KeyboardInterrupt
        text = prepared.schedule.to_json()
        self.measured.append(text)
        number = zlib.crc32(text.encode())
        if self.failing or number % 7 == 0:
            return Measurement(Outcome.CRASH, message="simulated")
        return Measurement(Outcome.OK, 1e-4 * (1 + number % 1000 / 1000), 1e-6)

    def limits(self) -> MachineLimits:
        return MachineLimits(2, {"float32": 1e15}, (CacheLimit(1e9, 1e15),), 1e15)

    def close(self) -> None:
        """Nothing to end."""
