"""Layers with constant weights as products of bytes, summed in int32.

    sum((a - z) * w) = sum(a * w) - z * sum(w)

The second sum is constant for each channel, so that it moves the zero point of the first, if the
padding of `a` is z.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from relay_tune.ir.expr import Call, Expr
from relay_tune.op_rules.fold.layers import LAYERS
from relay_tune.op_rules.fold.weighted import WeightedLayer
from relay_tune.op_rules.matching import attribute, constant_data, rank
from relay_tune.op_rules.padding import padded_widths
from relay_tune.op_rules.quantize.affine import INT32_MAX, Affine
from relay_tune.op_rules.quantize.rule import Given, first
from relay_tune.op_rules.typed import call, constant_of, recall

SUM_BITS = (26, 30)
"""Bits that sums of bytes are said to have.

Filtering by tiles of 4 x 4 results needs six more than its sums, by those of 2 x 2 two."""


def integer_layer(call_: Call, given: Sequence[Given]) -> Affine | None:
    """A layer on bytes; None where its sums might not fit int32, or its scales are along sums."""
    data, weight = given
    if not isinstance(data, Affine) or not isinstance(weight, Affine):
        return None
    if not (data.is_bytes and data.is_uniform):
        return None
    layer, numbers = _layer(call_, weight), weight.integers
    if layer is None or numbers is None or not numbers.size:
        return None
    if not (weight.is_uniform or weight.axis == layer.output_axis):
        return None
    others = tuple(axis for axis in range(numbers.ndim) if axis != layer.output_axis)
    sums = numbers.sum(axis=others)
    bound = int(np.abs(numbers).sum(axis=others).max()) * data.most
    if max(bound, int(np.abs(data.zero * sums).max())) > INT32_MAX:
        return None
    stored = _summed(call_, data, layer, numbers, bound)
    if stored is None:
        return None
    zero = data.zero * sums
    scale = np.broadcast_to(data.scale * weight.scale, zero.shape)
    return Affine(stored, scale, zero, layer.channel_axis, (-bound, bound))


def integer_transposed_layer(call_: Call, given: Sequence[Given]) -> Affine | None:
    """A transposed convolution of bytes whose zero point is 0, as behind a relu.

    Its results are sums over some of the taps, those at the border over fewer: another zero point
    would be taken off each by another number.
    """
    data = first(given)
    return None if data is None or data.zero.any() else integer_layer(call_, given)


def _layer(call_: Call, weight: Affine) -> WeightedLayer | None:
    """The layer, if one axis of the weight counts channels and its sums go over all others."""
    rule, data = LAYERS.rule_of(call_), constant_data(weight.stored)
    dims = rank(call_)
    if rule is None or data is None or dims is None or attribute(call_, "out_dtype", ""):
        return None
    return rule(call_, constant_of(data))


def _summed(
    call_: Call, data: Affine, layer: WeightedLayer, numbers: np.ndarray, bound: int
) -> Expr | None:
    """The sums of bytes and weights, up to `bound`; some weights may have nine bits.

    Those are bytes and a number for each channel, which multiplies the sums of windows:
    sum(a * (w + d)) = sum(a * w) + d * sum(a). None where they have more bits, or there are groups,
    which have windows of their own.
    """
    source, padding = _padded(call_, data)
    others = tuple(axis for axis in range(numbers.ndim) if axis != layer.output_axis)
    low, high = numbers.min(axis=others), numbers.max(axis=others)
    more, dims = np.maximum(high - 127, 0) + np.minimum(low + 128, 0), rank(call_)
    if dims is None or not more.any():
        return _sums(call_, source, numbers, padding | _sum_bits(layer, numbers, bound))
    if attribute(call_, "groups", 1) != 1 or (high - low).max() > 255:
        return None
    weights = numbers - _along(more, layer.output_axis, numbers.ndim)
    bound = int(np.abs(weights).sum(axis=others).max()) * data.most
    sums = _sums(call_, source, weights, padding | _sum_bits(layer, weights, bound))
    ones = np.ones_like(weights, np.int8).take([0], layer.output_axis)
    single = {name: 1 for name in ("channels", "units") if attribute(call_, name) is not None}
    windows = _sums(call_, source, ones, {**padding, **single})
    wanted = constant_of(_along(more.astype(np.int32), layer.channel_axis, dims))
    return call("add", sums, call("multiply", windows, wanted))


def _sums(call_: Call, data: Expr, weights: np.ndarray, known: Mapping[str, Any]) -> Call:
    """The layer on bytes, with some other attributes."""
    factor = constant_of(weights.astype(np.int8))
    return recall(call_, (data, factor), out_dtype="int32", **known)


def _along(numbers: np.ndarray, axis: int, dims: int) -> np.ndarray:
    """A vector so that it broadcasts along an axis."""
    return numbers.reshape((-1, *(1,) * (dims - 1 - axis % dims)))


def _sum_bits(layer: WeightedLayer, numbers: np.ndarray, bound: int) -> dict[str, int]:
    """Attribute for the bits of sums up to `bound`, where windows have several elements.

    One of few numbers, so that layers of one shape are one kernel.
    """
    said = attribute(layer.layer, "sum_bits")
    channels = [numbers.shape[axis] for axis in (layer.output_axis, layer.input_axis or 0)]
    if said is None or layer.input_axis is None or numbers.size == prod(channels):
        return {}
    own = bound.bit_length() + 1
    return {"sum_bits": next((bits for bits in SUM_BITS if own <= bits), 0)}


def _padded(call_: Call, data: Affine) -> tuple[Expr, dict[str, tuple[int, ...]]]:
    """The stored data, and changed attributes: padding is with the zero point."""
    layout = attribute(call_, "data_layout")
    if layout is None or not data.zero.any():
        return data.stored, {}
    widths = padded_widths(call_, layout)
    if not any(map(any, widths)):
        return data.stored, {}
    fill = constant_of(data.zero.astype(data.dtype))
    padded = call("nn.pad", data.stored, fill, pad_width=widths)
    return padded, {"padding": (0,) * (len(layout) - 2)}
