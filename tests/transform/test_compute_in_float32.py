"""Networks of float16 in float32: the numbers stay, conversions go."""

from __future__ import annotations

import numpy as np
import pytest

from relay_tune.building.build import build
from relay_tune.ir.module import Module
from relay_tune.ir.parser.parse import parse
from relay_tune.runtime.interpreter.interpret import interpret
from relay_tune.schedule.accuracy import Accuracy
from relay_tune.transform.compute_in_float32 import ComputeInFloat32
from relay_tune.typing.infer import infer_types

ROUNDING = ComputeInFloat32(Accuracy.EXACT)

BODIES = [
    "nn.dense(%x, %w)",
    "nn.relu(nn.bias_add(nn.dense(%x, %w), %b))",
    "nn.softmax(multiply(%x, %x))",
    "nn.layer_norm(%x, %c, %c)",
    "exp(add(%x, %x))",
    "sum(%x, axis=[1])",
    "mean(%x, axis=[0])",
    "cumsum(%x, axis=1)",
    "divide(%x, add(abs(%x), 1e-4f16))",
    "power(abs(%x), 1.7f16)",
    "clip(%x, a_min=-0.3f, a_max=2.7f)",
    "nn.leaky_relu(%x, alpha=0.3)",
    "abs(transpose(reshape(%x, newshape=[2, 3, 8]), axes=[2, 0, 1]))",
    "concatenate((%x, tanh(%x)), axis=0)",
    "nn.pad(%x, 0.1f16, pad_width=[[1, 0], [2, 3]])",
    "where(greater(%x, 0.5f16), %x, erf(%x))",
    "argmax(multiply(%x, %x), axis=1)",
    'cast(multiply(%x, %x), dtype="float32")',
    'multiply(zeros(shape=[6, 8], dtype="float16"), %x)',
    "split(multiply(%x, %x), indices_or_sections=2, axis=1)",
    "nn.batch_norm(exp(%x), %c, %c, %c, abs(%c)).0",
    "take(%x, argmax(%x, axis=0), axis=0)",
    "let %y = multiply(%x, %x); if (True) { add(%y, %x) } else { %y }",
    "nn.conv2d(reshape(%x, newshape=[1, 3, 4, 4]), reshape(%x, newshape=[4, 3, 2, 2]))",
]


def half_module(body: str) -> Module:
    text = f"""#[version = "0.0.5"]
        def @main(%x: Tensor[(6, 8), float16], %w: Tensor[(5, 8), float16],
                  %b: Tensor[(5), float16], %c: Tensor[(8), float16]) {{ {body} }}"""
    return infer_types(parse(text))


def inputs() -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    x, w, b, c = (
        (rng.standard_normal(shape) * 3).astype("float16") for shape in ((6, 8), (5, 8), (5,), (8,))
    )
    x[0, :4] = 300.0, -6e-5, 3e-7, 65504.0  # squares overflow, vanish
    return [x, w, b, c]


def leaves(value: object) -> list[np.ndarray]:
    return [np.asarray(each) for each in (value if isinstance(value, tuple) else (value,))]


@pytest.mark.parametrize("body", BODIES)
def test_the_numbers_stay(body: str) -> None:
    module = half_module(body)
    after = infer_types(ROUNDING(module))
    assert after.main.type == module.main.type
    with np.errstate(all="ignore"):
        expected, found = (leaves(interpret(each, *inputs())) for each in (module, after))
    for before, now in zip(expected, found, strict=True):
        np.testing.assert_array_equal(now, before)


def test_results_are_rounded_once() -> None:
    """The interpreter rounds in between, too, where numpy's arithmetic of float16 does."""
    after = infer_types(ROUNDING(half_module("sigmoid(%x)")))
    x = inputs()[0]
    with np.errstate(all="ignore"):
        expected = (1 / (1 + np.exp(-x.astype("float32")))).astype("float16")
        np.testing.assert_array_equal(np.asarray(interpret(after, *inputs())), expected)


def test_products_and_what_follows_are_of_float32() -> None:
    module = half_module("nn.relu(nn.dense(%x, %w))")
    assert ROUNDING(module).astext().count("cast(") == 5  # two operands, sums and back, the result
    assert ComputeInFloat32()(module).astext().count("cast(") == 3


def test_what_the_network_rounds_itself_stays_rounded() -> None:
    text = 'multiply(cast(cast(%x, dtype="float32"), dtype="float16"), %x)'
    assert ComputeInFloat32()(half_module(text)).astext().count('dtype="float16"') == 2


def test_moves_are_not_rounded() -> None:
    after = ROUNDING(half_module("nn.relu(transpose(tanh(%x)))")).astext()
    assert after.count('dtype="float16"') == 2  # tanh and the result


def test_networks_of_float32_stay() -> None:
    module = infer_types(
        parse('#[version = "0.0.5"]\ndef @main(%x: Tensor[(2), float32]) { exp(%x) }')
    )
    assert ComputeInFloat32()(module) is module


def test_a_built_network_rounds_each_result() -> None:
    module = half_module("nn.softmax(nn.dense(exp(%x), %w))")
    x, w, b, c = inputs()
    x = np.clip(x, -3, 3)
    found = np.asarray(build(module, threads=1, accuracy=Accuracy.EXACT)(x, w, b, c))
    assert found.dtype == np.float16
    np.testing.assert_allclose(found, interpret(module, x, w, b, c), rtol=2e-3, atol=1e-6)
