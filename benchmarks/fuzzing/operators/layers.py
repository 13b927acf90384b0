"""Layers: products, windows, normalisations, recurrence, attention, losses."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from benchmarks.fuzzing.builder import Value
from benchmarks.fuzzing.operators.growing import FLOATS, Growing, Step

COMMON = ("float32", "float32", "float64", "float16", "bfloat16")


def _scaled(net: Growing, x: Value) -> Value:
    """Smaller numbers, so that powers and products of layers stay within the type."""
    return net.add("Sin", x)


def _weights(net: Growing, shape: list[int], dtype: str) -> Value:
    limit = max(1, int(8 / max(1, prod(shape[1:])) ** 0.5))
    return net.finite_weights(shape, dtype, limit)


def product(net: Growing) -> Value:
    """A product of matrices, batched perhaps."""
    x = net.some(FLOATS, 1)
    inner = x.shape[-1]
    columns = net.pick([1, 3, 7, 16])
    if x.rank < 2 or net.chance(0.6):
        shape = [inner, columns] if net.chance(0.8) else [inner]
        return net.add("MatMul", x, _weights(net, shape, x.dtype))
    y = net.add("Transpose", x, perm=[*range(x.rank - 2), x.rank - 1, x.rank - 2])
    return net.add("MatMul", x, y)


def gemm(net: Growing) -> Value:
    """A product with transposes, factors and a bias."""
    x = net.some(FLOATS, 2, 2)
    a, b = net.integer(0, 1), net.integer(0, 1)
    inner, columns = x.shape[0 if a else 1], net.integer(1, 9)
    w = _weights(net, [columns, inner] if b else [inner, columns], x.dtype)
    bias = net.like([net.pick([1, columns])], x.dtype) if net.chance(0.7) else None
    return net.add("Gemm", x, w, bias, transA=a, transB=b, alpha=0.5, beta=net.pick([1.0, 2.0]))


def integer_product(net: Growing) -> Value:
    """Products of 8-bit integers."""
    dtype = net.pick(["int8", "uint8"])
    x = net.some((dtype,), 2, 2)
    other = net.pick(["int8", "uint8"])
    zero = net.like((), dtype, 5)
    w = net.like((x.shape[-1], net.integer(1, 9)), other)
    return net.add("MatMulInteger", x, w, zero if net.chance(0.5) else None)


def einsum(net: Growing) -> Value:
    """Sums of products by a formula."""
    x = net.some(("float32", "float64"), 2, 2)
    formula, shape = net.pick(
        [
            ("ij,jk->ik", [x.shape[1], 3]),
            ("ij,kj->ki", [4, x.shape[1]]),
            ("ij,ij->i", list(x.shape)),
            ("ij,j->ji", [x.shape[1]]),
            ("...j,jk->...k", [x.shape[1], 2]),
        ]
    )
    return net.add("Einsum", x, _weights(net, shape, x.dtype), equation=formula)


def _image(net: Growing, spatial: int) -> Value:
    shape = [net.integer(0 if net.empty else 1, 2), net.pick([1, 2, 4, 6])]
    sides = [net.pick([3, 4, 5, 7]) for _ in range(spatial)]
    if net.chance(0.6):
        return net.some(FLOATS, spatial + 2, spatial + 2)
    return net.fresh(net.pick(COMMON), [*shape, *sides])


def convolution(net: Growing) -> Value:
    """A convolution of one to three axes, or a transposed one."""
    spatial = net.integer(1, 3)
    x = _image(net, spatial)
    channels = x.shape[1]
    kernel = [net.integer(1, min(3, max(1, n))) for n in x.shape[2:]]
    groups = net.pick([g for g in (1, 1, 2, channels) if g and channels % g == 0])
    strides = [net.pick([1, 1, 2]) for _ in kernel]
    pads = [net.integer(0, k // 2) for k in kernel * 2]
    if net.chance(0.3):
        w = _weights(net, [channels, net.integer(1, 3), *kernel], x.dtype)
        return net.add("ConvTranspose", x, w, strides=strides, group=groups)
    outputs = groups * net.integer(1, 4)
    w = _weights(net, [outputs, channels // groups, *kernel], x.dtype)
    bias = net.like([outputs], x.dtype) if net.chance(0.5) else None
    return net.add("Conv", x, w, bias, group=groups, strides=strides, pads=pads)


def integer_convolution(net: Growing) -> Value:
    """A convolution of 8-bit integers."""
    x = net.fresh("uint8", [1, 2, 5, net.pick([4, 7])])
    w = net.like((3, 2, 3, 3), "uint8")
    return net.add("ConvInteger", x, w, net.like((), "uint8", 4), pads=[1, 1, 1, 1])


def pooling(net: Growing) -> Value | None:
    """Pools, whose window may be larger than the axis."""
    spatial = net.integer(1, 3)
    x = _image(net, spatial)
    if 0 in x.shape[2:]:
        return None
    kernel = [net.integer(1, 3) for _ in range(spatial)]
    options: dict[str, Any] = {"kernel_shape": kernel}
    options["strides"] = [net.integer(1, k) for k in kernel]
    if net.chance(0.5):
        options["pads"] = [net.integer(0, k // 2) for k in kernel * 2]
    name = net.pick(["MaxPool", "AveragePool", "LpPool"])
    if name != "LpPool":  # there the reference and onnxruntime differ
        options["ceil_mode"] = net.integer(0, 1)
    if name == "AveragePool":
        options["count_include_pad"] = net.integer(0, 1)
    return net.add(name, x, **options)


def global_pooling(net: Growing) -> Value:
    """Pools over all of an image."""
    x = _image(net, net.integer(1, 3))
    return net.add(net.pick(["GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"]), x)


def channel_norm(net: Growing) -> Value:
    """Normalisation with one scale a channel."""
    x = _image(net, net.integer(1, 3))
    channels = x.shape[1]
    scale, bias, mean = (net.like([channels], x.dtype, 9) for _ in range(3))
    name = net.pick(["BatchNormalization", "InstanceNormalization", "GroupNormalization", "LRN"])
    if name == "LRN":
        return net.add(name, x, size=net.pick([1, 3, 5]), alpha=0.1, bias=1.5)
    if name == "InstanceNormalization":
        return net.add(name, x, scale, bias, epsilon=0.01)
    if name == "GroupNormalization":
        groups = net.pick([g for g in (1, 2, channels) if g and channels % g == 0])
        return net.add(name, x, scale, bias, num_groups=groups, epsilon=0.01)
    kind = net.numbers((), x.dtype).dtype
    variance = net.constant((net.random.random(channels) + 0.5).astype(kind))
    return net.add(name, x, scale, bias, mean, variance)


def row_norm(net: Growing) -> Value:
    """Normalisation of the last axes, or of one axis by its norm."""
    x = net.some(FLOATS, 1)
    axis = net.integer(-x.rank, x.rank - 1)
    name = net.pick(
        ["LayerNormalization", "RMSNormalization", "LpNormalization", "MeanVarianceNormalization"]
    )
    if name == "LpNormalization":
        return net.add(name, x, axis=axis, p=net.integer(1, 2))
    if name == "MeanVarianceNormalization":
        y = net.finite(net.pick(COMMON), [8, *net.shape(1, 2)])
        # of equal elements the standard's formula takes the root of a rounding
        return net.add_shaped(name, y.shape, y.dtype, y, axes=[0])
    shape = x.shape[axis % x.rank :]
    scale = net.like(shape, x.dtype)
    options = {"axis": axis, "epsilon": 0.01}
    if name == "LayerNormalization" and net.chance(0.7):
        return net.add(name, x, scale, net.like(shape, x.dtype), **options)
    return net.add(name, x, scale, **options)


def softmax(net: Growing) -> Value:
    """Probabilities along an axis."""
    x = net.some(FLOATS, 1)
    axis = net.integer(-x.rank, x.rank - 1)
    name = net.pick(["Softmax", "LogSoftmax"])
    if x.exact and x.dtype in ("float32", "float64") and net.chance(0.2):
        name = "Hardmax"
    return net.add(name, x, axis=axis)


def recurrence(net: Growing) -> list[Value]:
    """LSTM, GRU or RNN in either direction, or both."""
    name, gates = net.pick([("LSTM", 4), ("GRU", 3), ("RNN", 1)])
    x = net.fresh("float32", [net.integer(1, 5), net.integer(1, 3), net.pick([1, 3, 4])])
    hidden = net.pick([1, 2, 5])
    direction = net.pick(["forward", "reverse", "bidirectional"])
    both = 2 if direction == "bidirectional" else 1
    w = _weights(net, [both, gates * hidden, x.shape[2]], "float32")
    r = _weights(net, [both, gates * hidden, hidden], "float32")
    bias = net.like([both, 2 * gates * hidden], "float32", 8) if net.chance(0.6) else None
    options = {"linear_before_reset": net.integer(0, 1)} if name == "GRU" else {}
    return net.add_many(name, 2, x, w, r, bias, hidden_size=hidden, direction=direction, **options)


def attention(net: Growing) -> Value:
    """Attention over heads, causal perhaps."""
    batch, heads, rows, columns = net.integer(1, 2), net.integer(1, 3), net.integer(1, 5), 4
    dtype = net.pick(["float32", "float32", "float16"])
    keys = net.integer(1, 5)
    q = _scaled(net, net.fresh(dtype, [batch, heads, rows, columns]))
    k, v = (_scaled(net, net.fresh(dtype, [batch, heads, keys, columns])) for _ in range(2))
    return net.add("Attention", q, k, v, is_causal=net.integer(0, 1))


def rotation(net: Growing) -> Value:
    """Rotary positions."""
    x = net.fresh("float32", [net.integer(1, 2), 2, net.integer(1, 5), 4])
    angles = net.random.random((6, 2)).astype(np.float32)
    cosines, sines = net.constant(np.cos(angles)), net.constant(np.sin(angles))
    at = net.constant(net.random.integers(0, 6, (x.shape[0], x.shape[2])).astype(np.int64))
    return net.add("RotaryEmbedding", x, cosines, sines, at, interleaved=net.integer(0, 1))


def loss(net: Growing) -> Value:
    """Losses of classes."""
    classes = net.integer(2, 5)
    x = net.fresh("float32", [net.integer(1, 5), classes, *net.shape(0, 1)])
    shape = (x.shape[0], *x.shape[2:])
    target = net.constant(net.random.integers(0, classes, shape).astype(np.int64))
    how = net.pick(["mean", "sum", "none"])
    if net.chance(0.5):
        return net.add_many("SoftmaxCrossEntropyLoss", 1, x, target, reduction=how)[0]
    return net.add("NegativeLogLikelihoodLoss", x, target, reduction=how)


def grid(net: Growing) -> Value:
    """An image read at points of a grid."""
    x = net.finite("float32", [2, 2, 4, 5])
    positions = _scaled(net, net.finite("float32", [2, net.integer(1, 3), 3, 2]))
    border = net.pick(["zeros", "border", "reflection"])
    return net.add("GridSample", x, positions, padding_mode=border, align_corners=net.integer(0, 1))


def spectrum(net: Growing) -> Value:
    """A Fourier transform, or a window for one."""
    if net.chance(0.5):
        size = net.integer(2, 9)
        name = net.pick(["HannWindow", "HammingWindow", "BlackmanWindow"])
        return net.add_shaped(name, [size], "float32", net.constant(np.array(size)))
    x = net.finite("float32", [net.integer(1, 2), net.pick([2, 5, 8]), 1])
    axis = net.constant(np.array(1, np.int64))
    return net.add("DFT", x, None, axis, onesided=net.integer(0, 1))


STEPS: tuple[Step, ...] = (
    *(product, product, gemm, integer_product, einsum, convolution, convolution, pooling),
    *(integer_convolution, pooling, global_pooling, channel_norm, channel_norm, row_norm),
    *(row_norm, softmax, recurrence, attention, rotation, loss, grid, spectrum),
)
