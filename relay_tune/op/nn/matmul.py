"""Matrix products: nn.dense, nn.matmul, nn.batch_matmul."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from relay_tune.ir.expr import Attributes
from relay_tune.ir.operator import FusionKind, define
from relay_tune.op.elements import Array, broadcast_load, wide_dtype
from relay_tune.op.layout_arrays import summation_array, sums_as
from relay_tune.op.layout_indices import ReductionAxes, cast_tensor, compute_elements
from relay_tune.quick_dataclass import dataclass
from relay_tune.tensor.expression import Scalar, Tensor, cast, reduce
from relay_tune.typing.relations import matmul as relations_matmul


@dataclass(frozen=True)
class DenseAttributes(Attributes):
    """Attributes of nn.dense.

    Attributes:
        units: rows of the weight, which is the size of the last axis of the result.
        out_dtype: element type of the result; empty: that of the data.
    """

    units: int | None = None
    out_dtype: str = ""


@dataclass(frozen=True)
class MatmulAttributes(Attributes):
    """Attributes of nn.matmul.

    Attributes:
        units: columns of the result; None: those of the second matrix.
        out_dtype: element type of the result; empty: that of the first matrix.
        transpose_a: the first matrix is given as [k, m].
        transpose_b: the second matrix is given as [n, k].
    """

    units: int | None = None
    out_dtype: str = ""
    transpose_a: bool = False
    transpose_b: bool = False


@dataclass(frozen=True)
class BatchMatmulAttributes(Attributes):
    """Attributes of nn.batch_matmul.

    Attributes:
        out_dtype: element type of the result; empty: that of the first factor.
        transpose_a: the matrices of the first factor are given as [k, m].
        transpose_b: the matrices of the second factor are given as [n, k].
    """

    out_dtype: str = ""
    transpose_a: bool = False
    transpose_b: bool = True


def matrix_product(
    left: Tensor, right: Tensor, dtype: str, shape: Sequence[int], swap: tuple[bool, bool]
) -> Tensor:
    """left [..., m, k] @ right [..., k, n] of `shape`; `swap` says whose matrices are transposed.

    Leading axes are broadcast; a `left` of one dimension is a row without an axis m.
    """
    depth = left.shape[-2 if swap[0] else -1]
    accumulator = wide_dtype(dtype)

    def element(*axes: Scalar) -> Scalar:
        reduction = ReductionAxes()
        k = reduction.add("k", depth)
        *batch, row, column = axes if left.rank > 1 else (k, *axes)
        first = broadcast_load(left, _matrix_index(batch, row, k, swap[0]))
        second = broadcast_load(right, _matrix_index(batch, k, column, swap[1]))
        return reduce("sum", reduction.axes, cast(first, accumulator) * cast(second, accumulator))

    return cast_tensor(compute_elements("product", shape, element), dtype)


def _matrix_index(
    batch: Sequence[Scalar], row: Scalar, column: Scalar, swap: bool
) -> tuple[Scalar, ...]:
    return (*batch, column, row) if swap else (*batch, row, column)


def _product_reference(
    left: Array, right: Array, out_dtype: str, swap_left: bool, swap_right: bool
) -> Array:
    dtype = out_dtype or left.dtype.name
    first, second = summation_array(left, dtype), summation_array(right, dtype)
    first = first.swapaxes(-1, -2) if swap_left else first
    second = second.swapaxes(-1, -2) if swap_right else second
    return sums_as(np.asarray(np.matmul(first, second)), dtype)


def _dense(
    attributes: DenseAttributes, inputs: Sequence[Any], types: Sequence[Any]
) -> list[Tensor]:
    data, weight = inputs
    return [matrix_product(data, weight, types[0].dtype, types[0].shape, (False, True))]


def _matmul(attributes: Any, inputs: Sequence[Any], types: Sequence[Any]) -> list[Tensor]:
    left, right = inputs
    swap = (attributes.transpose_a, attributes.transpose_b)
    return [matrix_product(left, right, types[0].dtype, types[0].shape, swap)]


def _dense_reference(attributes: DenseAttributes, data: Array, weight: Array) -> Array:
    return _product_reference(data, weight, attributes.out_dtype, False, True)


def _matmul_reference(attributes: Any, left: Array, right: Array) -> Array:
    swap_left, swap_right = attributes.transpose_a, attributes.transpose_b
    return _product_reference(left, right, attributes.out_dtype, swap_left, swap_right)


dense = define(
    name="nn.dense",
    arguments=("data", "weight"),
    relation=relations_matmul.dense,
    kind=FusionKind.OUTPUT_FUSABLE,
    attributes=DenseAttributes,
    compute=_dense,
    reference=_dense_reference,
    documentation="data [..., k] times the transpose of weight [units, k].",
)

matmul = define(
    name="nn.matmul",
    arguments=("tensor_a", "tensor_b"),
    relation=relations_matmul.matmul,
    kind=FusionKind.OUTPUT_FUSABLE,
    attributes=MatmulAttributes,
    compute=_matmul,
    reference=_matmul_reference,
    documentation="tensor_a [..., m, k] times the matrix tensor_b [k, n].",
)

batch_matmul = define(
    name="nn.batch_matmul",
    arguments=("tensor_a", "tensor_b"),
    relation=relations_matmul.batch_matmul,
    kind=FusionKind.OUTPUT_FUSABLE,
    attributes=BatchMatmulAttributes,
    compute=_matmul,
    reference=_matmul_reference,
    documentation="Products of the matrices in two stacks, whose leading axes are broadcast.",
)
