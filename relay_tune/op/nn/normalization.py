"""nn.layer_norm, nn.instance_norm, nn.group_norm."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from relay_tune.ir.expr import Attributes
from relay_tune.ir.operator import FusionKind, define
from relay_tune.op.elements import Array, normalized_axis
from relay_tune.op.nn.moments import normalized, normalized_array
from relay_tune.quick_dataclass import dataclass
from relay_tune.tensor.expression import Scalar, Tensor, cast
from relay_tune.typing.relations import nn as relations_nn


@dataclass(frozen=True)
class LayerNormAttributes(Attributes):
    """Attributes of nn.layer_norm.

    Attributes:
        axis: the axis that is normalised, with one gamma and beta for each position.
        epsilon: added to the variance.
        center: whether beta is added.
        scale: whether gamma is multiplied.
    """

    axis: int = -1
    epsilon: float = 1e-5
    center: bool = True
    scale: bool = True


@dataclass(frozen=True)
class InstanceNormAttributes(Attributes):
    """Attributes of nn.instance_norm.

    Attributes:
        axis: the channel axis, with one gamma and beta for each position.
        epsilon: added to the variance.
        center: whether beta is added.
        scale: whether gamma is multiplied.
    """

    axis: int = 1
    epsilon: float = 1e-5
    center: bool = True
    scale: bool = True


@dataclass(frozen=True)
class GroupNormAttributes(Attributes):
    """Attributes of nn.group_norm.

    Attributes:
        num_groups: the number of groups that the channels are split into.
        axis: the channel axis, with one gamma and beta for each position.
        epsilon: added to the variance.
        center: whether beta is added.
        scale: whether gamma is multiplied.
    """

    num_groups: int
    axis: int = 1
    epsilon: float = 1e-5
    center: bool = True
    scale: bool = True


def _blocks(attributes: Any, shape: Sequence[int]) -> list[int]:
    """How many blocks are normalised apart along each axis."""
    axis = normalized_axis(attributes.axis, len(shape))
    if isinstance(attributes, LayerNormAttributes):
        return [1 if n == axis else extent for n, extent in enumerate(shape)]
    channels = attributes.num_groups if isinstance(attributes, GroupNormAttributes) else shape[axis]
    blocks = [1] * len(shape)
    blocks[0] = shape[0]
    blocks[axis] = channels
    return blocks


def _normalize(attributes: Any, inputs: Sequence[Any], types: Sequence[Any]) -> list[Tensor]:
    data, gamma, beta = inputs
    axis = normalized_axis(attributes.axis, data.rank)

    def finish(value: Scalar, axes: Sequence[Scalar]) -> Scalar:
        if attributes.scale:
            value = value * cast(gamma[axes[axis]], value.dtype)
        if attributes.center:
            value = value + cast(beta[axes[axis]], value.dtype)
        return value

    return [normalized(data, _blocks(attributes, data.shape), attributes.epsilon, finish)]


def _normalize_reference(attributes: Any, data: Array, gamma: Array, beta: Array) -> Array:
    value = normalized_array(data, _blocks(attributes, data.shape), attributes.epsilon)
    shape = [1] * data.ndim
    shape[attributes.axis] = -1
    if attributes.scale:
        value = value * gamma.astype(value.dtype).reshape(shape)
    if attributes.center:
        value = value + beta.astype(value.dtype).reshape(shape)
    return value.astype(data.dtype)


layer_norm = define(
    name="nn.layer_norm",
    arguments=("data", "gamma", "beta"),
    relation=relations_nn.layer_norm,
    kind=FusionKind.OUTPUT_FUSABLE,
    attributes=LayerNormAttributes,
    compute=_normalize,
    reference=_normalize_reference,
    documentation="Normalised along one axis, times gamma plus beta (Ba et al., 2016).",
)

instance_norm = define(
    name="nn.instance_norm",
    arguments=("data", "gamma", "beta"),
    relation=relations_nn.instance_norm,
    kind=FusionKind.OUTPUT_FUSABLE,
    attributes=InstanceNormAttributes,
    compute=_normalize,
    reference=_normalize_reference,
    documentation=(
        "Each channel of each sample normalised, times gamma plus beta (Ulyanov et al., 2016)."
    ),
)

group_norm = define(
    name="nn.group_norm",
    arguments=("data", "gamma", "beta"),
    relation=relations_nn.group_norm,
    kind=FusionKind.OUTPUT_FUSABLE,
    attributes=GroupNormAttributes,
    compute=_normalize,
    reference=_normalize_reference,
    documentation=(
        "Each group of channels of each sample normalised, times gamma plus beta (Wu and He, 2018)."
    ),
)
