"""Where the time of a program goes, primitive by primitive, and how near it is to the limits."""

from __future__ import annotations

from relay_tune.codegen.kernel_work import KernelWork
from relay_tune.quick_dataclass import dataclass
from relay_tune.runtime.machine_limits import Bound, MachineLimits

HEAD = (
    f"{'us':>10} {'Mop':>9} {'own Mop':>9} {'MB':>8} {'GFLOP/s':>9} {'GB/s':>7} "
    f"{'bound by':>9} {'of limit':>8} {'share':>6} {'computed by':>11}"
)


@dataclass(frozen=True, slots=True)
class ProfileRow:
    """One primitive of a program.

    Attributes:
        title: the primitive in words, that of no other row.
        digest: the digest of its key.
        seconds: the median time of one run.
        work: its operations and bytes.
        bound: the least time that the machine needs for them, and what takes it.
        share: its part of the sum of all times, 0 to 1.
        nodes: the names of the user's nodes that it computes, the main one first.
        calls: how often a run of the program runs it; time and work are those of all.
    """

    title: str
    digest: str
    seconds: float
    work: KernelWork
    bound: Bound
    share: float
    nodes: tuple[str, ...] = ()
    calls: int = 1

    @property
    def is_known(self) -> bool:
        """Whether its work is known: that of dynamic sizes is not."""
        return self.work.bytes > 0 or self.work.written > 0

    @property
    def name(self) -> str:
        """The title, with the number of calls where there are several."""
        return self.title if self.calls == 1 else f"{self.calls} x {self.title}"

    @property
    def gflops(self) -> float:
        """Billions of arithmetic operations, as the program is written, a second."""
        return self.work.written / self.seconds / 1e9 if self.seconds else 0.0

    @property
    def gigabytes_per_second(self) -> float:
        """Billions of bytes, each counted once, a second."""
        return self.work.bytes / self.seconds / 1e9 if self.seconds else 0.0

    @property
    def limit_share(self) -> float:
        """The least time as a part of the time: how near the primitive is to its limit."""
        return self.bound.seconds / self.seconds if self.seconds else 0.0

    def __str__(self) -> str:
        work = self.work
        if not self.is_known:
            numbers = f"{'-':>9} {'-':>9} {'-':>8} {'-':>9} {'-':>7} {'-':>9} {'-':>8}"
            return f"{1e6 * self.seconds:>10.1f} {numbers} {self.share:>6.1%} {'-':>11}"
        return (
            f"{1e6 * self.seconds:>10.1f} {work.written / 1e6:>9.2f} {work.own / 1e6:>9.2f} "
            f"{work.bytes / 1e6:>8.3f} {self.gflops:>9.1f} {self.gigabytes_per_second:>7.1f} "
            f"{self.bound.name:>9} {self.limit_share:>8.0%} {self.share:>6.1%} "
            f"{work.instruction or '-':>11}"
        )


@dataclass(frozen=True, slots=True)
class ProfileReport:
    """The primitives of a program in the order in which they run; `print` shows a table.

    Those of a program with control flow come with the one that takes most time first.

    Attributes:
        rows: one for each primitive.
        limits: of the machine, for the number of threads.
        whole: the seconds of a run of a program with control flow, with what it does between its
            kernels; None for a network, which does nothing there.
    """

    rows: tuple[ProfileRow, ...]
    limits: MachineLimits
    whole: float | None = None

    @property
    def seconds(self) -> float:
        """The sum of the times of all primitives."""
        return sum(row.seconds for row in self.rows)

    def __str__(self) -> str:
        width = max((len(row.name) for row in self.rows), default=9)
        lines = [f"{'kernel':<{width}} {HEAD}"]
        lines += [f"{row.name:<{width}} {row}" for row in self.rows]
        lines.append(f"{'total':<{width}} {1e6 * self.seconds:>10.1f}")
        if self.whole is not None:
            lines.append(f"{'whole run':<{width}} {1e6 * self.whole:>10.1f}")
        lines.append(f"limits: {self.limits}")
        return "\n".join(lines)
