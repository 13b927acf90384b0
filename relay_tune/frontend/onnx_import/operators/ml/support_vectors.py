"""Support vector machines: weighted kernels of an example and the support vectors.

A classifier of k classes holds one decision for each pair of them, as LIBSVM does (Chang and Lin,
*LIBSVM: A library for support vector machines*, 2011, section 7): the class with the most pairs
won is the label. All decisions are one product with a matrix that has zeros for the vectors of
other classes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np

from relay_tune.errors import ModelError
from relay_tune.frontend.onnx_import.build import Builder, dtype_of, shape_of, static_dim
from relay_tune.frontend.onnx_import.node import OnnxNode
from relay_tune.frontend.onnx_import.operators.activation import scaled, shifted
from relay_tune.frontend.onnx_import.operators.elementwise import cast_to
from relay_tune.frontend.onnx_import.operators.ml.pair_probabilities import (
    coupled,
    pair_probabilities,
)
from relay_tune.frontend.onnx_import.operators.ml.scores import (
    as_rows,
    both_classes,
    chosen_label,
    class_labels,
    transformed,
)
from relay_tune.frontend.onnx_import.operators.translator import Translator
from relay_tune.ir.expr import Expr


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


def translate_svm_classifier(node: OnnxNode, build: Builder) -> list[Expr | None]:
    """The label of the class that wins most pairs, int64 [n], and scores.

    The scores are probabilities, [n, classes], where the file has what scales decisions to those of
    pairs, else decisions, [n, pairs]; of two classes, as onnxruntime has them, the one
    score s as [-s, s], or [1 - s, s] where there is a post transform, of which LOGISTIC alone
    applies. Without support vectors they are products with the coefficients, [n, classes].

    Raises:
        UnsupportedOperatorError: labels are strings.
        ModelError: attributes do not fit each other.
    """
    labels = class_labels(node)
    data = as_rows(build, node.input(0))
    sizes = node.integers("vectors_per_class", ())
    if not sum(sizes):
        return _without_vectors(node, build, data, labels)
    scores = _decisions(node, build, data, sizes)
    label = chosen_label(build, _votes(build, scores, len(labels)), labels)
    slopes, offsets = node.numbers("prob_a", ()), node.numbers("prob_b", ())
    if slopes:
        pairs = pair_probabilities(build, scores, slopes, offsets)
        return [label, transformed(node, build, coupled(build, pairs, len(labels)))]
    if len(labels) > 2:
        return [label, transformed(node, build, scores)]
    kind = node.text("post_transform", "NONE")
    if kind == "NONE":
        return [label, both_classes(build, build.call("negative", scores), scores)]
    if kind == "LOGISTIC":
        scores = transformed(node, build, scores)
    first = shifted(build, build.call("negative", scores), 1)
    return [label, both_classes(build, first, scores)]


def _without_vectors(
    node: OnnxNode, build: Builder, data: Expr, labels: Sequence[int]
) -> list[Expr | None]:
    """A linear model with one offset for all classes."""
    weights = np.array(node.numbers("coefficients"), np.float32)
    width = static_dim(shape_of(data)[1])
    if weights.size != len(labels) * width:
        raise ModelError(f"{weights.size} coefficients do not fit {len(labels)} x {width}.")
    products = build.call("nn.dense", data, build.constant(weights.reshape(len(labels), width)))
    scores = shifted(build, products, node.numbers("rho")[0])
    return [chosen_label(build, scores, labels), transformed(node, build, scores)]


def _decisions(node: OnnxNode, build: Builder, data: Expr, sizes: Sequence[int]) -> Expr:
    """For each pair of classes how far an example is on the side of the first, [n, pairs]."""
    width, count = static_dim(shape_of(data)[1]), sum(sizes)
    pairs = list(combinations(range(len(sizes)), 2))
    vectors = np.array(node.numbers("support_vectors", ()), np.float32)
    weights = np.array(node.numbers("coefficients"), np.float32)
    offsets = np.array(node.numbers("rho"), np.float32)
    if vectors.size != count * width or weights.size != (len(sizes) - 1) * count:
        raise ModelError(
            f"{vectors.size} numbers and {weights.size} coefficients are not those of {count} "
            f"support vectors of {width} in {len(sizes)} classes."
        )
    if offsets.size != len(pairs):
        raise ModelError(f"attribute rho has {offsets.size} numbers for {len(pairs)} pairs.")
    kernels = _kernels(node, build, data, vectors.reshape(count, width))
    of_pairs = _weights_of_pairs(weights.reshape(-1, count), sizes)
    products = build.call("nn.dense", kernels, build.constant(of_pairs))
    return build.call("add", products, build.constant(offsets))


def _weights_of_pairs(weights: np.ndarray, sizes: Sequence[int]) -> np.ndarray:
    """[pairs, vectors] of [classes - 1, vectors], where no class has a row against itself."""
    starts = np.cumsum([0, *sizes])
    rows = []
    for first, second in combinations(range(len(sizes)), 2):
        row = np.zeros(weights.shape[1], np.float32)
        ours, theirs = (slice(starts[which], starts[which + 1]) for which in (first, second))
        row[ours] = weights[second - 1, ours]
        row[theirs] = weights[first, theirs]
        rows.append(row)
    return np.stack(rows)


def _votes(build: Builder, scores: Expr, classes: int) -> Expr:
    """How many pairs each class wins, [n, classes]; a decision of 0 is for the second class."""
    won = np.zeros((2, classes, classes * (classes - 1) // 2), np.float32)
    for pair, both in enumerate(combinations(range(classes), 2)):
        for side, which in enumerate(both):
            won[side, which, pair] = 1
    is_first = build.call("greater", scores, build.like(0, scores))
    first = cast_to(build, is_first, dtype_of(scores))
    second = cast_to(build, build.call("logical_not", is_first), dtype_of(scores))
    ours, theirs = (
        build.call("nn.dense", side, build.constant(won[number]))
        for number, side in enumerate((first, second))
    )
    return build.call("add", ours, theirs)


SUPPORT_VECTORS: Mapping[str, Translator] = {
    "SVMClassifier": translate_svm_classifier,
    "SVMRegressor": translate_svm_regressor,
}
