"""Networks that map an image to another one, or to boxes."""

from __future__ import annotations

import numpy as np
import onnx

from benchmarks.networks.layers import Layers


def unet() -> onnx.ModelProto:
    """Down, up by transposed convolutions, and across (Ronneberger et al., MICCAI 2015)."""
    g = Layers()
    x, channels, kept = "image", 3, []
    for width in (32, 64, 128, 256):
        x = g.relu(g.norm(g.conv(x, (channels, width), 3), width))
        x, channels = g.relu(g.norm(g.conv(x, (width, width), 3), width)), width
        kept.append((x, width))
        x = g.op("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2])
    for across, width in reversed(kept):
        x = g.op("ConvTranspose", x, g.weight(channels, width, 2, 2, fan_in=channels),
                 g.vector(width), kernel_shape=[2, 2], strides=[2, 2])  # fmt: skip
        x = g.op("Concat", across, x, axis=1)
        x = g.relu(g.norm(g.conv(x, (2 * width, width), 3), width))
        channels = width
    return g.model("unet", {"image": (1, 3, 160, 160)}, g.op("Sigmoid", g.conv(x, (32, 1))))


def super_resolution() -> onnx.ModelProto:
    """Convolutions on a small image, then depth to space (Shi et al., CVPR 2016)."""
    g = Layers()
    x = g.relu(g.conv("image", (1, 64), 5))
    x = g.relu(g.conv(g.relu(g.conv(x, (64, 64), 3)), (64, 32), 3))
    x = g.op("DepthToSpace", g.conv(x, (32, 9), 3), blocksize=3)
    return g.model("super_resolution", {"image": (1, 1, 160, 160)}, x)


def detector() -> onnx.ModelProto:
    """A one-stage detector: leaky convolutions, two scales, upsampling (Redmon, Farhadi 2018)."""
    g = Layers()

    def conv(x: str, channels: tuple[int, int], kernel: int = 3, stride: int = 1) -> str:
        y = g.norm(g.conv(x, channels, kernel, stride), channels[1])
        return g.op("LeakyRelu", y, alpha=0.1)

    x, channels, kept = conv("image", (3, 16)), 16, ""
    for width in (32, 64, 128, 256):
        x = conv(g.op("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2]), (channels, width))
        kept, channels = (x if width == 128 else kept), width
    x = conv(conv(x, (256, 512)), (512, 256), 1)
    coarse = g.conv(conv(x, (256, 512)), (512, 255))
    scales = g.constant(np.array([1, 1, 2, 2], np.float32))
    up = g.op("Resize", conv(x, (256, 128), 1), "", scales, mode="nearest",
              coordinate_transformation_mode="asymmetric", nearest_mode="floor")  # fmt: skip
    fine = g.conv(conv(g.op("Concat", up, kept, axis=1), (256, 256)), (256, 255))
    rows = [g.reshape(part, 1, 255, -1) for part in (coarse, fine)]
    return g.model("detector", {"image": (1, 3, 256, 256)}, g.op("Concat", *rows, axis=2))


def style() -> onnx.ModelProto:
    """Style transfer: instance norms, residuals, upsampling by repetition (Johnson et al. 2016)."""
    g = Layers()

    def conv(x: str, channels: tuple[int, int], kernel: int, stride: int = 1) -> str:
        y = g.conv(x, channels, kernel, stride)
        shape = g.vector(channels[1], 1.0), g.vector(channels[1])
        return g.op("InstanceNormalization", y, *shape)

    x = g.relu(conv("image", (3, 32), 9))
    x = g.relu(conv(g.relu(conv(x, (32, 64), 3, 2)), (64, 128), 3, 2))
    for _ in range(3):
        y = conv(g.relu(conv(x, (128, 128), 3)), (128, 128), 3)
        x = g.op("Add", x, y)
    scales = g.constant(np.array([1, 1, 2, 2], np.float32))
    for sizes in ((128, 64), (64, 32)):
        x = g.op("Resize", x, "", scales, mode="nearest",
                 coordinate_transformation_mode="asymmetric", nearest_mode="floor")  # fmt: skip
        x = g.relu(conv(x, sizes, 3))
    return g.model("style", {"image": (1, 3, 128, 128)}, g.op("Tanh", g.conv(x, (32, 3), 9)))


def diffusion() -> onnx.ModelProto:
    """One step of a diffusion model: group norms, swish, attention over pixels, and the time in
    every block (Ho et al., NeurIPS 2020)."""
    g = Layers()

    def block(x: str, channels: tuple[int, int], side: int) -> str:
        inputs, outputs = channels
        y = g.conv(g.swish(g.group_norm(x, inputs, 8, side, side)), channels, 3)
        y = g.op("Add", y, g.reshape(g.linear(time, (256, outputs)), 1, outputs, 1, 1))
        y = g.conv(g.swish(g.group_norm(y, outputs, 8, side, side)), (outputs, outputs), 3)
        return g.op("Add", y, x if inputs == outputs else g.conv(x, channels))

    def attention(x: str, channels: int, side: int, heads: int = 4) -> str:
        own, pixels = channels // heads, side * side
        y = g.conv(g.group_norm(x, channels, 8, side, side), (channels, 3 * channels))
        y = g.reshape(y, 1, 3 * heads, own, pixels)
        queries, keys, values = g.outputs_of(g.op("Split", y, outputs=3, axis=1), 3)
        queries = g.op("Mul", queries, g.constant(np.float32(own**-0.5)))
        scores = g.op("MatMul", g.op("Transpose", queries, perm=[0, 1, 3, 2]), keys)
        shares = g.op("Transpose", g.op("Softmax", scores, axis=-1), perm=[0, 1, 3, 2])
        mixed = g.reshape(g.op("MatMul", values, shares), 1, channels, side, side)
        return g.op("Add", x, g.conv(mixed, (channels, channels)))

    def larger(x: str, across: str) -> str:
        scales = g.constant(np.array([1, 1, 2, 2], np.float32))
        up = g.op("Resize", x, "", scales, mode="nearest",
                  coordinate_transformation_mode="asymmetric", nearest_mode="floor")  # fmt: skip
        return g.op("Concat", up, across, axis=1)

    rates = g.constant(1e4 ** (-np.arange(32, dtype=np.float32)[None] / 32))
    angles = g.op("Mul", "time", rates)
    time = g.op("Concat", g.op("Sin", angles), g.op("Cos", angles), axis=1)
    time = g.swish(g.linear(g.swish(g.linear(time, (64, 256))), (256, 256)))
    first = block(g.conv("image", (3, 64), 3), (64, 64), 64)
    second = attention(block(g.conv(first, (64, 64), 3, 2), (64, 128), 32), 128, 32)
    x = attention(block(g.conv(second, (128, 128), 3, 2), (128, 256), 16), 256, 16)
    x = attention(block(larger(x, second), (384, 128), 32), 128, 32)
    x = block(larger(x, first), (192, 64), 64)
    x = g.conv(g.swish(g.group_norm(x, 64, 8, 64, 64)), (64, 3), 3)
    return g.model("diffusion", {"image": (1, 3, 64, 64), "time": (1, 1)}, x)


def segmentation() -> onnx.ModelProto:
    """Taps that lie apart, at several distances side by side, and upsampling between the places
    (Chen et al., 2017)."""
    g = Layers()

    def conv(x: str, channels: tuple[int, int], kernel: int = 3, stride: int = 1,
             dilation: int = 1) -> str:  # fmt: skip
        y = g.conv(x, channels, kernel, stride, dilation=dilation)
        return g.relu(g.norm(y, channels[1]))

    x, channels = "image", 3
    for width, stride in ((32, 2), (64, 2), (128, 2), (128, 1)):
        x, channels = conv(x, (channels, width), stride=stride), width
    x = conv(conv(x, (128, 256), dilation=2), (256, 256), dilation=4)
    parts = [conv(x, (256, 64), 1), *(conv(x, (256, 64), dilation=d) for d in (6, 12, 18))]
    mean = g.relu(g.conv(g.op("GlobalAveragePool", x), (256, 64)))
    parts.append(g.op("Expand", mean, g.constant(np.array([1, 64, 32, 32], np.int64))))
    x = g.conv(conv(g.op("Concat", *parts, axis=1), (320, 64), 1), (64, 21))
    scales = g.constant(np.array([1, 1, 8, 8], np.float32))
    x = g.op("Resize", x, "", scales, mode="linear", coordinate_transformation_mode="half_pixel")
    return g.model("segmentation", {"image": (1, 3, 256, 256)}, x)
