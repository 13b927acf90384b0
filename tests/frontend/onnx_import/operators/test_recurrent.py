"""Recurrent networks against onnxruntime: directions, states, lengths, peepholes, activations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

Check = Callable[..., None]

TIME, BATCH, FEATURES, HIDDEN = 4, 3, 5, 2
GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
RANDOM = np.random.default_rng(11)


def floats(*shape: int) -> np.ndarray:
    return RANDOM.standard_normal(shape).astype(np.float32)


def inputs_of(operator: str, directions: int, lengths: Sequence[int]) -> list[np.ndarray | None]:
    width = GATES[operator] * HIDDEN
    inputs: list[np.ndarray | None] = [
        floats(TIME, BATCH, FEATURES),
        floats(directions, width, FEATURES),
        floats(directions, width, HIDDEN),
        floats(directions, 2 * width),
        np.array(lengths, np.int32) if lengths else None,
        floats(directions, BATCH, HIDDEN),
    ]
    if operator == "LSTM":
        inputs += [floats(directions, BATCH, HIDDEN), floats(directions, 3 * HIDDEN)]
    return inputs


def check_recurrent(
    check_node: Check,
    operator: str,
    direction: str,
    lengths: Sequence[int] = (),
    **attributes: Any,
) -> None:
    directions = 2 if direction == "bidirectional" else 1
    check_node(
        operator,
        *inputs_of(operator, directions, lengths),
        outputs=3 if operator == "LSTM" else 2,
        opset=14,
        hidden_size=HIDDEN,
        direction=direction,
        against="onnxruntime",
        rtol=1e-3,
        **attributes,
    )


@pytest.mark.parametrize("lengths", [(), (4, 2, 3)])
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("operator", ["RNN", "GRU", "LSTM"])
def test_directions_and_lengths(
    check_node: Check, operator: str, direction: str, lengths: Sequence[int]
) -> None:
    check_recurrent(check_node, operator, direction, lengths)


@pytest.mark.parametrize("direction", ["forward", "reverse"])
@pytest.mark.parametrize("operator", ["RNN", "GRU", "LSTM"])
def test_rows_without_a_step_end_in_zeros(check_node: Check, operator: str, direction: str) -> None:
    check_recurrent(check_node, operator, direction, lengths=(4, 0, 3))


def test_reset_gate_after_the_product(check_node: Check) -> None:
    check_recurrent(check_node, "GRU", "bidirectional", linear_before_reset=1)


def test_coupled_gates(check_node: Check) -> None:
    check_recurrent(check_node, "LSTM", "forward", input_forget=1)


@pytest.mark.parametrize("operator", ["RNN", "GRU"])
def test_clipped_arguments(check_node: Check, operator: str) -> None:
    check_recurrent(check_node, operator, "forward", clip=0.3)


def test_activations_with_parameters(check_node: Check) -> None:
    check_recurrent(
        check_node,
        "LSTM",
        "forward",
        activations=["HardSigmoid", "Softsign", "ScaledTanh"],
        activation_alpha=[0.3, 1.2],
        activation_beta=[0.4, 0.7],
    )
