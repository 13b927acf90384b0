"""Default schedules that this process knows: tuning, its end, and the build need the same."""

from __future__ import annotations

from collections.abc import Callable

from relay_tune.machine.machine import Machine
from relay_tune.quick_dataclass import dataclass
from relay_tune.schedule.accuracy import Accuracy
from relay_tune.schedule.plan import Plan, read_schedule
from relay_tune.schedule.schedule import Schedule

MOST_KNOWN = 4096

_Key = tuple[str, str, Machine, int, Schedule | None]
_known: dict[_Key, Schedule | str] = {}


def default_schedule(digest: str, plan: Plan, machine: Machine, threads: int) -> Schedule:
    """The default schedule of the primitive with a digest; planned once in a process."""
    known = _known.get((digest, str(plan.accuracy), machine, threads, plan.packing))
    if isinstance(known, str):
        known = read_schedule(known, plan)
    if known is None:
        known = plan.default_schedule(machine, threads)
    remember(digest, plan.accuracy, machine, threads, known, plan.packing)
    return known


def remember(
    digest: str,
    accuracy: Accuracy,
    machine: Machine,
    threads: int,
    schedule: Schedule | str,
    packing: Schedule | None = None,
) -> None:
    """Keep a default schedule that somebody has planned, perhaps as JSON.

    `packing` is the schedule as which its constants are packed, where that was not free.
    """
    while len(_known) >= MOST_KNOWN:
        _known.pop(next(iter(_known)))
    _known[digest, str(accuracy), machine, threads, packing] = schedule


@dataclass(frozen=True, slots=True)
class DefaultSchedules:
    """The default schedules of a build.

    Attributes:
        machine: that they are estimated for.
        threads: that they will run on.
        accuracy: which algorithms they may use.
        is_needed: whether the primitive with a digest wants one.
    """

    machine: Machine
    threads: int
    accuracy: Accuracy = Accuracy.FAST
    is_needed: Callable[[str], bool] = lambda digest: True

    def of(self, digest: str, plan: Plan) -> Schedule:
        """The schedule of a primitive with a direct plan."""
        allowed = plan.with_accuracy(self.accuracy)
        return default_schedule(digest, allowed, self.machine, self.threads)

    def are_missing(self, digest: str) -> bool:
        """Whether a primitive wants a schedule that this process does not know."""
        key = (digest, str(self.accuracy), self.machine, self.threads, None)
        return key not in _known and self.is_needed(digest)

    def remember(self, digest: str, text: str) -> None:
        """Keep a schedule that another process has chosen, as JSON."""
        remember(digest, self.accuracy, self.machine, self.threads, text)
