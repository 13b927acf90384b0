"""Blocks of convolutional networks, for one, two and three spatial axes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from benchmarks.fuzzing.builder import NetworkBuilder, Value

Block = Callable[[NetworkBuilder, Value], Value]

ACTIVATIONS = ("Relu", "Sigmoid", "Tanh", "LeakyRelu", "HardSwish", "Softplus", "Elu", "Identity")


def activation(net: NetworkBuilder, x: Value) -> Value:
    """Some activation function."""
    return net.add(net.pick(ACTIVATIONS), x)


def convolution(net: NetworkBuilder, x: Value) -> Value:
    """A convolution with odd sizes, strides, dilations, groups and paddings."""
    channels, spatial = x.shape[1], x.shape[2:]
    groups = net.pick([g for g in (1, 1, 1, 2, 3, 4, channels) if channels % g == 0])
    outputs = groups * net.integer(1, max(1, net.pick([24, 24, 70]) // groups))
    dilations = [net.pick([1, 1, 1, 2]) for _ in spatial]
    kernel = [
        net.integer(1, min(5, (size - 1) // dilation + 1))
        for size, dilation in zip(spatial, dilations, strict=True)
    ]
    attributes = {
        "group": groups,
        "kernel_shape": kernel,
        "strides": [net.pick([1, 1, 1, 2, 3]) for _ in spatial],
        "dilations": dilations,
        **_padding(net, kernel, dilations),
    }
    weight = net.weight(outputs, channels // groups, *kernel)
    bias = net.weight(outputs, scale=0.3) if net.chance(0.6) else None
    return net.add("Conv", x, weight, bias, **attributes)


def _padding(net: NetworkBuilder, kernel: list[int], dilations: list[int]) -> dict[str, object]:
    if net.chance(0.2):
        auto = net.pick(["SAME_UPPER", "SAME_LOWER"]) if max(dilations) == 1 else "VALID"
        return {"auto_pad": auto}
    if net.chance(0.4):
        return {"pads": [net.integer(0, k // 2) for k in kernel * 2]}
    same = [dilation * (k - 1) // 2 for k, dilation in zip(kernel, dilations, strict=True)]
    return {"pads": same * 2}


def separable(net: NetworkBuilder, x: Value) -> Value:
    """A depthwise convolution, then a pointwise one."""
    channels, rank = x.shape[1], len(x.shape) - 2
    kernel = [net.pick([1, 3, 3, 5]) for _ in range(rank)]
    multiplier = net.pick([1, 1, 2])
    x = net.add(
        "Conv",
        x,
        net.weight(channels * multiplier, 1, *kernel),
        group=channels,
        pads=[k // 2 for k in kernel] * 2,
        strides=[net.pick([1, 2])] * rank,
    )
    x = activation(net, normalization(net, x))
    return net.add("Conv", x, net.weight(net.integer(3, 20), x.shape[1], *[1] * rank))


def normalization(net: NetworkBuilder, x: Value) -> Value:
    """Batch, instance or local normalization."""
    channels = x.shape[1]
    kind = net.pick(["batch", "batch", "batch", "instance", "lrn", "slope"])
    if kind == "slope":
        return net.add("PRelu", x, net.weight(channels, *[1] * (x.rank - 2)))
    if kind == "lrn" and x.rank == 4:
        return net.add("LRN", x, size=net.pick([3, 5]), alpha=0.01, bias=1.5)
    scale, bias = net.positive(channels), net.weight(channels, scale=0.2)
    if kind == "instance" and np.prod(x.shape[2:]) > 4:
        return net.add("InstanceNormalization", x, scale, bias, epsilon=1e-2)
    mean, variance = net.weight(channels, scale=0.2), net.positive(channels)
    return net.add("BatchNormalization", x, scale, bias, mean, variance)


def pooling(net: NetworkBuilder, x: Value) -> Value:
    """A pooling of either kind, with ceil_mode and padding that counts or does not."""
    spatial = x.shape[2:]
    kernel = [net.integer(1, min(3, size)) for size in spatial]
    attributes: dict[str, object] = {
        "kernel_shape": kernel,
        "strides": [net.integer(1, k) for k in kernel],
        "ceil_mode": int(net.chance(0.4)),
    }
    if net.chance(0.2):
        attributes = {**attributes, "auto_pad": net.pick(["SAME_UPPER", "SAME_LOWER"])}
        attributes["ceil_mode"] = 0
    else:
        attributes["pads"] = [net.integer(0, k // 2) for k in kernel * 2]
    if net.chance(0.5):
        return net.add("MaxPool", x, **attributes)
    return net.add("AveragePool", x, count_include_pad=int(net.chance(0.5)), **attributes)


def residual(net: NetworkBuilder, x: Value) -> Value:
    """Two convolutions with a shortcut."""
    channels, rank = x.shape[1], len(x.shape) - 2
    y = x
    for size in (net.pick([1, 3]), net.pick([1, 3, 5])):
        weight = net.weight(channels, channels, *[size] * rank)
        y = net.add("Conv", y, weight, pads=[size // 2] * rank * 2)
        y = activation(net, normalization(net, y))
    return net.add("Relu", net.add("Add", x, y)) if net.chance(0.7) else net.add("Mul", x, y)


def inception(net: NetworkBuilder, x: Value) -> Value:
    """Branches that are joined along the channels."""
    channels, rank = x.shape[1], len(x.shape) - 2
    branches = [x] if net.chance(0.4) else []
    for _ in range(net.integer(1, 3)):
        size = net.pick([1, 3])
        weight = net.weight(net.integer(1, 9), channels, *[size] * rank)
        y = net.add("Conv", x, weight, pads=[size // 2] * rank * 2)
        branches.append(activation(net, y))
    return net.add("Concat", *branches, axis=1)


def squeeze_excite(net: NetworkBuilder, x: Value) -> Value:
    """A gate from globally pooled features."""
    channels, rank = x.shape[1], len(x.shape) - 2
    pooled = net.add(net.pick(["GlobalAveragePool", "GlobalMaxPool"]), x)
    hidden = max(1, channels // 2)
    ones = [1] * rank
    y = net.add("Conv", pooled, net.weight(hidden, channels, *ones), net.weight(hidden))
    y = net.add("Conv", net.add("Relu", y), net.weight(channels, hidden, *ones))
    return net.add("Mul", x, net.add(net.pick(["Sigmoid", "HardSigmoid"]), y))


def upsampling(net: NetworkBuilder, x: Value) -> Value:
    """A resize by whole or broken factors."""
    if x.rank != 4:
        return transposed_convolution(net, x)
    mode = net.pick(["nearest", "linear", "cubic"])
    frame = net.pick(["asymmetric", "half_pixel", "align_corners", "pytorch_half_pixel"])
    if mode == "nearest":
        frame = net.pick(["asymmetric", "half_pixel"])
    if net.chance(0.5):
        scales = [1, 1, net.pick([1, 2, 3]), net.pick([1, 2])]
        return net.add(
            "Resize",
            x,
            None,
            net.constant(np.array(scales, np.float32)),
            mode=mode,
            coordinate_transformation_mode=frame,
            nearest_mode="floor",
        )
    sizes = net.integers(*x.shape[:2], *(size + net.integer(0, 4) for size in x.shape[2:]))
    if net.dynamic:
        return x
    return net.add(
        "Resize",
        x,
        None,
        None,
        sizes,
        mode="linear" if mode == "nearest" else mode,
        coordinate_transformation_mode=frame,
    )


def transposed_convolution(net: NetworkBuilder, x: Value) -> Value:
    """A transposed convolution with strides, groups and output padding."""
    channels, rank = x.shape[1], len(x.shape) - 2
    groups = net.pick([g for g in (1, 1, 2, channels) if channels % g == 0])
    kernel = [net.integer(1, 4) for _ in range(rank)]
    strides = [net.integer(1, 3) for _ in range(rank)]
    attributes: dict[str, object] = {
        "strides": strides,
        "group": groups,
        "kernel_shape": kernel,
        "output_padding": [net.integer(0, stride - 1) for stride in strides],
        "pads": [net.integer(0, (k - 1) // 2) for k in kernel * 2],
    }
    weight = net.weight(channels, net.integer(1, 6), *kernel, scale=0.3)
    return net.add("ConvTranspose", x, weight, **attributes)


def channel_shuffle(net: NetworkBuilder, x: Value) -> Value:
    """Channels in another order, by reshape and transpose."""
    channels = x.shape[1]
    groups = net.pick([g for g in (2, 3, 4, 1) if channels % g == 0])
    split = net.integers(0, groups, channels // groups, *x.shape[2:])
    y = net.add("Reshape", x, split)
    y = net.add("Transpose", y, perm=[0, 2, 1, *range(3, y.rank)])
    return net.add("Reshape", y, net.integers(0, channels, *x.shape[2:]))


def space_to_depth(net: NetworkBuilder, x: Value) -> Value:
    """Blocks of pixels as channels, or the other way round."""
    if x.rank != 4:
        return x
    if x.shape[1] % 4 == 0 and net.chance(0.5):
        return net.add("DepthToSpace", x, blocksize=2, mode=net.pick(["DCR", "CRD"]))
    if x.shape[2] % 2 == 0 and x.shape[3] % 2 == 0:
        return net.add("SpaceToDepth", x, blocksize=2)
    return x


def padding(net: NetworkBuilder, x: Value) -> Value:
    """Explicit padding of spatial axes."""
    rank = x.rank - 2
    mode = net.pick(["constant", "reflect", "edge"])
    limit = [min(2, size - 1) for size in x.shape[2:]]
    pads = net.integers(
        0, 0, *(net.integer(0, n) for n in limit), 0, 0, *(net.integer(0, n) for n in limit)
    )
    assert rank == len(limit)
    return net.add("Pad", x, pads, mode=mode)


def gated(net: NetworkBuilder, x: Value) -> Value:
    """x * sigmoid(x), and a broadcast scale of channels."""
    y = net.add("Mul", x, net.add("Sigmoid", x))
    scale = net.positive(x.shape[1], *[1] * (x.rank - 2))
    return net.add(net.pick(["Mul", "Add", "Div", "Sub"]), y, scale)


def group_normalization(net: NetworkBuilder, x: Value) -> Value:
    """Group normalization as exporters write it."""
    channels = x.shape[1]
    groups = net.pick([g for g in (1, 2, 3, 4) if channels % g == 0])
    y = net.add("Reshape", x, net.integers(0, groups, -1))
    y = net.add("InstanceNormalization", y, net.positive(groups), net.weight(groups), epsilon=1e-2)
    y = net.add("Reshape", y, net.integers(0, *x.shape[1:]))
    return net.add("Mul", y, net.positive(channels, *[1] * (x.rank - 2)))


def channel_split(net: NetworkBuilder, x: Value) -> Value:
    """Half of the channels goes another way."""
    channels = x.shape[1]
    if channels < 2:
        return x
    first = net.integer(1, channels - 1)
    left, right = net.add_many("Split", 2, x, net.integers(first, channels - first), axis=1)
    return net.add("Concat", right, convolution_same(net, left), axis=1)


def convolution_same(net: NetworkBuilder, x: Value) -> Value:
    """A convolution that keeps the sizes."""
    rank = x.rank - 2
    weight = net.weight(x.shape[1], x.shape[1], *[3] * rank)
    return net.add("Conv", x, weight, pads=[1] * rank * 2)


BLOCKS: tuple[Block, ...] = (
    *(convolution, convolution, convolution, separable, normalization, activation, pooling),
    *(
        pooling,
        residual,
        inception,
        squeeze_excite,
        upsampling,
        transposed_convolution,
        channel_shuffle,
    ),
    *(space_to_depth, padding, gated, group_normalization, channel_split),
)


def features(net: NetworkBuilder, x: Value, count: int, limit: int = 20_000) -> list[Value]:
    """The results of some blocks in a row, without those that grow too much."""
    found = [x]
    for _ in range(count):
        y = net.pick(BLOCKS)(net, found[-1])
        if y.size > limit:
            y = pooling(net, found[-1])
        if y.size == 0 or y.size > limit:
            break
        found.append(y)
    return found


def head(net: NetworkBuilder, x: Value) -> Value:
    """From features to class scores."""
    if net.chance(0.5):
        pooled = net.add("GlobalAveragePool", x)
    else:
        axes = net.integers(*range(2, x.rank))
        pooled = net.add(net.pick(["ReduceMean", "ReduceMax", "ReduceL2"]), x, axes, keepdims=1)
    flat = net.add("Flatten", pooled)
    classes = net.integer(2, 30)
    scores = net.add(
        "Gemm", flat, net.weight(classes, flat.shape[1]), net.weight(classes), transB=1
    )
    return net.add("Softmax", scores, axis=-1) if net.chance(0.6) else scores
