"""Random networks over 150 operators of ONNX, all element types, empty and odd shapes.

    python -m benchmarks.fuzz_operators --count 1000 [--seed 0] [--workers 1] [--dynamic]

Each network is built natively and has to give what onnxruntime gives without optimisations, or
ONNX's own reference, or onnxruntime with float32 in place of short floats: integers exactly, floats
within a tolerance of the largest element. A network that none of them runs counts as neither. Where
ours is refused, the message is printed; each network runs in a process of its own. With `--dynamic`
some axes of inputs have no fixed size; the network is built once and runs with inputs of three
sizes, of which those count that others run.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain

import numpy as np
import onnx

from benchmarks.fuzzing.apart import run_apart
from benchmarks.fuzzing.builder import RandomNetwork
from benchmarks.fuzzing.operators.answers import Answer, Feed, answers, disagreements, misfits
from benchmarks.fuzzing.operators.dynamic import dynamic_network
from benchmarks.fuzzing.operators.networks import operator_network
from relay_tune.building.build import build
from relay_tune.errors import RelayError, UnsupportedOperatorError
from relay_tune.frontend.onnx_import.from_onnx import from_onnx
from relay_tune.runtime.model import Model


@dataclass(frozen=True, slots=True)
class Run:
    """Inputs of a network, who runs them first, and the answers."""

    feed: Feed
    source: str
    expected: Iterator[tuple[str, Answer]]


def outcome(seed: int, is_dynamic: bool = False) -> Iterator[str]:
    """How the network of a seed came out, in one word, then what is wrong with it."""
    warnings.simplefilter("ignore")
    network = dynamic_network(seed) if is_dynamic else operator_network(seed)
    runs = list(_runs(network))
    if not runs:
        yield "nobody runs it"
        return
    try:
        module = from_onnx(network.model)
        model = build(module, threads=1)
        problems = [line for run in runs for line in _problems(network.model, model, run)]
    except UnsupportedOperatorError as error:
        yield "refused"
        yield f"{error} ({runs[0].source} runs it)"
        return
    except RelayError as error:
        yield "failed"
        yield f"{error} ({runs[0].source} runs it)"
        return
    yield "wrong" if problems else "right"
    yield from problems


def _runs(network: RandomNetwork) -> Iterator[Run]:
    for feed in network.inputs:
        expected = answers(network.model, feed)
        first = next(expected, None)
        if first is not None:
            yield Run(feed, first[0], chain([first], expected))


def _problems(network: onnx.ModelProto, model: Model, run: Run) -> Iterator[str]:
    """What is wrong with the results of one run, whose inputs fit each other."""
    try:
        found = model.run(dict(run.feed))
    except RelayError:
        if misfits(network, run.feed):
            return
        raise
    lines = disagreements([np.asarray(each) for each in found], run.expected)
    shapes = ", ".join(f"{name} {array.shape}" for name, array in run.feed.items())
    yield from (f"{line} (for {shapes})" for line in lines)


def main() -> int:
    """Run a campaign; the exit code is 1 if a network is wrong, fails, or is refused."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=100, help="networks")
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--workers", type=int, default=1, help="networks at the same time")
    parser.add_argument("--timeout", type=float, default=120.0, help="seconds a network")
    parser.add_argument("--dynamic", action="store_true", help="axes that have no fixed size")
    options = parser.parse_args()
    multiprocessing.set_forkserver_preload([__name__])
    seeds = range(options.seed, options.seed + options.count)
    counts: Counter[str] = Counter()
    operators: set[str] = set()
    with ThreadPoolExecutor(options.workers) as pool:
        results = pool.map(
            lambda seed: run_apart(options.timeout, outcome, seed, options.dynamic), seeds
        )
        for seed, (word, *problems) in zip(seeds, results, strict=True):
            counts[word] += 1
            operators.update(node.op_type for node in operator_network(seed).model.graph.node)
            for line in problems or ([] if word in ("right", "nobody runs it") else [""]):
                print(f"{seed}: {word}: {line}", flush=True)
    print(f"{options.count} networks over {len(operators)} operators:")
    for word, count in counts.most_common():
        print(f"  {count:5} {word}")
    return int(set(counts) > {"right", "nobody runs it"})


if __name__ == "__main__":
    sys.exit(main())
