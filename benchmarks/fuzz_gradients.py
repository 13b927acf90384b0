"""A campaign over derivatives of random programs.

    python -m benchmarks.fuzz_gradients [--count 2000] [--seed 0] [--minutes 30] [--no-native]

Programs use the whole language: closures, cells, data types, matches, recursion, tuples. Of each,
the products <u, Jt> in forward mode and <J'u, t> in reverse mode must agree, with each other to
1e-9 and with central differences where these are smooth, and native code with the interpreter.
What is wrong is printed with its seed.
"""

from __future__ import annotations

import argparse
import sys
import time

from benchmarks.fuzzing.program_gradients import failures


def main() -> int:
    """Run the campaign; 1 if anything is wrong."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--no-native", action="store_true")
    options = parser.parse_args()
    end = time.monotonic() + 60 * options.minutes
    checked = wrong = 0
    for seed in range(options.seed, options.seed + options.count):
        if time.monotonic() > end:
            break
        found = failures(seed, not options.no_native)
        checked += 1
        wrong += bool(found)
        for each in found:
            print(f"seed {seed}: {each}", flush=True)
    print(f"{checked} programs, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
