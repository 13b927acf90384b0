"""Matrix products as tensor programs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from relay_tune.ir.dim import Symbol
from relay_tune.tensor.expression import Axis, Scalar, binary, cast, reduce
from relay_tune.tensor.program import TensorProgram
from relay_tune.tensor.scalar_semantics import numpy_dtype
from relay_tune.tensor.size import symbolic_size
from relay_tune.tensor.tensor import compute, input_tensor
from tests.schedule.convolutions import convolution_program

SHAPE = (1, 6, 5, 32, 16)
"""Of convolutions: images, rows, columns, channels of the data and of the result."""


def dense(
    rows: int,
    steps: int,
    columns: int,
    *,
    constant: bool = True,
    transposed: bool = False,
    dtype: str = "float32",
) -> TensorProgram:
    """relu(x w + 0.5), with a bias that no sum may see more than once.

    `transposed` weights are stored as (columns, steps).
    """
    x = input_tensor("x", (rows, steps), dtype)
    w = input_tensor("w", (columns, steps) if transposed else (steps, columns), dtype)
    k = Axis("k", steps)

    def element(i: Scalar, j: Scalar) -> Scalar:
        return reduce("sum", [k], x[i, k] * (w[j, k] if transposed else w[k, j]))

    product = compute("product", (rows, columns), element)
    result = compute("relu", (rows, columns), lambda i, j: binary("max", product[i, j] + 0.5, 0.0))
    data = np.random.default_rng(0).standard_normal(w.shape).astype(dtype)
    if not constant:
        return TensorProgram((x, w), (result,), ())
    return TensorProgram((x,), (result,), ((w, data),))


def batched(
    rows: int, steps: int, columns: int, *, constant: bool = False, transposed: bool = False
) -> TensorProgram:
    """Two products, each with weights of its own; `transposed` ones lie as (columns, steps)."""
    x = input_tensor("x", (2, rows, steps), "float32")
    w = input_tensor("w", (2, columns, steps) if transposed else (2, steps, columns), "float32")
    k = Axis("k", steps)

    def element(b: Scalar, i: Scalar, j: Scalar) -> Scalar:
        return reduce("sum", [k], x[b, i, k] * (w[b, j, k] if transposed else w[b, k, j]))

    y = compute("y", (2, rows, columns), element)
    data = np.ones(w.shape, np.float32)
    return TensorProgram((x,), (y,), ((w, data),)) if constant else TensorProgram((x, w), (y,), ())


def grouped() -> TensorProgram:
    """Two groups of 32 channels."""
    x, g = input_tensor("x", (8, 64), "float32"), input_tensor("g", (32, 32), "float32")
    c = Axis("c", 32)

    def element(i: Scalar, o: Scalar) -> Scalar:
        return reduce("sum", [c], x[i, (o // 16) * 32 + c] * g[c, o])

    y = compute("groups", (8, 32), element)
    return TensorProgram((x,), (y,), ((g, np.ones(g.shape, np.float32)),))


def scaled_by_column() -> TensorProgram:
    """The data depend on the column."""
    x, w = input_tensor("x", (8, 32, 16), "float32"), input_tensor("w", (32, 16), "float32")
    k = Axis("k", 32)
    y = compute("y", (8, 16), lambda i, j: reduce("sum", [k], x[i, k, j] * w[k, j]))
    return TensorProgram((x,), (y,), ((w, np.ones(w.shape, np.float32)),))


def largest() -> TensorProgram:
    """No sum."""
    x, w = input_tensor("x", (8, 32), "float32"), input_tensor("w", (32, 16), "float32")
    k = Axis("k", 32)
    y = compute("y", (8, 16), lambda i, j: reduce("max", [k], x[i, k] * w[k, j]))
    return TensorProgram((x,), (y,), ((w, np.ones(w.shape, np.float32)),))


def differences() -> TensorProgram:
    """A sum of no products."""
    x, w = input_tensor("x", (8, 32), "float32"), input_tensor("w", (32, 16), "float32")
    k = Axis("k", 32)
    y = compute("y", (8, 16), lambda i, j: reduce("sum", [k], x[i, k] - w[k, j]))
    return TensorProgram((x,), (y,), ((w, np.ones(w.shape, np.float32)),))


def transposed_twice() -> TensorProgram:
    """x.T @ w.T of two inputs."""
    x, w = input_tensor("x", (20, 33), "float32"), input_tensor("w", (32, 20), "float32")
    k = Axis("k", 20)
    y = compute("y", (33, 32), lambda i, j: reduce("sum", [k], x[k, i] * w[j, k]))
    return TensorProgram((x, w), (y,), ())


def halves() -> TensorProgram:
    """The sum is in float32, what it reads in float16."""
    x, w = input_tensor("x", (8, 32), "float16"), input_tensor("w", (32, 16), "float16")
    k = Axis("k", 32)

    def element(i: Scalar, j: Scalar) -> Scalar:
        return reduce("sum", [k], cast(x[i, k], "float32") * cast(w[k, j], "float32"))

    y = compute("y", (8, 16), element)
    return TensorProgram((x,), (y,), ((w, np.ones(w.shape, np.float16)),))


def open_rows() -> TensorProgram:
    """How many rows there are is known at run time only."""
    n = symbolic_size(Symbol("n"), 8)
    x, w = input_tensor("x", (n, 32), "float32"), input_tensor("w", (32, 16), "float32")
    k = Axis("k", 32)
    y = compute("y", (n, 16), lambda i, j: reduce("sum", [k], x[i, k] * w[k, j]))
    return TensorProgram((x,), (y,), ((w, np.ones(w.shape, np.float32)),))


def convolution(**options: Any) -> Callable[[], TensorProgram]:
    """Makes a convolution of `SHAPE` with other options."""
    return lambda: convolution_program(**{"shape": SHAPE, **options})


def product(*sizes: int, **options: Any) -> Callable[[], TensorProgram]:
    """Makes a `dense` product."""
    return lambda: dense(*sizes, **options)


PRODUCTS: dict[str, Callable[[], TensorProgram]] = {
    "convolution": convolution(),
    "stride": convolution(stride=2),
    "dilation": convolution(dilation=2),
    "OIHW": convolution(layout="OIHW"),
    "OHWI": convolution(layout="OHWI"),
    "1x1": convolution(kernel=(1, 1)),
    "1x3": convolution(kernel=(1, 3)),
    "three channels": convolution(shape=(1, 6, 5, 3, 16)),
    "one channel in 4x4 taps": convolution(shape=(1, 6, 5, 1, 16), kernel=(4, 4)),
    "epilogue": convolution(epilogue="residual"),
    "dense": product(4, 16, 16),
    "weights by columns": product(9, 33, 48, transposed=True),
    "1000 columns": product(8, 64, 1000),
}
"""Products with constant weights; matrix registers can compute each."""

NO_PRODUCTS: dict[str, Callable[[], TensorProgram]] = {
    "three rows": product(3, 64, 16),
    "float64": product(8, 64, 16, dtype="float64"),
    "float16": halves,
    "few rows of two tensors": product(31, 64, 16, constant=False),
    "few rows of variable taps": convolution(constant=False, shape=(1, 6, 5, 32, 16)),
    "groups": grouped,
    "data of the column": scaled_by_column,
    "the largest product": largest,
    "differences": differences,
    "open rows": open_rows,
}
"""What is none, or one whose weights are used too rarely."""


def stored(
    rows: int,
    steps: int,
    columns: int,
    *,
    block: int = 32,
    zero: int = 0,
    bits: int = 8,
    dtype: str = "int8",
    in_word: int = 0,
) -> TensorProgram:
    """relu(x w + 0.5) with weights (number - zero) * scale, a scale for each block of steps.

    Numbers of 8 bits are bytes of `dtype`, or `in_word` 4 of them lie in words as those of 4 do.
    """
    in_word = in_word or (1 if bits == 8 else 32 // bits)
    x = input_tensor("x", (rows, steps), "float32")
    q = input_tensor("q", (columns, steps // in_word), dtype if in_word == 1 else "int32")
    s = input_tensor("s", (columns, steps // block), "float32")
    k = Axis("k", steps)

    def weight(o: Scalar, c: Scalar) -> Scalar:
        number = cast(q[o, c // in_word], "int32")
        if in_word > 1:
            left = 32 - bits - cast(c % in_word, "int32") * bits
            number = binary("shr", binary("shl", number, left), 32 - bits)
        return (cast(number, "float32") - float(zero)) * s[o, c // block]

    w = compute("w", (columns, steps), weight)
    product = compute(
        "product", (rows, columns), lambda i, o: reduce("sum", [k], x[i, k] * w[o, k])
    )
    result = compute("relu", (rows, columns), lambda i, j: binary("max", product[i, j] + 0.5, 0.0))
    rng = np.random.default_rng(0)
    low, high = np.iinfo(q.dtype).min, np.iinfo(q.dtype).max
    numbers = rng.integers(low, high, q.shape, endpoint=True).astype(q.dtype)
    scales = (rng.random(s.shape) / 2**bits).astype(np.float32)
    return TensorProgram((x,), (result,), ((q, numbers), (s, scales)))


def narrow(
    rows: int,
    steps: int,
    columns: int,
    *,
    weights: str = "bfloat16",
    data: str = "float32",
    transposed: bool = False,
) -> TensorProgram:
    """A product in float32 of constant weights, and perhaps data, of a narrower type.

    `transposed` weights are stored as (columns, steps).
    """
    x = input_tensor("x", (rows, steps), data)
    w = input_tensor("w", (columns, steps) if transposed else (steps, columns), weights)
    wide = compute("wide", w.shape, lambda *at: cast(w[at], "float32"))
    given = compute("given", x.shape, lambda *at: cast(x[at], "float32"))
    k = Axis("k", steps)

    def element(i: Scalar, j: Scalar) -> Scalar:
        return reduce("sum", [k], given[i, k] * (wide[j, k] if transposed else wide[k, j]))

    result = compute("product", (rows, columns), element)
    values = np.random.default_rng(0).standard_normal(w.shape)
    return TensorProgram((x,), (result,), ((w, values.astype(numpy_dtype(weights))),))


def weight_gradient(
    images: int, size: int, inputs: int, outputs: int, *, last: bool = True
) -> TensorProgram:
    """sum(n, h, w) x[n, h, w, i] * d[n, h, w, o]; else images lie beside each other in x."""
    shape = (images, size, size, inputs) if last else (size, size, inputs, images)
    x = input_tensor("x", shape, "float32")
    d = input_tensor("d", (images, size, size, outputs), "float32")
    n, h, w = Axis("n", images), Axis("h", size), Axis("w", size)

    def element(i, o):
        return reduce("sum", [n, h, w], (x[n, h, w, i] if last else x[h, w, i, n]) * d[n, h, w, o])

    return TensorProgram((x, d), (compute("gradient", (inputs, outputs), element),), ())
