"""Det: elimination, written out for matrices of a known size."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from relay_tune.errors import ModelError, UnsupportedOperatorError
from relay_tune.frontend.onnx_import.build import Builder, rank_of, shape_of, static_dim
from relay_tune.frontend.onnx_import.node import OnnxNode
from relay_tune.frontend.onnx_import.operators.elementwise import cast_to
from relay_tune.frontend.onnx_import.operators.parts import part
from relay_tune.frontend.onnx_import.operators.translator import Translator
from relay_tune.ir.expr import Expr

LARGEST_MATRIX = 16


def translate_det(node: OnnxNode, build: Builder) -> Expr:
    """The determinants of the last two axes, by elimination with the largest element as pivot."""
    data = node.input(0)
    if rank_of(data) < 2:
        raise ModelError("expects matrices.")
    rows, columns = (static_dim(dim) for dim in shape_of(data)[-2:])
    if rows != columns:
        raise ModelError(f"a matrix of {rows} x {columns} has no determinant.")
    if not 1 <= rows <= LARGEST_MATRIX:
        raise UnsupportedOperatorError(
            f"determinants of {rows} x {rows} matrices are not supported."
        )
    result: Expr | None = None
    for size in range(rows, 0, -1):
        pivot, data = _eliminated(build, data, size)
        result = pivot if result is None else build.call("multiply", result, pivot)
    assert result is not None
    return result


def _eliminated(build: Builder, data: Expr, size: int) -> tuple[Expr, Expr]:
    """The pivot with the sign of its exchange, and the matrix without its row and column."""
    rank = rank_of(data)
    if size == 1:
        return build.call("squeeze", data, axis=(rank - 2, rank - 1)), data
    column = build.call("abs", _taken(build, data, rank - 1, 0))
    found = build.call("argmax", column, axis=(rank - 2,), keepdims=True)
    chosen = build.call("equal", cast_to(build, found, "int64"), build.constant(np.arange(size)))
    chosen = build.call("expand_dims", chosen, axis=rank - 1)
    zero = build.like(0, data)
    row = build.call(
        "sum", build.call("where", chosen, data, zero), axis=(rank - 2,), keepdims=True
    )
    first = part(build, data, rank - 2, 0, 1)
    rest = part(build, build.call("where", chosen, first, data), rank - 2, 1, size)
    pivot = part(build, row, rank - 1, 0, 1)
    nothing = build.call("equal", pivot, zero)
    divisor = build.call("where", nothing, build.like(1, data), pivot)
    factors = build.call("divide", part(build, rest, rank - 1, 0, 1), divisor)
    rest = build.call("subtract", rest, build.call("multiply", factors, row))
    exchanged = build.call("not_equal", cast_to(build, found, "int64"), build.constant(0))
    signs = build.call("where", exchanged, build.like(-1, data), build.like(1, data))
    pivot = build.call("squeeze", pivot, axis=(rank - 2, rank - 1))
    signs = build.call("squeeze", signs, axis=(rank - 2,))
    signed = build.call("multiply", pivot, signs)
    return signed, part(build, rest, rank - 1, 1, size)


def _taken(build: Builder, data: Expr, axis: int, index: int) -> Expr:
    return build.call("take", data, build.constant(index), axis=axis)


DETERMINANTS: Mapping[str, Translator] = {"Det": translate_det}
