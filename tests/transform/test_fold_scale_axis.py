"""Scales around convolutions and products move into their weights."""

from typing import Any

import numpy as np
import pytest

from relay_tune.ir.parser.parse import parse
from relay_tune.ir.structural import structural_equal
from relay_tune.runtime.interpreter.interpret import interpret
from relay_tune.transform.bind_parameters import BindParameters
from relay_tune.transform.fold_constants import FoldConstants
from relay_tune.transform.fold_scale_axis import FoldScaleAxis
from relay_tune.typing.infer import infer_types

IMAGE = "%x: Tensor[(1, 4, 6, 6), float32]"
W = "%w: Tensor[(4, 4, 3, 3), float32]"
S = "%s: Tensor[(4, 1, 1), float32]"
B = "%b: Tensor[(4, 1, 1), float32]"
CONV = "nn.conv2d(%x, %w, padding=[1, 1])"


@pytest.mark.parametrize(
    ("text", "weights", "remaining"),
    [
        (f"({IMAGE}, {W}, {S}) {{ multiply({CONV}, %s) }}", "ws", ["nn.conv2d"]),
        (
            f"({IMAGE}, {W}, {S}, {B}) {{ multiply(add({CONV}, %b), %s) }}",
            "wsb",
            ["add", "nn.conv2d"],
        ),
        (
            f"({IMAGE}, {W}, {S}) {{ multiply(nn.relu({CONV}), %s) }}",
            "ws",
            ["nn.conv2d", "nn.relu"],
        ),
        (
            f"({IMAGE}, {W}, {S}) {{ {CONV.replace('%x', 'multiply(%x, %s)')} }}",
            "ws",
            ["nn.conv2d"],
        ),
        (
            "(%x: Tensor[(2, 3), float32], %w: Tensor[(4, 3), float32], "
            "%s: Tensor[(4,), float32]) { multiply(nn.dense(%x, %w), %s) }",
            "ws",
            ["nn.dense"],
        ),
        (
            f"({IMAGE}, %w: Tensor[(4, 1, 3, 3), float32], {S}) "
            "{ multiply(nn.conv2d(%x, %w, groups=4), %s) }",
            "ws",
            ["nn.conv2d"],
        ),
        (
            "(%x: Tensor[(1, 6, 6, 4), float32], %w: Tensor[(3, 3, 4, 2), float32], "
            "%s: Tensor[(2,), float32]) { multiply(nn.conv2d(%x, %w, "
            'data_layout="NHWC", kernel_layout="HWIO"), %s) }',
            "ws",
            ["nn.conv2d"],
        ),
    ],
)
def test_scale_folds_into_the_weight(
    text: str, weights: str, remaining: list[str], typed: Any, calls: Any, assert_same_meaning: Any
) -> None:
    before = typed(text, *weights)
    after = FoldScaleAxis()(before)
    assert calls(after) == remaining
    assert_same_meaning(before, after)


@pytest.mark.parametrize(
    ("text", "weights"),
    [
        (f"({IMAGE}, {W}, {S}) {{ %0 = {CONV}; add(multiply(%0, %s), %0) }}", "ws"),
        (f"({IMAGE}, {W}, {S}) {{ multiply({CONV}, %s) }}", "s"),
        (f"({IMAGE}, {W}, %s: Tensor[(6,), float32]) {{ multiply({CONV}, %s) }}", "ws"),
        (f"({IMAGE}, {W}, {S}) {{ multiply(tanh({CONV}), %s) }}", "ws"),
    ],
)
def test_scale_that_cannot_fold_stays(text: str, weights: str, typed: Any) -> None:
    before = typed(text, *weights)
    after = FoldScaleAxis()(before)
    assert structural_equal(before, after)


@pytest.mark.parametrize("sizes", ["(n, 4, h, w)", "(?, 4, ?, ?)"])
def test_scales_of_dynamic_images_fold(sizes: str, typed: Any, calls: Any) -> None:
    image = f"%x: Tensor[{sizes}, float32]"
    text = f"({image}, {W}, {S}, {B}) {{ multiply(add({CONV}, %b), %s) }}"
    before = typed(text, "w", "s", "b")
    after = FoldScaleAxis()(before)
    assert calls(after) == ["add", "nn.conv2d"]
    x = np.random.default_rng(0).standard_normal((2, 4, 3, 5)).astype("float32")
    found, expected = (np.asarray(interpret(module, x)) for module in (after, before))
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


def test_scales_that_make_weights_infinite_stay() -> None:
    text = f"({IMAGE}, {W}) {{ multiply({CONV}, 1e30f) }}"
    module = infer_types(parse(f'#[version = "0.0.5"]\ndef @main{text}'))
    weights = np.full((4, 4, 3, 3), 1e10, "float32")
    bound = infer_types(BindParameters({"w": weights})(module))
    assert FoldScaleAxis()(bound) is bound


@pytest.mark.parametrize(
    ("parameters", "body"),
    [
        (
            "%x: Tensor[(32, 8), float32], %w: Tensor[(4, 8), float32], %s: Tensor[(8), float32]",
            "nn.dense(%x * %s, %w)",
        ),
        (
            "%x: Tensor[(32, 8), float32], %w: Tensor[(8, 4), float32], "
            "%s: Tensor[(1, 8), float32]",
            "nn.matmul(%s * %x, %w)",
        ),
        (
            "%x: Tensor[(1, 8, 9, 9), float32], %w: Tensor[(4, 8, 1, 1), float32], "
            "%s: Tensor[(8, 1, 1), float32]",
            "nn.conv2d(%x * %s, %w)",
        ),
    ],
)
def test_small_weights_that_arrive_are_scaled(
    typed: Any, assert_same_meaning: Any, parameters: str, body: str
) -> None:
    before = typed(f"({parameters}) {{ {body} }}")
    after = FoldScaleAxis()(before)
    assert after is not before and "multiply(%x" not in after.astext()
    assert_same_meaning(before, after)


@pytest.mark.parametrize(
    ("parameters", "body"),
    [
        (
            "%x: Tensor[(4, 8), float32], %w: Tensor[(4, 8), float32], %s: Tensor[(8), float32]",
            "nn.dense(%x * %s, %w)",
        ),
        (
            "%x: Tensor[(32, 8), float32], %w: Tensor[(4, 8), float32], %s: Tensor[(8), float32]",
            "nn.dense(tanh(%x) * %s, %w)",
        ),
        (
            "%x: Tensor[(32, 8), float32], %w: Tensor[(4, 8), float32], %s: Tensor[(4), float32]",
            "nn.dense(%x, %w) * %s",
        ),
        (
            "%x: Tensor[(1, 8, 9, 9), float32], %w: Tensor[(4, 8, 1, 1), float32], "
            "%s: Tensor[(8, 1, 1), float32]",
            "nn.conv2d(%x * %s, %w, padding=[1, 1])",
        ),
    ],
)
def test_weights_that_arrive_stay_where_nothing_is_saved(
    typed: Any, parameters: str, body: str
) -> None:
    before = typed(f"({parameters}) {{ {body} }}")
    assert FoldScaleAxis()(before) is before


@pytest.mark.parametrize(
    "body",
    [
        "nn.batch_matmul(%x * %s, %w)",
        "nn.batch_matmul(%x, %w) * %t",
        "nn.batch_matmul(%x * %s, transpose(%w, axes=[0, 2, 1]), transpose_b=False)",
    ],
)
def test_scales_of_batches_of_products(typed: Any, assert_same_meaning: Any, body: str) -> None:
    parameters = (
        "%x: Tensor[(2, 5, 8), float32], %w: Tensor[(2, 4, 8), float32], "
        "%s: Tensor[(8), float32], %t: Tensor[(4), float32]"
    )
    before = FoldConstants()(typed(f"({parameters}) {{ {body} }}", "w", "s", "t"))
    after = FoldScaleAxis()(before)
    assert "multiply" not in after.astext()
    assert_same_meaning(before, after)
