"""One network built from several tuning logs, and from none, side by side.

    tune run zoo:squeezenet1_1 --log 0.db --seed 0 --minutes 1
    tune run zoo:squeezenet1_1 --log 1.db --seed 1 --minutes 1
    python -m benchmarks.compare_logs zoo:squeezenet1_1 0.db 1.db

Each log is built several times, for where a build happens to lie in memory may count for more than
its schedules. All builds take turns in short bursts; the median over the bursts is the time of a
build, the median over its builds that of a log. Printed are milliseconds, the fastest and the
slowest build, and the time divided by that of the best log. That answers what search leads to:
whether two seeds end alike, how near a short run comes to a long one, and what tuning gains at all.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import median

from benchmarks.interleave import interleaved_medians
from relay_tune import zoo
from relay_tune.cli.model_file import load_model
from relay_tune.runtime.run_clock import run_clock
from relay_tune.runtime.threads import thread_count
from relay_tune.tuning.tuned_build import build

UNTUNED = "untuned"


def measure(
    model: str,
    logs: Sequence[Path],
    threads: int,
    builds: int,
    rounds: int,
    target: str = "native",
) -> dict[str, list[float]]:
    """Seconds of each build of the network: for each log, by its path, and for the untuned ones."""
    module = load_model(model)
    inputs = zoo.example_inputs(module, 0)
    sources: dict[str, Path | None] = {UNTUNED: None, **{str(log): log for log in logs}}
    runs: dict[tuple[str, int], Callable[[], object]] = {}
    for number in range(builds):
        for name, log in sources.items():
            built = build(module, log=log, threads=threads, target=target)
            runs[name, number] = partial(built.run, inputs)
    seconds = interleaved_medians(runs, rounds=rounds, now=run_clock(threads).seconds)
    return {name: [seconds[name, number] for number in range(builds)] for name in sources}


def report(seconds: Mapping[str, Sequence[float]]) -> None:
    """Print all times, and by how much those of logs differ."""
    times = {name: median(own) for name, own in seconds.items()}
    tuned = [time for name, time in times.items() if name != UNTUNED]
    print("| build | ms | fastest | slowest | by the best log |")
    print("|---|---|---|---|---|")
    for name, time in times.items():
        ends = f"{1e3 * min(seconds[name]):.4g} | {1e3 * max(seconds[name]):.4g}"
        print(f"| {name} | {1e3 * time:.4g} | {ends} | {time / min(tuned):.3f} |")
    print(f"\nthe slowest log takes {max(tuned) / min(tuned) - 1:.1%} more than the best")


def main() -> None:
    """Parse the command line, build, measure and print."""
    parser = argparse.ArgumentParser(description="Compare builds of one network from logs.")
    parser.add_argument("model", help="a file, or zoo:NAME")
    parser.add_argument("logs", nargs="+", type=Path)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--builds", type=int, default=3, help="of each log")
    parser.add_argument("--rounds", type=int, default=15, help="bursts of each build")
    options = parser.parse_args()
    threads = thread_count(options.threads)
    report(measure(options.model, options.logs, threads, options.builds, options.rounds))


if __name__ == "__main__":
    main()
