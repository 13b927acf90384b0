"""One network built from several tuning logs, and from none, side by side.

    tune run zoo:squeezenet1_1 --log 0.db --seed 0 --minutes 1
    tune run zoo:squeezenet1_1 --log 1.db --seed 1 --minutes 1
    python -m benchmarks.compare_logs zoo:squeezenet1_1 0.db 1.db

The builds take turns in short bursts, and medians are printed: milliseconds, and the time divided
by that of the fastest build from a log. The answers to what search leads to: whether two seeds end
alike, how near a short run comes to a long one, and what tuning gains at all.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.interleave import interleaved_medians
from relay_tune import zoo
from relay_tune.cli.model_file import load_model
from relay_tune.runtime.threads import thread_count
from relay_tune.tuning.tuned_build import build

UNTUNED = "untuned"


def measure(model: str, logs: Sequence[Path], threads: int, rounds: int) -> dict[str, float]:
    """Seconds of the network for each log, by its path, and for the untuned build."""
    module = load_model(model)
    inputs = zoo.example_inputs(module, 0)
    builds = {UNTUNED: build(module, threads=threads)}
    builds |= {str(log): build(module, log=log, threads=threads) for log in logs}
    runs = {name: lambda built=built: built.run(inputs) for name, built in builds.items()}
    return interleaved_medians(runs, rounds=rounds)


def report(seconds: Mapping[str, float]) -> None:
    """Print all times, and by how much those from logs differ."""
    tuned = [time for name, time in seconds.items() if name != UNTUNED]
    print("| build | ms | by the fastest from a log |")
    print("|---|---|---|")
    for name, time in seconds.items():
        print(f"| {name} | {1e3 * time:.4g} | {time / min(tuned):.3f} |")
    print(f"\nthe slowest from a log takes {max(tuned) / min(tuned) - 1:.1%} more")


def main() -> None:
    """Parse the command line, build, measure and print."""
    parser = argparse.ArgumentParser(description="Compare builds of one network from logs.")
    parser.add_argument("model", help="a file, or zoo:NAME")
    parser.add_argument("logs", nargs="+", type=Path)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--rounds", type=int, default=15, help="bursts of each build")
    options = parser.parse_args()
    report(measure(options.model, options.logs, thread_count(options.threads), options.rounds))


if __name__ == "__main__":
    main()
