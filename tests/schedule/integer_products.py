"""Sums of products of narrow integers as tensor programs, with elements at the ends of ranges."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from relay_tune.tensor.expression import Axis, Scalar, binary, cast, reduce, select
from relay_tune.tensor.program import TensorProgram
from relay_tune.tensor.tensor import Input, compute, input_tensor

Array = np.ndarray[Any, Any]


def extreme(shape: tuple[int, ...], dtype: str, seed: int = 0) -> Array:
    """Random elements, most of them the least and the largest of their type."""
    info = np.iinfo(dtype)
    choices = np.array([info.min, info.max, info.min + 1, info.max - 1, 0, 1], dtype)
    return np.random.default_rng(seed).choice(choices, shape)


def feeds_of(program: TensorProgram) -> dict[Input, Array]:
    """Elements for the inputs and the constants."""
    given = {tensor: extreme(tensor.shape, tensor.dtype, 1) for tensor in program.inputs}
    return {**given, **program.constant_arrays()}


def dense(
    rows: int = 6,
    steps: int = 23,
    columns: int = 19,
    *,
    data: str = "uint8",
    weights: str = "int8",
    constant: bool = True,
    transposed: bool = False,
) -> TensorProgram:
    """x w; `transposed` weights are stored as (columns, steps)."""
    x = input_tensor("x", (rows, steps), data)
    w = input_tensor("w", (columns, steps) if transposed else (steps, columns), weights)
    k = Axis("k", steps)

    def element(i: Scalar, j: Scalar) -> Scalar:
        weight = w[j, k] if transposed else w[k, j]
        return reduce("sum", [k], cast(x[i, k], "int32") * cast(weight, "int32"))

    y = compute("y", (rows, columns), element)
    return _program((x, w), y, constant=constant)


def batched(data: str = "uint8", weights: str = "int8") -> TensorProgram:
    """Two products of tensors that are known at run time only."""
    x, w = input_tensor("x", (2, 33, 10), data), input_tensor("w", (2, 18, 10), weights)
    k = Axis("k", 10)

    def element(b: Scalar, i: Scalar, j: Scalar) -> Scalar:
        return reduce("sum", [k], cast(x[b, i, k], "int32") * cast(w[b, j, k], "int32"))

    return TensorProgram((x, w), (compute("y", (2, 33, 18), element),), ())


def convolution(
    channels: int = 8,
    *,
    data: str = "uint8",
    stride: int = 1,
    dilation: int = 1,
    groups: int = 1,
    padding: int = 0,
) -> TensorProgram:
    """A convolution of 3x3 in NHWC; the weights of groups lie beside each other."""
    size, out = 9, (9 + 2 * padding - 2 * dilation - 1) // stride + 1
    x = input_tensor("x", (2, size, size, channels * groups), data)
    w = input_tensor("w", (3, 3, channels, 6 * groups), "int8")
    c, kh, kw = Axis("c", channels), Axis("kh", 3), Axis("kw", 3)

    def inside(n: Scalar, h: Scalar, v: Scalar, i: Scalar) -> Scalar:
        value: Scalar = x[n, h - padding, v - padding, i]
        for index in (h, v):
            value = select(binary("lt", index, size + padding), value, 0)
            value = select(binary("ge", index, padding), value, 0)
        return value

    wide = size + 2 * padding
    padded = compute("padded", (2, wide, wide, channels * groups), inside) if padding else x

    def element(n: Scalar, h: Scalar, v: Scalar, o: Scalar) -> Scalar:
        rows, columns = h * stride + kh * dilation, v * stride + kw * dilation
        value = padded[n, rows, columns, o // 6 * channels + c]
        return reduce("sum", [kh, kw, c], cast(value, "int32") * cast(w[kh, kw, c, o], "int32"))

    return _program((x, w), compute("y", (2, out, out, 6 * groups), element))


def depthwise(
    out: tuple[int, int] = (9, 9),
    taps: tuple[int, int] = (3, 3),
    *,
    data: str = "uint8",
    weights: str = "int8",
    channels: int = 16,
    multiplier: int = 1,
    stride: int = 1,
    dilation: int = 1,
) -> TensorProgram:
    """Channels of their own: words are of elements under a window."""
    size = [(n - 1) * stride + (t - 1) * dilation + 1 for n, t in zip(out, taps, strict=True)]
    x = input_tensor("x", (*size, channels), data)
    w = input_tensor("w", (*taps, channels * multiplier), weights)
    kh, kw = Axis("kh", taps[0]), Axis("kw", taps[1])

    def element(h: Scalar, v: Scalar, c: Scalar) -> Scalar:
        value = x[h * stride + kh * dilation, v * stride + kw * dilation, c // multiplier]
        product = cast(value, "int32") * cast(w[kh, kw, c], "int32")
        return reduce("sum", [kh, kw], product)

    return _program((x, w), compute("y", (*out, channels * multiplier), element))


def channels_first() -> TensorProgram:
    """A depthwise convolution whose rows are pixels."""
    x, w = input_tensor("x", (3, 10, 21), "int8"), input_tensor("w", (3, 3, 3), "int8")
    kh, kw = Axis("kh", 3), Axis("kw", 3)

    def element(c: Scalar, h: Scalar, v: Scalar) -> Scalar:
        product = cast(x[c, h + kh, v + kw], "int32") * cast(w[c, kh, kw], "int32")
        return reduce("sum", [kh, kw], product)

    return _program((x, w), compute("y", (3, 8, 19), element))


def first_convolution(
    channels: int = 3,
    taps: int = 7,
    *,
    data: str = "uint8",
    stride: int = 2,
    dilation: int = 1,
    spare: int = 0,
    border: int = 0,
    results: int = 20,
) -> TensorProgram:
    """A convolution of few channels, which lie one behind the other, to channels-last results.

    The rows have `spare` columns behind the last window, and a border of sixes.
    """
    out = 4
    size = (out - 1) * stride + (taps - 1) * dilation + 1
    x = input_tensor("x", (channels, size - 2 * border, size + spare - 2 * border), data)
    w = input_tensor("w", (taps, taps, channels, results), "int8")
    c, kh, kw = Axis("c", channels), Axis("kh", taps), Axis("kw", taps)

    def inside(i: Scalar, h: Scalar, v: Scalar) -> Scalar:
        value: Scalar = x[i, h - border, v - border]
        for index, extent in zip((h, v), x.shape[1:], strict=True):
            value = select(binary("lt", index, extent + border), value, 6)
            value = select(binary("ge", index, border), value, 6)
        return value

    wide = (channels, size, size + spare)
    bordered = compute("bordered", wide, inside) if border else x

    def element(h: Scalar, v: Scalar, o: Scalar) -> Scalar:
        value = bordered[c, h * stride + kh * dilation, v * stride + kw * dilation]
        product = cast(value, "int32") * cast(w[kh, kw, c, o], "int32")
        return reduce("sum", [c, kh, kw], product)

    return _program((x, w), compute("y", (out, out, results), element))


def _program(inputs: tuple[Input, Input], y: Any, *, constant: bool = True) -> TensorProgram:
    x, w = inputs
    if not constant:
        return TensorProgram(inputs, (y,), ())
    return TensorProgram((x,), (y,), ((w, extreme(w.shape, w.dtype)),))


Make = Callable[[], TensorProgram]

PROGRAMS: dict[str, Make] = {
    "uint8 by int8": dense,
    "int8 by int8": lambda: dense(data="int8"),
    "uint8 by uint8": lambda: dense(weights="uint8"),
    "int8 in whole words": lambda: dense(data="int8", steps=24),
    "int8 by uint8": lambda: dense(data="int8", weights="uint8"),
    "int16 by int8": lambda: dense(data="int16"),
    "weights by columns": lambda: dense(transposed=True, steps=16),
    "two inputs": lambda: dense(constant=False, rows=40),
    "two inputs, int8": lambda: dense(constant=False, rows=40, data="int8", transposed=True),
    "one row": lambda: dense(rows=1),
    "one column": lambda: dense(columns=1),
    "two steps": lambda: dense(steps=2),
    "batched": batched,
    "batched int8": lambda: batched("int8"),
    "convolution": convolution,
    "int8 convolution with padding": lambda: convolution(data="int8", padding=1),
    "stride": lambda: convolution(5, stride=2, padding=1),
    "dilation": lambda: convolution(6, dilation=2),
    "groups": lambda: convolution(4, groups=3),
    "groups of odd length": lambda: convolution(3, groups=2, data="int8"),
    "three channels": lambda: convolution(3, data="int8", padding=2),
    "depthwise": depthwise,
    "depthwise, rows in pairs": lambda: depthwise((6, 5)),
    "depthwise int8": lambda: depthwise((4, 5), data="int8"),
    "depthwise uint8 by uint8": lambda: depthwise((4, 5), weights="uint8"),
    "depthwise stride": lambda: depthwise((4, 5), stride=2, channels=5),
    "depthwise dilation": lambda: depthwise((4, 5), dilation=2, data="int8"),
    "depthwise 5x5": lambda: depthwise((8, 5), (5, 5), channels=19),
    "depthwise 5x5 stride": lambda: depthwise((7, 4), (5, 5), stride=2),
    "depthwise 4x2": lambda: depthwise((6, 5), (4, 2)),
    "depthwise 7x7": lambda: depthwise((4, 3), (7, 7)),
    "depthwise 9x1": lambda: depthwise((4, 3), (9, 1)),
    "depthwise 1x3": lambda: depthwise((3, 8), (1, 3)),
    "depthwise multiplier": lambda: depthwise((4, 5), channels=6, multiplier=3),
    "depthwise, channels first": channels_first,
    "first convolution": first_convolution,
    "first convolution with spare columns": lambda: first_convolution(spare=1),
    "first convolution int8": lambda: first_convolution(2, 3, data="int8"),
    "first convolution with a border": lambda: first_convolution(1, 5, border=2, stride=1),
    "first convolution int8 with a border": lambda: first_convolution(data="int8", border=3),
    "first convolution, dilation": lambda: first_convolution(1, 3, dilation=2),
}
