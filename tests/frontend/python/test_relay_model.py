"""Classes whose methods are programs: their weights."""

# The programs use names that Relay knows and Python does not.
# ruff: noqa: B007, B018, F722, F821, SIM201, UP037

from __future__ import annotations

import numpy as np
import pytest

from relay_tune.errors import InputError
from relay_tune.frontend.python.relay_model import relay_model
from relay_tune.frontend.python.types import Tensor
from tests.frontend.python.running import run

ROWS = np.arange(12, dtype="float32").reshape(3, 4)
WEIGHT = np.linspace(-1, 1, 8, dtype="float32").reshape(2, 4)


@relay_model
class Network:
    weight: Tensor[(2, 4), "float32"]
    bias: "Tensor[(2), float32]"

    def hidden(self, x: Tensor[(3, 4), "float32"]):
        return np.tanh(x @ self.weight.T + self.bias)

    def main(self, x: Tensor[(3, 4), "float32"]):
        return self.hidden(x).sum(axis=0)


def test_models_have_weights() -> None:
    bias = np.ones(2, "float32")
    network = Network(weight=WEIGHT, bias=bias)
    expected = np.tanh(ROWS @ WEIGHT.T + bias).sum(axis=0)
    np.testing.assert_allclose(run(network.main, ROWS), expected, rtol=1e-5)
    assert set(network.main.module.functions) == {"main", "hidden"}


def test_models_draw_weights() -> None:
    first, again, other = (Network.random(seed) for seed in (1, 1, 2))
    np.testing.assert_equal(first.weight, again.weight)
    assert not np.array_equal(first.weight, other.weight)
    assert np.abs(first.weight).max() <= 0.5


def test_models_check_their_weights() -> None:
    with pytest.raises(InputError, match=r"The weight bias is Tensor\[\(3,\), float32\]"):
        Network(weight=WEIGHT, bias=np.ones(3, "float32"))
    with pytest.raises(InputError, match="has the weights weight, bias"):
        Network(weight=WEIGHT)


@relay_model
class Sized:
    weight: f"Tensor[({len(WEIGHT)}, 4), float32]"

    def main(self, x: Tensor[(3, 4), "float32"]):
        return x @ self.weight.T


def test_annotations_may_be_formatted_strings() -> None:
    np.testing.assert_allclose(run(Sized(weight=WEIGHT).main, ROWS), ROWS @ WEIGHT.T, rtol=1e-5)


def test_formatted_strings_with_unknown_names_are_refused() -> None:
    with pytest.raises(InputError, match="weight of Unknown cannot be evaluated: name 'SIZE'"):

        @relay_model
        class Unknown:
            weight: f"Tensor[({SIZE}), float32]"
