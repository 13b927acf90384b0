"""Random products and convolutions of quantized integers, against int64 arithmetic.

    python -m benchmarks.fuzz_integers --count 1000 [--seed 0] [--target T] [--integers never]
    python -m benchmarks.fuzz_integers --target x86_64-linux-gnu:haswell --most-weight 64

Elements have the full ranges of bytes, about half of them at the ends; there are zero points of all
and of channels, padding, groups, dilation, odd sums, constant weights and such that a run gives.
Scales are powers of two, so that results that are quantized are known exactly, too. Every element
has to be equal. What differs is printed with its seed.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter

import numpy as np

from benchmarks.fuzzing.integers.case import Case
from benchmarks.fuzzing.integers.convolutions import conv_integer, quantized_conv
from benchmarks.fuzzing.integers.draw import MOST_WEIGHT
from benchmarks.fuzzing.integers.products import matmul_integer, quantized_matmul
from relay_tune.building.build import build
from relay_tune.building.chosen_passes import ChosenPasses
from relay_tune.frontend.onnx_import.from_onnx import from_onnx

KINDS = (matmul_integer, conv_integer, quantized_matmul, quantized_conv)


def integer_case(seed: int, most: int = MOST_WEIGHT) -> Case:
    """The case of a seed, whose signed weights lie within `most` of zero; kinds take turns."""
    return KINDS[seed % len(KINDS)](np.random.default_rng(seed), most)


def wrong_elements(case: Case, integers: str = "always", target: str = "native") -> int:
    """How many elements of a case's result are not what they have to be."""
    passes = ChosenPasses(f"default{{integers={integers}}}")
    model = build(from_onnx(case.model), target=target, threads=1, passes=passes)
    found = np.asarray(model(*case.feeds.values()))
    if (found.dtype, found.shape) != (case.expected.dtype, case.expected.shape):
        return max(1, case.expected.size)
    return int((found != case.expected).sum())


def main() -> None:
    """Print what differs, and how many cases there were."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=_Raw)
    parser.add_argument("--count", type=int, default=100, help="cases")
    parser.add_argument("--seed", type=int, default=0, help="of the first case")
    parser.add_argument("--target", default="native", help="one that this machine runs")
    parser.add_argument("--integers", default="always", choices=["always", "never", "auto"])
    parser.add_argument("--most-weight", type=int, default=MOST_WEIGHT, help="of signed weights")
    given = parser.parse_args()
    counts: Counter[str] = Counter()
    for seed in range(given.seed, given.seed + given.count):
        case = integer_case(seed, given.most_weight)
        wrong = wrong_elements(case, given.integers, given.target)
        counts["wrong" if wrong else "equal"] += 1
        if wrong:
            print(f"seed {seed}: {wrong} of {case.expected.size} elements: {case.name}")
    print(", ".join(f"{count} {word}" for word, count in sorted(counts.items())))
    sys.exit(bool(counts["wrong"]))


_Raw = argparse.RawDescriptionHelpFormatter

if __name__ == "__main__":
    main()
