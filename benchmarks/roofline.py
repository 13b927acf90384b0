"""Every kernel of the built-in networks that is far from the machine's limit, and why.

    python -m benchmarks.roofline --threads 1 --log tuning.db
    python -m benchmarks.roofline resnet18 mobilenet_v2 --below 0.9

The kernels are timed in their network, where their data come from wherever the kernels before left
them. The worst come first: those that would save most time if they ran at their limit.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from benchmarks.roofline_causes import Setting, causes, weight_bytes
from relay_tune import zoo
from relay_tune.building.build import build
from relay_tune.building.kept_kernels import ChooseSchedule
from relay_tune.codegen.target import Target, native_target
from relay_tune.codegen.version import CODE_VERSION
from relay_tune.machine.machine import Machine
from relay_tune.op.primitive_key import PrimitiveKey
from relay_tune.runtime.machine_limits import MachineLimits
from relay_tune.runtime.measure_limits import machine_limits
from relay_tune.runtime.model import Model
from relay_tune.runtime.profile import ProfileRow
from relay_tune.runtime.target_machine import machine_of
from relay_tune.runtime.threads import thread_count
from relay_tune.schedule.plan import Plan
from relay_tune.schedule.rewrites.algorithm import DIRECT
from relay_tune.schedule.schedule import Schedule
from relay_tune.tuning.logged_limits import logged_limits
from relay_tune.tuning.schedule_lookup import schedule_lookup

HEAD = ("network", "kernel", "runs", "us", "GFLOP/s", "GB/s", "bound by", "of limit", "why")


@dataclass(frozen=True, slots=True)
class Offender:
    """A primitive of a network, all its runs together.

    Attributes:
        network: the name of the network.
        rows: its runs.
        why: what keeps it from its limit, as far as the estimate tells.
    """

    network: str
    rows: tuple[ProfileRow, ...]
    why: str

    @property
    def seconds(self) -> float:
        """The time of all runs."""
        return sum(row.seconds for row in self.rows)

    @property
    def limit_share(self) -> float:
        """The least time as a part of the time."""
        return sum(row.bound.seconds for row in self.rows) / self.seconds

    @property
    def lost(self) -> float:
        """The time beyond the least one."""
        return self.seconds * (1 - self.limit_share)

    def cells(self) -> tuple[str, ...]:
        """The offender as a row of the table."""
        first, count = self.rows[0], len(self.rows)
        written = sum(row.work.written for row in self.rows)
        moved = sum(row.work.bytes for row in self.rows)
        return (
            self.network,
            f"{first.title}{_algorithm(first)}",
            str(count),
            f"{1e6 * self.seconds:.0f}",
            f"{written / self.seconds / 1e9:.0f}",
            f"{moved / self.seconds / 1e9:.1f}",
            first.bound.name,
            f"{self.limit_share:.0%}",
            self.why,
        )


def _algorithm(row: ProfileRow) -> str:
    return "" if row.work.algorithm in ("", str(DIRECT)) else f", {row.work.algorithm}"


@dataclass(eq=False, slots=True)
class Chosen:
    """Chooses schedules as a build does, and remembers them by the digest of the primitive."""

    machine: Machine
    threads: int
    lookup: ChooseSchedule | None
    schedules: dict[str, tuple[Plan, Schedule]]

    def __call__(self, key: PrimitiveKey, plan: Plan) -> Schedule:
        """The schedule of the log, or the one with the best estimate."""
        schedule = self.lookup(key, plan) if self.lookup is not None else None
        if schedule is None:
            schedule = plan.default_schedule(self.machine, self.threads)
        self.schedules[key.digest] = (plan.with_algorithm(schedule.algorithm), schedule)
        return schedule


def offenders(
    network: str, target: Target, threads: int, log: str | None, limits: MachineLimits, below: float
) -> list[Offender]:
    """The primitives of a network below a share of their limit."""
    lookup = None if log is None else schedule_lookup(log, target, threads, CODE_VERSION)
    machine = machine_of(target, lookup.limits if lookup is not None else None)
    chosen = Chosen(machine, threads, lookup, {})
    module = zoo.build(network)
    model = build(module, target=target, threads=threads, schedules=chosen)
    if not isinstance(model, Model):
        return []  # a program with control flow has no profile
    report = model.profile(*zoo.example_inputs(module).values(), limits=limits)
    weights = sum(weight_bytes(plan) for plan, _ in chosen.schedules.values()) or 1
    setting = Setting(machine, threads, weights / limits.reading(weights).seconds)
    groups: dict[str, list[ProfileRow]] = {}
    for row in report.rows:
        groups.setdefault(row.digest, []).append(row)
    found = [
        Offender(
            network,
            tuple(rows),
            causes(*chosen.schedules[digest], rows[0], setting)
            if digest in chosen.schedules
            else "",
        )
        for digest, rows in groups.items()
    ]
    return [each for each in found if each.limit_share < below]


def table(found: Iterable[Offender]) -> str:
    """The offenders as a Markdown table, the worst first."""
    rows = [HEAD, tuple("---" for _ in HEAD)]
    rows += [each.cells() for each in sorted(found, key=lambda each: -each.lost)]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("networks", nargs="*", default=zoo.names(), metavar="NETWORK")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--log", help="take schedules, and the limits, from a tuning log")
    parser.add_argument("--below", type=float, default=0.8, help="share of the limit")
    parser.add_argument("--rows", type=int, default=1000, help="print at most so many")
    chosen = parser.parse_args(arguments)
    target, threads = native_target(), thread_count(chosen.threads)
    limits = None if chosen.log is None else logged_limits(chosen.log, target, threads)
    limits = limits if limits is not None else machine_limits(threads)
    found: list[Offender] = []
    for network in chosen.networks:
        found += offenders(network, target, threads, chosen.log, limits, chosen.below)
    worst = sorted(found, key=lambda each: -each.lost)[: chosen.rows]
    print(f"limits: {limits}\n")
    print(table(worst))


if __name__ == "__main__":
    main()
