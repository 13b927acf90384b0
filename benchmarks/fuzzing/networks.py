"""Random networks of realistic kinds; equal kinds and seeds give equal networks."""

from __future__ import annotations

import numpy as np

from benchmarks.fuzzing.builder import NetworkBuilder, RandomNetwork, Value
from benchmarks.fuzzing.language import dense, perceptron, transformer
from benchmarks.fuzzing.tensors import tensor_network
from benchmarks.fuzzing.vision import activation, convolution_same, features, head


def convolutional(net: NetworkBuilder) -> None:
    """Blocks over images, some results of which are outputs too."""
    x = net.input((net.integer(1, 2), net.integer(1, 8), net.integer(5, 20), net.integer(5, 36)))
    _finish_features(net, features(net, x, net.integer(2, 7)))


def one_dimensional(net: NetworkBuilder) -> None:
    """The same blocks over signals."""
    x = net.input((net.integer(1, 2), net.integer(1, 8), net.integer(6, 60)))
    _finish_features(net, features(net, x, net.integer(2, 6)))


def three_dimensional(net: NetworkBuilder) -> None:
    """The same blocks over volumes."""
    shape = (1, net.integer(1, 4), net.integer(3, 6), net.integer(4, 8), net.integer(4, 8))
    _finish_features(net, features(net, net.input(shape), net.integer(1, 4), 8000))


def _finish_features(net: NetworkBuilder, found: list[Value]) -> None:
    net.outputs += [value for value in found[1:-1] if net.chance(0.2)]
    if net.chance(0.6):
        net.outputs.append(head(net, found[-1]))
    if len(found) > 1 and (net.chance(0.4) or not net.outputs):
        net.outputs.append(found[-1])
    if not net.outputs:
        net.outputs.append(activation(net, found[-1]))


def pyramid(net: NetworkBuilder) -> None:
    """Down, up again, and joined with what was on the way (a small U-net)."""
    x = net.input((1, net.integer(2, 6), 16, net.pick([12, 16])))
    levels = [convolution_same(net, x)]
    for _ in range(net.integer(1, 2)):
        y = net.add("MaxPool", levels[-1], kernel_shape=[2, 2], strides=[2, 2])
        levels.append(activation(net, convolution_same(net, y)))
    y = levels.pop()
    while levels:
        skip = levels.pop()
        scales = net.constant(np.array([1, 1, 2, 2], np.float32))
        up = net.add("Resize", y, None, scales, mode=net.pick(["nearest", "linear"]))
        y = net.add("Relu", net.add("Concat", up, skip, axis=1))
        y = net.add("Conv", y, net.weight(net.integer(2, 9), y.shape[1], 1, 1))
    net.outputs.append(y)


def channels_last(net: NetworkBuilder) -> None:
    """A converted model: transposes around convolutions, reductions over the middle axes."""
    x = net.input((net.integer(1, 2), net.integer(6, 14), net.integer(6, 14), net.integer(1, 6)))
    for _ in range(net.integer(1, 4)):
        y = net.add("Transpose", x, perm=[0, 3, 1, 2])
        y = activation(net, features(net, y, net.integer(1, 2))[-1])
        x = net.add("Transpose", y, perm=[0, 2, 3, 1])
        x = net.add(net.pick(["Add", "Mul"]), x, net.positive(x.shape[3]))
    if net.chance(0.3):
        net.outputs.append(x)
    pooled = net.add("ReduceMean", x, net.integers(1, 2), keepdims=int(net.chance(0.5)))
    net.outputs.append(dense(net, pooled, net.integer(1, 12)))


KINDS = {
    "convolutional": convolutional,
    "one_dimensional": one_dimensional,
    "three_dimensional": three_dimensional,
    "pyramid": pyramid,
    "channels_last": channels_last,
    "transformer": transformer,
    "perceptron": perceptron,
    "tensors": tensor_network,
}

OPENS_BATCH = ("convolutional", "one_dimensional", "channels_last", "transformer", "perceptron")


def random_network(kind: str, seed: int) -> RandomNetwork:
    """The network of a kind and seed."""
    random = np.random.default_rng([seed, *kind.encode()])
    dynamic = kind in OPENS_BATCH and random.random() < 0.25
    net = NetworkBuilder(random, int(random.integers(18, 22)), "batch" if dynamic else None)
    KINDS[kind](net)
    return net.finish(kind, seed)
