"""Arithmetic, parts and methods of tensors are what numpy's are."""

# The programs use names that Relay knows and Python does not.
# ruff: noqa: B007, B018, F722, F821, SIM201, UP037

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from relay_tune.errors import IndexRangeError
from relay_tune.frontend.python.relay_function import RelayFunction, relay
from relay_tune.frontend.python.types import Tensor
from relay_tune.runtime.interpreter.interpret import interpret
from tests.frontend.python.running import run

ROWS = np.arange(12, dtype="float32").reshape(3, 4)
WEIGHT = np.linspace(-1, 1, 8, dtype="float32").reshape(2, 4)


@relay
def arithmetic(x: Tensor[(3, 4), "float32"], w: Tensor[(2, 4), "float32"]):
    y = x @ w.T + np.ones((1, 2), "float32") * 2
    return ((y - 1) / 3, -y, y**2, np.maximum(y, 0), np.tanh(y).sum(axis=1, keepdims=True))


@relay
def indexing(x: Tensor[(3, 4), "float32"]):
    return (x[0], x[1, 2], x[:, 1:3], x[-1], x[..., 0], x[None, 2], x[::2], x[:, ::-1])


@relay
def shapes(x: Tensor[(3, 4), "float32"]):
    pair = (x, 5)
    return (
        len(x),
        x.shape[1],
        pair[1],
        pair[0].T,
        x.reshape(2, 6),
        x.reshape((4, -1)),
        x.transpose(1, 0),
        x.mean(axis=0),
        x.astype("int32"),
    )


@relay
def numpy_functions(x: Tensor[(3, 4), "float32"]):
    joined = np.concatenate((x, x), axis=1)
    left, right = np.split(joined, 2, axis=1)
    return (np.where(x > 5, x, 0), joined, np.exp(left - right), np.clip(x, 1, 3), np.max(x))


@pytest.mark.parametrize("function", [indexing, shapes, numpy_functions], ids=lambda f: f.name)
def test_tensors_as_in_numpy(function: RelayFunction) -> None:
    np.testing.assert_equal(run(function, ROWS), function.function(ROWS))


def test_arithmetic_of_tensors() -> None:
    expected = arithmetic.function(ROWS, WEIGHT)
    for found, wanted in zip(run(arithmetic, ROWS, WEIGHT), expected, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-5)


def test_numbers_take_the_element_type_of_tensors() -> None:
    @relay
    def shifted(x: Tensor[(2,), "float16"], n: "int64"):
        return (x + 1, 2 * x, n - 1, n < 3)

    types = [part.dtype for part in run_raw(shifted, np.ones(2, "float16"), np.int64(3))]
    assert types == ["float16", "float16", "int64", "bool"]


def run_raw(function: RelayFunction, *inputs: Any) -> Any:
    return interpret(function.module, *inputs)


def test_product_with_a_transpose_is_a_dense_layer() -> None:
    assert "nn.dense(%x, %w)" in arithmetic.module.astext()


@relay
def taken(x: Tensor[(3, 4), "float32"], i: Tensor[(2,), "int64"]):
    return np.take(x, i, axis=0), x[i], x[-3]


def test_indices_are_those_of_numpy():
    x = np.arange(12, dtype="float32").reshape(3, 4)
    inside, outside = np.array([-3, 2]), np.array([0, 3])
    for found, expected in zip(
        interpret(taken.module, x, inside), (x[inside], x[inside], x[0]), strict=True
    ):
        np.testing.assert_array_equal(found, expected)
    with pytest.raises(IndexRangeError, match="It is 3, and the axis has 3 elements"):
        interpret(taken.module, x, outside)
