"""Networks of attention, or of what took its place."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

import numpy as np
import onnx

from benchmarks.networks.layers import Layers


def vit() -> onnx.ModelProto:
    """A vision transformer of width 192 (Dosovitskiy et al., ICLR 2021), six blocks."""
    g = Layers()
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


def mixer() -> onnx.ModelProto:
    """Matrix products along tokens and along channels in turn (Tolstikhin et al., 2021)."""
    g = Layers()
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


def gpt() -> onnx.ModelProto:
    """A small decoder over 64 tokens with a causal mask, a vocabulary of 8000."""
    g = Layers()
    tokens, size = 64, 384
    x = g.op("Gather", g.weight(8000, size, fan_in=2), "ids", axis=0)
    x = g.op("Add", x, g.weight(1, tokens, size, fan_in=200))
    mask = g.constant(np.triu(np.full((tokens, tokens), -1e9, np.float32), 1))
    for _ in range(4):
        x = g.transformer(x, tokens, size, heads=6, mask=mask)
    return g.model("gpt", {"ids": (1, tokens)}, g.linear(g.layer_norm(x, size), (size, 8000)))


def encoder() -> onnx.ModelProto:
    """Two post-norm transformer blocks over a batch of 8, norms and softmax out of their parts."""
    g = Layers()
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


def swin() -> onnx.ModelProto:
    """Attention within windows of 7x7, shifted in every other block (Liu et al., ICCV 2021)."""
    g = Layers()
    side, size, heads, window = 56, 96, 3, 7
    count, inside = side // window, window * window

    def exchanged(x: str, parts: Sequence[int], shape: Sequence[int]) -> str:
        split = g.reshape(x, 1, *parts, size)
        return g.reshape(g.op("Transpose", split, perm=[0, 1, 3, 2, 4, 5]), *shape, size)

    def rolled(x: str, by: int) -> str:
        for axis in (1, 2):
            pieces = [
                g.op("Slice", x, *(g.constant(np.array([v], np.int64)) for v in (low, high, axis)))
                for low, high in ((by, side), (0, by))
            ]
            x = g.op("Concat", *pieces, axis=axis)
        return x

    def block(x: str, shift: int) -> str:
        y = g.layer_norm(x, size)
        y = rolled(y, shift) if shift else y
        y = exchanged(y, (count, window, count, window), (count * count, inside))
        y = g.attention(y, inside, size, heads, g.weight(1, heads, inside, inside), count * count)
        y = exchanged(y, (count, count, window, window), (1, side, side))
        x = g.op("Add", x, rolled(y, side - shift) if shift else y)
        hidden = g.gelu(g.linear(g.layer_norm(x, size), (size, 4 * size)))
        return g.op("Add", x, g.linear(hidden, (4 * size, size)))

    patches = g.op("Conv", "image", g.weight(size, 3, 4, 4), g.vector(size),
                   kernel_shape=[4, 4], strides=[4, 4])  # fmt: skip
    x = g.layer_norm(g.op("Transpose", patches, perm=[0, 2, 3, 1]), size)
    x = block(block(x, 0), window // 2)
    mean = g.op("ReduceMean", g.layer_norm(x, size), axes=[1, 2], keepdims=0)
    return g.model("swin", {"image": (1, 3, 224, 224)}, g.linear(mean, (size, 1000)))


def rotary() -> onnx.ModelProto:
    """A decoder with rotary positions, root mean square norms, gated units and two groups of
    queries that share keys and values (Touvron et al., 2023; Ainslie et al., 2023)."""
    g = Layers()
    tokens, size, heads, groups, own, wide = 128, 384, 6, 2, 64, 1024
    angles = np.outer(np.arange(tokens), 1e4 ** (-np.arange(0, own, 2) / own))
    cosines, sines = (
        g.constant(np.tile(f(angles), 2).astype(np.float32)) for f in (np.cos, np.sin)
    )
    mask = g.constant(np.triu(np.full((tokens, tokens), -1e9, np.float32), 1))

    def norm(x: str) -> str:
        square = g.op("Pow", x, g.constant(np.float32(2.0)))
        mean = g.op("Add", g.op("ReduceMean", square, axes=[-1]), g.constant(np.float32(1e-6)))
        root = g.op("Sqrt", mean)
        return g.op("Mul", g.op("Mul", x, g.op("Reciprocal", root)), g.vector(size, 1.0))

    def product(x: str, inputs: int, outputs: int) -> str:
        return g.op("MatMul", x, g.weight(inputs, outputs, fan_in=2 * inputs))

    def split(x: str, count: int) -> str:
        shaped = g.reshape(product(x, size, count * own), 1, tokens, count, own)
        return g.op("Transpose", shaped, perm=[0, 2, 1, 3])

    def turned(x: str) -> str:
        low, high = g.outputs_of(g.op("Split", x, outputs=2, axis=3), 2)
        other = g.op("Concat", g.op("Neg", high), low, axis=3)
        return g.op("Add", g.op("Mul", x, cosines), g.op("Mul", other, sines))

    def repeated(x: str) -> str:
        shape = np.array([1, groups, heads // groups, tokens, own], np.int64)
        wider = g.op("Unsqueeze", x, g.constant(np.array([2], np.int64)))
        return g.reshape(g.op("Expand", wider, g.constant(shape)), 1, heads, tokens, own)

    x = g.op("Gather", g.weight(4000, size, fan_in=2), "ids", axis=0)
    for _ in range(4):
        y = norm(x)
        queries, keys = turned(split(y, heads)), repeated(turned(split(y, groups)))
        values = repeated(split(y, groups))
        scores = g.op("MatMul", queries, g.op("Transpose", keys, perm=[0, 1, 3, 2]))
        scores = g.op("Add", g.op("Mul", scores, g.constant(np.float32(1 / sqrt(own)))), mask)
        mixed = g.op("MatMul", g.op("Softmax", scores, axis=-1), values)
        flat = g.reshape(g.op("Transpose", mixed, perm=[0, 2, 1, 3]), 1, tokens, size)
        x = g.op("Add", x, product(flat, size, size))
        y = norm(x)
        gated = g.op("Mul", g.swish(product(y, size, wide)), product(y, size, wide))
        x = g.op("Add", x, product(gated, wide, size))
    return g.model("rotary", {"ids": (1, tokens)}, product(norm(x), size, 4000))
