"""Operators on as many rows as the elements of an input choose."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import helper

from relay_tune.runtime.interpreter.interpret import interpret
from tests.frontend.onnx_import.dynamic_models import (
    BOOL,
    FLOAT,
    check,
    floats,
    ints,
    model_of,
    node,
)


def kept_rows(*nodes: onnx.NodeProto, rank: int = 2, **weights: np.ndarray) -> onnx.ModelProto:
    """Nodes on `kept`: rows of x that a value of the run chooses, so that their count is `?`."""
    chosen = node("Compress", ["x", "chosen"], ["kept"], axis=rank - 2)
    inputs = {"x": (FLOAT, [1] * (rank - 2) + ["n", 4]), "chosen": (BOOL, ["n"])}
    return model_of([chosen, *nodes], inputs, weights)


def check_kept_rows(model: onnx.ModelProto, rank: int = 2) -> None:
    feeds = []
    for chosen in ([True, False, True, True], [False, True, True]):
        rows = floats(*[1] * (rank - 2), len(chosen), 4)
        feeds.append({"x": rows, "chosen": np.array(chosen)})
    check(model, feeds, interpret)
    check(model, feeds)


def test_diagonal_as_large_as_chosen_rows() -> None:
    check_kept_rows(kept_rows(node("EyeLike", ["kept"], ["y"], k=1)))


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect"])
def test_padding_of_chosen_rows(mode: str) -> None:
    layer = node("Pad", ["kept", "pads"], ["y"], mode=mode)
    check_kept_rows(kept_rows(layer, pads=ints(1, 0, 1, 0)))


@pytest.mark.parametrize("mode", ["nearest", "linear"])
@pytest.mark.parametrize("by", ["scales", "sizes"])
def test_resizing_of_chosen_rows(mode: str, by: str) -> None:
    factors = {"scales": np.array([1, 1, 1.5, 1], np.float32), "sizes": ints(1, 1, 5, 4)}
    names = ["kept", "", by] if by == "scales" else ["kept", "", "", by]
    layer = node("Resize", names, ["y"], mode=mode)
    check_kept_rows(kept_rows(layer, rank=4, **{by: factors[by]}), rank=4)


def test_split_of_open_columns_of_chosen_rows() -> None:
    chosen = node("Compress", ["x", "chosen"], ["kept"], axis=0)
    width = node("Shape", ["x"], ["width"], start=1, end=2)
    rest = node("Sub", ["width", "one"], ["rest"])
    sizes = node("Concat", ["one", "rest"], ["sizes"], axis=0)
    split = node("Split", ["kept", "sizes"], ["left", "y"], axis=1)
    inputs = {"x": (FLOAT, ["n", "m"]), "chosen": (BOOL, ["n"])}
    model = model_of([chosen, width, rest, sizes, split], inputs, {"one": ints(1)})
    feeds = [{"x": floats(3, m), "chosen": np.array([True, False, True])} for m in (3, 5)]
    check(model, feeds)


def test_maxima_and_their_indices_of_chosen_examples() -> None:
    chosen = node("Compress", ["x", "chosen"], ["kept"], axis=0)
    pool = node("MaxPool", ["kept"], ["z", "y"], kernel_shape=[2], strides=[2])
    inputs = {"x": (FLOAT, ["n", 2, 6]), "chosen": (BOOL, ["n"])}
    model = model_of([chosen, pool], inputs, outputs=("z", "y"))
    check(model, [{"x": floats(3, 2, 6), "chosen": np.array([True, False, True])}])


@pytest.mark.parametrize("backwards", [0, 1])
def test_scan_of_chosen_rows(backwards: int) -> None:
    row = [helper.make_tensor_value_info(name, FLOAT, [4]) for name in ("s", "r", "t", "u")]
    steps = [node("Add", ["s", "r"], ["t"]), node("Mul", ["t", "r"], ["u"])]
    body = helper.make_graph(steps, "body", row[:2], row[2:])
    scan = node(
        "Scan",
        ["start", "kept"],
        ["last", "y"],
        body=body,
        num_scan_inputs=1,
        scan_input_directions=[backwards],
    )
    check_kept_rows(kept_rows(scan, start=np.ones(4, np.float32)))
