"""Convolutions of quantized integers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from benchmarks.fuzzing.integers.case import Case, Graph
from benchmarks.fuzzing.integers.draw import (
    MOST_WEIGHT,
    Array,
    byte_type,
    numbers,
    scale,
    stored,
    weights,
    wrapped,
    zero_point,
)
from benchmarks.fuzzing.integers.products import MOST_EXACT_STEPS


@dataclass(frozen=True, slots=True)
class Windows:
    """Shapes and attributes of a convolution."""

    data: tuple[int, ...]
    kernel: tuple[int, ...]
    groups: int
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    pads: tuple[tuple[int, int], ...]

    @property
    def attributes(self) -> dict[str, object]:
        """As ONNX has them."""
        befores, afters = zip(*self.pads, strict=True)
        return {
            "group": self.groups,
            "strides": self.strides,
            "dilations": self.dilations,
            "pads": [*befores, *afters],
        }


def conv_integer(rng: np.random.Generator, most: int = MOST_WEIGHT) -> Case:
    """ConvInteger."""
    windows, left, right = _windows(rng, 800), byte_type(rng), byte_type(rng)
    x, w = numbers(rng, windows.data, left), weights(rng, windows.kernel, right, most)
    zx = np.asarray(numbers(rng, (), left) * int(rng.random() < 0.75), left)
    zw = zero_point(rng, right, windows.kernel[0])
    is_constant, graph = bool(rng.random() < 0.7), Graph()
    inputs = [
        graph.tensor(x, False),
        graph.tensor(w, is_constant),
        graph.tensor(zx, bool(rng.random() < 0.5)),
        graph.tensor(zw, is_constant),
    ]
    graph.node("ConvInteger", *inputs, **windows.attributes)
    name = f"ConvInteger {left} {right} {windows} {zx} {zw.shape} {is_constant}"
    return graph.case(name, wrapped(_convolved(windows, x, zx, w, zw)))


def quantized_conv(rng: np.random.Generator, most: int = MOST_WEIGHT) -> Case:
    """A convolution whose result is quantized, as one operator or between conversions."""
    windows = _windows(rng, MOST_EXACT_STEPS)
    left, right, result = (byte_type(rng) for _ in range(3))
    x, w = numbers(rng, windows.data, left), weights(rng, windows.kernel, right, most)
    zx, zy = (np.asarray(numbers(rng, (), each), each) for each in (left, result))
    zw = zero_point(rng, right, windows.kernel[0])
    sx, sw, sy = scale(rng), scale(rng, *zw.shape), scale(rng) * np.float32(2**10)
    bias = None
    if rng.random() < 0.7:
        bias = rng.integers(-(2**19), 2**19, windows.kernel[0]).astype(np.int32)
    graph, is_one = Graph(), bool(rng.random() < 0.5)
    data, kernel = graph.tensor(x, False), graph.tensor(w)
    if is_one:
        given = (data, sx, zx, kernel, sw, zw, sy, zy, bias)
        names = [each if isinstance(each, str) else graph.tensor(each) for each in given]
        graph.node("QLinearConv", *names, **windows.attributes)
    else:
        real = [graph.real(data, sx, zx), graph.real(kernel, sw, zw)]
        if bias is not None:
            real.append(graph.real(graph.tensor(bias), sx * sw, None))
        sums = graph.node("Conv", *real, **windows.attributes)
        graph.node("QuantizeLinear", sums, graph.tensor(sy), graph.tensor(zy))
    total = _convolved(windows, x, zx, w, zw)
    if bias is not None:
        total = total + bias.reshape(-1, *(1,) * (total.ndim - 2))
    factor = (sx.astype(np.float64) * sw).reshape(-1, *(1,) * (total.ndim - 2))
    name = f"{'QLinearConv' if is_one else 'Conv'} {left} {right} {result} {windows} {zw.shape}"
    return graph.case(name, stored(total * factor, sy, zy))


def _windows(rng: np.random.Generator, most_steps: int) -> Windows:
    axes = int(rng.choice([1, 2, 2, 2, 3]))
    taps = tuple(int(rng.integers(1, 5 - axes // 2)) for _ in range(axes))
    groups = int(rng.choice([1, 1, 2, 3]))
    room = max(1, most_steps // int(np.prod(taps)))
    inner = int(rng.integers(1, min(room, 33) + 1))
    outer = int(rng.integers(1, 20))
    if rng.random() < 0.2:  # depthwise
        groups, inner, outer = int(rng.integers(2, 40)), 1, 1
    strides, dilations = (tuple(int(n) for n in rng.integers(1, 3, axes)) for _ in range(2))
    pads = tuple((int(a), int(b)) for a, b in rng.integers(0, 3, (axes, 2)))
    sizes = tuple(
        (count - 1) * spread + 1 + int(rng.integers(0, 12 if axes < 3 else 5))
        for count, spread in zip(taps, dilations, strict=True)
    )
    data = (int(rng.integers(1, 3)), groups * inner, *sizes)
    return Windows(data, (groups * outer, inner, *taps), groups, strides, dilations, pads)


def _convolved(windows: Windows, x: Array, zx: Array, w: Array, zw: Array) -> Array:
    """The sums of products of differences, as int64."""
    data = np.pad(x.astype(np.int64) - int(zx), ((0, 0), (0, 0), *windows.pads))
    column = zw.reshape(-1, *(1,) * (w.ndim - 1)) if zw.ndim else zw
    kernel = w.astype(np.int64) - column.astype(np.int64)
    axes = len(windows.strides)
    spans = [
        (count - 1) * spread + 1
        for count, spread in zip(w.shape[2:], windows.dilations, strict=True)
    ]
    views = sliding_window_view(data, spans, tuple(range(2, 2 + axes)))
    steps = (slice(None, None, step) for step in windows.strides)
    taps = (slice(None, None, spread) for spread in windows.dilations)
    views = views[(slice(None), slice(None), *steps, *taps)]
    parts = zip(
        np.split(views, windows.groups, axis=1), np.split(kernel, windows.groups), strict=True
    )
    summed = (1, *range(2 + axes, 2 + 2 * axes))
    results = [
        np.moveaxis(np.tensordot(view, part, (summed, tuple(range(1, 2 + axes)))), -1, 1)
        for view, part in parts
    ]
    return np.concatenate(results, axis=1)
