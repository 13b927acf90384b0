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
