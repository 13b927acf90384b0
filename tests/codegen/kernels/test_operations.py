"""Scalar operations and casts as code, against their definition in numpy, edge cases included."""

from collections.abc import Callable
from itertools import product

import ml_dtypes
import numpy as np
import pytest

from relay_tune.tensor.expression import (
    BINARY_OPERATIONS,
    COMPARISONS,
    Axis,
    Scalar,
    binary,
    cast,
    literal,
    unary,
)
from relay_tune.tensor.loops import Block, Buffer, LoopKind, Statement, Store
from relay_tune.tensor.scalar_semantics import apply_binary, apply_unary, numpy_dtype
from tests.codegen.running import TARGETS, Array, argument, loop, run_native

INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
FLOATS = ("float32", "float64")
ALL = (*INTEGERS, *FLOATS, "bool", "bfloat16")

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


def edge_values(dtype: str) -> Array:
    """Numbers where something may go wrong."""
    if dtype == "bool":
        return np.array([False, True])
    if dtype in INTEGERS:
        limits = np.iinfo(dtype)
        near = [0, 1, 2, 3, 5, 7, 8, 31, 63, 64, 100]
        signed = [-n for n in near if limits.min < 0]
        ends = [limits.min, limits.min + 1, limits.max - 1, limits.max]
        return np.array(sorted({n for n in [*near, *signed, *ends] if n <= limits.max}), dtype)
    numbers = [0.0, 1.0, 1.5, 2.5, 3.0, 0.3, 1e-30, 1e30, 123456.7, np.inf]
    return np.array([*numbers, *(-n for n in numbers), np.nan]).astype(numpy_dtype(dtype))


def elementwise(
    out: Buffer, lanes: int, count: int, value: Callable[[Scalar], Scalar]
) -> Statement:
    """out[i] = value(i), in vectors (the last one shorter) or one by one."""
    if not lanes:
        i = Axis("i", count)
        return loop(i, Store(out, (i,), value(i)))
    full, rest = divmod(count, lanes)
    outer, lane, tail = Axis("o", full), Axis("lane", lanes), Axis("tail", rest)
    at, after = outer * lanes + lane, tail + full * lanes
    parts: list[Statement] = []
    if full:
        parts.append(loop(outer, loop(lane, Store(out, (at,), value(at)), kind=LoopKind.VECTOR)))
    if rest:
        parts.append(loop(tail, Store(out, (after,), value(after)), kind=LoopKind.VECTOR))
    return Block(tuple(parts))


def assert_same(found: Array, expected: Array, what: str) -> None:
    """Equal, NaN to NaN and signs of zero aside."""
    assert found.dtype == expected.dtype, what
    if "float" in found.dtype.name:
        with np.errstate(invalid="ignore"):
            found, expected = found.astype("float64"), expected.astype("float64")
    np.testing.assert_array_equal(found, expected, what)


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


def converted(values: Array, to: str) -> Array:
    """Floats to integers truncate through 64 bits; all else as numpy converts."""
    if to != "bool" and to in INTEGERS and "float" in values.dtype.name:
        values = np.trunc(values.astype("float64")).astype("uint64" if to == "uint64" else "int64")
    return values != 0 if to == "bool" else values.astype(numpy_dtype(to))


@pytest.mark.parametrize("source", ALL)
@pytest.mark.parametrize("lanes", [0, 8])
def test_casts(source, lanes):
    values = edge_values(source)
    for to in ALL:
        kept = values
        if "float" in source and to in INTEGERS:
            low = 0 if to == "uint64" else -1e15
            wide = values.astype("float64")
            kept = values[np.isfinite(wide) & (wide >= low) & (wide <= 1e15)]
        x, out = argument("x", len(kept), source), argument("out", len(kept), to)
        body = elementwise(out, lanes, len(kept), lambda i, t=to, x=x: cast(x[i], t))
        with np.errstate(all="ignore"):
            expected = converted(kept, to)
        for target in TARGETS:
            found = run_native(body, {x: kept, out: np.zeros_like(expected)}, target)[out]
            assert_same(found, expected, f"{source} to {to}")


NARROW = {"float16": np.dtype("float16"), "bfloat16": np.dtype(ml_dtypes.bfloat16)}


@pytest.mark.parametrize("dtype", NARROW)
@pytest.mark.parametrize("lanes", [0, 8])
def test_narrow_floats_round_to_the_nearest_even(dtype, lanes):
    numbers = np.random.default_rng(4)
    bits = numbers.integers(0, 1 << 32, 4000, dtype=np.uint32)
    ties = (bits & 0xFFFF0000) | 0x8000
    special = np.array(
        [0.0, -0.0, np.inf, -np.inf, np.nan, 65504, 65519, 65520, 6e-8, 2.9e-8, 3.4e38]
    )
    normal = numbers.standard_normal(4000).astype("float32")
    halfway = (normal.view(np.uint32) & 0xFFFFE000) | 0x1000
    values = np.concatenate(
        [bits.view("float32"), ties.view("float32"), halfway.view("float32"), special.astype("f4")]
    )
    x, out = argument("x", len(values)), argument("out", len(values), dtype)
    body = elementwise(out, lanes, len(values), lambda i: cast(x[i], dtype))
    with np.errstate(all="ignore"):
        expected = values.astype(NARROW[dtype])
    found = run_native(body, {x: values, out: np.zeros_like(expected)})[out]
    assert_same(found, expected, dtype)
    assert np.array_equal(np.signbit(found), np.signbit(expected))


@pytest.mark.parametrize("dtype", NARROW)
def test_narrow_floats_are_read_exactly(dtype):
    values = np.arange(1 << 16).astype(np.uint16).view(NARROW[dtype])
    x, out = argument("x", len(values), dtype), argument("out", len(values))
    body = elementwise(out, 8, len(values), lambda i: cast(x[i], "float32"))
    found = run_native(body, {x: values, out: np.zeros(len(values), "float32")})[out]
    assert_same(found, values.astype("float32"), dtype)


@pytest.mark.parametrize("dtype", [*FLOATS, "bfloat16"])
@pytest.mark.parametrize("operation", ["max", "min"])
@pytest.mark.parametrize("lanes", [0, 8])
def test_nan_wins(operation, dtype, lanes):
    values = np.array([np.nan, 1.0, -np.inf, np.nan, 3.0]).astype(numpy_dtype(dtype))
    others = np.array([2.0, np.nan, np.nan, np.nan, 1.0]).astype(numpy_dtype(dtype))
    twos = np.full_like(values, 2.0)
    x, y, out = argument("x", 5, dtype), argument("y", 5, dtype), argument("out", 5, dtype)
    number = literal(2.0, dtype)
    forms = {
        "both loaded": (lambda i: binary(operation, x[i], y[i]), others),
        "a literal on the right": (lambda i: binary(operation, x[i], number), twos),
        "a literal on the left": (lambda i: binary(operation, number, x[i]), twos),
    }
    for name, (value, right) in forms.items():
        body = elementwise(out, lanes, 5, value)
        found = run_native(body, {x: values, y: others, out: np.zeros_like(values)})[out]
        assert_same(found, apply_binary(operation, values, right).astype(values.dtype), name)
