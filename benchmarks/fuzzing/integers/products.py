"""Matrix products of quantized integers."""

from __future__ import annotations

import numpy as np

from benchmarks.fuzzing.integers.case import Case, Graph
from benchmarks.fuzzing.integers.draw import (
    MOST_WEIGHT,
    Array,
    byte_type,
    numbers,
    scale,
    stored,
    weights,
    wrapped,
    zero_point,
)

MOST_EXACT_STEPS = 240
"""Products of differences of bytes whose sums float32 has exactly."""


def matmul_integer(rng: np.random.Generator, most: int = MOST_WEIGHT) -> Case:
    """MatMulInteger of vectors, matrices and stacks of them."""
    left, right = byte_type(rng), byte_type(rng)
    rows, steps, columns = (int(rng.integers(1, most)) for most in (40, 600, 40))
    a_shape, b_shape = _shapes(rng, rows, steps, columns)
    a, b = numbers(rng, a_shape, left), weights(rng, b_shape, right, most)
    za = zero_point(rng, left, rows if len(a_shape) > 1 else 1)
    zb = zero_point(rng, right, columns if len(b_shape) > 1 else 1)
    is_constant, graph = bool(rng.random() < 0.6), Graph()
    inputs = [
        graph.tensor(a, False),
        graph.tensor(b, is_constant),
        graph.tensor(za, bool(rng.random() < 0.5)),
        graph.tensor(zb, is_constant),
    ]
    graph.node("MatMulInteger", *inputs)
    expected = np.matmul(_less(a, za, -2), _less(b, zb, -1))
    name = f"MatMulInteger {left}{a_shape} {right}{b_shape} {za.shape} {zb.shape} {is_constant}"
    return graph.case(name, wrapped(expected))


def quantized_matmul(rng: np.random.Generator, most: int = MOST_WEIGHT) -> Case:
    """A product whose result is quantized, as one operator or between conversions."""
    left, right, result = (byte_type(rng) for _ in range(3))
    steps = int(rng.integers(1, MOST_EXACT_STEPS))
    rows, columns = (int(rng.integers(1, 40)) for _ in range(2))
    a_shape, b_shape = _shapes(rng, rows, steps, columns)
    a, b = numbers(rng, a_shape, left), weights(rng, b_shape, right, most)
    is_constant, graph = bool(rng.random() < 0.5), Graph()
    za = np.asarray(numbers(rng, (), left), left)
    zb = zero_point(rng, right, columns if len(b_shape) == 2 else 1)
    zc = np.asarray(numbers(rng, (), result), result)
    sa, sb, sc = scale(rng), scale(rng, *zb.shape), scale(rng) * np.float32(2**10)
    x, w = graph.tensor(a, False), graph.tensor(b, is_constant)
    is_one = bool(rng.random() < 0.5)
    if is_one:
        given = (x, sa, za, w, sb, zb, sc, zc)
        names = [each if isinstance(each, str) else graph.tensor(each) for each in given]
        graph.node("QLinearMatMul", *names)
    else:
        real = graph.node("MatMul", graph.real(x, sa, za), graph.real(w, sb, zb, len(b_shape) - 1))
        graph.node("QuantizeLinear", real, graph.tensor(sc), graph.tensor(zc))
    sums = np.matmul(_less(a, za, -2), _less(b, zb, -1)) * (sa.astype(np.float64) * sb)
    name = f"{'QLinearMatMul' if is_one else 'MatMul'} {left}{a_shape} {right}{b_shape} "
    return graph.case(name + f"{result} {zb.shape} {is_constant}", stored(sums, sc, zc))


def _shapes(
    rng: np.random.Generator, rows: int, steps: int, columns: int
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Shapes of two factors: matrices, a row, a column, or stacks, one of which is repeated."""
    kind = rng.integers(6)
    batch = tuple(int(size) for size in rng.integers(1, 4, rng.integers(1, 3)))
    if kind == 0:
        return (steps,), (steps, columns)
    if kind == 1:
        return (rows, steps), (steps,)
    if kind == 2:
        return (*batch, rows, steps), (*batch, steps, columns)
    if kind == 3:
        return (*batch, rows, steps), (steps, columns)
    if kind == 4:
        return (rows, steps), (*batch, steps, columns)
    return (rows, steps), (steps, columns)


def _less(data: Array, zero: Array, axis: int) -> Array:
    """Differences to zero points of rows (-2) or of columns (-1), as int64."""
    offset = zero.astype(np.int64)
    if offset.size == 1:
        offset = offset.reshape(())
    elif axis == -2:
        offset = offset[:, None]
    return data.astype(np.int64) - offset
