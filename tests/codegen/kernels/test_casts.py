"""Casts as code, against numpy's, edge cases included."""

import ml_dtypes
import numpy as np
import pytest

from relay_tune.tensor.expression import binary, cast
from relay_tune.tensor.scalar_semantics import numpy_dtype
from tests.codegen.kernels.elementwise import (
    FLOATS,
    INTEGERS,
    assert_same,
    edge_values,
    elementwise,
)
from tests.codegen.running import TARGETS, Array, argument, run_native

ALL = (*INTEGERS, *FLOATS, "bool", "bfloat16")
NARROW = {"float16": np.dtype("float16"), "bfloat16": np.dtype(ml_dtypes.bfloat16)}


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
    values = values[~(np.abs(values) < np.finfo(np.float32).tiny) | (values == 0)]
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


@pytest.mark.parametrize("source", ["float32", "float64", "float16"])
@pytest.mark.parametrize("limits", [(0.0, 255.0), (-128.0, 127.0), (-3e9, 3e9), (-1e9, 2e9)])
def test_limited_floats_truncate_as_all_others(source, limits):
    """Those that fit 32 bits take another instruction; a NaN is 0 in any case."""
    if source == "float16" and max(limits) > 65504:
        return
    values = np.array(
        [*limits, 0.5, -0.5, 1.9, -7.99, 254.99, 3.3e9, -4e9, np.inf, -np.inf, np.nan]
    )
    with np.errstate(all="ignore"):
        values = np.tile(values, 4).astype(source)
    for to in ("int8", "uint8", "int16", "int32", "uint32"):
        x, out = argument("x", len(values), source), argument("out", len(values), to)

        def element(i, to=to, x=x):
            return cast(binary("min", binary("max", x[i], limits[0]), limits[1]), to)

        limited = np.nan_to_num(np.clip(values.astype("float64"), *limits), nan=0.0)
        body = elementwise(out, 8, len(values), element)
        for target in TARGETS:
            found = run_native(body, {x: values, out: np.zeros(len(values), to)}, target)[out]
            assert_same(found, converted(limited, to), f"{source} to {to}")
