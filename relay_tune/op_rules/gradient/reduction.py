"""Adjoints of reductions and of averages over whole images; those of max, min, prod and other
pools are derived.
"""

from __future__ import annotations

from math import prod
from typing import Any

from relay_tune.ir.expr import Expr
from relay_tune.op_rules.gradient.expressions import minus, number, product, quotient
from relay_tune.op_rules.gradient.rule import Adjoint, Differentiated, GradientRule, GradientRules
from relay_tune.op_rules.matching import (
    attributes_of,
    have_one_shape,
    static_shape,
    tensor_type,
)
from relay_tune.op_rules.typed import call
from relay_tune.typing.relations.reduction import reduced_axes


def kept_axes(value: Expr, axes: tuple[int, ...]) -> Expr:
    """A reduced tensor with the axes that it was reduced over, of size 1."""
    for axis in sorted(axes):
        value = call("expand_dims", value, axis=axis)
    return value


def repeated(value: Expr, like: Expr) -> Expr:
    """`value` broadcast to the shape of `like`."""
    if have_one_shape(value, like):
        return value
    shape = static_shape(like)
    if shape is None:
        return call("broadcast_to_like", value, like)
    return call("broadcast_to", value, shape=shape)


def axes_reduced(attributes: Any, data: Expr) -> tuple[int, ...]:
    """The axes that a reduction of `data` removes, ascending."""
    type_ = tensor_type(data)
    assert type_ is not None
    return tuple(reduced_axes(attributes.axis, attributes.exclude, type_))


def count_in(data: Expr, axes: tuple[int, ...], like: Expr) -> Expr:
    """The number of elements of `data` behind one of its reduction, in the type of `like`."""
    type_ = tensor_type(data)
    assert type_ is not None
    sizes = [type_.shape[axis] for axis in axes]
    if all(isinstance(size, int) for size in sizes):
        return number(float(prod(int(str(size)) for size in sizes)), like)
    return call("sum", call("ones_like", data), axis=axes, keepdims=True)


def _stretched(known: Differentiated) -> Expr:
    """The adjoint with the axes of the data, broadcast or to be broadcast."""
    (data, *_), attributes = known.call.arguments, attributes_of(known.call)
    axes = axes_reduced(attributes, data)
    return known.tensor if attributes.keepdims else kept_axes(known.tensor, axes)


def _sum(known: Differentiated) -> tuple[Adjoint]:
    return (repeated(_stretched(known), known.call.arguments[0]),)


def _mean(known: Differentiated) -> tuple[Adjoint]:
    (data,) = known.call.arguments
    count = count_in(data, axes_reduced(attributes_of(known.call), data), known.tensor)
    return (repeated(quotient(_stretched(known), count), data),)


def _variance(known: Differentiated) -> tuple[Adjoint, Adjoint]:
    """Of sum((x - m)^2) / n with regard to x and m, which is an argument of its own."""
    data, mean = known.call.arguments
    attributes = attributes_of(known.call)
    axes = axes_reduced(attributes, data)
    count = count_in(data, axes, data)
    if attributes.unbiased:
        count = minus(count, number(1.0, data))
    given, result = tensor_type(mean), tensor_type(data)
    assert given is not None and result is not None
    center = mean if len(given.shape) == len(result.shape) else kept_axes(mean, axes)
    slope = quotient(product(number(2.0, data), minus(data, center)), count)
    each = product(repeated(_stretched(known), data), slope)
    total = call("sum", call("negative", each), axis=axes, keepdims=center is mean)
    return each, total


def _global_average(known: Differentiated) -> tuple[Adjoint] | None:
    (data,) = known.call.arguments
    whole, pooled = static_shape(data), static_shape(known.tensor)
    if whole is None or pooled is None or len(whole) != len(pooled) or not prod(pooled):
        return None
    count = prod(whole) / prod(pooled)
    return (repeated(quotient(known.tensor, number(count, data)), data),)


RULES: GradientRules = {
    "sum": GradientRule(_sum),
    "mean": GradientRule(_mean),
    "variance": GradientRule(_variance),
    **{f"nn.global_avg_pool{rank}d": GradientRule(_global_average) for rank in (1, 2, 3)},
}
