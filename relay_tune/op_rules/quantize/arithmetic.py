"""Affine types through arithmetic: a constant of the scale of sums moves their zero point.

Other sums and products of two stored tensors are computed in float32, in the kernel that reads
their bytes and writes those of the result.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from relay_tune.ir.expr import Call
from relay_tune.op_rules.matching import rank, tensor_type
from relay_tune.op_rules.quantize.affine import INT32_MAX, Affine
from relay_tune.op_rules.quantize.rule import AffineRule, Given

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


RULES: Mapping[str, AffineRule] = {"add": _add}
