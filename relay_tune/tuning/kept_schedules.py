"""Which schedule of a task was found to hold in its network, as the log remembers it.

A mark overrules the records that are older than it: some of them may claim better times, which a
kernel reached by itself but not in the network. Records that come later count again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class KeptSchedule:
    """A schedule that was measured in a network, beside the default one.

    Attributes:
        target, threads, code_version: what it was measured for.
        schedule: its JSON text.
        seconds: of one run in the network.
        time: when it was measured; Unix time, in seconds.
    """

    target: str
    threads: int
    code_version: str
    schedule: str
    seconds: float
    time: float


def kept_of(description: Mapping[str, Any]) -> list[KeptSchedule]:
    """The marks in the log's description of a task; malformed ones are passed over."""
    marks = description.get("kept", [])
    found = [_read(mark) for mark in marks] if isinstance(marks, list) else []
    return [mark for mark in found if mark is not None]


def with_kept(marks: Sequence[KeptSchedule], mark: KeptSchedule) -> list[dict[str, object]]:
    """The marks as JSON values, with a new one in the place of the one for the same scope."""
    others = [other for other in marks if _scope(other) != _scope(mark)]
    return [asdict(item) for item in (*others, mark)]


def _scope(mark: KeptSchedule) -> tuple[str, int, str]:
    return mark.target, mark.threads, mark.code_version


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
            return KeptSchedule(target, threads, version, schedule, seconds, time)
    return None
