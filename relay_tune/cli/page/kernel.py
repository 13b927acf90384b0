"""The report of one kernel."""

from __future__ import annotations

from collections.abc import Mapping

from relay_tune.quick_dataclass import dataclass
from relay_tune.runtime.machine_limits import Bound


@dataclass(frozen=True, slots=True)
class Sample:
    """A measured schedule.

    Attributes:
        at: when it was first measured; Unix time, in seconds.
        seconds: of one run; None where it failed.
    """

    at: float
    seconds: float | None


@dataclass(frozen=True, slots=True)
class KernelReport:
    """A kernel of a network, as a log knows it.

    Attributes:
        title: its first node, its operators and the shape of its result.
        nodes: the names of the nodes of the network that run it.
        digest: of its key in the log.
        runs: how often one run of the network runs it.
        seconds: one run with the schedule that a build takes; None where nothing ran correctly.
        untuned: one run with the first correct schedule, the default one.
        schedule: the JSON text of the schedule that a build takes; empty where there is none.
        operations: arithmetic operations of one run under that schedule's algorithm.
        bytes: what one run reads or writes at least once.
        bound: the least time that the machine needs; None where its limits are not known.
        samples: the measured schedules in the order in which they were first measured.
        failures: how many schedules failed, by reason.
    """

    title: str
    nodes: tuple[str, ...]
    digest: str
    runs: int
    seconds: float | None
    untuned: float | None
    schedule: str
    operations: float
    bytes: float
    bound: Bound | None
    samples: tuple[Sample, ...]
    failures: Mapping[str, int]

    @property
    def total(self) -> float:
        """The seconds of all its runs in one run of the network."""
        return self.runs * (self.seconds or 0.0)

    @property
    def gain(self) -> float | None:
        """The untuned time divided by the tuned one."""
        return self.untuned / self.seconds if self.untuned and self.seconds else None

    @property
    def limit_share(self) -> float | None:
        """The least time as a part of the time: 1 at the machine's limit."""
        if self.bound is None or not self.seconds:
            return None
        return self.bound.seconds / self.seconds

    @property
    def above_limit(self) -> float | None:
        """The seconds of a run of the network that the machine's limit does not explain."""
        if self.bound is None or not self.seconds:
            return None
        return self.runs * max(0.0, self.seconds - self.bound.seconds)

    @property
    def rate(self) -> float:
        """Arithmetic operations a second."""
        return self.operations / self.seconds if self.seconds else 0.0

    @property
    def moved_rate(self) -> float:
        """Bytes a second, each counted once."""
        return self.bytes / self.seconds if self.seconds else 0.0

    @property
    def intensity(self) -> float:
        """Arithmetic operations for each byte."""
        return self.operations / self.bytes if self.bytes else 0.0
