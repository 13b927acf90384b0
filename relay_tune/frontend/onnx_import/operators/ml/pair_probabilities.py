"""Probabilities of classes from those of pairs of classes.

The second method of Wu, Lin and Weng (*Probability estimates for multi-class classification by
pairwise coupling*, JMLR 5, 2004, algorithm 2), in rounds as LIBSVM takes them: the p that minimises
p Q p' with a sum of 1 is approached class by class until what is wrong is below 0.005 / classes.
Each example stops by itself, so that its result does not depend on the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from relay_tune.frontend.onnx_import.build import Builder, shape_of, static_dim
from relay_tune.frontend.onnx_import.open_loop import open_loop
from relay_tune.frontend.onnx_import.operators.activation import scaled, shifted
from relay_tune.frontend.onnx_import.operators.parts import part
from relay_tune.ir.expr import Expr

_ROUNDS = 100

_TINY = 1e-7
"""Probabilities of a pair keep this distance from 0 and 1."""


def pair_probabilities(
    build: Builder, scores: Expr, slopes: Sequence[float], offsets: Sequence[float]
) -> Expr:
    """1 / (1 + exp(slope s + offset)) of each decision s, as Platt scales it, [n, pairs]."""
    slope, offset = (build.constant(np.array(each, np.float32)) for each in (slopes, offsets))
    scale = build.call("add", build.call("multiply", scores, slope), offset)
    found = build.call("sigmoid", build.call("negative", scale))
    return build.call("clip", found, a_min=_TINY, a_max=1 - _TINY)


def coupled(build: Builder, pairs: Expr, classes: int) -> Expr:
    """Probabilities [n, classes] from those of the first class of each pair, [n, pairs]."""
    matrix = _coupling(build, pairs, classes)
    nothing = build.call("zeros_like", _row(build, matrix, 0))
    start = shifted(build, nothing, 1 / classes)

    def body(arguments: Sequence[Expr | None]) -> list[Expr]:
        current = arguments[2]
        assert current is not None
        swept, is_left = _round(build, matrix, current, classes)
        following = build.call("where", is_left, swept, current)
        return [build.call("any", is_left, axis=(0, 1), keepdims=False), following]

    limit = build.constant(_ROUNDS, "int64")
    return open_loop(build, limit, None, [start], body)[0]


def _coupling(build: Builder, pairs: Expr, classes: int) -> Expr:
    """Q, [n, classes, classes]: sums of squares on the diagonal, negative products beside it."""
    first, second = _one_hot(classes)
    others = shifted(build, build.call("negative", pairs), 1)
    ours = build.call("nn.dense", pairs, build.constant(first))
    theirs = build.call("nn.dense", others, build.constant(second))
    wins = build.call("add", ours, theirs)
    wins = build.call("reshape", wins, newshape=(-1, classes, classes))
    squares = build.call("sum", build.call("multiply", wins, wins), axis=(1,), keepdims=True)
    diagonal = build.call("multiply", squares, build.constant(np.eye(classes, dtype=np.float32)))
    losses = build.call("transpose", wins, axes=(0, 2, 1))
    return build.call("subtract", diagonal, build.call("multiply", wins, losses))


def _one_hot(classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Where pairs stand in a matrix of classes, and where their opposites: [classes^2, pairs]."""
    pairs = list(combinations(range(classes), 2))
    first = np.zeros((classes, classes, len(pairs)), np.float32)
    second = np.zeros_like(first)
    for number, (one, other) in enumerate(pairs):
        first[one, other, number] = second[other, one, number] = 1
    shape = (classes * classes, len(pairs))
    return first.reshape(shape), second.reshape(shape)


def _round(build: Builder, matrix: Expr, current: Expr, classes: int) -> tuple[Expr, Expr]:
    """p after a step for each class, and whether it was needed, [n, 1]."""
    rows = build.call("expand_dims", current, axis=1)
    products = build.call("sum", build.call("multiply", matrix, rows), axis=(2,))
    total = _row_sum(build, build.call("multiply", current, products))
    wrong = build.call("abs", build.call("subtract", products, total))
    largest = build.call("max", wrong, axis=(1,), keepdims=True)
    is_left = build.call("greater_equal", largest, build.like(0.005 / classes, largest))
    for which in range(classes):
        current, products, total = _step(
            build, _row(build, matrix, which), which, current, products, total
        )
    return current, is_left


def _step(
    build: Builder, column: Expr, which: int, current: Expr, products: Expr, total: Expr
) -> tuple[Expr, Expr, Expr]:
    """p, Q p and p Q p' after one probability moved, and all were scaled to a sum of 1.

    Args:
        build: where calls are made.
        column: the row of Q for the class, [n, classes].
        which: the number of the class.
        current: p, [n, classes].
        products: Q p, [n, classes].
        total: p Q p', [n, 1].
    """
    classes = static_dim(shape_of(column)[1])
    own = part(build, column, 1, which, which + 1)
    product = part(build, products, 1, which, which + 1)
    move = build.call("divide", build.call("subtract", total, product), own)
    grown = shifted(build, move, 1)
    direction = build.constant(np.eye(classes, dtype=np.float32)[which])
    moved = build.call("add", current, build.call("multiply", move, direction))
    turned = build.call("add", products, build.call("multiply", move, column))
    inner = build.call("add", build.call("multiply", move, own), scaled(build, product, 2))
    raised = build.call("add", total, build.call("multiply", move, inner))
    raised = build.call("divide", build.call("divide", raised, grown), grown)
    return (
        build.call("divide", moved, grown),
        build.call("divide", turned, grown),
        raised,
    )


def _row(build: Builder, matrix: Expr, which: int) -> Expr:
    """One row of each matrix, [n, classes]."""
    return build.call("take", matrix, build.constant(which, "int64"), axis=1, mode="clip")


def _row_sum(build: Builder, data: Expr) -> Expr:
    """[n, 1] of [n, classes]."""
    return build.call("sum", data, axis=(1,), keepdims=True)
