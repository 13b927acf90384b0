"""Statements that compute one expression for each element, and numbers to try them on."""

from collections.abc import Callable

import numpy as np

from relay_tune.tensor.expression import Axis, Scalar
from relay_tune.tensor.loops import Block, Buffer, LoopKind, Statement, Store
from relay_tune.tensor.scalar_semantics import numpy_dtype
from tests.codegen.running import Array, loop

INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
FLOATS = ("float32", "float64")


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
