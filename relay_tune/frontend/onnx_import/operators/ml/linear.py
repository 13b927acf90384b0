"""Linear models and support vector machines: products with coefficients, then a post transform."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from relay_tune.errors import ModelError, UnsupportedOperatorError
from relay_tune.frontend.onnx_import.build import Builder, shape_of, static_dim
from relay_tune.frontend.onnx_import.node import OnnxNode
from relay_tune.frontend.onnx_import.operators.activation import scaled, shifted
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


def translate_svm_regressor(node: OnnxNode, build: Builder) -> Expr:
    """Weighted kernels of an example and the support vectors, plus rho; or the sign of that."""
    data = as_rows(build, node.input(0))
    weights = np.array(node.numbers("coefficients"), np.float32)
    width = static_dim(shape_of(data)[1])
    count = node.integer("n_supports", 0)
    vectors = np.array(node.numbers("support_vectors", ()), np.float32)
    if not count:
        vectors, count = weights, 1
        weights = np.ones(1, np.float32)
    if vectors.size != count * width or weights.size != count:
        raise ModelError(f"{vectors.size} numbers are not {count} support vectors of {width}.")
    kernels = _kernels(node, build, data, vectors.reshape(count, width))
    total = build.call("nn.dense", kernels, build.constant(weights.reshape(1, count)))
    total = shifted(build, total, node.numbers("rho", (0.0,))[0])
    if not node.flag("one_class", 0):
        return transformed(node, build, total)
    is_inside = build.call("greater", total, build.like(0, total))
    return build.call("where", is_inside, build.like(1, total), build.like(-1, total))


def _kernels(node: OnnxNode, build: Builder, data: Expr, vectors: np.ndarray) -> Expr:
    """The kernel function of each example and each support vector, [n, supports]."""
    gamma, offset, degree = node.numbers("kernel_params", (0.0, 0.0, 3.0))
    kind = node.text("kernel_type", "LINEAR")
    products = build.call("nn.dense", data, build.constant(vectors))
    match kind:
        case "LINEAR":
            return products
        case "POLY":
            inner = shifted(build, scaled(build, products, gamma), offset)
            return build.call("power", inner, build.like(degree, inner))
        case "SIGMOID":
            return build.call("tanh", shifted(build, scaled(build, products, gamma), offset))
        case "RBF":
            rows = build.call("expand_dims", data, axis=1)
            apart = build.call("subtract", rows, build.constant(vectors))
            squares = build.call("sum", build.call("multiply", apart, apart), axis=(2,))
            return build.call("exp", scaled(build, squares, -gamma))
        case _:
            raise ModelError(f"attribute kernel_type has the unknown value {kind!r}.")


LINEAR: Mapping[str, Translator] = {
    "LinearRegressor": translate_linear_regressor,
    "LinearClassifier": translate_linear_classifier,
    "SVMRegressor": translate_svm_regressor,
}
