"""Affine types through arithmetic: constants that are added or multiply, and relu.

A constant of the scale of sums moves their zero point, a factor changes their scale.

Other sums and products of two stored tensors are computed in float32, in the kernel that reads
their bytes and writes those of the result.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from relay_tune.ir.expr import Call, Expr
from relay_tune.op_rules.matching import attribute, constant_data, rank, tensor_type
from relay_tune.op_rules.quantize.affine import INT32_MAX, Affine
from relay_tune.op_rules.quantize.rule import AffineRule, Given, first
from relay_tune.op_rules.typed import call, constant_of

SAME_SCALE = 1e-6
"""The relative difference of two scales that rounding to float32 makes."""


def with_bias(sums: Affine, bias: np.ndarray, scale: np.ndarray, axis: int) -> Affine | None:
    """int32 sums with a number of their own scale added to each index on an axis."""
    if sums.dtype != "int32" or not np.allclose(scale, sums.scale, rtol=SAME_SCALE, atol=0):
        return None
    if bias.ndim and not sums.is_uniform and axis != sums.axis:
        return None
    zero = sums.zero - bias
    low, high = sums.bounds
    low, high = low + min(0, int(bias.min())), high + max(0, int(bias.max()))
    if max(-low, high, int(np.abs(zero).max())) > INT32_MAX:
        return None
    scales = np.broadcast_to(sums.scale, zero.shape)
    return replace(sums, scale=scales, zero=zero, axis=axis if zero.ndim else 0, bounds=(low, high))


def channel_numbers(given: Affine, axis: int, dims: int) -> np.ndarray | None:
    """A constant that varies along one axis of what it broadcasts to, less its zero point."""
    integers = given.integers
    if integers is None or not integers.size:
        return None
    shape = (1,) * (dims - integers.ndim) + integers.shape
    if any(size != 1 for other, size in enumerate(shape) if other != axis):
        return None
    return integers.reshape(-1) if integers.size > 1 else integers.reshape(())


def _add(call_: Call, given: Sequence[Given]) -> Affine | None:
    """Sums and a constant, in either order."""
    for sums, bias in (given, tuple(reversed(given))):
        if not isinstance(sums, Affine) or not isinstance(bias, Affine):
            continue
        dims, result, type_ = rank(sums.stored), tensor_type(call_), tensor_type(sums.stored)
        if dims is None or result is None or type_ is None or sums.dtype != "int32":
            continue
        if result.shape != type_.shape:  # the sums are broadcast
            continue
        axis = dims - 1 if sums.is_uniform else sums.axis
        numbers = channel_numbers(bias, axis, dims)
        if numbers is not None:
            return with_bias(sums, numbers, bias.scale, axis)
    return None


def _scaled(call_: Call, given: Sequence[Given]) -> Affine | None:
    """Numbers times a positive constant: the scale is multiplied."""
    for source, factor in zip(given, reversed(call_.arguments), strict=True):
        if isinstance(source, Affine):
            return _with_scale(call_, source, factor, 1)
    return None


def _divided(call_: Call, given: Sequence[Given]) -> Affine | None:
    """Numbers divided by a positive constant."""
    source, divisor = given[0], call_.arguments[1]
    return _with_scale(call_, source, divisor, -1) if isinstance(source, Affine) else None


def _with_scale(call_: Call, source: Affine, factor: Expr, power: int) -> Affine | None:
    number = constant_data(factor)
    if number is None or number.size != 1 or rank(factor) not in (0, 1):
        return None
    if rank(call_) != rank(source.stored):
        return None
    with np.errstate(all="ignore"):
        scale = source.scale * number.astype(np.float64).reshape(()) ** power
    tiny = np.finfo(np.float32).tiny
    if not (np.isfinite(scale.astype(np.float32)).all() and (scale >= tiny).all()):
        return None
    return replace(source, scale=scale)


def _bias_add(call_: Call, given: Sequence[Given]) -> Affine | None:
    sums, bias = given
    dims = rank(call_)
    if not isinstance(sums, Affine) or not isinstance(bias, Affine) or dims is None:
        return None
    numbers = bias.integers
    if numbers is None or not numbers.size:
        return None
    return with_bias(sums, numbers, bias.scale, attribute(call_, "axis") % dims)


def _relu(call_: Call, given: Sequence[Given]) -> Affine | None:
    """No less than what zero is stored as."""
    data = first(given)
    if data is None:
        return None
    zero = constant_of(data.aligned(data.zero).astype(data.dtype))
    return data.like(call("maximum", data.stored, zero))


RULES: Mapping[str, AffineRule] = {
    "add": _add,
    "multiply": _scaled,
    "divide": _divided,
    "nn.bias_add": _bias_add,
    "nn.relu": _relu,
}
