"""Networks over signals, words and requests."""

from __future__ import annotations

import numpy as np
import onnx

from benchmarks.networks.layers import Layers


def temporal() -> onnx.ModelProto:
    """Dilated causal convolutions over a signal (Bai et al., 2018)."""
    g = Layers()
    x, channels = "signal", 16
    for level in range(6):
        y = g.relu(g.conv(x, (channels, 64), 3, dilation=1 << level, causal=True, rank=1))
        y = g.relu(g.conv(y, (64, 64), 3, dilation=1 << level, causal=True, rank=1))
        across = x if channels == 64 else g.conv(x, (channels, 64), 1, rank=1)
        x, channels = g.relu(g.op("Add", y, across)), 64
    return g.model("temporal", {"signal": (1, 16, 1000)}, g.head(x, 64, 10))


def tagger() -> onnx.ModelProto:
    """A bidirectional LSTM over word vectors, and a classifier of each word."""
    g = Layers()
    steps, size, hidden = 40, 128, 128
    x = "words"
    for inputs in (size, 2 * hidden):
        weights = [g.weight(2, 4 * hidden, n, fan_in=2 * n) for n in (inputs, hidden)]
        bias = g.constant(np.zeros((2, 8 * hidden), np.float32))
        y = g.op("LSTM", x, *weights, bias, direction="bidirectional", hidden_size=hidden)
        x = g.reshape(g.op("Transpose", y, perm=[0, 2, 1, 3]), steps, 1, 2 * hidden)
    return g.model("tagger", {"words": (steps, 1, size)}, g.linear(x, (2 * hidden, 20)))


def recommender() -> onnx.ModelProto:
    """Embeddings, their products, and two perceptrons (Naumov et al., 2019), 64 requests."""
    g = Layers()
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
    inputs: dict[str, tuple[int, ...]] = {"dense": (64, 13)}
    inputs |= {f"ids{n}": (64,) for n in range(8)}
    return g.model("recommender", inputs, g.op("Sigmoid", g.linear(x, (256, 1))))


def vocoder() -> onnx.ModelProto:
    """Sound from a spectrogram: transposed convolutions along time, and residual blocks of growing
    dilation between them (Kong et al., NeurIPS 2020)."""
    g = Layers()

    def leaky(x: str) -> str:
        return g.op("LeakyRelu", x, alpha=0.1)

    x, channels = g.conv("spectrogram", (80, 128), 7, rank=1), 128
    for width in (64, 32):
        x = g.op("ConvTranspose", leaky(x), g.weight(channels, width, 16, fan_in=channels),
                 g.vector(width), kernel_shape=[16], strides=[8], pads=[4, 4])  # fmt: skip
        channels, parts = width, []
        for kernel in (3, 7):
            y = x
            for dilation in (1, 3, 5):
                z = g.conv(leaky(y), (width, width), kernel, dilation=dilation, rank=1)
                y = g.op("Add", y, g.conv(leaky(z), (width, width), kernel, rank=1))
            parts.append(y)
        x = g.op("Mul", g.op("Add", *parts), g.constant(np.float32(0.3)))
    sound = g.op("Tanh", g.conv(leaky(x), (32, 1), 7, rank=1))
    return g.model("vocoder", {"spectrogram": (1, 80, 64)}, sound)


def word_model() -> onnx.ModelProto:
    """Two LSTMs over the words of 16 texts, and scores of the next words (Zaremba et al., 2014)."""
    g = Layers()
    steps, batch, size = 35, 16, 200
    x = g.op("Gather", g.weight(2000, size, fan_in=2), "ids", axis=0)
    for _ in range(2):
        weights = [g.weight(1, 4 * size, size, fan_in=2 * size) for _ in range(2)]
        bias = g.constant(np.zeros((1, 8 * size), np.float32))
        y = g.op("LSTM", x, *weights, bias, hidden_size=size)
        x = g.op("Squeeze", y, g.constant(np.array([1], np.int64)))
    return g.model("word_model", {"ids": (steps, batch)}, g.linear(x, (size, 2000)))


def graph_attention() -> onnx.ModelProto:
    """Nodes that attend to their neighbours (Velickovic et al., ICLR 2018).

    Scores lie far apart, so that many shares are next to nothing.
    """
    g = Layers()
    nodes, size = 400, 128
    x, inputs = "features", 64
    linked = g.op("Greater", "links", g.constant(np.float32(0.9)))
    for _ in range(2):
        x, inputs = g.linear(x, (inputs, size)), size
        source, target = (g.op("MatMul", x, g.weight(size, 1, fan_in=1)) for _ in range(2))
        scores = g.op("Add", source, g.op("Transpose", target, perm=[1, 0]))
        scores = g.op("LeakyRelu", scores, alpha=0.2)
        scores = g.op("Where", linked, scores, g.constant(np.float32(-1e9)))
        x = g.op("Elu", g.op("MatMul", g.op("Softmax", scores, axis=-1), x))
    result = g.op("LogSoftmax", g.linear(x, (size, 32)), axis=-1)
    return g.model("graph_attention", {"features": (nodes, 64), "links": (nodes, nodes)}, result)
