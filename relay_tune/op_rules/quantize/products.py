"""Affine types through matrix products.

    sum((a - x) * (b - y)) = sum(a * b) - x * sum(b) - y * sum(a) + K * x * y

With a constant matrix all of this but the first sum is a zero point for each column. Of two tensors
that a run gives, sums of rows and of columns are taken in it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from relay_tune.ir.expr import Call, Constant, Expr
from relay_tune.op_rules.matching import attribute, rank, tensor_type
from relay_tune.op_rules.quantize.affine import INT32_MAX, Affine
from relay_tune.op_rules.quantize.layers import integer_layer
from relay_tune.op_rules.quantize.rule import AffineRule, Given
from relay_tune.op_rules.typed import call, constant_of, recall


def _matmul(call_: Call, given: Sequence[Given]) -> Affine | None:
    """A product with one constant matrix, or of two tensors of a run."""
    weight = given[1]
    if isinstance(weight, Affine) and isinstance(weight.stored, Constant):
        return integer_layer(call_, given) if rank(call_.arguments[1]) == 2 else None
    return _product(call_, given)


def _product(call_: Call, given: Sequence[Given]) -> Affine | None:
    """A product whose operands have a scale and a zero point each."""
    left, right = given
    if not isinstance(left, Affine) or not isinstance(right, Affine):
        return None
    if not all(each.is_bytes and each.is_uniform for each in (left, right)):
        return None
    axes = _summed_axes(call_, left, right)
    steps = None if axes is None else _steps(left.stored, axes[0])
    if axes is None or steps is None or attribute(call_, "out_dtype", ""):
        return None
    bound = 2 * steps * left.most * right.most
    if bound > INT32_MAX:
        return None
    stored: Expr = recall(call_, (left.stored, right.stored), out_dtype="int32")
    stored = _corrected(stored, left.zero, right.stored, axes[1], -2)
    stored = _corrected(stored, right.zero, left.stored, axes[0], -1)
    zero = np.asarray(-steps * left.zero * right.zero, np.int64)
    return Affine(stored, np.asarray(left.scale * right.scale), zero, 0, (-bound, bound))


def _summed_axes(call_: Call, left: Affine, right: Affine) -> tuple[int, int] | None:
    """The axes along which products are summed; None if there are no rows, or no columns."""
    rows, columns = rank(left.stored), rank(right.stored)
    if rows is None or columns is None or min(rows, columns) < 2:
        return None
    of_left = rows - 2 if attribute(call_, "transpose_a", False) else rows - 1
    of_right = columns - 1 if attribute(call_, "transpose_b", True) else columns - 2
    return of_left, of_right


def _steps(data: Expr, axis: int) -> int | None:
    type_ = tensor_type(data)
    size = None if type_ is None else type_.shape[axis]
    return size if isinstance(size, int) else None


def _corrected(sums: Expr, zero: np.ndarray, other: Expr, axis: int, position: int) -> Expr:
    """Sums less a zero point times the sums of the other operand, along rows or columns."""
    if not zero.any():
        return sums
    totals = call("sum", call("cast", other, dtype="int32"), axis=(axis,))
    aligned = call("expand_dims", totals, axis=(rank(other) or 0) + position)
    factor = constant_of(zero.astype(np.int32))
    return call("subtract", sums, call("multiply", aligned, factor))


RULES: Mapping[str, AffineRule] = {
    "nn.dense": _matmul,
    "nn.matmul": _matmul,
    "nn.batch_matmul": _product,
}
