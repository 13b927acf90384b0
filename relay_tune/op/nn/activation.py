"""Activations: nn.relu, nn.leaky_relu, nn.prelu, nn.gelu."""

from __future__ import annotations

from collections.abc import Sequence
from math import pi, sqrt
from typing import Any

import numpy as np

from relay_tune.ir.expr import Attributes
from relay_tune.ir.operator import FusionKind, define
from relay_tune.op.elements import Array, elementwise, in_wide, normalized_axis, wide_dtype
from relay_tune.op.layout_indices import compute_elements
from relay_tune.quick_dataclass import dataclass
from relay_tune.tensor.expression import Scalar, Tensor, binary, literal, select, unary
from relay_tune.tensor.scalar_semantics import apply_unary, numpy_dtype
from relay_tune.typing.relations.elementwise import identity
from relay_tune.typing.relations.nn import prelu as prelu_relation

_TANH_FACTOR = sqrt(2 / pi)
_CUBIC_FACTOR = 0.044715


@dataclass(frozen=True)
class LeakyReluAttributes(Attributes):
    """Attributes of nn.leaky_relu.

    Attributes:
        alpha: slope below zero.
    """

    alpha: float = 0.01


@dataclass(frozen=True)
class PReluAttributes(Attributes):
    """Attributes of nn.prelu.

    Attributes:
        axis: the axis that has one slope for each position.
    """

    axis: int = 1


@dataclass(frozen=True)
class GeluAttributes(Attributes):
    """Attributes of nn.gelu.

    Attributes:
        approximate: "none" for the exact function, "tanh" for the approximation.
    """

    approximate: str = "none"


def _relu(attributes: Any, inputs: Sequence[Any], types: Sequence[Any]) -> list[Tensor]:
    return [elementwise("relu", types[0].shape, inputs, lambda x: binary("max", x, 0))]


def _relu_reference(attributes: Attributes, data: Array) -> Array:
    return np.maximum(data, np.zeros((), data.dtype))


def _leaky(value: Scalar, slope: Scalar) -> Scalar:
    """`value`, times `slope` where it is negative."""
    return select(binary("gt", value, 0), value, value * slope)


def _leaky_relu(attributes: Any, inputs: Sequence[Any], types: Sequence[Any]) -> list[Tensor]:
    def element(value: Scalar) -> Scalar:
        return _leaky(value, literal(float(attributes.alpha), value.dtype))

    return [elementwise("leaky_relu", types[0].shape, inputs, in_wide(element))]


def _leaky_relu_reference(attributes: LeakyReluAttributes, data: Array) -> Array:
    wide = data.astype(numpy_dtype(wide_dtype(data.dtype.name)))
    slope = np.asarray(attributes.alpha, wide.dtype)
    return np.where(wide > 0, wide, wide * slope).astype(data.dtype)


def _prelu(attributes: Any, inputs: Sequence[Any], types: Sequence[Any]) -> list[Tensor]:
    data, slope = inputs
    axis = normalized_axis(attributes.axis, data.rank)

    def element(*axes: Scalar) -> Scalar:
        return _leaky(data[axes], slope[axes[axis]])

    return [compute_elements("prelu", data.shape, element)]


def _prelu_reference(attributes: PReluAttributes, data: Array, slope: Array) -> Array:
    shape = [1] * data.ndim
    shape[attributes.axis] = -1
    return np.where(data > 0, data, data * slope.reshape(shape))


def _gelu_exact(value: Scalar) -> Scalar:
    return value * 0.5 * (unary("erf", value * (1 / sqrt(2))) + 1.0)


def _gelu_tanh(value: Scalar) -> Scalar:
    inner = (value + value * value * value * _CUBIC_FACTOR) * _TANH_FACTOR
    return value * 0.5 * (unary("tanh", inner) + 1.0)


def _gelu(attributes: Any, inputs: Sequence[Any], types: Sequence[Any]) -> list[Tensor]:
    element = _gelu_tanh if attributes.approximate == "tanh" else _gelu_exact
    return [elementwise("gelu", types[0].shape, inputs, in_wide(element))]


def _gelu_reference(attributes: GeluAttributes, data: Array) -> Array:
    wide = data.astype("float64")
    if attributes.approximate == "tanh":
        bend = np.tanh(_TANH_FACTOR * (wide + _CUBIC_FACTOR * wide**3))
    else:
        bend = apply_unary("erf", wide / sqrt(2))
    return np.asarray(0.5 * wide * (1 + bend)).astype(data.dtype)


relu = define(
    name="nn.relu",
    arguments=("data",),
    relation=identity,
    kind=FusionKind.ELEMENTWISE,
    compute=_relu,
    reference=_relu_reference,
    documentation="max(data, 0)",
)

leaky_relu = define(
    name="nn.leaky_relu",
    arguments=("data",),
    relation=identity,
    kind=FusionKind.ELEMENTWISE,
    attributes=LeakyReluAttributes,
    compute=_leaky_relu,
    reference=_leaky_relu_reference,
    documentation="data where it is positive, else alpha * data.",
)

prelu = define(
    name="nn.prelu",
    arguments=("data", "alpha"),
    relation=prelu_relation,
    kind=FusionKind.BROADCAST,
    attributes=PReluAttributes,
    compute=_prelu,
    reference=_prelu_reference,
    documentation="data where it is positive, else alpha * data, with one alpha a channel.",
)

gelu = define(
    name="nn.gelu",
    arguments=("data",),
    relation=identity,
    kind=FusionKind.ELEMENTWISE,
    attributes=GeluAttributes,
    compute=_gelu,
    reference=_gelu_reference,
    documentation=(
        "data times the distribution function of the normal distribution at data "
        "(Hendrycks and Gimpel, 2016)."
    ),
)
