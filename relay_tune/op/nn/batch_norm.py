"""nn.batch_norm: at inference a scale and a shift for each channel; in training, by the batch."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from relay_tune.ir.expr import Attributes, Expr, Tuple, constant
from relay_tune.ir.operator import FusionKind, define
from relay_tune.ir.types import TensorType, Type
from relay_tune.op.arithmetic import add, multiply, subtract
from relay_tune.op.cast import cast
from relay_tune.op.division import divide
from relay_tune.op.elements import Array, normalized_axis, wide_dtype
from relay_tune.op.math import rsqrt, sqrt
from relay_tune.op.reduction import mean as average
from relay_tune.op.rounding import negative
from relay_tune.op.shape import expand_dims, squeeze
from relay_tune.quick_dataclass import dataclass
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
        training: whether the data are normalised by their own statistics, not the moving ones.
        momentum: how much of the moving statistics a training step keeps; no result depends on it.
    """

    axis: int = 1
    epsilon: float = 1e-5
    center: bool = True
    scale: bool = True
    training: bool = False
    momentum: float = 0.9


def _composition(
    attributes: BatchNormAttributes, arguments: Sequence[Expr], types: Sequence[Type]
) -> Expr:
    """The normalised data, and the statistics that they are normalised by.

    Short floats are widened first: terms may be far larger than their difference.
    """
    (data_type,) = types[:1]
    assert isinstance(data_type, TensorType)
    wide = wide_dtype(data_type.dtype)
    is_short = wide != data_type.dtype
    data, gamma, beta, mean, variance = (
        cast(each, dtype=wide) if is_short else each for each in arguments
    )
    epsilon = constant(np.asarray(attributes.epsilon, numpy_dtype(wide)))
    rank = len(data_type.shape)
    axis = normalized_axis(attributes.axis, rank)
    if attributes.training:
        made = _by_own_statistics(attributes, (data, gamma, beta, epsilon), rank, axis)
        fields = tuple(cast(e, dtype=data_type.dtype) if is_short else e for e in made)
        return Tuple(fields)
    given = (data, gamma, beta, mean, variance, epsilon)
    result = _scale_and_shift(attributes, given, rank - 1 - axis)
    return Tuple((cast(result, dtype=data_type.dtype) if is_short else result, *arguments[3:]))


def _scale_and_shift(
    attributes: BatchNormAttributes, arguments: Sequence[Expr], trailing: int
) -> Expr:
    """data * (gamma / sqrt(variance + epsilon)) + (beta - mean * that)."""
    data, gamma, beta, mean, variance, epsilon = arguments
    factor: Expr = rsqrt(add(variance, epsilon))
    if attributes.scale:
        factor = multiply(gamma, factor)
    moved: Expr = multiply(mean, factor)
    shift = subtract(beta, moved) if attributes.center else negative(moved)
    factor, moved = _along_axis(factor, trailing), _along_axis(shift, trailing)
    return add(multiply(data, factor), moved)


def _by_own_statistics(
    attributes: BatchNormAttributes, arguments: Sequence[Expr], rank: int, axis: int
) -> tuple[Expr, Expr, Expr]:
    """(data - mean) / sqrt(variance + epsilon) gamma + beta; the mean; the variance."""
    data, gamma, beta, epsilon = arguments
    axes, trailing = tuple(each for each in range(rank) if each != axis), rank - 1 - axis
    kept = average(data, axis=axes, keepdims=True)
    distance = subtract(data, kept)
    variance = average(multiply(distance, distance), axis=axes, keepdims=False)
    mean = squeeze(kept, axis=axes)
    centred = subtract(data, _along_axis(mean, trailing))
    deviation = sqrt(add(_along_axis(variance, trailing), epsilon))
    result = divide(centred, deviation)
    if attributes.scale:
        result = multiply(result, _along_axis(gamma, trailing))
    if attributes.center:
        result = add(result, _along_axis(beta, trailing))
    return result, mean, variance


def _along_axis(vector: Expr, trailing: int) -> Expr:
    return expand_dims(vector, axis=1, num_newaxis=trailing) if trailing else vector


def _reference(
    attributes: BatchNormAttributes,
    data: Array,
    gamma: Array,
    beta: Array,
    mean: Array,
    variance: Array,
) -> tuple[Array, Array, Array]:
    dtype = numpy_dtype(wide_dtype(data.dtype.name))
    if attributes.training:
        wide, axis = data.astype(dtype), attributes.axis % data.ndim
        axes = tuple(each for each in range(data.ndim) if each != axis)
        mean, variance = (each.astype(data.dtype) for each in (wide.mean(axes), wide.var(axes)))
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


batch_norm = define(
    name="nn.batch_norm",
    arguments=("data", "gamma", "beta", "moving_mean", "moving_var"),
    relation=batch_norm_relation,
    kind=FusionKind.OUTPUT_FUSABLE,
    attributes=BatchNormAttributes,
    composition=_composition,
    reference=_reference,
    documentation=(
        "(data normalised by the moving statistics, or in training by their own ones, times "
        "gamma plus beta; the mean; the variance) (Ioffe and Szegedy, 2015). The moving "
        "statistics are not changed."
    ),
)
