"""Linear models: products with coefficients, then a post transform."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from relay_tune.errors import ModelError, UnsupportedOperatorError
from relay_tune.frontend.onnx_import.build import Builder, shape_of, static_dim
from relay_tune.frontend.onnx_import.node import OnnxNode
from relay_tune.frontend.onnx_import.operators.activation import shifted
from relay_tune.frontend.onnx_import.operators.ml.scores import (
    as_rows,
    both_classes,
    chosen_label,
    class_labels,
    label_above,
    transformed,
)
from relay_tune.frontend.onnx_import.operators.translator import Translator
from relay_tune.ir.expr import Expr


def translate_linear_regressor(node: OnnxNode, build: Builder) -> Expr:
    """x W^T + b, a column for each target."""
    return transformed(node, build, _product(node, build, node.integer("targets", 1)))


def _product(node: OnnxNode, build: Builder, count: int) -> Expr:
    data = as_rows(build, node.input(0))
    weights = np.array(node.numbers("coefficients"), np.float32)
    width = static_dim(shape_of(data)[1])
    if weights.size != count * width:
        raise ModelError(f"{weights.size} coefficients do not fit {count} x {width}.")
    result = build.call("nn.dense", data, build.constant(weights.reshape(count, width)))
    offsets = node.numbers("intercepts", ())
    if not offsets:
        return result
    if len(offsets) not in (1, count):
        raise ModelError(f"there are {len(offsets)} intercepts for {count} rows.")
    return build.call("add", result, build.constant(np.array(offsets, np.float32)))


def translate_linear_classifier(node: OnnxNode, build: Builder) -> list[Expr | None]:
    """The label of the class with the greatest score, and the scores."""
    labels = class_labels(node)
    count = len(node.numbers("intercepts", ())) or len(labels)
    scores = _product(node, build, count)
    if count > 1 or len(labels) != 2:
        return [chosen_label(build, scores, labels), transformed(node, build, scores)]
    kind = node.text("post_transform", "NONE")
    if kind not in ("NONE", "LOGISTIC"):
        raise UnsupportedOperatorError(f"one score of two classes with {kind} is not supported.")
    label = label_above(build, scores, 0.0, labels)
    scores = transformed(node, build, scores)
    first = shifted(build, build.call("negative", scores), 1)
    return [label, both_classes(build, first, scores)]


LINEAR: Mapping[str, Translator] = {
    "LinearRegressor": translate_linear_regressor,
    "LinearClassifier": translate_linear_classifier,
}
