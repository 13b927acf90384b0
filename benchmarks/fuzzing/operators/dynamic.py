"""The networks over all operators, with axes whose sizes only a run knows.

    network:  input1 float32[5, 3, 5], input2 float32[5]
    here:     input1 float32[n5, 3, n5], input2 float32[n5]; runs with n5 = 5, 6 and 10
    or:       input1 float32[a, 3, ?], input2 float32[b]; the same runs

The constants stay, so that some networks have an answer at the first sizes only.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import onnx

from benchmarks.fuzzing.builder import RandomNetwork
from benchmarks.fuzzing.operators.networks import operator_network

DYNAMIC_SHARE = 0.6
"""How many of the sizes that a network's inputs have are dynamic."""

NAMED_SHARE = 0.6
"""How many networks have one name for equal sizes."""


def dynamic_network(seed: int) -> RandomNetwork:
    """The network of a seed with dynamic sizes, and inputs of three sizes."""
    network = operator_network(seed)
    random = np.random.default_rng([seed, *b"dynamic"])
    (feed,) = network.inputs
    sizes = sorted({size for array in feed.values() for size in array.shape})
    dynamic = {size for size in sizes if random.random() < DYNAMIC_SHARE} or set(sizes[-1:])
    model = onnx.ModelProto()
    model.CopyFrom(network.model)
    _name_sizes(model.graph, dynamic, random)
    changes: list[dict[int, int]] = [
        {},
        {size: size + 1 for size in dynamic},
        {size: int(random.choice([1, 2 * size])) for size in dynamic},
    ]
    feeds = tuple(
        {name: _resized(array, change) for name, array in feed.items()} for change in changes
    )
    return replace(network, kind="dynamic operators", model=model, inputs=feeds)


def _name_sizes(graph: onnx.GraphProto, dynamic: set[int], random: np.random.Generator) -> None:
    """Give names to dynamic sizes: equal ones the same, or each its own or none."""
    has_common_names = random.random() < NAMED_SHARE
    for value in graph.input:
        for axis, dim in enumerate(value.type.tensor_type.shape.dim):
            if dim.dim_value not in dynamic:
                continue
            size = dim.dim_value
            dim.ClearField("dim_value")
            if has_common_names:
                dim.dim_param = f"n{size}"
            elif random.random() < 0.5:
                dim.dim_param = f"{value.name}_{axis}"


def _resized(array: np.ndarray, change: dict[int, int]) -> np.ndarray:
    """An input of other sizes, with the same elements over and over."""
    return np.resize(array, [change.get(int(size), int(size)) for size in array.shape])
