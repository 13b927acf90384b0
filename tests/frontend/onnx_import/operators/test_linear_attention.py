"""LinearAttention: recurrences over tokens, of ONNX and of com.microsoft."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

from relay_tune.building.build import build
from relay_tune.errors import ModelError, UnsupportedOperatorError
from relay_tune.frontend.onnx_import.from_onnx import from_onnx

Check = Callable[..., None]
NodeModel = Callable[..., onnx.ModelProto]
SIZE, WIDTH = 4, 3


def floats(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


def tokens(
    count: int, heads: tuple[int, int], rule: str, *, of_each_key: bool = False
) -> tuple[np.ndarray | None, ...]:
    """query, key, value, past_state, decay, beta of two examples."""
    queries, own = heads
    decay = -np.abs(floats(2, count, own * (SIZE if of_each_key else 1)))
    rate = 1 / (1 + np.exp(-floats(2, count, own)))
    return (
        floats(2, count, queries * SIZE),
        floats(2, count, own * SIZE) * 0.5,
        floats(2, count, own * WIDTH),
        floats(2, own, SIZE, WIDTH),
        decay if "gated" in rule else None,
        rate.astype(np.float32) if "delta" in rule else None,
    )


def options(heads: tuple[int, int], rule: str) -> dict[str, Any]:
    return {"q_num_heads": heads[0], "kv_num_heads": heads[1], "update_rule": rule, "outputs": 2}


@pytest.mark.parametrize("rule", ["linear", "gated", "delta", "gated_delta"])
def test_rules_of_com_microsoft(check_node: Check, rule: str) -> None:
    check_node(
        "LinearAttention",
        *tokens(3, (4, 2), rule, of_each_key=rule == "gated"),
        domain="com.microsoft",
        against="onnxruntime",
        native=True,
        **options((4, 2), rule),
    )


def test_of_the_standard_and_without_a_past(check_node: Check) -> None:
    query, key, value, _, decay, rate = tokens(2, (2, 2), "gated_delta")
    inputs = (query, key, value, None, decay, rate)
    check_node(
        "LinearAttention",
        *inputs,
        opset=27,
        against="onnxruntime",
        native=True,
        **options((2, 2), "gated_delta"),
    )


def test_more_heads_of_keys_than_of_queries(check_node: Check) -> None:
    check_node(
        "LinearAttention",
        *tokens(2, (2, 4), "linear"),
        domain="com.microsoft",
        against="onnxruntime",
        **options((2, 4), "linear"),
    )


@pytest.mark.parametrize("rule", ["gated", "gated_delta"])
def test_one_program_serves_prompts_and_steps_of_a_decoder(
    node_model: NodeModel, rule: str
) -> None:
    inputs = tokens(3, (4, 2), rule)
    domain = {"domain": "com.microsoft", **options((4, 2), rule)}
    model = node_model("LinearAttention", inputs, **domain)
    for value in model.graph.input:
        dims = value.type.tensor_type.shape.dim
        dims[0].dim_param = f"batch of {value.name}"
        if len(dims) == 3:
            dims[1].dim_param = f"length of {value.name}"
    program = build(from_onnx(model), threads=1)
    session = onnxruntime.InferenceSession(model.SerializeToString())
    for count in (1, 2, 9):
        given = tokens(count, (4, 2), rule)
        feeds = {f"x{n}": each for n, each in enumerate(given) if each is not None}
        for found, wanted in zip(program.run(feeds), session.run(None, feeds), strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


def test_short_floats_keep_a_state_of_their_own(check_node: Check) -> None:
    inputs = tokens(3, (2, 2), "delta")
    short = [None if each is None else each.astype(np.float16) for each in inputs]
    check_node(
        "LinearAttention",
        *short,
        domain="com.microsoft",
        against="onnxruntime",
        rtol=2e-3,
        **options((2, 2), "delta"),
    )


def test_what_is_refused(node_model: NodeModel) -> None:
    inputs = tokens(2, (2, 2), "linear")
    given = {"domain": "com.microsoft", **options((2, 2), "linear")}
    with pytest.raises(UnsupportedOperatorError, match="state_window"):
        from_onnx(node_model("LinearAttention", inputs, **given, state_window=2))
    with pytest.raises(ModelError, match="input decay"):
        from_onnx(node_model("LinearAttention", inputs, **{**given, "update_rule": "gated"}))
    with pytest.raises(ModelError, match="unknown value 'other'"):
        from_onnx(node_model("LinearAttention", inputs, **{**given, "update_rule": "other"}))
