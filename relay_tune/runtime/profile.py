"""Where the time of a program goes, primitive by primitive."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from relay_tune.codegen.compiled_program import ProgramStep


@dataclass(frozen=True, slots=True)
class ProfileRow:
    """One primitive of a program.

    Attributes:
        title: the primitive in words.
        digest: the digest of its key.
        seconds: the median time of one run.
        operations: its arithmetic operations.
        share: its part of the sum of all times, 0 to 1.
    """

    title: str
    digest: str
    seconds: float
    operations: int
    share: float

    @property
    def gflops(self) -> float:
        """Billions of arithmetic operations a second."""
        return self.operations / self.seconds / 1e9 if self.seconds else 0.0


@dataclass(frozen=True, slots=True)
class ProfileReport:
    """The primitives of a program in the order in which they run; `print` shows a table."""

    rows: tuple[ProfileRow, ...]

    @property
    def seconds(self) -> float:
        """The sum of the times of all primitives."""
        return sum(row.seconds for row in self.rows)

    def __str__(self) -> str:
        width = max((len(row.title) for row in self.rows), default=9)
        lines = [f"{'primitive':<{width}} {'us':>10} {'GFLOP/s':>9} {'share':>7}"]
        lines += [
            f"{row.title:<{width}} {1e6 * row.seconds:>10.1f} {row.gflops:>9.1f} {row.share:>7.1%}"
            for row in self.rows
        ]
        lines.append(f"{'total':<{width}} {1e6 * self.seconds:>10.1f}")
        return "\n".join(lines)


def profile_report(steps: Sequence[ProgramStep], times: Sequence[Sequence[float]]) -> ProfileReport:
    """The report on steps and the times of each."""
    seconds = [median(each) for each in times]
    total = sum(seconds) or 1.0
    return ProfileReport(
        tuple(
            ProfileRow(step.title, step.digest, spent, step.operations, spent / total)
            for step, spent in zip(steps, seconds, strict=True)
        )
    )
