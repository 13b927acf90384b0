"""Inverse: elimination of a matrix beside the unit matrix, with the largest element as pivot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from relay_tune.errors import ModelError, UnsupportedOperatorError
from relay_tune.frontend.onnx_import.build import Builder, dtype_of, rank_of, shape_of
from relay_tune.frontend.onnx_import.collected_rounds import collected_rounds
from relay_tune.frontend.onnx_import.node import OnnxNode
from relay_tune.frontend.onnx_import.operators.parts import part
from relay_tune.frontend.onnx_import.operators.translator import Translator
from relay_tune.frontend.onnx_import.operators.wide import in_wide
from relay_tune.ir.expr import Expr

WRITTEN_OUT = 4
"""Up to so many rows, there are no rounds of a function."""


def translate_inverse(node: OnnxNode, build: Builder) -> Expr:
    """The inverses of the last two axes; those of singular matrices are not finite."""
    data = node.input(0)
    if rank_of(data) < 2:
        raise ModelError("expects matrices.")
    rows, columns = shape_of(data)[-2:]
    if not isinstance(rows, int) or not isinstance(columns, int):
        raise UnsupportedOperatorError("inverses of matrices of dynamic size are not supported.")
    if rows != columns:
        raise ModelError(f"a matrix of {rows} x {columns} has no inverse.")
    unit = build.constant(np.eye(rows), dtype_of(data))
    # 0 x is NaN where an element of x is not finite, as is the inverse.
    zeros = build.call("multiply", data, build.like(0, data))
    beside = build.call("add", zeros, unit)
    both = build.call("concatenate", build.tuple_of((data, beside)), axis=rank_of(data) - 1)
    if rows <= WRITTEN_OUT:
        for index in range(rows):
            both = _eliminated(build, both, build.constant(index), rows)
    else:

        def step(number: Expr, carried: Sequence[Expr]) -> tuple[Sequence[Expr], Sequence[Expr]]:
            return [_eliminated(build, carried[0], number, rows)], []

        (both,), _ = collected_rounds(build, build.constant(rows), [both], step)
    return part(build, both, rank_of(data) - 1, rows, 2 * rows)


def _eliminated(build: Builder, data: Expr, number: Expr, rows: int) -> Expr:
    """Matrices whose column `number` has become that of the unit matrix, pivot row and all."""
    rank = rank_of(data)
    lines = build.constant(np.arange(rows))
    column = build.call("abs", build.call("take", data, number, axis=rank - 1))
    is_left = build.call("less_equal", number, lines)
    candidates = build.call("where", is_left, column, build.like(-1, column))
    found = build.call("argmax", candidates, axis=(rank - 2,), keepdims=True)
    found = build.call("cast", found, dtype="int64")
    is_pivot = build.call("expand_dims", build.call("equal", lines, found), axis=rank - 1)
    chosen = build.call("where", is_pivot, data, build.like(0, data))
    pivot = build.call("sum", chosen, axis=(rank - 2,), keepdims=True)
    top = build.call("expand_dims", build.call("take", data, number, axis=rank - 2), axis=rank - 2)
    exchanged = build.call("where", is_pivot, top, data)
    own = build.call("expand_dims", build.call("take", pivot, number, axis=rank - 1), axis=rank - 1)
    unit = build.call("divide", pivot, own)
    factors = build.call("take", exchanged, number, axis=rank - 1)
    factors = build.call("expand_dims", factors, axis=rank - 1)
    rest = build.call("subtract", exchanged, build.call("multiply", factors, unit))
    is_own = build.call("expand_dims", build.call("equal", lines, number), axis=1)
    return build.call("where", is_own, unit, rest)


INVERSES: Mapping[str, Translator] = {"Inverse": in_wide(translate_inverse)}
