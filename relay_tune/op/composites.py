"""Functions that are common enough to have a name, made of several operators."""

from __future__ import annotations

from relay_tune.ir.expr import Call, Expr, Tuple
from relay_tune.op.arithmetic import add, subtract
from relay_tune.op.math import exp, log, sqrt
from relay_tune.op.reduction import max as maximum_over
from relay_tune.op.reduction import mean, variance
from relay_tune.op.reduction import sum as sum_over
from relay_tune.op.shape import squeeze

Axes = int | tuple[int, ...] | None
"""The axes to reduce; None: all."""


def logsumexp(data: Expr, axis: Axes = None, keepdims: bool = False) -> Call:
    """log(sum(exp(data))) over axes, shifted by the maximum so that nothing overflows."""
    greatest = maximum_over(data, axis=axis, keepdims=True)
    total = sum_over(exp(subtract(data, greatest)), axis=axis, keepdims=True)
    result = add(log(total), greatest)
    return result if keepdims else squeeze(result, axis=axis)


def std(
    data: Expr,
    axis: Axes = None,
    keepdims: bool = False,
    exclude: bool = False,
    unbiased: bool = False,
) -> Call:
    """The standard deviation over axes."""
    return sqrt(variance(data, axis, keepdims, exclude, unbiased))


def mean_variance(
    data: Expr,
    axis: Axes = None,
    keepdims: bool = False,
    exclude: bool = False,
    unbiased: bool = False,
) -> Tuple:
    """The tuple of mean and variance over axes."""
    center = mean(data, axis=axis, keepdims=True, exclude=exclude)
    spread = variance(data, axis, keepdims, exclude, unbiased, with_mean=center)
    if keepdims:
        return Tuple((center, spread))
    return Tuple((mean(data, axis=axis, exclude=exclude), spread))


def mean_std(
    data: Expr,
    axis: Axes = None,
    keepdims: bool = False,
    exclude: bool = False,
    unbiased: bool = False,
) -> Tuple:
    """The tuple of mean and standard deviation over axes."""
    center, spread = mean_variance(data, axis, keepdims, exclude, unbiased).fields
    return Tuple((center, sqrt(spread)))
