"""Which schedule of a task was found to hold in its network, as the log remembers it.

A mark overrules the records that are older than it: some of them may claim better times, which a
kernel reached by itself but not in the network. Records that come later count again.
"""

from __future__ import annotations

from dataclasses import asdict

from relay_tune.quick_dataclass import dataclass
from relay_tune.tuning.marks import MarkKind
from relay_tune.tuning.scope import TuningScope


@dataclass(frozen=True, slots=True)
class KeptSchedule:
    """A schedule that was measured in a network, beside the default one.

    Attributes:
        scope: what it was measured for.
        schedule: its JSON text.
        seconds: of one run in the network.
        time: when it was measured; Unix time, in seconds.
    """

    scope: TuningScope
    schedule: str
    seconds: float
    time: float

    def to_json(self) -> object:
        """See `Mark.to_json`."""
        own = {"schedule": self.schedule, "seconds": self.seconds, "time": self.time}
        return asdict(self.scope) | own


def _read(mark: object) -> KeptSchedule | None:
    match mark:
        case {
            "target": str(target),
            "threads": int(threads),
            "code_version": str(version),
            "schedule": str(schedule),
            "seconds": float(seconds),
            "time": float(time),
        }:
            return KeptSchedule(TuningScope(target, threads, version), schedule, seconds, time)
    return None


KEPT = MarkKind("kept", _read)
