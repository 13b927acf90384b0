"""Layers as exporters write them, activations and attention made of several operators."""

from __future__ import annotations

from math import sqrt

import numpy as np

from benchmarks.networks.graph import Graph


class Layers(Graph):
    """A graph that grows layer by layer; each method returns the name of its result."""

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

    def group_norm(self, x: str, channels: int, groups: int, *space: int) -> str:
        """Group normalisation as exporters write it: instance normalisation of reshaped data."""
        rows = self.reshape(x, 1, groups, -1)
        ones, zeros = (self.constant(np.full(groups, v, np.float32)) for v in (1, 0))
        normed = self.reshape(
            self.op("InstanceNormalization", rows, ones, zeros), 1, channels, *space
        )
        shape = (channels, *[1] * len(space))
        scale, shift = (self.constant(self.drawn(channels, v).reshape(shape)) for v in (1.0, 0.0))
        return self.op("Add", self.op("Mul", normed, scale), shift)

    def reshape(self, x: str, *shape: int) -> str:
        """Another shape."""
        return self.op("Reshape", x, self.constant(np.array(shape, np.int64)))

    def attention(
        self, x: str, tokens: int, size: int, heads: int, mask: str = "", batch: int = 1
    ) -> str:
        """Multi-head self-attention with one projection for queries, keys and values."""
        own = size // heads
        together = self.reshape(self.linear(x, (size, 3 * size)), batch, tokens, 3, heads, own)
        moved = self.op("Transpose", together, perm=[2, 0, 3, 1, 4])
        parts = [self.op("Gather", moved, self.constant(np.int64(n)), axis=0) for n in range(3)]
        keys = self.op("Transpose", parts[1], perm=[0, 1, 3, 2])
        scores = self.op("MatMul", parts[0], keys)
        scores = self.op("Mul", scores, self.constant(np.float32(1 / sqrt(own))))
        if mask:
            scores = self.op("Add", scores, mask)
        mixed = self.op("MatMul", self.op("Softmax", scores, axis=-1), parts[2])
        flat = self.reshape(self.op("Transpose", mixed, perm=[0, 2, 1, 3]), batch, tokens, size)
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
