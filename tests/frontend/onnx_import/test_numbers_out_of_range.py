"""Numbers of a run that no element, axis, image or step has: errors at the node, no results."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from relay_tune.building.build import build
from relay_tune.errors import RelayError
from relay_tune.frontend.onnx_import.from_onnx import from_onnx
from tests.frontend.onnx_import.dynamic_models import (
    FLOAT,
    INT,
    Declared,
    check,
    floats,
    ints,
    model_of,
    node,
)

WEIGHTS = {"w": floats(1, 9, 2), "r": floats(1, 9, 3)}
MATRIX: Declared = {"x": (FLOAT, ["n", "m"])}

CASES: dict[str, tuple[Any, Declared, dict[str, np.ndarray], str, list[Any], list[Any]]] = {
    # node, inputs, feeds, the number that is varied, good ones, bad ones
    "axis of a sum": (
        node("ReduceSum", ["x", "a"], ["y"], keepdims=1),
        {**MATRIX, "a": (INT, [1])},
        {"x": floats(2, 3)},
        "a",
        [[0], [-1]],
        [[2], [-3]],
    ),
    "axis of running sums": (
        node("CumSum", ["x", "a"], ["y"]),
        {**MATRIX, "a": (INT, [])},
        {"x": floats(2, 3)},
        "a",
        [1, -2],
        [2, -3],
    ),
    "axis of a slice": (
        node("Slice", ["x", "s", "e", "a"], ["y"]),
        {**MATRIX, "s": (INT, [1]), "e": (INT, [1]), "a": (INT, [1])},
        {"x": floats(2, 3), "s": ints(0), "e": ints(1)},
        "a",
        [[1], [-2]],
        [[2], [-3]],
    ),
    "axis that goes": (
        node("Squeeze", ["x", "a"], ["y"]),
        {"x": (FLOAT, ["n", "m"]), "a": (INT, [1])},
        {"x": floats(2, 1)},
        "a",
        [[1], [-1]],
        [[2], [-3]],
    ),
    "image of a region": (
        node("RoiAlign", ["x", "regions", "b"], ["y"], output_width=2, sampling_ratio=1),
        {"x": (FLOAT, ["n", 2, 4, 4]), "regions": (FLOAT, [2, 4]), "b": (INT, [2])},
        {"x": floats(2, 2, 4, 4), "regions": np.float32([[0, 0, 2, 2], [1, 1, 3, 3]])},
        "b",
        [[0, 1], [1, 0]],
        [[0, 2], [-1, 0]],
    ),
    "steps that are reversed": (
        node("ReverseSequence", ["x", "l"], ["y"]),
        {"x": (FLOAT, ["t", "n"]), "l": (INT, ["n"])},
        {"x": floats(3, 2)},
        "l",
        [[3, 1], [1, 2]],
        [[4, 1], [1, -1]],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_what_is_out_of_range_is_an_error_at_the_node(case: str) -> None:
    content, inputs, feeds, varied, good, bad = CASES[case]
    model = model_of([content], inputs)
    check(model, [{**feeds, varied: np.array(value)} for value in good])
    compiled = build(from_onnx(model))
    for value in bad:
        with pytest.raises(RelayError, match=f"node 'y' .{content.op_type}. is out of range"):
            compiled.run(None, {**feeds, varied: np.array(value)})


@pytest.mark.parametrize("steps", [3, "t"])
def test_more_steps_than_a_sequence_has(steps: int | str) -> None:
    content = node("GRU", ["x", "w", "r", "", "l"], ["y", "h"], hidden_size=3)
    lengths: Declared = {"x": (FLOAT, [steps, "n", 2]), "l": (6, ["n"])}
    model = model_of([content], lengths, WEIGHTS, ["y", "h"])
    x = floats(3, 2, 2)
    good = [np.array(value, np.int32) for value in ([3, 1], [0, 2])]
    check(model, [{"x": x, "l": each} for each in good])
    compiled = build(from_onnx(model))
    for value in ([4, 1], [-1, 1]):
        with pytest.raises(RelayError, match="GRU. is out of range"):
            compiled.run(None, {"x": x, "l": np.array(value, np.int32)})
