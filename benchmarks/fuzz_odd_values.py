"""Outliers, infinities and NaN in one element of an input: which results they may change.

    python -m benchmarks.fuzz_odd_values --count 2000 --workers 2 [--only nn.conv2d] [--seed 0]

A case is a random call of an operator, of all operators in turn, or, every tenth, a random network.
numpy says which results one odd element changes, and which of them are infinite or NaN; the native
code must change no others (`fast` convolutions: none of another sample). What differs is printed
with its name and seed. A process runs some cases, so that a crash costs the rest of these only.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import count, islice

from benchmarks.fuzzing import odd_networks, odd_values
from benchmarks.fuzzing.apart import run_apart
from benchmarks.fuzzing.networks import KINDS
from benchmarks.fuzzing.odd_cases.table import CASES

NETWORK_SHARE = 10
"""Every tenth case is a network."""


TOGETHER = 40
"""Cases of one process."""


def cases(only: str | None, seed: int) -> Iterator[tuple[str, int]]:
    """Names with seeds, without end."""
    if only is not None:
        yield from ((only, number) for number in count(seed))
    operators = ((name, number) for number in count(seed) for name in sorted(CASES))
    networks = ((kind, number) for number in count(seed) for kind in KINDS)
    for number in count(1):
        yield next(networks if number % NETWORK_SHARE == 0 else operators)


def problems(jobs: Sequence[tuple[str, int]]) -> Iterator[str]:
    """What is wrong with cases."""
    for name, seed in jobs:
        check = odd_values.problems if name in CASES else odd_networks.problems
        yield from (f"{name} {seed}: {line}" for line in check(name, seed))


def main() -> int:
    """Run a campaign; the exit code is 1 if anything differs."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=300, help="cases")
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--only", choices=[*sorted(CASES), *KINDS], help="this operator or kind")
    parser.add_argument("--workers", type=int, default=1, help="cases at the same time")
    parser.add_argument("--timeout", type=float, default=600.0, help="seconds a process")
    options = parser.parse_args()
    multiprocessing.set_forkserver_preload([__name__])
    jobs = list(islice(cases(options.only, options.seed), options.count))
    wrong = 0
    with ThreadPoolExecutor(options.workers) as pool:
        parts = [jobs[begin : begin + TOGETHER] for begin in range(0, len(jobs), TOGETHER)]
        results = pool.map(lambda part: run_apart(options.timeout, problems, part), parts)
        for (first, *_), lines in zip(parts, results, strict=True):
            for line in lines:
                print(line if ": " in line else f"{first[0]} {first[1]} and on: {line}", flush=True)
            wrong += len(lines)
    print(f"{len(jobs)} cases, {wrong} differences")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
