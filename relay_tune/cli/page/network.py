"""The report of one network on one machine."""

from __future__ import annotations

from datetime import UTC, datetime

from relay_tune.cli.page.kernel import KernelReport
from relay_tune.quick_dataclass import dataclass
from relay_tune.runtime.machine_limits import MachineLimits
from relay_tune.tuning.network_times import NetworkTimes


@dataclass(frozen=True, slots=True)
class WholeTimes:
    """The times of the whole network, and when they were taken (Unix time, in seconds)."""

    times: NetworkTimes
    at: float

    @property
    def day(self) -> str:
        """The day, such as `2026-11-23`."""
        return f"{datetime.fromtimestamp(self.at, UTC):%Y-%m-%d}"

    @property
    def gain(self) -> str:
        """How many times as fast tuning made it; `no gain` where the turns show none."""
        return f"{self.times.ratio:.2f}x" if self.times.is_gain else "no gain"

    @property
    def interval(self) -> str:
        """Where the true ratio lies."""
        if self.times.interval is None:
            return "untuned schedules stay"
        low, high = self.times.interval
        return f"{low:.2f}x to {high:.2f}x"


@dataclass(frozen=True, slots=True)
class NetworkReport:
    """The kernels of a network, the one that takes most time first.

    Attributes:
        name: of the network; empty for kernels that no run of the log counts to one.
        target: the processor.
        threads: that kernels were measured with.
        code_version: of the code generator.
        limits: of the machine; None where the log does not tell them.
        kernels: of the network.
        whole: the last times of the whole network; None where no run timed it.
    """

    name: str
    target: str
    threads: int
    code_version: str
    limits: MachineLimits | None
    kernels: tuple[KernelReport, ...]
    whole: WholeTimes | None = None

    @property
    def seconds(self) -> float:
        """The sum of all kernels, each timed by itself."""
        return sum(kernel.total for kernel in self.kernels)

    @property
    def untuned(self) -> float:
        """The same with the first correct schedules."""
        return sum(kernel.runs * (kernel.untuned or 0.0) for kernel in self.kernels)

    @property
    def least(self) -> float | None:
        """The least time for all kernels; None where that of one is not known."""
        bounds = [kernel.bound for kernel in self.kernels]
        known = [bound.seconds for bound in bounds if bound is not None]
        if len(known) < len(bounds):
            return None
        return sum(
            kernel.runs * seconds for kernel, seconds in zip(self.kernels, known, strict=True)
        )

    @property
    def measured(self) -> int:
        """How many schedules were measured, those that failed included."""
        return sum(len(kernel.samples) for kernel in self.kernels)

    @property
    def failed(self) -> int:
        """How many schedules failed."""
        return sum(sum(kernel.failures.values()) for kernel in self.kernels)

    @property
    def exceeds_arithmetic(self) -> bool:
        """Whether a kernel does more operations, as they are counted, than the machine can."""
        if self.limits is None:
            return False
        most = 1.02 * max(self.limits.operations.values())
        return any(kernel.rate > most for kernel in self.kernels)

    def share(self, kernel: KernelReport) -> float:
        """The part of the network's time that a kernel takes."""
        return kernel.total / self.seconds if self.seconds else 0.0
