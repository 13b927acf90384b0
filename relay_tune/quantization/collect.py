"""Runs a network on samples and counts the elements of each annotated tensor."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import prod

import numpy as np

from relay_tune.ir.module import Module
from relay_tune.op_rules.matching import example_shape
from relay_tune.op_rules.quantize.annotations import Observation, observation
from relay_tune.quantization.histogram import Histogram
from relay_tune.quantization.programs import native_program, results
from relay_tune.transform.quantize.layers import straight_nodes

MOST_BYTES = 1 << 28
"""Of tensors that one program gives at once."""


def observed_data(annotated: Module) -> list[Observation]:
    """The annotations of tensors that are computed, in order."""
    found = map(observation, straight_nodes(annotated.main.body))
    return [each for each in found if each is not None and each.is_data]


def collect(
    annotated: Module, samples: Iterable[Mapping[str, np.ndarray]], threads: int | None = None
) -> dict[str, Histogram]:
    """The distribution of each annotated tensor over all samples, by its name.

    The network is built for this machine with the tensors as outputs, as few at a time as have room
    in memory.
    """
    seen: dict[str, Histogram] = {}
    for group in _groups(observed_data(annotated)):
        names = [each.tensor for each in group]
        program = native_program(annotated, [each.data for each in group], (), threads)
        for sample in samples:
            for name, array in zip(names, results(program, sample), strict=True):
                seen.setdefault(name, Histogram()).add(array)
    return seen


def _groups(observed: Sequence[Observation]) -> Iterator[list[Observation]]:
    group: list[Observation] = []
    size = 0
    for each in observed:
        count = 4 * prod(example_shape(each.data))
        if group and size + count > MOST_BYTES:
            yield group
            group, size = [], 0
        group.append(each)
        size += count
    if group:
        yield group
