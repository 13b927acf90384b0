"""Layers that read the same data: times of small networks with and without combining them.

    python -m benchmarks.parallel_layers [CASE ...]

Each network has several layers on one input: heads of a detector, branches of a block. It is
built as always, and with the layers kept apart. The two take turns on one thread; a line has the
least time of each, and the first by the second.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from time import perf_counter
from typing import Any
from unittest import mock

import numpy as np

import relay_tune as rt
from relay_tune.ir.module import Module
from relay_tune.transform.bind_parameters import BindParameters
from relay_tune.transform.combine_parallel import CombineParallel

ROUNDS = 300

Array = np.ndarray[Any, Any]
Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Case:
    """A network with one input %x.

    Attributes:
        data: the shape of the input.
        weights: the shapes of the weights, by name.
        body: the result as Relay text.
    """

    data: Shape
    weights: Mapping[str, Shape]
    body: str

    def module(self) -> Module:
        """The network with random weights."""
        random = np.random.default_rng(0)
        types = {"x": self.data, **self.weights}
        params = ", ".join(f"%{name}: Tensor[{shape}, float32]" for name, shape in types.items())
        text = f"def @main({params}) {{ {self.body} }}".replace(",)", ")")
        drawn = {name: random.uniform(-0.1, 0.1, shape) for name, shape in self.weights.items()}
        weights = {name: value.astype(np.float32) for name, value in drawn.items()}
        return BindParameters(weights)(rt.parse(text))


def _heads(size: int, channels: int) -> Case:
    def head(number: int) -> str:
        return f"nn.bias_add(nn.conv2d(%x, %w{number}, padding=[1, 1]), %b{number})"

    weights: dict[str, Shape] = {
        "w1": (24, channels, 3, 3),
        "b1": (24,),
        "w2": (84, channels, 3, 3),
        "b2": (84,),
    }
    return Case((1, channels, size, size), weights, f"({head(1)}, {head(2)})")


def _branches() -> Case:
    def relu(weight: str, data: str, padding: int) -> str:
        return f"nn.relu(nn.conv2d({data}, %{weight}, padding=[{padding}, {padding}]))"

    pooled = "nn.max_pool2d(%x, pool_size=[3, 3], padding=[1, 1])"
    parts = (
        relu("a", "%x", 0),
        relu("d", relu("b", "%x", 0), 1),
        relu("e", relu("c", "%x", 0), 2),
        relu("f", pooled, 0),
    )
    weights: dict[str, Shape] = {
        "a": (64, 192, 1, 1),
        "b": (96, 192, 1, 1),
        "c": (16, 192, 1, 1),
        "d": (128, 96, 3, 3),
        "e": (32, 16, 5, 5),
        "f": (32, 192, 1, 1),
    }
    return Case((1, 192, 28, 28), weights, f"concatenate(({', '.join(parts)}), axis=1)")


def _dense(rows: int, inputs: int, units: int) -> Case:
    fields = ", ".join(f"nn.relu(nn.dense(%x, %w{number}))" for number in range(3))
    weights = {f"w{number}": (units, inputs) for number in range(3)}
    return Case((rows, inputs), weights, f"({fields})")


CASES: Mapping[str, Callable[[], Case]] = {
    "heads_19": lambda: _heads(19, 256),
    "heads_10": lambda: _heads(10, 128),
    "inception_3a": _branches,
    "dense_1x256x128": lambda: _dense(1, 256, 128),
    "dense_1x64x32": lambda: _dense(1, 64, 32),
    "dense_16x256x128": lambda: _dense(16, 256, 128),
    "dense_32x64x64": lambda: _dense(32, 64, 64),
    "dense_128x768x768": lambda: _dense(128, 768, 768),
}


def main() -> None:
    """Print a line for each of the chosen cases."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", nargs="*", default=[], help=", ".join(CASES))
    for name in parser.parse_args().cases or CASES:
        case = CASES[name]()
        data = np.random.default_rng(1).standard_normal(case.data).astype(np.float32)
        together, apart = _times(case.module(), data)
        ratio = together / apart
        print(f"{name:<20} {1e6 * together:9.1f} us  apart {1e6 * apart:9.1f} us  {ratio:5.2f} x")


def _times(module: Module, data: Array) -> tuple[float, float]:
    """The least seconds with the pass and without it."""
    together = rt.build(module, threads=1)
    with mock.patch.object(CombineParallel, "__call__", _unchanged):
        apart = rt.build(module, threads=1)
    models = (together, apart)
    least = [float("inf")] * len(models)
    for _ in range(ROUNDS):
        for number, model in enumerate(models):
            start = perf_counter()
            model(data)
            least[number] = min(least[number], perf_counter() - start)
    return least[0], least[1]


def _unchanged(_: CombineParallel, module: Module) -> Module:
    return module


if __name__ == "__main__":
    main()
