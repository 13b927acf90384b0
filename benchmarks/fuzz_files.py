"""Hostile and damaged model files: each must build and run, or give one clear error.

    python -m benchmarks.fuzz_files --count 300 --workers 2 [--seed 0]

What is counted as wrong: an exception that is no RelayError, a process that dies or hangs, more
than 10 processor seconds, more than 4 GiB of memory. Each file is handled by a process of its own.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from benchmarks.fuzzing.file_outcome import outcome_apart
from benchmarks.fuzzing.hostile import hostile_models
from benchmarks.fuzzing.hostile_graphs import hostile_graphs
from benchmarks.fuzzing.mutations import mutated_bytes, mutated_model
from benchmarks.fuzzing.networks import KINDS, random_network
from benchmarks.interruptible import until_interrupted


def files(count: int, seed: int) -> dict[str, bytes]:
    """The hostile models, and `count` damaged random networks."""
    hostile = hostile_models() | hostile_graphs()
    found = {name: model.SerializeToString() for name, model in hostile.items()}
    return found | {f"damaged {n}": damaged(n) for n in range(seed, seed + count)}


def damaged(seed: int) -> bytes:
    """A random network after some changes, mostly of its graph."""
    random = np.random.default_rng(seed)
    kinds = list(KINDS)
    model = random_network(kinds[int(random.integers(len(kinds)))], seed).model
    if random.random() < 0.2:
        return mutated_bytes(model.SerializeToString(), random)
    return bytes(mutated_model(model, random).SerializeToString())


def main() -> int:
    """Run a campaign; the exit code is 1 if anything is wrong."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=100, help="damaged files")
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--workers", type=int, default=1, help="files at the same time")
    parser.add_argument("--match", default="", help="only files whose name contains this")
    parser.add_argument("--verbose", action="store_true", help="print every outcome")
    options = parser.parse_args()
    multiprocessing.set_forkserver_preload(
        ["benchmarks.fuzzing.file_outcome", "benchmarks.fuzzing.networks"]
    )
    found = {n: c for n, c in files(options.count, options.seed).items() if options.match in n}
    counts: Counter[str] = Counter()
    pool = ThreadPoolExecutor(options.workers)
    with until_interrupted():
        for name, line in zip(found, pool.map(outcome_apart, found.values()), strict=True):
            counts[line.partition(":")[0]] += 1
            if options.verbose or line.startswith("wrong"):
                print(f"{name}: {line}", flush=True)
    pool.shutdown(cancel_futures=True)
    print(", ".join(f"{count} {kind}" for kind, count in counts.most_common()))
    return int(counts["wrong"] > 0)


if __name__ == "__main__":
    sys.exit(main())
