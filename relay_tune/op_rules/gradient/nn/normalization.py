"""Adjoints of normalisations over axes: mean and deviation depend on each element, too.

With n = (x - mean) / deviation and a the adjoint of n (Ioffe and Szegedy, "Batch Normalization",
2015, section 3):

    x' = (a - mean(a) - n mean(a n)) / deviation

Batch normalisation in training gives its statistics beside the result: they are read here, and
their own adjoints are added.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from relay_tune.ir.expr import Expr, TupleGetItem
from relay_tune.op.elements import wide_dtype
from relay_tune.op_rules.gradient.expressions import (
    minus,
    negated,
    number,
    plus,
    product,
    quotient,
    rank_of,
)
from relay_tune.op_rules.gradient.reduction import count_in
from relay_tune.op_rules.gradient.rule import Adjoint, Differentiated, GradientRule, GradientRules
from relay_tune.op_rules.matching import attributes_of, static_shape, tensor_type
from relay_tune.op_rules.typed import call, reshape, with_types


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
    inner = known.tensor
    if attributes.scale:
        inner = product(inner, _along(gamma, axis, len(type_.shape)))
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
    inner = known.tensor
    if attributes.scale:
        inner = product(inner, _along(gamma, axis, len(shape)))
    axes = [n for n in range(len(split)) if n not in (0, axis)]
    first, normal = normalized_adjoints(
        reshape(data, split), reshape(inner, split), axes, attributes.epsilon
    )
    return reshape(first, shape), *_parameters(known, reshape(normal, shape), axis)


def _batch_norm(known: Differentiated) -> tuple[Adjoint, ...] | None:
    """By statistics of the batch: two sums over it, and one pass in which they are used.

    With d = x - mean and s = gamma / deviation:
    x' = a s + d (2 variance' - s sum(a d) / deviation^2) / n + (mean' - s sum(a)) / n
    """
    attributes: Any = attributes_of(known.call)
    data, gamma, *_ = known.call.arguments
    type_ = tensor_type(data)
    assert type_ is not None and isinstance(known.adjoint, tuple)
    adjoint, by_mean, by_variance = known.adjoint
    if not attributes.training or wide_dtype(type_.dtype) != type_.dtype:
        return None
    if not isinstance(adjoint, Expr):
        return None
    rank = len(type_.shape)
    axis = attributes.axis % rank
    mean, variance = (with_types(TupleGetItem(known.result, field)) for field in (1, 2))
    distance = minus(data, _along(mean, axis, rank))
    inverse = call("rsqrt", plus(variance, number(attributes.epsilon, data)))
    scale = product(gamma, inverse) if attributes.scale else inverse
    total = call("sum", adjoint, axis=(axis,), exclude=True)
    moment = call("sum", product(adjoint, distance), axis=(axis,), exclude=True)
    slope = negated(product(scale, inverse, inverse, moment))
    offset = negated(product(scale, total))
    if isinstance(by_variance, Expr):
        slope = plus(slope, product(number(2.0, data), by_variance))
    if isinstance(by_mean, Expr):
        offset = plus(offset, by_mean)
    count = count_in(data, tuple(n for n in range(rank) if n != axis), total)
    slope, offset = (quotient(_along(each, axis, rank), count) for each in (slope, offset))
    scaled = product(adjoint, _along(scale, axis, rank))
    first = plus(plus(scaled, product(distance, slope)), offset)
    by_gamma = product(moment, inverse) if attributes.scale else None
    return first, by_gamma, total if attributes.center else None, None, None


def _along(vector: Expr, axis: int, rank: int) -> Expr:
    """A vector of the indices on `axis`, to be broadcast to all axes."""
    behind = rank - 1 - axis
    return call("expand_dims", vector, axis=1, num_newaxis=behind) if behind else vector


RULES: GradientRules = {
    "nn.batch_norm": GradientRule(_batch_norm),
    "nn.layer_norm": GradientRule(_layer_norm),
    "nn.instance_norm": GradientRule(_instance_norm),
    "nn.group_norm": GradientRule(_group_norm),
}
