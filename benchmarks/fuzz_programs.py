"""Damaged Relay programs: each must be read and typed, or give an error that says where.

    python -m benchmarks.fuzz_programs --count 500 [--seed 0]

What is counted as wrong: an exception that is no RelayError, an error without a place, more than
10 processor seconds, a program that is not the same after it was printed and read.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter

from benchmarks.fuzzing.programs import mutated, outcome, programs


def main() -> int:
    """Runs the campaign; 1 if something was wrong."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    texts = list(programs().values())
    counts: Counter[str] = Counter()
    for seed in range(options.seed, options.seed + options.count):
        chance = random.Random(seed)
        text = mutated(chance.choice(texts), texts, chance)
        found = outcome(text)
        counts[found.partition(":")[0]] += 1
        if found.startswith("wrong"):
            print(f"seed {seed}: {found}")
    print(", ".join(f"{count} {name}" for name, count in sorted(counts.items())))
    return 1 if counts["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
