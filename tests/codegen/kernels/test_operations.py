"""Scalar operations as code, against their definition in numpy, edge cases included."""

from itertools import product

import numpy as np
import pytest

from relay_tune.tensor.expression import (
    BINARY_OPERATIONS,
    COMPARISONS,
    binary,
    literal,
    unary,
)
from relay_tune.tensor.scalar_semantics import apply_binary, apply_unary, numpy_dtype
from tests.codegen.kernels.elementwise import (
    FLOATS,
    INTEGERS,
    assert_same,
    edge_values,
    elementwise,
)
from tests.codegen.running import TARGETS, argument, run_native

INTEGER_BINARY = sorted(BINARY_OPERATIONS - {"div"})
FLOAT_BINARY = sorted(
    {
        "add",
        "sub",
        "mul",
        "div",
        "floordiv",
        "truncdiv",
        "truncmod",
        "floormod",
        "min",
        "max",
        "fmax",
    }
    | COMPARISONS
)
BOOL_BINARY = ("and", "or", "xor", "eq", "ne", "max", "min")
EXACT_UNARY = (
    "neg",
    "abs",
    "sqrt",
    "floor",
    "ceil",
    "round",
    "trunc",
    "sign",
    "not",
    "isnan",
    "isinf",
)


BINARY_CASES = (
    [(operation, dtype) for dtype in INTEGERS for operation in INTEGER_BINARY]
    + [(operation, dtype) for dtype in FLOATS for operation in FLOAT_BINARY if operation != "pow"]
    + [(operation, "bool") for operation in BOOL_BINARY]
)


@pytest.mark.parametrize("dtype", [*INTEGERS, *FLOATS, "bool"])
@pytest.mark.parametrize("lanes", [0, 8])
def test_binary_operations(dtype, lanes):
    values = edge_values(dtype)
    left, right = (np.array(side) for side in zip(*product(values, values), strict=True))
    left, right = left.astype(dtype), right.astype(dtype)
    x, y = argument("x", len(left), dtype), argument("y", len(left), dtype)
    for operation in [operation for operation, kind in BINARY_CASES if kind == dtype]:
        out = argument("out", len(left), "bool" if operation in COMPARISONS else dtype)
        body = elementwise(out, lanes, len(left), lambda i, o=operation: binary(o, x[i], y[i]))
        expected = apply_binary(operation, left, right)
        for target in TARGETS:
            arrays = {x: left, y: right, out: np.zeros_like(expected)}
            assert_same(run_native(body, arrays, target)[out], expected, f"{operation} {dtype}")


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("operation", ["floordiv", "floormod", "truncdiv", "truncmod"])
def test_division_by_literals(operation, dtype):
    left = edge_values(dtype)
    x, out = argument("x", len(left), dtype), argument("out", len(left), dtype)
    for divisor in edge_values(dtype):
        number = literal(int(divisor), dtype)
        body = elementwise(out, 8, len(left), lambda i, d=number: binary(operation, x[i], d))
        expected = apply_binary(operation, left, np.full_like(left, divisor))
        found = run_native(body, {x: left, out: np.zeros_like(left)})[out]
        assert_same(found, expected, f"{operation} by {divisor}")


@pytest.mark.parametrize("dtype", INTEGERS)
def test_division_by_zero_is_zero_and_the_lowest_number_wraps(dtype):
    lowest = np.iinfo(dtype).min
    left = np.array([7, lowest, lowest, 0], dtype)
    right = np.array([0, 0, -1 if lowest else 0, 0]).astype(dtype)
    x, y = argument("x", 4, dtype), argument("y", 4, dtype)
    for operation, wrapped in (
        ("truncdiv", lowest),
        ("floordiv", lowest),
        ("truncmod", 0),
        ("floormod", 0),
    ):
        out = argument("out", 4, dtype)
        for lanes in (0, 4):
            body = elementwise(out, lanes, 4, lambda i, o=operation: binary(o, x[i], y[i]))
            found = run_native(body, {x: left, y: right, out: np.ones(4, dtype)})[out]
            np.testing.assert_array_equal(found, [0, 0, wrapped, 0])


@pytest.mark.parametrize("dtype", ["int8", "int32", "uint64", *FLOATS, "bool"])
@pytest.mark.parametrize("lanes", [0, 8])
def test_exact_unary_operations(dtype, lanes):
    values = edge_values(dtype)
    operations = {"bool": ("not", "bitnot")}.get(dtype)
    if operations is None:
        operations = EXACT_UNARY if dtype in FLOATS else ("neg", "abs", "sign", "not", "bitnot")
    x = argument("x", len(values), dtype)
    for operation in operations:
        kind = unary(operation, x[0]).dtype
        out = argument("out", len(values), kind)
        body = elementwise(out, lanes, len(values), lambda i, o=operation: unary(o, x[i]))
        expected = apply_unary(operation, values).astype(kind)
        for target in TARGETS:
            found = run_native(body, {x: values, out: np.zeros_like(expected)}, target)[out]
            assert_same(found, expected, f"{operation} {dtype}")


@pytest.mark.parametrize("dtype", [*FLOATS, "bfloat16"])
@pytest.mark.parametrize("operation", ["max", "min"])
@pytest.mark.parametrize("lanes", [0, 8])
def test_nan_wins(operation, dtype, lanes):
    values = np.array([np.nan, 1.0, -np.inf, np.nan, 3.0]).astype(numpy_dtype(dtype))
    others = np.array([2.0, np.nan, np.nan, np.nan, 1.0]).astype(numpy_dtype(dtype))
    twos = np.full_like(values, 2.0)
    x, y, out = argument("x", 5, dtype), argument("y", 5, dtype), argument("out", 5, dtype)
    number, none = literal(2.0, dtype), literal(np.nan, dtype)
    forms = {
        "both loaded": (lambda i: binary(operation, x[i], y[i]), others),
        "a literal on the right": (lambda i: binary(operation, x[i], number), twos),
        "a literal on the left": (lambda i: binary(operation, number, x[i]), twos),
        "NaN on the right": (lambda i: binary(operation, x[i], none), twos * np.nan),
        "NaN on the left": (lambda i: binary(operation, none, x[i]), twos * np.nan),
        "two literals": (lambda i: binary(operation, none, number), twos * np.nan),
    }
    for name, (value, right) in forms.items():
        body = elementwise(out, lanes, 5, value)
        found = run_native(body, {x: values, y: others, out: np.zeros_like(values)})[out]
        assert_same(found, apply_binary(operation, values, right).astype(values.dtype), name)
