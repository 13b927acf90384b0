"""Blocks of transformers, recurrent-free sequence models and perceptrons."""

from __future__ import annotations

import numpy as np

from benchmarks.fuzzing.builder import NetworkBuilder, Value


def dense(net: NetworkBuilder, x: Value, width: int) -> Value:
    """A linear layer over the last axis."""
    y = net.add("MatMul", x, net.weight(x.shape[-1], width, scale=x.shape[-1] ** -0.5))
    return net.add("Add", y, net.weight(width, scale=0.2)) if net.chance(0.7) else y


def gelu(net: NetworkBuilder, x: Value) -> Value:
    """The activation as exporters write it, with erf or tanh."""
    half = net.constant(np.array(0.5, np.float32))
    one = net.constant(np.array(1, np.float32))
    if net.chance(0.5):
        root = net.constant(np.array(2**0.5, np.float32))
        inner = net.add("Erf", net.add("Div", x, root))
    else:
        cube = net.add("Pow", x, net.constant(np.array(3, np.float32)))
        small = net.constant(np.array(0.044715, np.float32))
        total = net.add("Add", x, net.add("Mul", cube, small))
        inner = net.add("Tanh", net.add("Mul", total, net.constant(np.array(0.79788, np.float32))))
    return net.add("Mul", net.add("Mul", x, half), net.add("Add", inner, one))


def layer_norm(net: NetworkBuilder, x: Value) -> Value:
    """Normalization of the last axis, as one node or in its parts."""
    width = x.shape[-1]
    scale, bias = net.positive(width), net.weight(width, scale=0.2)
    if net.chance(0.4):
        return net.add("LayerNormalization", x, scale, bias, axis=-1, epsilon=1e-2)
    axes = net.integers(-1)
    y = x
    if net.chance(0.7):
        y = net.add("Sub", x, net.add("ReduceMean", x, axes, keepdims=1))
    square = net.add("Mul", y, y)
    variance = net.add("ReduceMean", square, axes, keepdims=1)
    steady = net.add("Add", variance, net.constant(np.array(1e-2, np.float32)))
    y = net.add("Div", y, net.add("Sqrt", steady))
    return net.add("Add", net.add("Mul", y, scale), bias)


def attention(net: NetworkBuilder, x: Value, mask: Value | None) -> Value:
    """Self-attention with some number of heads; keys may have fewer heads than queries."""
    length, width = x.shape[1:]
    heads = net.pick([h for h in (1, 2, 3, 4, 6) if width % h == 0])
    size = width // heads
    shared = net.pick([h for h in (heads, heads, 1, 2) if heads % h == 0])
    q = _heads(net, dense(net, x, width), heads, size)
    k = _heads(net, dense(net, x, shared * size), shared, size)
    v = _heads(net, dense(net, x, shared * size), shared, size)
    if shared != heads:
        k, v = (_repeated(net, t, heads // shared) for t in (k, v))
    scores = net.add("MatMul", q, net.add("Transpose", k, perm=[0, 1, 3, 2]))
    scores = net.add("Mul", scores, net.constant(np.array(size**-0.5, np.float32)))
    if mask is not None:
        scores = net.add("Where", mask, scores, net.constant(np.array(-1e4, np.float32)))
    weights = net.add("Softmax", scores, axis=-1)
    y = net.add("Transpose", net.add("MatMul", weights, v), perm=[0, 2, 1, 3])
    return dense(net, net.add("Reshape", y, net.integers(0, length, width)), width)


def _heads(net: NetworkBuilder, x: Value, heads: int, size: int) -> Value:
    y = net.add("Reshape", x, net.integers(0, x.shape[1], heads, size))
    return net.add("Transpose", y, perm=[0, 2, 1, 3])


def _repeated(net: NetworkBuilder, x: Value, times: int) -> Value:
    """Each head `times` times, by expand and reshape."""
    heads, length, size = x.shape[1:]
    y = net.add("Unsqueeze", x, net.integers(2))
    y = net.add("Expand", y, net.integers(1, heads, times, length, size))
    return net.add("Reshape", y, net.integers(0, heads * times, length, size))


def rotary(net: NetworkBuilder, x: Value) -> Value:
    """x * cos + rotated(x) * sin over the last axis, which is cut in halves."""
    half = x.shape[-1] // 2
    if half * 2 != x.shape[-1]:
        return x
    last = net.integers(-1)
    left = net.add("Slice", x, net.integers(0), net.integers(half), last)
    right = net.add("Slice", x, net.integers(half), net.integers(2**62), last)
    turned = net.add("Concat", net.add("Neg", right), left, axis=-1)
    cosine, sine = (net.weight(x.shape[1], x.shape[2], scale=0.5) for _ in range(2))
    return net.add("Add", net.add("Mul", x, cosine), net.add("Mul", turned, sine))


def feed_forward(net: NetworkBuilder, x: Value) -> Value:
    """Two linear layers, or a gated pair."""
    width, hidden = x.shape[-1], net.integer(3, 40)
    y = dense(net, x, hidden)
    if net.chance(0.4):
        y = net.add("Mul", net.add("Mul", y, net.add("Sigmoid", y)), dense(net, x, hidden))
    else:
        y = gelu(net, y) if net.chance(0.6) else net.add("Relu", y)
    return dense(net, y, width)


def causal_mask(net: NetworkBuilder, length: int) -> Value:
    """A triangle of truths."""
    return net.constant(np.tril(np.ones((1, 1, length, length), bool)))


def embedding(net: NetworkBuilder, length: int, width: int, batch: int) -> Value:
    """Rows of a table for integer tokens, and of positions."""
    words = net.integer(5, 40)
    tokens = net.input((batch, length), net.pick(["int64", "int32"]), words)
    table = net.weight(words, width, scale=1.0)
    return net.add("Add", net.add("Gather", table, tokens), net.weight(length, width, scale=0.5))


def transformer(net: NetworkBuilder) -> None:
    """A stack of attention and feed-forward blocks."""
    length, batch = net.integer(2, 17), net.integer(1, 3)
    width = net.pick([8, 12, 16, 24, 36])
    if net.chance(0.5):
        x = embedding(net, length, width, batch)
    else:
        x = net.input((batch, length, width))
    mask = None
    if net.chance(0.3):
        mask = causal_mask(net, length)
    elif net.chance(0.4):
        mask = net.input((batch, 1, 1, length), "bool")
    for _ in range(net.integer(1, 3)):
        x = _layer(net, x, mask)
    x = layer_norm(net, x)
    net.outputs.append(x)
    net.outputs.append(_summary(net, x))


def _layer(net: NetworkBuilder, x: Value, mask: Value | None) -> Value:
    before = net.chance(0.5)
    y = layer_norm(net, x) if before else x
    y = rotary(net, y) if net.chance(0.4) else y
    x = net.add("Add", x, attention(net, y, mask))
    x = net.add("Add", x, feed_forward(net, layer_norm(net, x)))
    return x if before else layer_norm(net, x)


def _summary(net: NetworkBuilder, x: Value) -> Value:
    """One vector for each sequence."""
    match net.integer(0, 2):
        case 0:
            first = net.constant(np.array(0, np.int64))
            return net.add("Tanh", dense(net, net.add("Gather", x, first, axis=1), 5))
        case 1:
            return net.add("ReduceMean", x, net.integers(1), keepdims=0)
        case _:
            return net.add("LogSoftmax", dense(net, x, 7), axis=-1)


def perceptron(net: NetworkBuilder) -> None:
    """Linear layers with shared and repeated parts."""
    x = net.input((net.integer(1, 9), net.integer(1, 40)))
    for _ in range(net.integer(2, 6)):
        width = net.integer(1, 50)
        match net.integer(0, 3):
            case 0:
                weight = net.weight(width, x.shape[1])
                bias = net.weight(*net.pick([(width,), (1, width), (1,)]), scale=0.3)
                x = net.add("Gemm", x, weight, bias, transB=1, alpha=0.5, beta=2.0)
            case 1:
                x = net.add("Concat", x, dense(net, x, width), axis=1)
            case 2:
                x = net.add(net.pick(["Relu", "Tanh", "Selu", "Softsign", "Mish"]), x)
            case _:
                x = net.add("Add", x, dense(net, layer_norm(net, x), x.shape[1]))
        if net.chance(0.2):
            net.outputs.append(x)
    net.outputs.append(net.add("Softmax", dense(net, x, 4), axis=1))
