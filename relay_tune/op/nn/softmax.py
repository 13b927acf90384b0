"""nn.softmax, nn.log_softmax: maximum, exponential, sum, share of it.

The exponential of a difference d is computed as 2^(d log2(e)): powers of two take fewer
instructions. The difference is taken first: products of large logits with log2(e) overflow, and
round by more than 1 from 2^24 on. The maximum ignores NaN: its exponential is NaN, and so is the
sum.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from relay_tune.ir.expr import Attributes
from relay_tune.ir.operator import Compute, FusionKind, Operator, Reference, define
from relay_tune.op.another_name import another_name
from relay_tune.op.elements import Array, normalized_axis, wide_dtype
from relay_tune.op.layout_indices import ReductionAxes, compute_elements
from relay_tune.quick_dataclass import dataclass
from relay_tune.tensor.expression import Scalar, Tensor, cast, literal, reduce, unary
from relay_tune.tensor.scalar_semantics import numpy_dtype
from relay_tune.typing.relations.nn import softmax as softmax_relation


@dataclass(frozen=True)
class SoftmaxAttributes(Attributes):
    """Attributes of nn.softmax and nn.log_softmax.

    Attributes:
        axis: the axis along which the probabilities sum to 1.
    """

    axis: int = -1


LOG2_E = math.log2(math.e)


def _without(axes: Sequence[Any], axis: int) -> tuple[Any, ...]:
    return (*axes[:axis], *axes[axis + 1 :])


def _reduce_along(name: str, operation: str, data: Tensor, axis: int, dtype: str) -> Tensor:
    """The reduction of `data`, as `dtype`, over one axis, which disappears."""

    def element(*axes: Scalar) -> Scalar:
        reduction = ReductionAxes()
        k = reduction.add("k", data.shape[axis])
        value = data[(*axes[:axis], k, *axes[axis:])]
        return reduce(operation, reduction.axes, cast(value, dtype))

    return compute_elements(name, _without(data.shape, axis), element)


def _differences(data: Tensor, axis: int) -> Tensor:
    """Each element less the largest one of its row along `axis`, in float32 or wider."""
    dtype = wide_dtype(data.dtype)
    highest = _reduce_along("softmax_max", "fmax", data, axis, dtype)
    return compute_elements(
        "softmax_shifted",
        data.shape,
        lambda *axes: cast(data[axes], dtype) - highest[_without(axes, axis)],
    )


def _exponentials(differences: Tensor, axis: int) -> tuple[Tensor, Tensor]:
    """e to the power of each difference, and the sums of these along `axis`."""
    exponential = compute_elements(
        "softmax_exp", differences.shape, lambda *axes: unary("exp2", differences[axes] * LOG2_E)
    )
    total = _reduce_along("softmax_sum", "sum", exponential, axis, differences.dtype)
    return exponential, total


def _softmax(attributes: Any, inputs: Sequence[Any], types: Sequence[Any]) -> list[Tensor]:
    (data,) = inputs
    axis = normalized_axis(attributes.axis, data.rank)
    dtype = wide_dtype(data.dtype)
    exponential, total = _exponentials(_differences(data, axis), axis)
    share = compute_elements(  # one division for each row: they are slower than products
        "softmax_share", total.shape, lambda *axes: literal(1.0, dtype) / total[axes]
    )
    return [
        compute_elements(
            "softmax",
            data.shape,
            lambda *axes: cast(exponential[axes] * share[_without(axes, axis)], data.dtype),
        )
    ]


def _log_softmax(attributes: Any, inputs: Sequence[Any], types: Sequence[Any]) -> list[Tensor]:
    (data,) = inputs
    axis = normalized_axis(attributes.axis, data.rank)
    differences = _differences(data, axis)
    _, total = _exponentials(differences, axis)
    logarithm = compute_elements(
        "softmax_log", total.shape, lambda *axes: unary("log", total[axes])
    )
    return [
        compute_elements(
            "log_softmax",
            data.shape,
            lambda *axes: cast(differences[axes] - logarithm[_without(axes, axis)], data.dtype),
        )
    ]


def _shifted(data: Array, axis: int) -> Array:
    wide = data.astype(numpy_dtype(wide_dtype(data.dtype.name)))
    return np.asarray(wide - wide.max(axis=axis, keepdims=True, initial=-np.inf))


def _softmax_reference(attributes: SoftmaxAttributes, data: Array) -> Array:
    exponential = np.exp(_shifted(data, attributes.axis))
    total = exponential.sum(axis=attributes.axis, keepdims=True)
    return np.asarray(exponential / total).astype(data.dtype)


def _log_softmax_reference(attributes: SoftmaxAttributes, data: Array) -> Array:
    shifted = _shifted(data, attributes.axis)
    total = np.exp(shifted).sum(axis=attributes.axis, keepdims=True)
    return np.asarray(shifted - np.log(total)).astype(data.dtype)


def _register(name: str, compute: Compute, reference: Reference, documentation: str) -> Operator:
    return define(
        name=name,
        arguments=("data",),
        relation=softmax_relation,
        kind=FusionKind.OUTPUT_FUSABLE,
        attributes=SoftmaxAttributes,
        compute=compute,
        reference=reference,
        documentation=documentation,
    )


softmax = _register(
    "nn.softmax",
    _softmax,
    _softmax_reference,
    "exp(data) divided by its sum along an axis, safe from overflow.",
)
fast_softmax = another_name(
    softmax, "nn.fast_softmax", "nn.softmax where a larger error is acceptable."
)
log_softmax = _register(
    "nn.log_softmax", _log_softmax, _log_softmax_reference, "The logarithm of nn.softmax."
)
