"""Convolutions without the elements of their kernels that read padding alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import relay_tune as rt
from relay_tune.ir.expr import Call, Function, Var, constant
from relay_tune.ir.module import Module
from relay_tune.ir.types import TensorType
from relay_tune.op.nn.convolution import conv1d, conv2d
from relay_tune.op_rules.matching import static_shape
from relay_tune.transform.simplify_expression import SimplifyExpression


def convolution(size: tuple[int, int], weight: np.ndarray, **attributes: Any) -> Module:
    x = Var("x", TensorType((2, 3, *size), str(weight.dtype)))
    body = conv2d(x, constant(weight), **attributes)
    return rt.infer_types(Module.from_function(Function((x,), body)))


def weights(*window: int, channels: int = 3) -> np.ndarray:
    return np.random.default_rng(0).standard_normal((4, channels, *window)).astype("float32")


def simplified(module: Module) -> Call:
    body = SimplifyExpression()(module).main.body
    assert isinstance(body, Call)
    return body


@pytest.mark.parametrize(
    ("size", "window", "dilation", "padding", "left"),
    [
        ((8, 8), (3, 3), (12, 12), (12, 12), (1, 1)),
        ((8, 16), (3, 3), (12, 12), (12, 12), (1, 3)),
        ((7, 7), (5, 5), (3, 3), (6, 6), (5, 5)),
        ((4, 4), (5, 5), (3, 3), (6, 6), (3, 3)),
        ((13, 13), (3, 3), (12, 12), (12, 12), (3, 3)),
        ((12, 12), (3, 3), (12, 12), (12, 12), (1, 1)),
        ((5, 5), (3, 3), (1, 1), (1, 1), (3, 3)),
    ],
)
def test_what_is_left_of_a_window(
    size: tuple[int, int],
    window: tuple[int, int],
    dilation: tuple[int, int],
    padding: tuple[int, int],
    left: tuple[int, int],
) -> None:
    module = convolution(size, weights(*window), dilation=dilation, padding=padding)
    found = simplified(module)
    assert static_shape(found.arguments[1]) == (4, 3, *left)
    assert found.type == module.main.body.type
    if left == (1, 1):
        assert found.attributes.padding == (0, 0, 0, 0)
        assert found.attributes.dilation == (1, 1)


@pytest.mark.parametrize("seed", range(40))
def test_answers_are_kept(seed: int) -> None:
    rng = np.random.default_rng(seed)

    def draw(least: int, most: int, count: int = 2) -> tuple[int, ...]:
        return tuple(map(int, rng.integers(least, most, count)))

    height, width = draw(4, 9)
    size, window, groups = (height, width), draw(2, 5), int(rng.choice([1, 3]))
    module = convolution(
        size,
        weights(*window, channels=3 // groups).repeat(groups, 0)[: 4 if groups == 1 else 6],
        strides=draw(1, 4),
        dilation=draw(3, 9),
        padding=draw(10, 26, 4),
        groups=groups,
    )
    data = rng.standard_normal((2, 3, *size)).astype("float32")
    after = SimplifyExpression()(module)
    np.testing.assert_allclose(rt.interpret(after, data), rt.interpret(module, data), atol=1e-5)


def test_one_and_three_axes_and_integers() -> None:
    x = Var("x", TensorType((1, 2, 5), "int8"))
    weight = constant(np.arange(12, dtype="int8").reshape(2, 2, 3))
    body = conv1d(x, weight, dilation=(6,), padding=(6,), out_dtype="int32")
    module = rt.infer_types(Module.from_function(Function((x,), body)))
    found = SimplifyExpression()(module)
    assert static_shape(simplified(module).arguments[1]) == (2, 2, 1)
    data = np.arange(10, dtype="int8").reshape(1, 2, 5)
    np.testing.assert_array_equal(rt.interpret(found, data), rt.interpret(module, data))


@pytest.mark.parametrize("number", [np.inf, np.nan])
def test_infinite_weights_are_kept(number: float) -> None:
    weight = weights(3, 3)
    weight[0, 0, 0, 0] = number
    module = convolution((8, 8), weight, dilation=(12, 12), padding=(12, 12))
    assert SimplifyExpression()(module) is module


def test_weights_that_are_arguments_and_open_sizes_are_kept() -> None:
    text = """
    def @main(%x: Tensor[(1, 2, {size}, 4), float32], %w: Tensor[(2, 2, 3, 3), float32]) {{
      nn.conv2d(%x, {weight}, dilation=[9, 9], padding=[9, 9])
    }}"""
    for size, weight in (("4", "%w"), ("n", "%w")):
        module = rt.infer_types(rt.parse(text.format(size=size, weight=weight)))
        assert SimplifyExpression()(module) is module
