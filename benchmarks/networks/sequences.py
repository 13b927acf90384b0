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
