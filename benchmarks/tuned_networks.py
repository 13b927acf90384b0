"""What tuning gains: networks tuned for a few minutes each, and measured again afterwards.

    python -m benchmarks.other_networks FOLDER
    python -m benchmarks.tuned_networks FOLDER/*.onnx --minutes 3 --threads 1

Each network is tuned into a log of its own by a fresh process. Another fresh one builds it untuned
and tuned, several times each, and all builds take turns; on one thread its own clock is read.
Printed are milliseconds, the tuned time by the untuned one, what the run itself had said of that,
by how much it was wrong, how many candidates it measured and in how many seconds; then the
geometric mean, the worst network and the worst claim. After a network that fails the others go on.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from statistics import geometric_mean
from time import monotonic
from typing import ParamSpec, TypeVar

from benchmarks.compare_logs import UNTUNED, measure
from benchmarks.machine import machine_description
from relay_tune.cli.model_file import load_model
from relay_tune.errors import RelayError
from relay_tune.runtime.threads import thread_count
from relay_tune.tuning.tune import tune

BUILDS = 2
"""Of each network, untuned and tuned: where a build lies in memory counts, too."""

ROUNDS = 15

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Row:
    """One network.

    Attributes:
        untuned: seconds of one inference with default schedules.
        tuned: the same with those of the log.
        claimed: the tuned time by the untuned one, as the run said; 1 where it kept all defaults.
        candidates: how many the run measured.
        seconds: how long it took.
    """

    network: str
    untuned: float
    tuned: float
    claimed: float
    candidates: int
    seconds: float

    @property
    def ratio(self) -> float:
        """The tuned time by the untuned one."""
        return self.tuned / self.untuned

    @property
    def wrong(self) -> float:
        """By how much the claim differs from what is measured, as a share of it."""
        return abs(self.claimed / self.ratio - 1)


def measured(model: str, threads: int, minutes: float, target: str, seed: int) -> Row:
    """Tune and measure one network, a file or zoo:NAME."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log.db"
        began = monotonic()
        claimed, candidates = _by_itself(_tuned, model, log, threads, minutes, target, seed)
        seconds = monotonic() - began
        untuned, tuned = _by_itself(_seconds, model, log, threads, target)
    return Row(Path(model).stem, untuned, tuned, claimed, candidates, seconds)


def _by_itself(
    work: Callable[Arguments, Result], *args: Arguments.args, **kwargs: Arguments.kwargs
) -> Result:
    """The result of a function that a fresh process calls."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(work, *args, **kwargs).result()


def _tuned(
    model: str, log: Path, threads: int, minutes: float, target: str, seed: int
) -> tuple[float, int]:
    """What a run claims, and how many candidates it measured."""
    result = tune(
        load_model(model), log=log, threads=threads, minutes=minutes, target=target, seed=seed
    )
    times = result.network
    return (1.0 if times is None else 1 / times.ratio), result.measured


def _seconds(model: str, log: Path, threads: int, target: str) -> tuple[float, float]:
    """Untuned and tuned."""
    found = measure(model, [log], threads, BUILDS, ROUNDS, target=target)
    return min(found[UNTUNED]), min(found[str(log)])


def show(row: Row) -> None:
    """Print one line of the table."""
    print(
        f"| {row.network} | {1e3 * row.untuned:.4g} | {1e3 * row.tuned:.4g} | {row.ratio:.3f} "
        f"| {row.claimed:.3f} | {row.wrong:.1%} | {row.candidates} | {row.seconds:.0f} |",
        flush=True,
    )


def main() -> None:
    """Parse the command line, tune, measure and print."""
    parser = argparse.ArgumentParser(description="What tuning gains on whole networks.")
    parser.add_argument("models", nargs="+", help="files, or zoo:NAME")
    parser.add_argument("--minutes", type=float, default=3, help="for each network")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--target", default="native", help="one whose code this machine can run")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    threads = thread_count(options.threads)
    print(f"{machine_description()}, {threads} threads, {options.minutes} minutes each\n")
    print("| network | untuned ms | tuned ms | ratio | claimed | wrong by | candidates | s |")
    print("|---|---|---|---|---|---|---|---|")
    rows: list[Row] = []
    for model in options.models:
        try:
            row = measured(model, threads, options.minutes, options.target, options.seed)
        except (RelayError, OSError, BrokenExecutor) as error:
            print(f"| {Path(model).stem} | failed: {error} |", flush=True)
            continue
        show(row)
        rows.append(row)
    if not rows:
        sys.exit(1)
    print(f"\ngeometric mean {geometric_mean([row.ratio for row in rows]):.3f}", end="")
    print(f", worst {max(row.ratio for row in rows):.3f}", end="")
    print(f", worst claim {max(row.wrong for row in rows):.1%}")


if __name__ == "__main__":
    main()
