"""Ensembles of decision trees: forests and boosted trees, in all three forms of ONNX."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

import numpy as np

from relay_tune.errors import ModelError, UnsupportedOperatorError
from relay_tune.frontend.onnx_import.build import Builder, dtype_of
from relay_tune.frontend.onnx_import.node import OnnxNode
from relay_tune.frontend.onnx_import.operators.activation import shifted
from relay_tune.frontend.onnx_import.operators.elementwise import cast_to
from relay_tune.frontend.onnx_import.operators.ml.forest import Forest, aggregated, leaves, reached
from relay_tune.frontend.onnx_import.operators.ml.scores import (
    as_rows,
    both_classes,
    chosen_label,
    class_labels,
    label_above,
    transformed,
)
from relay_tune.frontend.onnx_import.operators.parts import part
from relay_tune.frontend.onnx_import.operators.translator import Translator
from relay_tune.ir.expr import Expr
from relay_tune.quick_dataclass import dataclass

_MODES = (
    *("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"),
    "BRANCH_MEMBER",
)
"""By their number in TreeEnsemble."""

_AGGREGATES = ("AVERAGE", "SUM", "MIN", "MAX")
_TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")


def _data(node: OnnxNode, build: Builder) -> Expr:
    given = node.input(0)
    return as_rows(build, given, "float64" if dtype_of(given) == "float64" else "float32")


def translate_regressor(node: OnnxNode, build: Builder) -> Expr:
    """Results of trees for each target."""
    data, count = _data(node, build), node.integer("n_targets", 1)
    forest = _forest(node, "target", count)
    position = leaves(build, data, forest)
    total = aggregated(build, position, forest, node.text("aggregate_function", "SUM"))
    total = _with_base(node, build, total)
    return cast_to(build, transformed(node, build, total), "float32")


def _with_base(node: OnnxNode, build: Builder, total: Expr) -> Expr:
    base = _numbers(node, "base_values")
    if not base.size:
        return total
    return build.call("add", total, build.constant(base, dtype_of(total)))


def translate_classifier(node: OnnxNode, build: Builder) -> list[Expr | None]:
    """The label of the class for which trees give most, and the scores."""
    data, labels = _data(node, build), class_labels(node)
    given = sorted(set(node.integers("class_ids")))
    if len(labels) == 2 and len(given) == 1:
        return _two_classes(node, build, data, labels)
    forest = _forest(node, "class", len(labels))
    position = leaves(build, data, forest)
    total = _with_base(node, build, aggregated(build, position, forest, "SUM"))
    scores = cast_to(build, transformed(node, build, total), "float32")
    mentioned = forest.weights != 0
    if not mentioned[forest.is_leaf].all() and not _numbers(node, "base_values").size:
        lowest = build.like(-np.inf, total)
        total = build.call("where", reached(build, position, mentioned), total, lowest)
    return [chosen_label(build, total, labels), scores]


def _two_classes(
    node: OnnxNode, build: Builder, data: Expr, labels: Sequence[int]
) -> list[Expr | None]:
    """Weights of one class of two only, probabilities where none of them is negative.

    Those of the first class stand for both: the score is that of the second one, and the other is
    what is left. Those of the second class leave nothing to the first.
    """
    kind, base = node.text("post_transform", "NONE"), _numbers(node, "base_values")
    stands_for_both = node.integers("class_ids")[0] == 0
    if base.size > (1 if stands_for_both else 0):
        raise UnsupportedOperatorError(
            f"{base.size} base values where leaves know one class of two are not supported."
        )
    if kind not in ("NONE", "LOGISTIC"):
        raise UnsupportedOperatorError(f"one score of two classes with {kind} is not supported.")
    forest = _forest(node, "class", 1 if stands_for_both else 2)
    total = aggregated(build, leaves(build, data, forest), forest, "SUM")
    if base.size:
        total = build.call("add", total, build.constant(base, dtype_of(total)))
    is_probability = bool((forest.weights >= 0).all())
    second = total if stands_for_both else part(build, total, 1, 1, 2)
    label = label_above(build, second, 0.5 if is_probability else 0.0, labels)
    scores = transformed(node, build, total)
    if stands_for_both:
        opposite = build.call("negative", scores)
        first = shifted(build, opposite, 1) if is_probability or kind == "LOGISTIC" else opposite
        scores = both_classes(build, first, scores)
    return [label, cast_to(build, scores, "float32")]


def _numbers(node: OnnxNode, name: str) -> np.ndarray:
    """An attribute of floats, or the tensor of doubles that may stand in its place."""
    if node.has(f"{name}_as_tensor"):
        return node.tensor(f"{name}_as_tensor")
    return np.array(node.numbers(name, ()), np.float32)


def _forest(node: OnnxNode, kind: str, targets: int) -> Forest:
    """The trees of a regressor (`kind` is target) or of a classifier (class)."""
    trees, ids = (np.array(node.integers(f"nodes_{n}")) for n in ("treeids", "nodeids"))
    position = {key: n for n, key in enumerate(zip(trees.tolist(), ids.tolist(), strict=True))}
    if len(position) != len(trees):
        raise ModelError("two nodes of a tree have one number.")
    modes = node.texts("nodes_modes")
    is_leaf = np.array([mode == "LEAF" for mode in modes])
    own = np.arange(len(trees))
    yes, no = (
        np.array([
            here if leaf else _found(position, (tree, child))
            for here, leaf, tree, child in zip(own, is_leaf, trees.tolist(), children, strict=True)
        ])
        for children in (node.integers("nodes_truenodeids"), node.integers("nodes_falsenodeids"))
    )  # fmt: skip
    missing = node.integers("nodes_missing_value_tracks_true", (0,) * len(trees)) or (0,) * len(own)
    _, first = np.unique(trees, return_index=True)
    return Forest(
        roots=_roots(trees, yes, no, is_leaf, first),
        features=np.array(node.integers("nodes_featureids")),
        splits=_numbers(node, "nodes_values"),
        modes=modes,
        yes=yes,
        no=no,
        missing=np.array(missing),
        weights=_weights(node, kind, targets, position),
        is_leaf=is_leaf,
    )


def _roots(
    trees: np.ndarray, yes: np.ndarray, no: np.ndarray, is_leaf: np.ndarray, first: np.ndarray
) -> np.ndarray:
    """The node of each tree that follows no other."""
    inner = ~is_leaf
    followed = np.zeros(len(trees), bool)
    followed[yes[inner]] = followed[no[inner]] = True
    roots = []
    for tree in trees[np.sort(first)]:
        free = np.flatnonzero((trees == tree) & ~followed)
        if free.size != 1:
            raise ModelError(f"tree {tree} has {free.size} roots instead of one.")
        roots.append(free[0])
    return np.array(roots)


def _found(position: Mapping[tuple[int, int], int], key: tuple[int, int]) -> int:
    if key not in position:
        raise ModelError(f"tree {key[0]} has no node {key[1]}.")
    return position[key]


def _weights(
    node: OnnxNode, kind: str, targets: int, position: Mapping[tuple[int, int], int]
) -> np.ndarray:
    """Weights of a node for each target; several entries of one node add up."""
    weights = _numbers(node, f"{kind}_weights")
    table = np.zeros((len(position), targets), weights.dtype)
    numbers = [node.integers(f"{kind}_{name}") for name in ("treeids", "nodeids", "ids")]
    for tree, number, target, weight in zip(*numbers, weights, strict=True):
        if not 0 <= target < max(targets, 2):
            raise ModelError(f"a leaf has a weight for target {target} of {targets}.")
        table[_found(position, (tree, number)), min(target, targets - 1)] += weight
    return table


@dataclass
class _Nodes:
    """Nodes of a TreeEnsemble, to which leaves and further tests of a set are added."""

    features: list[int]
    splits: list[float]
    modes: list[str]
    missing: list[int]
    yes: list[int] = field(default_factory=list)
    no: list[int] = field(default_factory=list)

    def copy_of(self, number: int, split: float, no: int) -> int:
        """One more test of the feature of a node, for one number; where it leads to."""
        self.features.append(self.features[number])
        self.splits.append(split)
        self.modes.append("BRANCH_EQ")
        self.missing.append(self.missing[number])
        self.yes.append(self.yes[number])
        self.no.append(no)
        return len(self.features) - 1


def translate_ensemble(node: OnnxNode, build: Builder) -> Expr:
    """Trees whose leaves have tables of their own, and whose nodes may ask for a set."""
    data, targets = _data(node, build), node.integer("n_targets", 1)
    nodes, leaf_count = _nodes(node), len(node.integers("leaf_targetids"))
    inner = len(nodes.features)
    leaf_weights = node.tensor("leaf_weights")
    weights = np.zeros((inner + leaf_count, targets), leaf_weights.dtype)
    rows = np.arange(inner, inner + leaf_count)
    weights[rows, np.array(node.integers("leaf_targetids"))] = leaf_weights
    yes, no = (
        np.array([each if each >= 0 else inner - 1 - each for each in side] + rows.tolist())
        for side in (nodes.yes, nodes.no)
    )
    forest = Forest(
        roots=np.array(node.integers("tree_roots")),
        features=np.array(nodes.features + [0] * leaf_count),
        splits=np.array(nodes.splits + [0.0] * leaf_count),
        modes=(*nodes.modes, *("LEAF",) * leaf_count),
        yes=yes,
        no=no,
        missing=np.array(nodes.missing + [0] * leaf_count),
        weights=weights,
        is_leaf=np.arange(inner + leaf_count) >= inner,
    )
    function = _AGGREGATES[node.integer("aggregate_function", 1)]
    total = aggregated(build, leaves(build, data, forest), forest, function)
    if node.integer("post_transform", 0):
        name = _TRANSFORMS[node.integer("post_transform", 0)]
        raise UnsupportedOperatorError(f"TreeEnsemble with {name} is not supported.")
    return total


def _nodes(node: OnnxNode) -> _Nodes:
    """The inner nodes; a leaf n that follows is -1 - n. Sets become chains of equalities."""
    modes = [_MODES[int(each)] for each in node.tensor("nodes_modes")]
    count = len(modes)
    missing = node.integers("nodes_missing_value_tracks_true", ()) or (0,) * count
    nodes = _Nodes(
        list(node.integers("nodes_featureids")),
        node.tensor("nodes_splits").astype(float).tolist(),
        modes,
        list(missing),
    )
    for side, children, are_leaves in (
        (nodes.yes, "nodes_truenodeids", "nodes_trueleafs"),
        (nodes.no, "nodes_falsenodeids", "nodes_falseleafs"),
    ):
        pairs = zip(node.integers(children), node.integers(are_leaves), strict=True)
        side += [-1 - child if leaf else child for child, leaf in pairs]
    _resolve_sets(node, nodes, count)
    return nodes


def _resolve_sets(node: OnnxNode, nodes: _Nodes, count: int) -> None:
    """Turn nodes that ask whether a feature is in a set into chains of equalities."""
    if "BRANCH_MEMBER" not in nodes.modes:
        return
    sets: list[list[float]] = [[]]
    for value in node.tensor("membership_values").astype(float).tolist():
        if np.isnan(value):
            sets.append([])
        else:
            sets[-1].append(value)
    members = iter(sets)
    for number in range(count):
        if nodes.modes[number] != "BRANCH_MEMBER":
            continue
        values = next(members, [])
        if not values:
            raise ModelError("a node asks for an empty set.")
        following = nodes.no[number]
        for value in values[1:]:
            following = nodes.copy_of(number, value, following)
        nodes.modes[number], nodes.splits[number] = "BRANCH_EQ", values[0]
        nodes.no[number] = following


TREES: Mapping[str, Translator] = {
    "TreeEnsembleRegressor": translate_regressor,
    "TreeEnsembleClassifier": translate_classifier,
    "TreeEnsemble": translate_ensemble,
}
