from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from relay_tune.building.build import build
from relay_tune.errors import ModelError, RelayError
from relay_tune.frontend.onnx_import.from_onnx import from_onnx

Check = Callable[..., None]
NodeModel = Callable[..., object]


def floats(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


def ints(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


@pytest.mark.parametrize(
    ("operator", "axes", "keep"),
    [
        ("ReduceSum", (2, 0), 1),
        ("ReduceMax", (-2,), 0),
        ("ReduceLogSumExp", (0, 1, 2), 0),
        ("ReduceMean", (1, -1), 1),
    ],
)
def test_reductions(check_node: Check, operator: str, axes: tuple[int, ...], keep: int) -> None:
    check_node(operator, floats(3, 4, 5), ints(*axes), keepdims=keep, native=True)


@pytest.mark.parametrize("noop", [0, 1])
def test_no_axes(check_node: Check, noop: int) -> None:
    check_node("ReduceSumSquare", floats(3, 4), ints(), noop_with_empty_axes=noop, native=True)


def test_reductions_of_nothing(check_node: Check) -> None:
    check_node("ReduceProd", floats(2, 0, 3), ints(1), keepdims=0, native=True)


def test_running_sums(check_node: Check) -> None:
    for axis in (0, -1):
        check_node("CumSum", floats(3, 4, 2), np.array(axis), reverse=1, exclusive=1, native=True)


@pytest.mark.parametrize(
    ("operator", "shape", "vector"),
    [
        ("Squeeze", (3, 1, 4, 1), (-1, 1)),
        ("Unsqueeze", (3, 4), (2, 0)),
        ("Unsqueeze", (), (0, 1)),
        ("Reshape", (2, 6), (3, -1, 2)),
        ("Tile", (2, 3), (2, 1)),
    ],
)
def test_shapes(
    check_node: Check, operator: str, shape: tuple[int, ...], vector: tuple[int, ...]
) -> None:
    check_node(operator, floats(*shape), ints(*vector), native=True)


def test_split(check_node: Check) -> None:
    check_node("Split", floats(6, 2), ints(1, 0, 5), axis=0, outputs=3, native=True)


def test_one_hot(check_node: Check) -> None:
    values = np.array([0.5, 2.0], np.float32)
    for axis in (-1, 0):
        check_node("OneHot", ints(1, -1, 3), np.array(4), values, axis=axis, native=True)


@pytest.mark.parametrize("operator", ["HannWindow", "HammingWindow", "BlackmanWindow"])
def test_windows(check_node: Check, operator: str) -> None:
    for periodic in (0, 1):
        check_node(operator, np.array(9), periodic=periodic, native=True)
        check_node(operator, constants={0: np.array(9)}, periodic=periodic)


def test_sizes_that_do_not_fit_end_the_call(node_model: NodeModel) -> None:
    model = build(from_onnx(node_model("Squeeze", [floats(3, 1), ints(1)])))
    np.testing.assert_array_equal(model(floats(3, 1), ints(1)), floats(3, 1)[:, 0])
    with pytest.raises(RelayError):
        model(floats(3, 1), ints(0))


def test_the_rank_of_the_result_has_to_be_known(node_model: NodeModel) -> None:
    model = node_model("Reshape", [floats(2, 6), ints(3, 4)])
    dim = model.graph.input[1].type.tensor_type.shape.dim[0]
    dim.Clear()
    dim.dim_param = "n"
    with pytest.raises(ModelError, match=r"rank of the result .* shape \(n,\)"):
        from_onnx(model)
