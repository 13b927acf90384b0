"""nn.bias_add and nn.batch_flatten."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from relay_tune.ir.expr import Attributes
from relay_tune.ir.operator import FusionKind, define
from relay_tune.op.element_counts import kept_elements
from relay_tune.op.elements import Array, normalized_axis
from relay_tune.op.layout_indices import compute_elements, quotient, remainder
from relay_tune.quick_dataclass import dataclass
from relay_tune.tensor.expression import Scalar, Tensor
from relay_tune.typing.relations.nn import bias_add as bias_add_relation
from relay_tune.typing.relations.shape import batch_flatten as batch_flatten_relation


@dataclass(frozen=True)
class BiasAddAttributes(Attributes):
    """Attributes of nn.bias_add.

    Attributes:
        axis: the axis that has one bias for each position.
    """

    axis: int = 1


def _bias_add(attributes: Any, inputs: Sequence[Any], types: Sequence[Any]) -> list[Tensor]:
    data, bias = inputs
    axis = normalized_axis(attributes.axis, data.rank)
    return [compute_elements("bias", data.shape, lambda *axes: data[axes] + bias[axes[axis]])]


def _bias_add_reference(attributes: BiasAddAttributes, data: Array, bias: Array) -> Array:
    shape = [1] * data.ndim
    shape[attributes.axis] = -1
    return data + bias.reshape(shape)


def _batch_flatten(attributes: Any, inputs: Sequence[Any], types: Sequence[Any]) -> list[Tensor]:
    data: Tensor = inputs[0]

    def element(batch: Scalar, index: Scalar) -> Scalar:
        indices: list[Scalar] = []
        rest = index
        for extent in reversed(data.shape[2:]):
            indices.append(remainder(rest, extent))
            rest = quotient(rest, extent)
        indices += [rest] if data.rank > 1 else []
        return data[(batch, *reversed(indices))]

    return [compute_elements("flatten", types[0].shape, element)]


def _batch_flatten_reference(attributes: Attributes, data: Array) -> Array:
    return data.reshape(data.shape[0], prod(data.shape[1:]))


bias_add = define(
    name="nn.bias_add",
    arguments=("data", "bias"),
    relation=bias_add_relation,
    kind=FusionKind.BROADCAST,
    attributes=BiasAddAttributes,
    compute=_bias_add,
    reference=_bias_add_reference,
    documentation="data plus the bias of its position on one axis.",
)

batch_flatten = define(
    name="nn.batch_flatten",
    arguments=("data",),
    relation=batch_flatten_relation,
    kind=FusionKind.INJECTIVE,
    compute=_batch_flatten,
    reference=_batch_flatten_reference,
    element_counts=kept_elements,
    documentation="All axes but the first joined into one.",
)
