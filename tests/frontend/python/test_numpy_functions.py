"""What people write with numpy and Python's own functions, beside what Python makes of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import relay_tune as rt
from relay_tune.frontend.python.relay_function import RelayFunction
from relay_tune.runtime.data_values import list_value
from tests.frontend.python.running import python, run

Matrix = rt.Tensor[(4, 5), "float32"]
Vector = rt.Tensor[(5,), "float32"]
X = np.random.default_rng(0).standard_normal((4, 5)).astype("float32")


def close(function: RelayFunction, *inputs: Any) -> None:
    """The interpreter, native code and Python agree."""
    wanted = function.function(*inputs)
    given = [list_value(each) if isinstance(each, list) else each for each in inputs]
    native = python(rt.build(function.module, threads=1)(*given))
    for found in (run(function, *inputs), native):
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


@rt.relay
def moments(x: Matrix):
    spread = np.var(x, axis=1) + x.std(1, ddof=1) + np.std(x)
    return spread + x.var(axis=(0, 1), keepdims=True)[0]


@rt.relay
def triangles(x: Matrix):
    return np.tril(x) + np.triu(x, 1) * 2.0 + np.tril(x, k=-1) + np.square(x) + np.sort(x)


@rt.relay
def einsum(x: Matrix, y: Matrix):
    return np.einsum("ij,kj->ik", x, y) + np.einsum("ij->i", x) + np.einsum("ij, ij ->", x, y)


@rt.relay
def products(x: Matrix, v: Vector):
    return np.matmul(x, v) + x @ v


@rt.relay
def known(x: Matrix):
    return x + np.arange(5.0) + np.eye(4, 5) + np.array([1, 2, 3, 4, 5], dtype="float32")


def test_functions_of_numpy() -> None:
    close(moments, X)
    close(triangles, X)
    close(einsum, X, X + 1)
    close(products, X, X[0])
    close(known, X)


@rt.relay
def rows(x: Matrix, begin: int, end: int):
    return x[begin:end] @ np.ones((5, 2), "float32")


@rt.relay
def corners(x: Matrix, n: int):
    return x[1, n:][None], x[::2, :n], x[n:, 0], x[:-n:-1]


@pytest.mark.parametrize(("begin", "end"), [(0, 2), (1, 4), (-3, 9), (2, 1)])
def test_slices_whose_bounds_only_the_run_tells(begin: int, end: int) -> None:
    np.testing.assert_allclose(run(rows, X, begin, end), rows.function(X, begin, end), rtol=1e-5)


def test_such_slices_beside_indices_and_in_native_code() -> None:
    close(rows, X, 1, 3)
    for found, wanted in zip(run(corners, X, 2), corners.function(X, 2), strict=True):
        np.testing.assert_array_equal(found, wanted)


@rt.relay
def counted(xs: list[float], factor: float):
    total = 0.0
    for i, x in enumerate(xs):
        if i == 1:
            continue
        total = total + x * float(i) * factor
    for j, x in enumerate(xs, 2):
        if j == 4:
            break
        total += x
    for k, (weight, offset) in enumerate(((1.0, 2.0), (3.0, 4.0))):
        total += weight * k + offset
    return total


@rt.relay
def doubled(xs: list[float]):
    ys: list[float] = []
    for x in xs:
        if x > 1.5:
            ys.append(x * 2.0)
    ys.append(7.0)
    return ys


def test_enumerate_and_append() -> None:
    close(counted, [1.0, 2.0, 3.0, 4.0], 2.0)
    close(doubled, [1.0, 2.0, 3.0])
    close(doubled, [])


@rt.relay
def scaled(x: Matrix, factor: float = 2.0, n=3):
    return x * factor + float(n)


@rt.relay
def calls(x: Matrix):
    return scaled(x) + scaled(x, n=1) + scaled(x, 1.0, 5)


def test_default_values_are_those_of_calls_that_omit_them() -> None:
    plain = scaled.function
    wanted = plain(X) + plain(X, n=1) + plain(X, 1.0, 5)
    np.testing.assert_allclose(rt.interpret(calls.module, X), wanted, rtol=1e-5)
    np.testing.assert_allclose(rt.interpret(scaled.module, X, 2.0, 3), plain(X), rtol=1e-6)
