"""A campaign over derivatives of random programs.

    python -m benchmarks.fuzz_gradients [--count 2000] [--seed 0] [--minutes 30] [--no-native]

Programs use the whole language: closures, cells, data types, matches, recursion, tuples, sizes that
are forgotten; every second one asks for derivatives itself. Of each,
- the products <u, Jt> in forward mode and <J'u, t> in reverse mode must agree to 1e-9, and with
  difference quotients where these are smooth;
- second derivatives must be the same forward over reverse and reverse over forward, and agree with
  difference quotients of the first ones;
- the gradient must stay the same after each pass of builds, one after the other, and after each
  pass of the language by itself;
- native code must give what the interpreter gives, call after call.

What is wrong is printed with its seed; programs without floats among their inputs are not counted.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter

from benchmarks.fuzzing.program_gradients import failures
from benchmarks.interruptible import until_interrupted

PROGRESS = 100
"""Programs between two lines that tell how far the campaign has come."""


def main() -> int:
    """Run the campaign; 1 if anything is wrong."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--count", type=int, default=2000, help="programs that have a gradient")
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--no-native", action="store_true")
    options = parser.parse_args()
    end = time.monotonic() + 60 * options.minutes
    kinds: Counter[str] = Counter()
    seed = options.seed
    with until_interrupted():
        while kinds["programs"] < options.count and time.monotonic() < end:
            found = failures(seed, not options.no_native)
            kinds.update({each.kind for each in found or ()})
            for each in found or ():
                print(f"seed {seed}: {each.kind}: {each.text}", flush=True)
            if found is not None:
                kinds["programs"] += 1
                if kinds["programs"] % PROGRESS == 0:
                    print(f"seed {seed}: {_summary(kinds)}", flush=True)
            seed += 1
    print(f"seeds {options.seed} to {seed - 1}: {_summary(kinds)}")
    return 1 if kinds.keys() - {"programs"} else 0


def _summary(kinds: Counter[str]) -> str:
    return (
        f"{kinds['programs']} programs, {kinds['differs']} differ, {kinds['refused']} refused, "
        f"{kinds['exception']} with an exception"
    )


if __name__ == "__main__":
    sys.exit(main())
