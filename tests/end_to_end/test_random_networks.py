"""A few of the random networks of benchmarks/fuzz_networks.py, compared with another runtime."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.fuzz_networks import differences, expected_outputs, problems
from benchmarks.fuzzing.networks import KINDS, random_network

pytestmark = pytest.mark.builds_apart

SELECTION = [(kind, seed) for kind in KINDS for seed in (2, 3)]
SELECTION += [("perceptron", 3056), ("convolutional", 3056)]  # their last batch is empty
SELECTION += [("tensors", seed) for seed in range(4, 10)]
SELECTION += [("tensors", 90001)]  # a single integer, of which OneHot takes none


@pytest.mark.parametrize(("kind", "seed"), SELECTION)
def test_native_results_are_right(kind: str, seed: int) -> None:
    options = ["default"] if seed % 2 == 0 else ["NCHW"]
    network = random_network(kind, seed)
    assert expected_outputs(network)[0] is not None
    assert list(problems(network, options)) == []


def test_equal_seeds_give_equal_networks() -> None:
    first, second = (random_network("convolutional", 1) for _ in range(2))
    assert first.model == second.model
    assert random_network("convolutional", 2).model != first.model


def test_what_differs_is_found() -> None:
    right = np.array([1.0, 2.0, np.inf], np.float32)
    assert list(differences([right], [right])) == []
    slightly = right * np.float32(1.001)
    assert "error 0.001" in next(differences([slightly], [right]))
    assert "infinite" in next(differences([np.nan_to_num(right)], [right]))
    assert "integers differ" in next(differences([np.array([1])], [np.array([2])]))
    assert "float64" in next(differences([right.astype("float64")], [right]))
