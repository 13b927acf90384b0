"""Ensembles of decision trees against onnxruntime, and TreeEnsemble against ONNX's examples."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import relay_tune as rt
from relay_tune.errors import ModelError, UnsupportedOperatorError
from relay_tune.frontend.onnx_import.from_onnx import from_onnx

Check = Callable[..., None]

NODE_FIELDS = (
    *("treeids", "nodeids", "featureids", "values", "modes", "truenodeids", "falsenodeids"),
    "missing_value_tracks_true",
)
MODES = ["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT"]


def examples() -> np.ndarray:
    data = np.random.default_rng(2).standard_normal((40, 4)).astype(np.float32)
    data[3, 1] = np.nan
    return data


class Grown:
    """Random trees; leaves give something to all targets, or to one each."""

    def __init__(self, seed: int, targets: int, *, one_each: bool = False, mixed: bool = False):
        self.random = np.random.default_rng(seed)
        self.targets, self.one_each, self.mixed = targets, one_each, mixed
        self.nodes: dict[str, list[Any]] = {name: [] for name in NODE_FIELDS}
        self.leaves: dict[str, list[Any]] = {
            name: [] for name in ("treeids", "nodeids", "ids", "weights")
        }
        for tree in range(6):
            self.count = 0
            self._grow(tree, 4)

    def attributes(self, kind: str) -> dict[str, Any]:
        leaves = {f"{kind}_{name}": values for name, values in self.leaves.items()}
        return {f"nodes_{name}": values for name, values in self.nodes.items()} | leaves

    def _grow(self, tree: int, depth: int) -> int:
        number, row = self.count, len(self.nodes["treeids"])
        self.count += 1
        is_leaf = depth == 0 or (depth < 4 and self.random.random() < 0.2)
        mode = MODES[int(self.random.integers(4))] if self.mixed else MODES[0]
        values = (
            *(tree, number, int(self.random.integers(4)), float(self.random.standard_normal() / 2)),
            *("LEAF" if is_leaf else mode, 0, 0, int(self.random.integers(2))),
        )
        for name, value in zip(NODE_FIELDS, values, strict=True):
            self.nodes[name].append(value)
        if is_leaf:
            self._add_leaf(tree, number)
            return number
        for name in ("truenodeids", "falsenodeids"):
            self.nodes[name][row] = self._grow(tree, depth - 1)
        return number

    def _add_leaf(self, tree: int, number: int) -> None:
        every = range(self.targets)
        chosen = [int(self.random.integers(self.targets))] if self.one_each else every
        for target in chosen:
            entry = (tree, number, target, float(self.random.standard_normal()))
            for name, value in zip(self.leaves, entry, strict=True):
                self.leaves[name].append(value)


@pytest.mark.parametrize("function", ["SUM", "AVERAGE", "MIN", "MAX"])
def test_regression(check_classical: Check, function: str) -> None:
    options = {"n_targets": 3, "aggregate_function": function, "base_values": [0.1, 0.2, 0.3]}
    trees = Grown(1, 3, mixed=function == "SUM").attributes("target")
    check_classical("TreeEnsembleRegressor", examples(), **trees, **options)


@pytest.mark.parametrize("transform", ["NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO"])
@pytest.mark.parametrize("one_each", [True, False])
def test_classes(check_classical: Check, transform: str, one_each: bool) -> None:
    trees = Grown(3, 3, one_each=one_each).attributes("class")
    options = {"classlabels_int64s": [5, 6, 9], "post_transform": transform}
    check_classical("TreeEnsembleClassifier", examples(), outputs=2, **trees, **options)


@pytest.mark.parametrize("transform", ["NONE", "LOGISTIC"])
@pytest.mark.parametrize("positive", [True, False])
@pytest.mark.parametrize("base", [None, 0.2])
def test_one_score_for_two_classes(
    check_classical: Check, transform: str, positive: bool, base: float | None
) -> None:
    trees = Grown(4, 1).attributes("class")
    if positive:
        trees["class_weights"] = [abs(each) / 6 for each in trees["class_weights"]]
    options = {} if base is None else {"base_values": [base]}
    options |= {"classlabels_int64s": [5, 6], "post_transform": transform}
    check_classical("TreeEnsembleClassifier", examples(), outputs=2, **trees, **options)


def test_any_number_of_examples() -> None:
    trees = Grown(1, 1).attributes("target")
    node = helper.make_node(
        "TreeEnsembleRegressor", ["x"], ["y"], domain="ai.onnx.ml", n_targets=1, **trees
    )
    graph = helper.make_graph(
        [node],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 1])],
    )
    opsets = [helper.make_opsetid("ai.onnx.ml", 3), helper.make_opsetid("", 18)]
    module = from_onnx(helper.make_model(graph, opset_imports=opsets, ir_version=10))
    model, data = rt.build(module), examples()
    whole = rt.interpret(module, data)
    for rows in (40, 1, 0):
        np.testing.assert_allclose(model(data[:rows]), whole[:rows], rtol=1e-6)


def test_nodes_that_ask_for_a_set(node_model: Callable[..., onnx.ModelProto]) -> None:
    """x0 in {1, 3}: 10, else x1 < 2: 20, else 30."""
    floats = {
        "nodes_splits": np.array([np.nan, 2], np.float32),
        "membership_values": np.array([1, 3, np.nan], np.float32),
        "leaf_weights": np.array([10, 20, 30], np.float32),
        "nodes_modes": np.array([6, 1], np.uint8),
    }
    data = np.array([[1, 5], [2, 1], [3, 0], [4, 9]], np.float32)
    model = node_model(
        "TreeEnsemble",
        [data],
        domain="ai.onnx.ml",
        domain_version=5,
        n_targets=1,
        tree_roots=[0],
        nodes_featureids=[0, 1],
        nodes_truenodeids=[0, 1],
        nodes_trueleafs=[1, 1],
        nodes_falsenodeids=[1, 2],
        nodes_falseleafs=[0, 1],
        leaf_targetids=[0, 0, 0],
        **{name: numpy_helper.from_array(value, name) for name, value in floats.items()},
    )
    result = rt.build(from_onnx(model))(data)
    np.testing.assert_array_equal(result, [[10], [20], [10], [30]])


def test_broken_trees_are_refused(node_model: Callable[..., onnx.ModelProto]) -> None:
    def error(**changes: Any) -> str:
        options = {"domain": "ai.onnx.ml", "domain_version": 3, "n_targets": 1} | trees | changes
        with pytest.raises((ModelError, UnsupportedOperatorError)) as caught:
            from_onnx(node_model("TreeEnsembleRegressor", [examples()], **options))
        return str(caught.value)

    trees = Grown(1, 1).attributes("target")
    count = len(trees["nodes_modes"])
    assert "has no node 999" in error(nodes_truenodeids=[999] * count)
    assert "roots instead of one" in error(nodes_truenodeids=trees["nodes_nodeids"])
    assert "looks at feature 7" in error(nodes_featureids=[7] * count)
    assert "unknown mode" in error(
        nodes_modes=["BRANCH_ODD" if m != "LEAF" else m for m in trees["nodes_modes"]]
    )
