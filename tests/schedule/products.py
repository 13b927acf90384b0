"""Matrix products as tensor programs."""

from __future__ import annotations

import numpy as np

from relay_tune.op.lower import TensorProgram
from relay_tune.tensor.expression import Axis, Scalar, binary, reduce
from relay_tune.tensor.tensor import compute, input_tensor


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
