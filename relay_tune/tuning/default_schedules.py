"""Default schedules that this process has planned: tuning, its end, and the build need the same."""

from __future__ import annotations

from relay_tune.machine.machine import Machine
from relay_tune.schedule.plan import Plan
from relay_tune.schedule.schedule import Schedule

MOST_KNOWN = 4096

_Key = tuple[str, str, Machine, int]
_known: dict[_Key, Schedule] = {}


def default_schedule(digest: str, plan: Plan, machine: Machine, threads: int) -> Schedule:
    """The default schedule of the primitive with a digest; planned once in a process."""
    key = (digest, str(plan.accuracy), machine, threads)
    if key not in _known:
        remember(digest, plan, machine, threads, plan.default_schedule(machine, threads))
    return _known[key]


def remember(digest: str, plan: Plan, machine: Machine, threads: int, schedule: Schedule) -> None:
    """Keep a default schedule that somebody has planned."""
    while len(_known) >= MOST_KNOWN:
        _known.pop(next(iter(_known)))
    _known[digest, str(plan.accuracy), machine, threads] = schedule
