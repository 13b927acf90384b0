"""Adjoints of normalisations over axes: mean and deviation depend on each element, too.

With n = (x - mean) / deviation and a the adjoint of n (Ioffe and Szegedy, "Batch Normalization",
2015, section 3):

    x' = (a - mean(a) - n mean(a n)) / deviation
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from relay_tune.ir.expr import Expr
from relay_tune.op_rules.gradient.expressions import minus, number, plus, product, rank_of
from relay_tune.op_rules.gradient.rule import Adjoint, Differentiated, GradientRule, GradientRules
from relay_tune.op_rules.matching import attributes_of, static_shape, tensor_type
from relay_tune.op_rules.typed import call, reshape


def _mean(value: Expr, axes: Sequence[int]) -> Expr:
    return call("mean", value, axis=tuple(axes), keepdims=True)


def normalized_adjoints(
    data: Expr, adjoint: Expr, axes: Sequence[int], epsilon: float
) -> tuple[Expr, Expr]:
    """The adjoint of `data` that is normalised over `axes`, and the normalised data."""
    distance = minus(data, _mean(data, axes))
    variance = _mean(product(distance, distance), axes)
    scale = call("rsqrt", plus(variance, number(epsilon, data)))
    normal = product(distance, scale)
    shared = product(normal, _mean(product(adjoint, normal), axes))
    rest = minus(minus(adjoint, _mean(adjoint, axes)), shared)
    return product(rest, scale), normal


def _adjoints(known: Differentiated, axis: int, axes: Sequence[int]) -> tuple[Adjoint, ...]:
    """Of a normalisation over `axes` with a factor and a term for each index on `axis`."""
    data, gamma, _ = known.call.arguments
    attributes: Any = attributes_of(known.call)
    type_ = tensor_type(data)
    assert type_ is not None
    behind = len(type_.shape) - 1 - axis
    inner = known.tensor
    if attributes.scale:
        factor = call("expand_dims", gamma, axis=1, num_newaxis=behind) if behind else gamma
        inner = product(inner, factor)
    first, normal = normalized_adjoints(data, inner, axes, attributes.epsilon)
    return first, *_parameters(known, normal, axis)


def _parameters(known: Differentiated, normal: Expr, axis: int) -> tuple[Adjoint, Adjoint]:
    """The adjoints of gamma and beta; those that the call does not use have none."""
    attributes: Any = attributes_of(known.call)
    over = {"axis": (axis,), "exclude": True}
    gamma = call("sum", product(known.tensor, normal), **over) if attributes.scale else None
    beta = call("sum", known.tensor, **over) if attributes.center else None
    return gamma, beta


def _layer_norm(known: Differentiated) -> tuple[Adjoint, ...]:
    axis = attributes_of(known.call).axis % rank_of(known.tensor)
    return _adjoints(known, axis, (axis,))


def _instance_norm(known: Differentiated) -> tuple[Adjoint, ...]:
    rank = rank_of(known.tensor)
    axis = attributes_of(known.call).axis % rank
    return _adjoints(known, axis, [n for n in range(rank) if n not in (0, axis)])


def _group_norm(known: Differentiated) -> tuple[Adjoint, ...] | None:
    """Groups of channels become an axis of their own."""
    data, gamma, _ = known.call.arguments
    attributes: Any = attributes_of(known.call)
    shape = static_shape(data)
    if shape is None:
        return None
    axis, groups = attributes.axis % len(shape), attributes.num_groups
    split = (*shape[:axis], groups, shape[axis] // groups, *shape[axis + 1 :])
    behind = len(shape) - 1 - axis
    inner = known.tensor
    if attributes.scale:
        factor = call("expand_dims", gamma, axis=1, num_newaxis=behind) if behind else gamma
        inner = product(inner, factor)
    axes = [n for n in range(len(split)) if n not in (0, axis)]
    first, normal = normalized_adjoints(
        reshape(data, split), reshape(inner, split), axes, attributes.epsilon
    )
    return reshape(first, shape), *_parameters(known, reshape(normal, shape), axis)


RULES: GradientRules = {
    "nn.layer_norm": GradientRule(_layer_norm),
    "nn.instance_norm": GradientRule(_instance_norm),
    "nn.group_norm": GradientRule(_group_norm),
}
