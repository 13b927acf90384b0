"""Decision trees as tables, and what they give: one step of all trees at a time.

    before:  TreeEnsembleRegressor(x)        trees of depth 2
    after:   position = roots                                       [n, trees]
             position = where(x[feature[position]] <= split[position], yes[position], no[position])
             position = where(x[feature[position]] <= split[position], yes[position], no[position])
             sum(weights[position], axis=1)

A leaf leads to itself, so that examples that arrive early wait there. Each step is a kernel: the
next one reads a position several times, and would compute it as often.
"""

from __future__ import annotations

import numpy as np

from relay_tune.errors import ModelError, UnsupportedOperatorError
from relay_tune.frontend.onnx_import.build import Builder, dtype_of, shape_of, static_dim
from relay_tune.frontend.onnx_import.open_sizes import positions
from relay_tune.frontend.onnx_import.operators.activation import scaled
from relay_tune.frontend.onnx_import.operators.elementwise import cast_to
from relay_tune.ir.expr import Expr
from relay_tune.quick_dataclass import dataclass

MAXIMUM_DEPTH = 64
MAXIMUM_WEIGHTS = 1 << 26

COMPARISONS = {
    "BRANCH_LEQ": "less_equal",
    "BRANCH_LT": "less",
    "BRANCH_GTE": "greater_equal",
    "BRANCH_GT": "greater",
    "BRANCH_EQ": "equal",
    "BRANCH_NEQ": "not_equal",
}
"""The operator of each mode of a node."""


@dataclass(frozen=True, eq=False)
class Forest:
    """Trees as tables with a row for each node.

    Attributes:
        roots: the first node of each tree.
        features: which feature a node looks at.
        splits: what the feature is compared with.
        modes: how, a key of COMPARISONS; whatever for leaves.
        yes: the node that follows where the comparison holds; a leaf itself for leaves.
        no: the node that follows where it does not.
        missing: whether it holds for NaN.
        weights: what a leaf adds to each target, [nodes, targets].
        is_leaf: which nodes are leaves.
    """

    roots: np.ndarray
    features: np.ndarray
    splits: np.ndarray
    modes: tuple[str, ...]
    yes: np.ndarray
    no: np.ndarray
    missing: np.ndarray
    weights: np.ndarray
    is_leaf: np.ndarray


def depth_of(forest: Forest) -> int:
    """The steps from a root to the farthest leaf; raises ModelError for trees with circles."""
    depth, level = 0, np.unique(forest.roots)
    while not forest.is_leaf[level].all():
        inner = level[~forest.is_leaf[level]]
        level = np.unique(np.concatenate([forest.yes[inner], forest.no[inner]]))
        depth += 1
        if depth > len(forest.features):
            raise ModelError("a tree has a circle.")
    if depth > MAXIMUM_DEPTH:
        raise UnsupportedOperatorError(
            f"a tree is {depth} nodes deep; the limit is {MAXIMUM_DEPTH}.",
            remedy="Fit the model with a smaller max_depth.",
        )
    return depth


def leaves(build: Builder, data: Expr, forest: Forest) -> Expr:
    """The leaf of each tree at which each example [n, features] arrives, int32 [n, trees]."""
    width = static_dim(shape_of(data)[1])
    if forest.features.size and forest.features.max() >= width:
        raise ModelError(f"a tree looks at feature {forest.features.max()} of {width}.")
    flat = build.call("reshape", data, newshape=(-1,))
    row = build.call("expand_dims", positions(build, data, 0), axis=1)
    start = scaled(build, row, width)
    none = build.call("zeros_like", cast_to(build, row, "int32"))
    position: Expr = build.call("add", none, build.constant(forest.roots.astype(np.int32)))
    for _ in range(depth_of(forest)):
        position = build.call("copy", _step(build, (flat, start), position, forest))
    return position


def _step(build: Builder, data: tuple[Expr, Expr], position: Expr, forest: Forest) -> Expr:
    flat, start = data
    feature = _at(build, forest.features.astype(np.int32), position)
    index = build.call("add", start, cast_to(build, feature, "int64"))
    value = build.call("take", flat, index, axis=0, mode="clip")
    split = _at(build, forest.splits.astype(dtype_of(flat)), position)
    holds = _compared(build, (value, split), position, forest)
    if forest.missing[~forest.is_leaf].any():
        tracked = _at(build, forest.missing.astype(bool), position)
        both = build.call("logical_and", build.call("isnan", value), tracked)
        holds = build.call("logical_or", holds, both)
    following = (_at(build, each.astype(np.int32), position) for each in (forest.yes, forest.no))
    return build.call("where", holds, *following)


def _compared(build: Builder, sides: tuple[Expr, Expr], position: Expr, forest: Forest) -> Expr:
    """Whether the comparison of each node holds."""
    used = sorted({m for m, leaf in zip(forest.modes, forest.is_leaf, strict=True) if not leaf})
    unknown = [mode for mode in used if mode not in COMPARISONS]
    if unknown:
        raise ModelError(f"a node has the unknown mode {unknown[0]!r}.")
    result = build.call(COMPARISONS[used[0]], *sides)
    for mode in used[1:]:
        has_mode = _at(build, np.array([each == mode for each in forest.modes]), position)
        result = build.call("where", has_mode, build.call(COMPARISONS[mode], *sides), result)
    return result


def _at(build: Builder, table: np.ndarray, position: Expr) -> Expr:
    return build.call("take", build.constant(table), position, axis=0, mode="clip")


def reached(build: Builder, position: Expr, mentioned: np.ndarray) -> Expr:
    """Which targets leaves mention at all, bool [n, targets], by a table of who does."""
    return build.call("any", _at(build, mentioned, position), axis=(1,))


def aggregated(build: Builder, position: Expr, forest: Forest, function: str) -> Expr:
    """Sum of the leaves of all trees, [n, targets]."""
    if len(forest.features) * forest.weights.shape[1] > MAXIMUM_WEIGHTS:
        raise UnsupportedOperatorError("the leaves of the trees have too many weights.")
    given = build.call("take", build.constant(forest.weights), position, axis=0, mode="clip")
    match function:
        case "SUM":
            return build.call("sum", given, axis=(1,))
        case "AVERAGE":
            return scaled(build, build.call("sum", given, axis=(1,)), 1 / len(forest.roots))
        case "MIN" | "MAX":
            return build.call(function.lower(), given, axis=(1,))
        case _:
            raise ModelError(f"the aggregate function {function!r} is not known.")
