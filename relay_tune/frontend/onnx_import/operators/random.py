"""Random numbers of ONNX: functions of the number of an element and of a seed.

before:  RandomNormalLike(x, seed=7)
after:   random.normal(reshape_like(arange, x), key)      key: the bits of the seed, a float32

A node draws the same numbers in every run, on every machine, with any number of threads; two nodes
with one seed draw the same. A node without a seed gets the checksum (CRC-32) of its name.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from math import prod

import numpy as np

from relay_tune.errors import ModelError
from relay_tune.frontend.onnx_import.build import (
    Builder,
    check_size,
    dtype_of,
    known_scalar,
    rank_of,
    shape_of,
    static_dim,
)
from relay_tune.frontend.onnx_import.node import OnnxNode
from relay_tune.frontend.onnx_import.operators.activation import scaled, shifted
from relay_tune.frontend.onnx_import.operators.elementwise import cast_to
from relay_tune.frontend.onnx_import.operators.translator import Translator
from relay_tune.frontend.onnx_import.run_time_axes import range_at_run_time
from relay_tune.frontend.onnx_import.types import dtype_name, is_float, is_integer
from relay_tune.ir.expr import Constant, Expr

_INT32 = 6


def translate_uniform(node: OnnxNode, build: Builder) -> Expr:
    """Numbers from `low` to below `high`."""
    low, high = node.number("low", 0.0), node.number("high", 1.0)
    drawn = _drawn(node, build, "random.uniform")
    return shifted(build, scaled(build, drawn, high - low), low)


def translate_normal(node: OnnxNode, build: Builder) -> Expr:
    """Numbers of a normal distribution."""
    drawn = _drawn(node, build, "random.normal")
    spread = scaled(build, drawn, node.number("scale", 1.0))
    return shifted(build, spread, node.number("mean", 0.0))


def _drawn(node: OnnxNode, build: Builder, name: str) -> Expr:
    """Numbers in the shape of the attribute or of the input, of the element type wanted."""
    if node.inputs:
        data = node.input(0)
        numbers = _element_numbers(build, data)
        default = dtype_of(data)
    else:
        numbers = _numbers_of_shape(build, node.integers("shape"))
        default = "float32"
    dtype = dtype_name(node.integer("dtype"), "the result") if node.has("dtype") else default
    if not is_float(dtype):
        raise ModelError(f"random numbers are floats, but {dtype} is asked for.")
    return build.call(name, numbers, _key(node, build), dtype=dtype)


def _numbers_of_shape(build: Builder, shape: tuple[int, ...]) -> Expr:
    """0, 1, ... in the order of the elements of a shape, int64."""
    if any(size < 0 for size in shape):
        raise ModelError(f"the shape {shape} has a negative size.")
    check_size(prod(shape), "int64")
    numbers = build.call("arange", start=0, stop=prod(shape), step=1, dtype="int64")
    return numbers if len(shape) == 1 else _reshaped(build, numbers, shape)


def _reshaped(build: Builder, numbers: Expr, shape: tuple[int, ...]) -> Expr:
    if 0 in shape:
        return build.filled(shape, 0, "int64")
    return build.call("reshape", numbers, newshape=shape)


def _element_numbers(build: Builder, data: Expr) -> Expr:
    """The number of each element of a tensor, int64."""
    shape = shape_of(data)
    sizes = tuple(dim for dim in shape if isinstance(dim, int))
    if len(sizes) == len(shape):
        return _numbers_of_shape(build, sizes)
    count = build.call("ndarray_size", data, dtype="int64")
    numbers = range_at_run_time(build, build.constant(0), count)
    return build.call("reshape_like", numbers, data)


def _key(node: OnnxNode, build: Builder) -> Expr:
    """Key of the random numbers, which also depend on their counters."""
    return build.constant(_key_number(node), "int64")


def _key_number(node: OnnxNode) -> int:
    if not node.has("seed"):
        return zlib.crc32(node.name.encode())
    if node.operator == "Dropout":  # the one operator whose seed is an integer
        return node.integer("seed")
    return int(np.float32(node.number("seed")).view(np.uint32))


def translate_bernoulli(node: OnnxNode, build: Builder) -> Expr:
    """1 with the probability that an element says, else 0."""
    chance = node.input(0)
    is_one = build.call("less", _uniform_like(node, build, chance, dtype_of(chance)), chance)
    dtype = dtype_of(chance)
    if node.has("dtype"):
        dtype = dtype_name(node.integer("dtype"), "the result")
    return cast_to(build, is_one, dtype)


def _uniform_like(node: OnnxNode, build: Builder, data: Expr, dtype: str) -> Expr:
    numbers = _element_numbers(build, data)
    return build.call("random.uniform", numbers, _key(node, build), dtype=dtype)


def translate_multinomial(node: OnnxNode, build: Builder) -> Expr:
    """Classes [batch, samples], drawn by their logarithmic probabilities [batch, classes].

    The class of a uniform number u is the first whose probability, added to those before it,
    exceeds u.
    """
    data, count = node.input(0), node.integer("sample_size", 1)
    dtype = dtype_name(node.integer("dtype", _INT32), "the result")
    if rank_of(data) != 2 or count < 1 or not is_integer(dtype):
        raise ModelError("expects [batch, classes], a positive sample_size and an integer dtype.")
    classes = static_dim(shape_of(data)[1])
    wide = cast_to(build, data, "float64" if dtype_of(data) == "float64" else "float32")
    sums = build.call("cumsum", build.call("nn.softmax", wide, axis=1), axis=1)
    last = build.call("take", sums, build.constant([classes - 1], "int64"), axis=1)
    below = build.call("expand_dims", build.call("divide", sums, last), axis=1)
    shape = build.constant(np.zeros((1, count)), dtype_of(wide))
    samples = build.call("add", build.call("zeros_like", last), shape)
    drawn = _uniform_like(node, build, samples, dtype_of(wide))
    passed = build.call("less_equal", below, build.call("expand_dims", drawn, axis=2))
    return build.call("sum", cast_to(build, passed, dtype), axis=(2,))


def translate_dropout(node: OnnxNode, build: Builder) -> list[Expr | None]:
    """The input itself, as at inference; in training mode elements that are kept grow.

    The mask of the input itself is 1, and 0 before version 12, as onnxruntime has it.
    """
    data, training = node.input(0), node.optional(2)
    if node.opset < 7 and not node.flag("is_test", 0):
        training = build.constant(True, "bool")
    mask_dtype = "bool" if node.opset >= 10 else dtype_of(data)
    if training is None or _is_never(training):
        kept = build.call("ones_like" if node.opset >= 12 else "zeros_like", data)
        return [data, cast_to(build, kept, mask_dtype)]
    rate = node.optional(1)
    is_known = all(isinstance(each, Constant) for each in (training, rate or training))
    if is_known and not node.wants(1) and all(isinstance(dim, int) for dim in shape_of(data)):
        share = node.number("ratio", 0.5) if rate is None else known_scalar(rate, "ratio")
        seed = _key_number(node)
        return [build.call("nn.dropout", data, rate=float(share), training=True, seed=seed)]
    kind = "float64" if dtype_of(data) == "float64" else "float32"
    drops = build.call("reshape", training, newshape=())
    share = build.call("where", drops, _share(node, build, kind), build.constant(0, kind))
    kept = build.call("greater_equal", _uniform_like(node, build, data, kind), share)
    one = build.like(1, share)
    factor = build.call("divide", one, build.call("subtract", one, share))
    grown = build.call("multiply", data, cast_to(build, factor, dtype_of(data)))
    result = build.call("where", kept, grown, build.like(0, data))
    return [result, cast_to(build, kept, mask_dtype)]


def _is_never(training: Expr) -> bool:
    """Whether it is known that the mode is not training."""
    return isinstance(training, Constant) and not known_scalar(training, "training_mode")


def _share(node: OnnxNode, build: Builder, dtype: str) -> Expr:
    """The share of elements that are dropped, a scalar."""
    given = node.optional(1)
    if given is None:
        return build.constant(node.number("ratio", 0.5), dtype)
    return cast_to(build, build.call("reshape", given, newshape=()), dtype)


RANDOM: Mapping[str, Translator] = {
    "RandomUniform": translate_uniform,
    "RandomUniformLike": translate_uniform,
    "RandomNormal": translate_normal,
    "RandomNormalLike": translate_normal,
    "Bernoulli": translate_bernoulli,
    "Multinomial": translate_multinomial,
    "Dropout": translate_dropout,
}
