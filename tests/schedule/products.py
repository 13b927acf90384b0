"""Matrix products as tensor programs."""

from __future__ import annotations

import numpy as np

from relay_tune.op.lower import TensorProgram
from relay_tune.tensor.expression import Axis, binary, reduce
from relay_tune.tensor.tensor import compute, input_tensor


def dense(rows: int, steps: int, columns: int, *, constant: bool = True) -> TensorProgram:
    """relu(x w + 0.5), with a bias that no sum may see more than once."""
    x = input_tensor("x", (rows, steps), "float32")
    w = input_tensor("w", (steps, columns), "float32")
    k = Axis("k", steps)
    product = compute(
        "product", (rows, columns), lambda i, j: reduce("sum", [k], x[i, k] * w[k, j])
    )
    result = compute("relu", (rows, columns), lambda i, j: binary("max", product[i, j] + 0.5, 0.0))
    data = np.random.default_rng(0).standard_normal((steps, columns)).astype("float32")
    if not constant:
        return TensorProgram((x, w), (result,), ())
    return TensorProgram((x,), (result,), ((w, data),))
