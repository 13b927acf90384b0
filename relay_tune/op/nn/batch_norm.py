"""nn.batch_norm: at inference a scale and a shift for each channel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from relay_tune.ir.expr import Attributes, Expr, Tuple, constant
from relay_tune.ir.operator import FusionKind, Operator, register
from relay_tune.ir.types import TensorType, Type
from relay_tune.op.arithmetic import add, multiply, subtract
from relay_tune.op.cast import cast
from relay_tune.op.elements import Array, normalized_axis, wide_dtype
from relay_tune.op.math import rsqrt
from relay_tune.op.rounding import negative
from relay_tune.op.shape import expand_dims
from relay_tune.tensor.scalar_semantics import numpy_dtype
from relay_tune.typing.relations.nn import batch_norm as batch_norm_relation


@dataclass(frozen=True)
class BatchNormAttributes(Attributes):
    """Attributes of nn.batch_norm.

    Attributes:
        axis: the channel axis, with one number of each vector for each position.
        epsilon: added to the variance.
        center: whether beta is added.
        scale: whether gamma is multiplied.
    """

    axis: int = 1
    epsilon: float = 1e-5
    center: bool = True
    scale: bool = True


def _scale_and_shift(
    attributes: BatchNormAttributes, arguments: Sequence[Expr], types: Sequence[Type]
) -> Expr:
    """data * (gamma / sqrt(variance + epsilon)) + (beta - mean * that), and the two statistics.

    Short floats are widened first: both products may be far larger than their difference.
    """
    (data_type,) = types[:1]
    assert isinstance(data_type, TensorType)
    wide = wide_dtype(data_type.dtype)
    is_short = wide != data_type.dtype
    data, gamma, beta, mean, variance = (
        cast(each, dtype=wide) if is_short else each for each in arguments
    )
    epsilon = constant(np.asarray(attributes.epsilon, numpy_dtype(wide)))
    factor: Expr = rsqrt(add(variance, epsilon))
    if attributes.scale:
        factor = multiply(gamma, factor)
    moved = multiply(mean, factor)
    shift = subtract(beta, moved) if attributes.center else negative(moved)
    rank = len(data_type.shape)
    trailing = rank - 1 - normalized_axis(attributes.axis, rank)
    if trailing:
        factor = expand_dims(factor, axis=1, num_newaxis=trailing)
        shift = expand_dims(shift, axis=1, num_newaxis=trailing)
    result = add(multiply(data, factor), shift)
    return Tuple((cast(result, dtype=data_type.dtype) if is_short else result, *arguments[3:]))


def _reference(
    attributes: BatchNormAttributes,
    data: Array,
    gamma: Array,
    beta: Array,
    mean: Array,
    variance: Array,
) -> tuple[Array, Array, Array]:
    dtype = numpy_dtype(wide_dtype(data.dtype.name))
    factor = 1 / np.sqrt(variance.astype(dtype) + np.asarray(attributes.epsilon, dtype))
    if attributes.scale:
        factor = factor * gamma.astype(dtype)
    shift = -mean.astype(dtype) * factor
    if attributes.center:
        shift = shift + beta.astype(dtype)
    shape = [1] * data.ndim
    shape[attributes.axis] = -1
    result = data.astype(dtype) * factor.reshape(shape) + shift.reshape(shape)
    return result.astype(data.dtype), mean, variance


batch_norm = register(
    Operator(
        name="nn.batch_norm",
        arguments=("data", "gamma", "beta", "moving_mean", "moving_var"),
        relation=batch_norm_relation,
        kind=FusionKind.OUTPUT_FUSABLE,
        attributes=BatchNormAttributes,
        composition=_scale_and_shift,
        reference=_reference,
        documentation=(
            "(data normalised by the moving statistics, times gamma plus beta; the moving mean; "
            "the moving variance) (Ioffe and Szegedy, 2015). The statistics are not changed."
        ),
    )
)
