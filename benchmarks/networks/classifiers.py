"""Networks that say what is on an image, or in a volume."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx

from benchmarks.networks.layers import Layers


def efficientnet() -> onnx.ModelProto:
    """Inverted bottlenecks with squeeze and excitation and swish (Tan and Le, ICML 2019)."""
    g = Layers()
    x = g.swish(g.norm(g.conv("image", (3, 32), 3, 2), 32))
    channels = 32
    for outputs, kernel, stride, repeats, expansion in (
        (16, 3, 1, 1, 1), (24, 3, 2, 2, 6), (40, 5, 2, 2, 6), (80, 3, 2, 3, 6),
        (112, 5, 1, 3, 6), (192, 5, 2, 3, 6),
    ):  # fmt: skip
        for repeat in range(repeats):
            x = _bottleneck(g, x, channels, outputs, kernel, stride if not repeat else 1, expansion)
            channels = outputs
    x = g.swish(g.norm(g.conv(x, (192, 1280)), 1280))
    return g.model("efficientnet", {"image": (1, 3, 224, 224)}, g.head(x, 1280))


def _bottleneck(
    g: Layers, x: str, channels: int, outputs: int, kernel: int, stride: int, expansion: int
) -> str:
    wide = channels * expansion
    y = x if expansion == 1 else g.swish(g.norm(g.conv(x, (channels, wide)), wide))
    y = g.swish(g.norm(g.conv(y, (wide, wide), kernel, stride, group=wide), wide))
    squeezed = g.swish(g.conv(g.op("GlobalAveragePool", y), (wide, max(channels // 4, 1))))
    y = g.op("Mul", y, g.op("Sigmoid", g.conv(squeezed, (max(channels // 4, 1), wide))))
    y = g.norm(g.conv(y, (wide, outputs)), outputs)
    return g.op("Add", x, y) if stride == 1 and channels == outputs else y


def densenet() -> onnx.ModelProto:
    """Every layer reads all before it (Huang et al., CVPR 2017); blocks of 6, 8 and 8 layers."""
    g = Layers()
    x = g.relu(g.norm(g.conv("image", (3, 64), 7, 2), 64))
    x = g.op("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    channels = 64
    for block, layers in enumerate((6, 8, 8)):
        if block:
            x = g.conv(g.relu(g.norm(x, channels)), (channels, channels // 2))
            x, channels = g.op("AveragePool", x, kernel_shape=[2, 2], strides=[2, 2]), channels // 2
        for _ in range(layers):
            y = g.conv(g.relu(g.norm(x, channels)), (channels, 128))
            y = g.conv(g.relu(g.norm(y, 128)), (128, 32), 3)
            x, channels = g.op("Concat", x, y, axis=1), channels + 32
    return g.model("densenet", {"image": (1, 3, 224, 224)}, g.head(x, channels))


def shufflenet() -> onnx.ModelProto:
    """Channel splits and shuffles (Ma et al., ECCV 2018, the x1 network)."""
    g = Layers()
    x = g.relu(g.norm(g.conv("image", (3, 24), 3, 2), 24))
    x = g.op("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    channels, side = 24, 28
    for outputs, repeats in ((116, 4), (232, 8), (464, 4)):
        half = outputs // 2
        for repeat in range(repeats):
            if repeat:
                first = g.op("Split", x, outputs=2, axis=1)
                left, right = g.outputs_of(first, 2)
            else:
                left = g.norm(g.conv(x, (channels, channels), 3, 2, group=channels), channels)
                left, right = g.relu(g.norm(g.conv(left, (channels, half)), half)), x
            right = g.relu(g.norm(g.conv(right, (half if repeat else channels, half)), half))
            right = g.norm(g.conv(right, (half, half), 3, 1 if repeat else 2, group=half), half)
            right = g.relu(g.norm(g.conv(right, (half, half)), half))
            x = g.reshape(g.op("Concat", left, right, axis=1), 1, 2, half, side, side)
            x = g.reshape(g.op("Transpose", x, perm=[0, 2, 1, 3, 4]), 1, outputs, side, side)
        channels, side = outputs, side // 2
    x = g.relu(g.norm(g.conv(x, (464, 1024)), 1024))
    return g.model("shufflenet", {"image": (1, 3, 224, 224)}, g.head(x, 1024))


def inception() -> onnx.ModelProto:
    """Branches of 1x1, 3x3, 1x7 and 7x1 convolutions and pools (Szegedy et al., CVPR 2016)."""
    g = Layers()

    def conv(x: str, channels: tuple[int, int], kernel: Any = 1, stride: int = 1) -> str:
        return g.relu(g.norm(g.conv(x, channels, kernel, stride), channels[1]))

    x = conv(conv("image", (3, 32), 3, 2), (32, 64), 3)
    x = conv(g.op("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2]), (64, 192), 3)
    x, channels = g.op("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2]), 192
    for _ in range(2):
        pooled = g.op("AveragePool", x, kernel_shape=[3, 3], pads=[1, 1, 1, 1])
        branches = [
            conv(x, (channels, 64)),
            conv(conv(x, (channels, 48)), (48, 64), 5),
            conv(conv(conv(x, (channels, 64)), (64, 96), 3), (96, 96), 3),
            conv(pooled, (channels, 64)),
        ]
        x, channels = g.op("Concat", *branches, axis=1), 288
    for _ in range(2):
        branches = [
            conv(x, (channels, 96)),
            conv(conv(conv(x, (channels, 64)), (64, 64), (1, 7)), (64, 96), (7, 1)),
            conv(g.op("AveragePool", x, kernel_shape=[3, 3], pads=[1, 1, 1, 1]), (channels, 96)),
        ]
        x = g.op("Concat", *branches, axis=1)
    return g.model("inception", {"image": (1, 3, 171, 171)}, g.head(x, channels))


def resnext() -> onnx.ModelProto:
    """Bottlenecks with 32 groups (Xie et al., CVPR 2017)."""
    g = Layers()
    x = g.relu(g.norm(g.conv("image", (3, 64), 7, 2), 64))
    x, channels = g.op("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]), 64
    for width, stride in ((128, 1), (256, 2), (512, 2)):
        for own in (stride, 1):
            y = g.relu(g.norm(g.conv(x, (channels, width)), width))
            y = g.relu(g.norm(g.conv(y, (width, width), 3, own, group=32), width))
            y = g.norm(g.conv(y, (width, 2 * width)), 2 * width)
            if channels != 2 * width:
                x = g.norm(g.conv(x, (channels, 2 * width), 1, own), 2 * width)
            x, channels = g.relu(g.op("Add", x, y)), 2 * width
    return g.model("resnext", {"image": (1, 3, 224, 224)}, g.head(x, channels))


def convnext() -> onnx.ModelProto:
    """Depthwise 7x7 convolutions, norms and products along the channels (Liu et al., CVPR 2022)."""
    g = Layers()
    x, channels, side = g.conv("image", (3, 64), 4, 4), 64, 56
    x = g.op("Slice", x, *(g.constant(np.array(v, np.int64)) for v in ([0, 0], [56, 56], [2, 3])))
    for width in (64, 128, 256):
        if width != channels:
            x = g.op("Conv", x, g.weight(width, channels, 2, 2), g.vector(width),
                     kernel_shape=[2, 2], strides=[2, 2])  # fmt: skip
            channels, side = width, side // 2
        for _ in range(2):
            y = g.op("Transpose", g.conv(x, (width, width), 7, group=width), perm=[0, 2, 3, 1])
            y = g.gelu(g.linear(g.layer_norm(y, width), (width, 4 * width)))
            y = g.op("Mul", g.linear(y, (4 * width, width)), g.vector(width))
            x = g.op("Add", x, g.op("Transpose", y, perm=[0, 3, 1, 2]))
    return g.model("convnext", {"image": (1, 3, 224, 224)}, g.head(x, channels))


def mobilenet_v3() -> onnx.ModelProto:
    """Inverted bottlenecks with hard swish (Howard et al., ICCV 2019)."""
    g = Layers()

    def norm(x: str, channels: int) -> str:
        return g.op("HardSwish", g.norm(x, channels))

    x, channels = norm(g.conv("image", (3, 16), 3, 2), 16), 16
    for outputs, kernel, stride, wide in (
        (16, 3, 2, 16), (24, 3, 2, 72), (24, 3, 1, 88), (40, 5, 2, 96), (40, 5, 1, 240),
        (48, 5, 1, 120), (96, 5, 2, 288), (96, 5, 1, 576),
    ):  # fmt: skip
        y = norm(g.conv(x, (channels, wide)), wide)
        y = norm(g.conv(y, (wide, wide), kernel, stride, group=wide), wide)
        y = g.norm(g.conv(y, (wide, outputs)), outputs)
        x = g.op("Add", x, y) if stride == 1 and channels == outputs else y
        channels = outputs
    x = norm(g.conv(x, (96, 576)), 576)
    return g.model("mobilenet_v3", {"image": (1, 3, 224, 224)}, g.head(x, 576))


def volume() -> onnx.ModelProto:
    """Three-dimensional convolutions over a volume, with group normalisation out of its parts."""
    g = Layers()
    x, channels = "volume", 1
    for width in (16, 32, 64):
        x = g.relu(g.norm(g.conv(x, (channels, width), (3, 3, 3)), width))
        x, channels = g.relu(g.norm(g.conv(x, (width, width), (3, 3, 3)), width)), width
        x = g.op("MaxPool", x, kernel_shape=[2, 2, 2], strides=[2, 2, 2])
    return g.model("volume", {"volume": (1, 1, 32, 48, 48)}, g.head(x, channels, 10))
