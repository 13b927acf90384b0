"""Reductions along axes: sum, product, extremes, mean, variance, all, any."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from relay_tune.ir.expr import Call, Expr
from relay_tune.ir.operator import FusionKind, Operator, define
from relay_tune.op.elements import Array, divided, integer_shape, load_at, number, wide_dtype
from relay_tune.op.reduction_axes import (
    ReduceAttributes,
    Reduction,
    axes_of,
    finished,
    reduced,
    wide_array,
)
from relay_tune.quick_dataclass import dataclass
from relay_tune.tensor.expression import Scalar, Tensor, binary, cast
from relay_tune.tensor.scalar_semantics import convert, is_float, truncated_quotient
from relay_tune.tensor.tensor import compute
from relay_tune.typing.relations.reduction import reduce as reduce_relation
from relay_tune.typing.relations.reduction import variance as variance_relation


@dataclass(frozen=True)
class VarianceAttributes(ReduceAttributes):
    """Attributes of variance, besides those of a reduction.

    Attributes:
        unbiased: whether to divide by the number of elements less one.
    """

    unbiased: bool = False


def _reduction_operator(
    name: str, operation: str, reference: Callable[..., Any], documentation: str
) -> Operator:
    def computation(attributes: Any, inputs: Any, types: Any) -> list[Any]:
        (data,) = inputs
        reduction = Reduction(data, axes_of(attributes, data.shape))
        total = reduced(name, types[0], reduction, operation)
        return [finished(name, total, data.dtype)]

    def meaning(attributes: ReduceAttributes, data: Array) -> Array:
        return convert(_apply(reference, attributes, wide_array(data)), data.dtype.name)

    return _register_reduction(name, computation, meaning, documentation)


def _truth_operator(
    name: str, operation: str, reference: Callable[..., Any], documentation: str
) -> Operator:
    def computation(attributes: Any, inputs: Any, types: Any) -> list[Any]:
        (data,) = inputs
        reduction = Reduction(data, axes_of(attributes, data.shape))
        truth = reduced(name, types[0], reduction, operation, lambda x: cast(x, "bool"))
        return [finished(name, truth, data.dtype)]

    def meaning(attributes: ReduceAttributes, data: Array) -> Array:
        return _apply(reference, attributes, data != 0).astype(data.dtype)

    return _register_reduction(name, computation, meaning, documentation)


def _register_reduction(
    name: str, computation: Callable[..., Any], meaning: Callable[..., Any], documentation: str
) -> Operator:
    return define(
        name=name,
        arguments=("data",),
        relation=reduce_relation,
        kind=FusionKind.REDUCTION,
        attributes=ReduceAttributes,
        compute=computation,
        reference=meaning,
        documentation=documentation,
    )


def _apply(function: Callable[..., Any], attributes: ReduceAttributes, data: Array) -> Array:
    axes = axes_of(attributes, data.shape)
    with np.errstate(all="ignore"):
        return np.asarray(function(data, axis=axes, keepdims=attributes.keepdims))


def _sum(data: Array, axis: Any, keepdims: bool) -> Any:
    return np.sum(data, axis=axis, keepdims=keepdims, dtype=data.dtype)


def _product(data: Array, axis: Any, keepdims: bool) -> Any:
    return np.prod(data, axis=axis, keepdims=keepdims, dtype=data.dtype)


def _divided_by(total: Tensor, count: int) -> Callable[[Scalar], Scalar]:
    """Division by a number of elements; floats are multiplied by its inverse."""
    if is_float(total.dtype):
        return lambda x: divided(x, count)
    return lambda x: binary("truncdiv", x, number(count, x.dtype))


def _mean(attributes: ReduceAttributes, inputs: Any, types: Any) -> list[Any]:
    (data,) = inputs
    reduction = Reduction(data, axes_of(attributes, data.shape))
    total = reduced("mean_sum", types[0], reduction, "sum")
    return [finished("mean", total, data.dtype, _divided_by(total, reduction.count))]


def _mean_reference(attributes: ReduceAttributes, data: Array) -> Array:
    axes = axes_of(attributes, data.shape)
    count = np.prod([data.shape[axis] for axis in axes], dtype=np.int64)
    total = _apply(_sum, attributes, wide_array(data))
    with np.errstate(all="ignore"):
        if is_float(data.dtype.name):
            return np.asarray(total / total.dtype.type(count)).astype(data.dtype)
        return truncated_quotient(total, np.asarray(count).astype(total.dtype))


def _variance(attributes: VarianceAttributes, inputs: Any, types: Any) -> list[Any]:
    data, mean_tensor = inputs
    axes = axes_of(attributes, data.shape)
    reduction = Reduction(data, axes)
    wide = wide_dtype(data.dtype)

    def body(*output: Scalar) -> Scalar:
        value = reduction.load(output)
        center = load_at(mean_tensor, value.indices)
        distance = cast(value, wide) - cast(center, wide)
        return reduction.reduce("sum", distance * distance)

    total = compute("variance_sum", integer_shape(types[0]), body)
    count = reduction.count - bool(attributes.unbiased)
    return [finished("variance", total, data.dtype, _divided_by(total, count))]


def _variance_reference(attributes: VarianceAttributes, data: Array, mean_value: Array) -> Array:
    axes = axes_of(attributes, data.shape)
    count = np.prod([data.shape[axis] for axis in axes]) - bool(attributes.unbiased)
    squares = np.square(wide_array(data) - wide_array(mean_value))
    total = _apply(_sum, attributes, squares)
    with np.errstate(all="ignore"):
        return np.asarray(total / total.dtype.type(count)).astype(data.dtype)


def variance(
    data: Expr,
    axis: int | tuple[int, ...] | None = None,
    keepdims: bool = False,
    exclude: bool = False,
    unbiased: bool = False,
    with_mean: Expr | None = None,
) -> Call:
    """A call of `variance`; `with_mean` is the mean with keepdims, calculated if not given."""
    center = with_mean or mean(data, axis=axis, keepdims=True, exclude=exclude)
    return variance_with_mean(
        data, center, axis=axis, keepdims=keepdims, exclude=exclude, unbiased=unbiased
    )


sum = _reduction_operator("sum", "sum", _sum, "The sum over axes; of nothing 0.")
prod = _reduction_operator("prod", "prod", _product, "The product over axes; of nothing 1.")
max = _reduction_operator("max", "max", np.max, "The greatest element over axes.")
min = _reduction_operator("min", "min", np.min, "The least element over axes.")
all = _truth_operator("all", "min", np.all, "Whether all elements are true (not zero) over axes.")
any = _truth_operator("any", "max", np.any, "Whether some element is true (not zero) over axes.")
mean = _register_reduction(
    "mean",
    _mean,
    _mean_reference,
    "The mean over axes; of integers rounded towards zero. Short floats are summed as float32.",
)
variance_with_mean = define(
    name="variance",
    arguments=("data", "mean"),
    relation=variance_relation,
    kind=FusionKind.REDUCTION,
    attributes=VarianceAttributes,
    compute=_variance,
    reference=_variance_reference,
    documentation=(
        "The mean of (data - mean)^2 over axes, where the mean over the same axes is given "
        "with keepdims."
    ),
)
