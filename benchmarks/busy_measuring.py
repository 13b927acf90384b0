"""Measurements beside busy processes: is any time one that cannot be?

    python -m benchmarks.busy_measuring tuning.db [--measurements 5000] [--busy 8] [--minutes 10]

The kernels of built-in networks are tuned on two threads, network after network into one log,
beside processes that compute and that move memory; each candidate of the search is timed often, and
the least time goes to the tuner, which has to doubt it where it cannot be. Called again with
the same log, the search goes on. Each time is compared with what its work takes at least, before
tuning judges it and as the log has it. The bound is found without the tuner's own: the operations
of the task as its program is written, by the most that its algorithm can save, at what a loop of
multiply-adds reaches (`benchmarks.peak`) when the others are gone; and the bytes of its inputs and
results, at what a first cache moves at that clock. `tune log check` has to find nothing, either.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path

import logs
from benchmarks.busy import busy_processes
from benchmarks.peak import operations, peak_run
from relay_tune.building.program_form import fused_module
from relay_tune.codegen.target import native_target
from relay_tune.runtime.measuring.measurement import Measurement, Outcome
from relay_tune.runtime.threads import available_processors
from relay_tune.schedule.accuracy import parse_accuracy
from relay_tune.schedule.rewrites.algorithm import Algorithm, AppliedAlgorithm, Rewrite
from relay_tune.schedule.rewrites.strassen.record import STRASSEN
from relay_tune.schedule.rewrites.winograd.record import WINOGRAD, Tiles
from relay_tune.schedule.schedule import algorithm_of
from relay_tune.time_limit import TimeIsOver
from relay_tune.tuning.options import TuningOptions
from relay_tune.tuning.runner import NativeRunner, Prepared
from relay_tune.tuning.tasks import Task, extract_tasks
from relay_tune.tuning.tune import tune_tasks
from relay_tune.typing.infer import infer_types
from relay_tune.zoo.catalogue import build

NETWORKS = ("mlp", "nature_dqn", "dcgan", "lstm", "squeezenet1_1")

REPETITIONS = 20
"""How often each candidate is timed."""

PEAK_SAMPLES = 200
"""Runs of a loop of multiply-adds, some tenths of a millisecond each; the fastest tells the clock.
"""

TOLERANCE = 1.02
"""The clock may have been so much higher at another time."""

VECTORS_PER_CYCLE = 2
"""Fused multiply-adds on whole vectors that a core begins in a cycle."""

MOVES_PER_CYCLE = 3
"""Whole vectors that a core moves from and to its first cache in a cycle: two in, one out."""

MOST_SAVED: Mapping[Algorithm, float] = {WINOGRAD: 4.0, STRASSEN: 8 / 7}
"""How many of a program's multiplications an algorithm saves at most: one is left of so many."""


@dataclass(frozen=True, slots=True)
class Time:
    """A correct measurement of a task, whoever believes it."""

    task: str
    algorithm: AppliedAlgorithm
    threads: int
    seconds: float


class Watched(NativeRunner):
    """A runner that times each candidate often, and notes all times before anybody judges them."""

    def __init__(self, threads: int, times: list[Time], wanted: int) -> None:
        super().__init__(native_target(), threads, 0)
        self._own_threads, self._times, self._wanted = threads, times, wanted

    def measure(self, task: Task, prepared: Prepared, best: float | None) -> Measurement:
        """The least of several times, see `Runner.measure`; TimeIsOver where there are enough."""
        if len(self._times) >= self._wanted:
            raise TimeIsOver
        found: list[Measurement] = []
        for _ in range(REPETITIONS):
            found.append(super().measure(task, prepared, best))
            seconds = found[-1].seconds
            if found[-1].outcome is not Outcome.OK or seconds is None:
                return found[-1]
            algorithm = prepared.schedule.algorithm
            self._times.append(Time(task.key.digest, algorithm, self._own_threads, seconds))
        return min(found, key=lambda each: each.seconds or 0.0)


def measure(log: Path, wanted: int, seconds: float, threads: int) -> list[Time]:
    """Tune until there are so many times or the time is over; all times."""
    end, found = time.monotonic() + seconds, list[Time]()
    for number, name in enumerate(NETWORKS):
        left = (end - time.monotonic()) / (len(NETWORKS) - number)
        runner = Watched(threads, found, wanted)
        options = TuningOptions(None, max(0.0, left) / 60, 0, name=name, began=time.monotonic())
        try:
            result = tune_tasks(
                tasks_of(name),
                runner,
                log=log,
                options=options,
                target=native_target(),
                threads=threads,
            )
        finally:
            runner.close()
        print(f"{name}: {len(found)} measurements in all", flush=True)
        if result.interrupted or len(found) >= wanted or time.monotonic() > end:
            break
    return found


def tasks_of(name: str) -> list[Task]:
    """The tasks of a network."""
    return extract_tasks(fused_module(infer_types(build(name))), parse_accuracy("fast"))


def impossible(times: Sequence[Time], tasks: Mapping[str, Task], clock: float) -> list[str]:
    """The times below the least ones at a clock in cycles a second, and how near others come."""
    found, nearest = [], float("inf")
    for each in times:
        task = tasks[each.task]
        least = least_seconds(task, each, clock)
        nearest = min(nearest, each.seconds / least)
        if each.seconds < least:
            found.append(f"{task.title}, {each.algorithm}: {each.seconds:.3g} s of {least:.3g} s")
    print(f"{len(times)} times, {len(found)} below the bound, the nearest at {nearest:.2f} of it")
    return found


def highest_clock() -> float:
    """Cycles a second of one core, from the fastest run of a loop of multiply-adds."""
    target, run = native_target(), peak_run(1)
    fastest = min(_seconds_of(run) for _ in range(PEAK_SAMPLES))
    per_cycle = 2 * target.lanes("float32") * VECTORS_PER_CYCLE
    return operations(target) / fastest / per_cycle * TOLERANCE


def _seconds_of(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def _saved(rewrite: Rewrite) -> float:
    """What a rewrite saves; tiles of two results less than those of four."""
    match rewrite.parameters:
        case Tiles(tile=2):
            return 2.25
    return MOST_SAVED.get(rewrite.algorithm, 1.0)


def least_seconds(task: Task, measured: Time, clock: float) -> float:
    """What no processor with this one's vectors does the work of a task in, in seconds."""
    saved = prod(map(_saved, measured.algorithm.rewrites))
    lanes = native_target().lanes("float32")
    cycles = clock * min(measured.threads, available_processors())
    computing = task.operations / saved / (2 * lanes * VECTORS_PER_CYCLE * cycles)
    return max(computing, task.bytes / (4 * lanes * MOVES_PER_CYCLE * cycles))


def main() -> int:
    """Measure beside busy processes and look at the log; 1 if it believes what cannot be."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("log", type=Path, help="the log to add to")
    parser.add_argument("--measurements", type=int, default=5000, help="in all (default: 5000)")
    parser.add_argument("--busy", type=int, default=8, help="processes beside (default: 8)")
    parser.add_argument("--threads", type=int, default=2, help="of the kernels (default: 2)")
    parser.add_argument("--minutes", type=float, default=10.0, help="of this call (default: 10)")
    options = parser.parse_args()
    seconds = 60 * options.minutes
    with busy_processes(options.busy, 2 * seconds + 60):
        raw = measure(options.log, options.measurements, seconds, options.threads)
    tasks = {task.key.digest: task for name in NETWORKS for task in tasks_of(name)}
    with logs.open_log(options.log) as opened:
        records, check = list(opened.history()), opened.check()
    clock = highest_clock()
    print("as they were measured by this call: ", end="")
    impossible(raw, tasks, clock)
    print("as the log has them: ", end="")
    wrong = impossible([_believed(each) for each in records if each.status == "ok"], tasks, clock)
    for line in (*wrong, *check.faults, *check.damaged):
        print(f"wrong: {line}")
    statuses = Counter(record.status.value for record in records)
    counted = ", ".join(f"{count} {name}" for name, count in statuses.most_common())
    print(f"schedules in the log: {counted}")
    return int(bool(wrong) or not check.ok)


def _believed(record: logs.Record) -> Time:
    assert record.seconds is not None
    return Time(record.workload, algorithm_of(record.schedule), record.threads, record.seconds)


if __name__ == "__main__":
    sys.exit(main())
