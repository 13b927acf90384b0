"""Type relations of normalisations and of operators with a vector for each channel.

Neighbours: `matmul` (dense, matmul), `convolution` (conv, conv_transpose), `pooling` (pool, resize,
upsampling).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from relay_tune.ir.operator import RelationContext, RelationError
from relay_tune.ir.types import TensorType, TupleType, Type
from relay_tune.typing.relations.elementwise import identity, identity_along_axis
from relay_tune.typing.relations.indexing import require_integer
from relay_tune.typing.relations.support import (
    conflict,
    known_tensor,
    normalize_axis,
    of_tensors,
    require_rank,
    require_same_shape,
    require_shape,
    same_dim,
)
from relay_tune.typing.type_text import type_text

softmax = identity_along_axis
lrn = identity_along_axis
l2_normalize = identity


def batch_norm(inputs: Sequence[Type], attributes: Any, context: RelationContext) -> Type | None:
    """(data, gamma, beta, mean, variance) -> (data, mean, variance); attribute axis.

    The four vectors have the size of the axis; unknown ones are solved to that.
    """
    data = known_tensor(inputs[0])
    if data is None:
        return None
    channels = _channel_vectors("batch_norm", data, inputs[1:], attributes.axis, context)
    return TupleType((data, channels, channels))


def channel_vectors(
    inputs: Sequence[Type], attributes: Any, context: RelationContext
) -> Type | None:
    """(data, vectors of the size of attribute axis, ...): the type of the data."""
    data = known_tensor(inputs[0])
    if data is not None:
        _channel_vectors("operator", data, inputs[1:], attributes.axis, context)
    return data


layer_norm = channel_vectors
instance_norm = channel_vectors
bias_add = channel_vectors
prelu = channel_vectors


def group_norm(inputs: Sequence[Type], attributes: Any, context: RelationContext) -> Type | None:
    """(data, gamma, beta), attributes num_groups, axis: the type of the data."""
    data = known_tensor(inputs[0])
    if data is None:
        return None
    channels = data.shape[normalize_axis(attributes.axis, len(data.shape), data)]
    if isinstance(channels, int) and channels % attributes.num_groups:
        raise RelationError(
            f"{attributes.num_groups} groups do not divide the {channels} channels of "
            f"{type_text(data)}"
        )
    return channel_vectors(inputs, attributes, context)


@of_tensors
def cross_entropy(attributes: Any, predictions: TensorType, targets: TensorType) -> Type:
    """(predictions, targets of the same type): a scalar."""
    require_same_shape("cross_entropy", predictions, targets)
    return TensorType((), predictions.dtype)


@of_tensors
def nll_loss(
    attributes: Any, predictions: TensorType, targets: TensorType, weights: TensorType
) -> Type:
    """(predictions [N, C, ...], targets [N, ...], weights [C]); attribute reduction.

    A scalar, or the shape of the targets with reduction "none".
    """
    require_integer("nll_loss", targets)
    require_rank(weights, 1, "nll_loss")
    if len(predictions.shape) < 2:
        raise RelationError(f"nll_loss: {type_text(predictions)} has no axis of classes")
    spatial = (*predictions.shape[:1], *predictions.shape[2:])
    require_same_shape("nll_loss", targets, TensorType(spatial, targets.dtype))
    sizes = predictions.shape[1], weights.shape[0]
    if same_dim(*sizes) is None:
        detail = f"{sizes[0]} classes and {sizes[1]} weights"
        raise conflict("nll_loss", predictions, weights, detail, sizes=sizes)
    shape = targets.shape if attributes.reduction == "none" else ()
    return TensorType(shape, predictions.dtype)


def _channel_vectors(
    rule: str, data: TensorType, vectors: Sequence[Type], axis: int, context: RelationContext
) -> TensorType:
    """Check or solve that each vector has the size of `axis`; the type of such a vector."""
    position = normalize_axis(axis, len(data.shape), data)
    expected = TensorType((data.shape[position],), data.dtype)
    for vector in vectors:
        require_shape(
            f"{rule} along axis {position} of {type_text(data)}", vector, expected, context
        )
    return expected
