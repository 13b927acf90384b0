"""Weights in fewer bits: what is stored, how near it is, and what stays."""

from typing import Any

import numpy as np
import pytest

import relay_tune as rt
from relay_tune.ir.expr import Constant
from relay_tune.ir.traversal import post_order
from relay_tune.transform.pipeline_text import parse_pipeline
from relay_tune.transform.store_weights import StoreWeights

X = "%x: Tensor[(3, 40), float32]"
ERRORS = {"int8": 0.01, "int4": 0.12, "bfloat16": 0.005}


def constants(module: Any) -> list[tuple[str, tuple[int, ...]]]:
    """The types of the constants of @main that are no scalars, sorted."""
    nodes = [each for each in post_order(module.main) if isinstance(each, Constant)]
    return sorted((n.data.dtype.name, n.data.shape) for n in nodes if n.data.ndim)


@pytest.mark.parametrize("kind", ERRORS)
@pytest.mark.parametrize(
    "body",
    [
        "nn.dense(%x, %w)",
        "nn.matmul(%x, transpose(%w))",
        "nn.matmul(%x, %w, transpose_b=True)",
    ],
)
def test_products(typed: Any, kind: str, body: str) -> None:
    before = typed(f"({X}, %w: Tensor[(33, 40), float32]) {{ {body} }}", "w")
    after = rt.infer_types(StoreWeights(kind, 16)(before))
    rows = {
        "int8": [("float16", (33, 3)), ("int8", (33, 40))],
        "int4": [("float16", (33, 3)), ("uint8", (33, 20))],
        "bfloat16": [("bfloat16", (33, 40))],
    }
    assert constants(after) == rows[kind]
    data = np.random.default_rng(3).standard_normal((3, 40)).astype(np.float32)
    wanted = rt.interpret(before, data)
    error = np.abs(np.asarray(rt.interpret(after, data)) - wanted).max()
    assert 0 < error < ERRORS[kind] * np.abs(wanted).max()
    np.testing.assert_allclose(
        rt.build(after, threads=1)(data), rt.interpret(after, data), rtol=1e-4, atol=1e-4
    )


def test_columns_become_rows(typed: Any) -> None:
    before = typed(f"({X}, %w: Tensor[(40, 64), float32]) {{ nn.matmul(%x, %w) }}", "w")
    after = rt.infer_types(StoreWeights("int8")(before))
    assert constants(after) == [("float16", (64, 2)), ("int8", (64, 40))]
    data = np.random.default_rng(3).standard_normal((3, 40)).astype(np.float32)
    wanted = rt.interpret(before, data)
    np.testing.assert_allclose(rt.interpret(after, data), wanted, atol=0.02 * np.abs(wanted).max())


def test_a_table_of_a_lookup_and_a_product_is_stored_once(typed: Any, calls: Any) -> None:
    text = """(%i: Tensor[(2,), int64], %w: Tensor[(50, 64), float32]) {
        nn.matmul(take(%w, %i, axis=0), transpose(%w)) }"""
    after = StoreWeights("int4")(typed(text, "w"))
    assert calls(after) == ["nn.matmul", "qnn.dequantize_blocks", "take"]


@pytest.mark.parametrize(
    "text",
    [
        f"({X}, %w: Tensor[(40, 40), float32]) {{ add(nn.dense(%x, %w), nn.dense(%w, %w)) }}",
        f"({X}, %w: Tensor[(20, 40), float32]) {{ nn.dense(%x, %w) }}",
        f"({X}, %w: Tensor[(40, 40), float32]) {{ nn.matmul(%x, exp(%w)) }}",
        "(%x: Tensor[(3, 8), float32], %w: Tensor[(200, 8), float32]) { nn.dense(%x, %w) }",
    ],
)
def test_other_weights_stay(typed: Any, text: str) -> None:
    if "add" in text:
        text = text.replace("(3, 40)", "(40, 40)")
    module = typed(text, "w")
    assert constants(StoreWeights()(module)) == constants(module)


@pytest.mark.parametrize("number", [np.nan, np.inf, 1e9, 1e-9])
def test_weights_that_scales_do_not_fit_stay(typed: Any, number: float) -> None:
    text = f"({X}, %w: Tensor[(40, 40), float32]) {{ nn.dense(%x, %w) }}"
    module = typed(text, "w")
    (weight,) = (n for n in post_order(module.main) if isinstance(n, Constant))
    weight.data[0] = number
    for kind in ("int8", "int4"):
        assert constants(StoreWeights(kind)(module)) == [("float32", (40, 40))]


def test_zeros_stay_zeros(typed: Any) -> None:
    module = typed(f"({X}, %w: Tensor[(40, 40), float32]) {{ nn.dense(%x, %w) }}", "w")
    (weight,) = (n for n in post_order(module.main) if isinstance(n, Constant))
    weight.data[1] = 0
    found = rt.interpret(StoreWeights("int4")(module), np.ones((3, 40), np.float32))
    assert not np.asarray(found)[:, 1].any()


def test_as_text() -> None:
    assert parse_pipeline("weights{type=int4,block=64}").passes == (StoreWeights("int4", 64),)
    with pytest.raises(rt.RelayError, match="stored as 'int3'"):
        StoreWeights("int3")
    with pytest.raises(rt.RelayError):
        StoreWeights("int8", 0)
