"""Post transforms of scores, and labels of classes, for all classical models."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from relay_tune.errors import ModelError, UnsupportedOperatorError
from relay_tune.frontend.onnx_import.build import Builder, dtype_of, rank_of
from relay_tune.frontend.onnx_import.node import OnnxNode
from relay_tune.frontend.onnx_import.operators.elementwise import cast_to
from relay_tune.ir.expr import Expr

_TINY = 1e-7
"""Scores below it count as none where the post transform is SOFTMAX_ZERO."""


def as_rows(build: Builder, data: Expr, dtype: str = "float32") -> Expr:
    """Examples [n, features] of a float type; a vector is one example."""
    data = cast_to(build, data, dtype)
    if rank_of(data) == 1:
        return build.call("expand_dims", data, axis=0)
    if rank_of(data) != 2:
        raise ModelError(f"expects examples [n, features], but the input has {rank_of(data)} axes.")
    return data


def transformed(node: OnnxNode, build: Builder, scores: Expr) -> Expr:
    """Scores [n, classes] after the attribute post_transform."""
    match node.text("post_transform", "NONE"):
        case "NONE":
            return scores
        case "LOGISTIC":
            return build.call("sigmoid", scores)
        case "SOFTMAX":
            return build.call("nn.softmax", scores, axis=1)
        case "SOFTMAX_ZERO":
            return _softmax_of_some(build, scores)
        case other:
            raise UnsupportedOperatorError(f"the post transform {other} is not supported.")


def _softmax_of_some(build: Builder, scores: Expr) -> Expr:
    """A softmax in which scores of zero keep next to nothing."""
    largest = build.call("max", scores, axis=(1,), keepdims=True)
    powers = build.call("exp", build.call("subtract", scores, largest))
    rest = build.call("multiply", scores, build.call("exp", build.call("negative", largest)))
    counts = build.call("greater", build.call("abs", scores), build.like(_TINY, scores))
    terms = build.call("where", counts, powers, rest)
    return build.call("divide", terms, build.call("sum", terms, axis=(1,), keepdims=True))


def class_labels(node: OnnxNode) -> Sequence[int]:
    """The numbers of the classes; UnsupportedOperatorError where they are strings."""
    if node.has("classlabels_strings") or not node.has(_labels_name(node)):
        raise UnsupportedOperatorError(
            "labels of classes that are strings are not supported.",
            remedy="Fit the model on numbers of classes, and keep their names beside it.",
        )
    return node.integers(_labels_name(node))


def _labels_name(node: OnnxNode) -> str:
    return "classlabels_ints" if node.has("classlabels_ints") else "classlabels_int64s"


def chosen_label(build: Builder, scores: Expr, labels: Sequence[int]) -> Expr:
    """The label of the greatest score of each example, the first one of equal ones, int64 [n]."""
    found = build.call("argmax", scores, axis=(1,), keepdims=False)
    if tuple(labels) == tuple(range(len(labels))):
        return cast_to(build, found, "int64")
    table = build.constant(np.array(labels, np.int64))
    return build.call("take", table, found, axis=0, mode="clip")


def label_above(build: Builder, score: Expr, threshold: float, labels: Sequence[int]) -> Expr:
    """The second label where a score [n, 1] is above a threshold, else the first one."""
    is_above = build.call("greater", score, build.like(threshold, score))
    values = [build.constant(label, "int64") for label in (labels[1], labels[0])]
    return build.call("squeeze", build.call("where", is_above, *values), axis=(1,))


def both_classes(build: Builder, first: Expr, second: Expr) -> Expr:
    """Scores of two classes side by side."""
    dtype = dtype_of(second)
    return build.call("concatenate", build.tuple_of((cast_to(build, first, dtype), second)), axis=1)
