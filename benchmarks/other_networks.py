"""Networks that the zoo does not have, of the kinds that people deploy, as ONNX files.

    python -m benchmarks.other_networks FOLDER [NAME ...]
    python -m benchmarks.compare FOLDER/*.onnx --threads 1 2

The zoo is what this project is developed with; these networks show whether its speed is general.
They are written as exporters write them: batch normalisation, activations made of several
operators, attention out of matrix products. The weights are random, scaled so that values keep
their size.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from math import prod, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.shape_inference
from onnx import TensorProto, helper, numpy_helper

IR_VERSION, OPERATOR_SET = 8, 17


class Graph:
    """An ONNX graph under construction: values are named, weights are drawn as they are needed."""

    def __init__(self, seed: int = 0) -> None:
        self._random = np.random.default_rng(seed)
        self._nodes: list[onnx.NodeProto] = []
        self._initializers: list[onnx.TensorProto] = []

    def op(self, kind: str, *inputs: str, outputs: int = 1, **attributes: Any) -> str:
        """Apply an operator; the name of its result, of several the first (see `outputs_of`)."""
        names = [f"v{len(self._nodes)}_{n}" for n in range(outputs)]
        self._nodes.append(helper.make_node(kind, list(inputs), names, **attributes))
        return names[0]

    def outputs_of(self, first: str, count: int) -> list[str]:
        """All results of an operator, by its first."""
        stem = first.removesuffix("_0")
        return [f"{stem}_{n}" for n in range(count)]

    def constant(self, value: Any) -> str:
        """An initializer."""
        name = f"w{len(self._initializers)}"
        self._initializers.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def weight(self, *shape: int, fan_in: int | None = None) -> str:
        """Random weights for so many inputs of each output; by default all dimensions but one."""
        count = prod(shape[1:]) if fan_in is None else fan_in
        values = self._random.standard_normal(shape, np.float32) * np.float32(sqrt(2.0 / count))
        return self.constant(values)

    def vector(self, size: int, around: float = 0.0) -> str:
        """Random numbers around a value: biases, scales."""
        values = self._random.uniform(around - 0.1, around + 0.1, size)
        return self.constant(values.astype(np.float32))

    def model(self, name: str, inputs: dict[str, Sequence[int]], output: str) -> onnx.ModelProto:
        """The finished model; all inputs are float32 unless their name begins with `ids`."""
        given = [
            helper.make_tensor_value_info(
                n, TensorProto.INT64 if n.startswith("ids") else TensorProto.FLOAT, list(shape)
            )
            for n, shape in inputs.items()
        ]
        result = helper.make_tensor_value_info(output, TensorProto.FLOAT, None)
        graph = helper.make_graph(self._nodes, name, given, [result], self._initializers)
        opset = [helper.make_opsetid("", OPERATOR_SET)]
        model = helper.make_model(graph, opset_imports=opset, ir_version=IR_VERSION)
        return onnx.shape_inference.infer_shapes(model)

    # Layers ----------------------------------------------------------------------------------

    def conv(
        self, x: str, channels: tuple[int, int], kernel: int | tuple[int, ...] = 1, stride: int = 1,
        group: int = 1, dilation: int = 1, causal: bool = False, rank: int = 2,
    ) -> str:  # fmt: skip
        """A convolution with bias, padded to keep the size (`causal`: on the left only)."""
        sizes = (kernel,) * rank if isinstance(kernel, int) else kernel
        rank = len(sizes)
        sums = [dilation * (size - 1) for size in sizes]
        before = sums if causal else [total // 2 for total in sums]
        after = [total - first for total, first in zip(sums, before, strict=True)]
        return self.op(
            "Conv", x, self.weight(channels[1], channels[0] // group, *sizes),
            self.vector(channels[1]), kernel_shape=sizes, strides=[stride] * rank, group=group,
            dilations=[dilation] * rank, pads=[*before, *after],
        )  # fmt: skip

    def norm(self, x: str, channels: int) -> str:
        """Batch normalisation."""
        scale, shift, mean = (
            self.vector(channels, 1.0),
            self.vector(channels),
            self.vector(channels),
        )
        return self.op("BatchNormalization", x, scale, shift, mean, self.vector(channels, 1.0))

    def relu(self, x: str) -> str:
        """max(x, 0)."""
        return self.op("Relu", x)

    def swish(self, x: str) -> str:
        """x * sigmoid(x)."""
        return self.op("Mul", x, self.op("Sigmoid", x))

    def gelu(self, x: str) -> str:
        """The exact GELU, out of the operators that exporters use."""
        half = self.op("Mul", x, self.constant(np.float32(0.5)))
        erf = self.op("Erf", self.op("Div", x, self.constant(np.float32(sqrt(2.0)))))
        return self.op("Mul", half, self.op("Add", erf, self.constant(np.float32(1.0))))

    def linear(self, x: str, sizes: tuple[int, int]) -> str:
        """A matrix product over the last axis, with bias."""
        product = self.op("MatMul", x, self.weight(*sizes, fan_in=2 * sizes[0]))
        return self.op("Add", product, self.vector(sizes[1]))

    def layer_norm(self, x: str, size: int) -> str:
        """Layer normalisation over the last axis."""
        return self.op("LayerNormalization", x, self.vector(size, 1.0), self.vector(size), axis=-1)

    def reshape(self, x: str, *shape: int) -> str:
        """Another shape."""
        return self.op("Reshape", x, self.constant(np.array(shape, np.int64)))

    def attention(self, x: str, tokens: int, size: int, heads: int, mask: str = "") -> str:
        """Multi-head self-attention with one projection for queries, keys and values."""
        own = size // heads
        together = self.reshape(self.linear(x, (size, 3 * size)), 1, tokens, 3, heads, own)
        moved = self.op("Transpose", together, perm=[2, 0, 3, 1, 4])
        parts = [self.op("Gather", moved, self.constant(np.int64(n)), axis=0) for n in range(3)]
        keys = self.op("Transpose", parts[1], perm=[0, 1, 3, 2])
        scores = self.op("MatMul", parts[0], keys)
        scores = self.op("Mul", scores, self.constant(np.float32(1 / sqrt(own))))
        if mask:
            scores = self.op("Add", scores, mask)
        mixed = self.op("MatMul", self.op("Softmax", scores, axis=-1), parts[2])
        flat = self.reshape(self.op("Transpose", mixed, perm=[0, 2, 1, 3]), 1, tokens, size)
        return self.linear(flat, (size, size))

    def transformer(self, x: str, tokens: int, size: int, heads: int, mask: str = "") -> str:
        """A pre-norm transformer block."""
        attended = self.attention(self.layer_norm(x, size), tokens, size, heads, mask)
        x = self.op("Add", x, attended)
        hidden = self.gelu(self.linear(self.layer_norm(x, size), (size, 4 * size)))
        return self.op("Add", x, self.linear(hidden, (4 * size, size)))

    def head(self, x: str, channels: int, classes: int = 1000) -> str:
        """Global pooling and a classifier."""
        flat = self.op("Flatten", self.op("GlobalAveragePool", x))
        return self.op("Gemm", flat, self.weight(classes, channels), self.vector(classes), transB=1)


def efficientnet() -> onnx.ModelProto:
    """Inverted bottlenecks with squeeze and excitation and swish (Tan and Le, ICML 2019)."""
    g = Graph()
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
    g: Graph, x: str, channels: int, outputs: int, kernel: int, stride: int, expansion: int
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
    g = Graph()
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
    g = Graph()
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


def unet() -> onnx.ModelProto:
    """Down, up by transposed convolutions, and across (Ronneberger et al., MICCAI 2015)."""
    g = Graph()
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


def inception() -> onnx.ModelProto:
    """Branches of 1x1, 3x3, 1x7 and 7x1 convolutions and pools (Szegedy et al., CVPR 2016)."""
    g = Graph()

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


def vit() -> onnx.ModelProto:
    """A vision transformer of width 192 (Dosovitskiy et al., ICLR 2021), six blocks."""
    g = Graph()
    tokens, size = 197, 192
    patches = g.op("Conv", "image", g.weight(size, 3, 16, 16), g.vector(size),
                   kernel_shape=[16, 16], strides=[16, 16])  # fmt: skip
    rows = g.op("Transpose", g.reshape(patches, 1, size, 196), perm=[0, 2, 1])
    x = g.op("Concat", g.weight(1, 1, size), rows, axis=1)
    x = g.op("Add", x, g.weight(1, tokens, size, fan_in=200))
    for _ in range(6):
        x = g.transformer(x, tokens, size, heads=3)
    first = g.op("Gather", g.layer_norm(x, size), g.constant(np.int64(0)), axis=1)
    return g.model("vit", {"image": (1, 3, 224, 224)}, g.linear(first, (size, 1000)))


def gpt() -> onnx.ModelProto:
    """A small decoder over 64 tokens with a causal mask, a vocabulary of 8000."""
    g = Graph()
    tokens, size = 64, 384
    x = g.op("Gather", g.weight(8000, size, fan_in=2), "ids", axis=0)
    x = g.op("Add", x, g.weight(1, tokens, size, fan_in=200))
    mask = g.constant(np.triu(np.full((tokens, tokens), -1e9, np.float32), 1))
    for _ in range(4):
        x = g.transformer(x, tokens, size, heads=6, mask=mask)
    return g.model("gpt", {"ids": (1, tokens)}, g.linear(g.layer_norm(x, size), (size, 8000)))


def mixer() -> onnx.ModelProto:
    """Matrix products along tokens and along channels in turn (Tolstikhin et al., 2021)."""
    g = Graph()
    tokens, size = 196, 256
    patches = g.op("Conv", "image", g.weight(size, 3, 16, 16), g.vector(size),
                   kernel_shape=[16, 16], strides=[16, 16])  # fmt: skip
    x = g.op("Transpose", g.reshape(patches, 1, size, tokens), perm=[0, 2, 1])
    for _ in range(4):
        y = g.op("Transpose", g.layer_norm(x, size), perm=[0, 2, 1])
        y = g.linear(g.gelu(g.linear(y, (tokens, 128))), (128, tokens))
        x = g.op("Add", x, g.op("Transpose", y, perm=[0, 2, 1]))
        y = g.linear(g.gelu(g.linear(g.layer_norm(x, size), (size, 1024))), (1024, size))
        x = g.op("Add", x, y)
    mean = g.op("ReduceMean", g.layer_norm(x, size), axes=[1], keepdims=0)
    return g.model("mixer", {"image": (1, 3, 224, 224)}, g.linear(mean, (size, 1000)))


def temporal() -> onnx.ModelProto:
    """Dilated causal convolutions over a signal (Bai et al., 2018)."""
    g = Graph()
    x, channels = "signal", 16
    for level in range(6):
        y = g.relu(g.conv(x, (channels, 64), 3, dilation=1 << level, causal=True, rank=1))
        y = g.relu(g.conv(y, (64, 64), 3, dilation=1 << level, causal=True, rank=1))
        across = x if channels == 64 else g.conv(x, (channels, 64), 1, rank=1)
        x, channels = g.relu(g.op("Add", y, across)), 64
    return g.model("temporal", {"signal": (1, 16, 1000)}, g.head(x, 64, 10))


def recommender() -> onnx.ModelProto:
    """Embeddings, their products, and two perceptrons (Naumov et al., 2019), 64 requests."""
    g = Graph()
    x = "dense"
    for sizes in ((13, 512), (512, 256), (256, 64)):
        x = g.relu(g.linear(x, sizes))
    rows = [g.op("Gather", g.weight(1000, 64, fan_in=8), f"ids{n}", axis=0) for n in range(8)]
    axis = g.constant(np.array([1], np.int64))
    together = g.op("Concat", *(g.op("Unsqueeze", row, axis) for row in (x, *rows)), axis=1)
    products = g.op("MatMul", together, g.op("Transpose", together, perm=[0, 2, 1]))
    x = g.op("Concat", x, g.reshape(products, 64, 81), axis=1)
    for sizes in ((145, 512), (512, 256)):
        x = g.relu(g.linear(x, sizes))
    inputs = {"dense": (64, 13)} | {f"ids{n}": (64,) for n in range(8)}
    return g.model("recommender", inputs, g.op("Sigmoid", g.linear(x, (256, 1))))


def super_resolution() -> onnx.ModelProto:
    """Convolutions on a small image, then depth to space (Shi et al., CVPR 2016)."""
    g = Graph()
    x = g.relu(g.conv("image", (1, 64), 5))
    x = g.relu(g.conv(g.relu(g.conv(x, (64, 64), 3)), (64, 32), 3))
    x = g.op("DepthToSpace", g.conv(x, (32, 9), 3), blocksize=3)
    return g.model("super_resolution", {"image": (1, 1, 160, 160)}, x)


def tagger() -> onnx.ModelProto:
    """A bidirectional LSTM over word vectors, and a classifier of each word."""
    g = Graph()
    steps, size, hidden = 40, 128, 128
    x = "words"
    for inputs in (size, 2 * hidden):
        weights = [g.weight(2, 4 * hidden, n, fan_in=2 * n) for n in (inputs, hidden)]
        bias = g.constant(np.zeros((2, 8 * hidden), np.float32))
        y = g.op("LSTM", x, *weights, bias, direction="bidirectional", hidden_size=hidden)
        x = g.reshape(g.op("Transpose", y, perm=[0, 2, 1, 3]), steps, 1, 2 * hidden)
    return g.model("tagger", {"words": (steps, 1, size)}, g.linear(x, (2 * hidden, 20)))


def resnext() -> onnx.ModelProto:
    """Bottlenecks with 32 groups (Xie et al., CVPR 2017)."""
    g = Graph()
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
    g = Graph()
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


def detector() -> onnx.ModelProto:
    """A one-stage detector: leaky convolutions, two scales, upsampling (Redmon, Farhadi 2018)."""
    g = Graph()

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
    g = Graph()

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


def mobilenet_v3() -> onnx.ModelProto:
    """Inverted bottlenecks with hard swish (Howard et al., ICCV 2019)."""
    g = Graph()

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
    g = Graph()
    x, channels = "volume", 1
    for width in (16, 32, 64):
        x = g.relu(g.norm(g.conv(x, (channels, width), (3, 3, 3)), width))
        x, channels = g.relu(g.norm(g.conv(x, (width, width), (3, 3, 3)), width)), width
        x = g.op("MaxPool", x, kernel_shape=[2, 2, 2], strides=[2, 2, 2])
    return g.model("volume", {"volume": (1, 1, 32, 48, 48)}, g.head(x, channels, 10))


def encoder() -> onnx.ModelProto:
    """Two post-norm transformer blocks over a batch of 8, norms and softmax out of their parts."""
    g = Graph()
    batch, tokens, size, heads = 8, 64, 256, 4
    own = size // heads

    def norm(x: str) -> str:
        centred = g.op("Sub", x, g.op("ReduceMean", x, axes=[-1]))
        square = g.op("Pow", centred, g.constant(np.float32(2.0)))
        variance = g.op("ReduceMean", square, axes=[-1])
        deviation = g.op("Sqrt", g.op("Add", variance, g.constant(np.float32(1e-5))))
        scaled = g.op("Mul", g.op("Div", centred, deviation), g.vector(size, 1.0))
        return g.op("Add", scaled, g.vector(size))

    def split(x: str, perm: Sequence[int]) -> str:
        return g.op("Transpose", g.reshape(x, batch, tokens, heads, own), perm=perm)

    x = "words"
    for _ in range(2):
        queries, keys, values = (g.linear(x, (size, size)) for _ in range(3))
        scores = g.op("MatMul", split(queries, (0, 2, 1, 3)), split(keys, (0, 2, 3, 1)))
        scores = g.op("Div", scores, g.constant(np.float32(sqrt(own))))
        mixed = g.op("MatMul", g.op("Softmax", scores, axis=-1), split(values, (0, 2, 1, 3)))
        flat = g.reshape(g.op("Transpose", mixed, perm=[0, 2, 1, 3]), batch, tokens, size)
        x = norm(g.op("Add", x, g.linear(flat, (size, size))))
        hidden = g.relu(g.linear(x, (size, 1024)))
        x = norm(g.op("Add", x, g.linear(hidden, (1024, size))))
    return g.model("encoder", {"words": (batch, tokens, size)}, x)


NETWORKS: dict[str, Callable[[], onnx.ModelProto]] = {
    build.__name__: build
    for build in (
        efficientnet, densenet, shufflenet, unet, inception, super_resolution,
        vit, mixer, gpt, temporal, recommender, tagger, resnext, convnext, detector, style,
        mobilenet_v3, volume, encoder,
    )
}  # fmt: skip


def main() -> None:
    """Write the files."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*", choices=[[], *NETWORKS], metavar="NAME")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    for name in arguments.names or NETWORKS:
        path = arguments.folder / f"{name}.onnx"
        onnx.save(NETWORKS[name](), path)
        print(path)


if __name__ == "__main__":
    main()
