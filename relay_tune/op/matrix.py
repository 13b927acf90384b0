"""Triangles and diagonals of matrices: trilu, matrix_set_diag."""

from __future__ import annotations

from typing import Any

import numpy as np

from relay_tune.ir.expr import Attributes
from relay_tune.ir.operator import FusionKind, define
from relay_tune.op.elements import Array, all_of, load_at, number
from relay_tune.quick_dataclass import dataclass
from relay_tune.tensor.expression import INDEX, Scalar, binary, cast, literal, select
from relay_tune.tensor.tensor import compute
from relay_tune.typing.relations.indexing import diagonal_range, matrix_set_diagonal
from relay_tune.typing.relations.shape import trilu as trilu_relation


@dataclass(frozen=True)
class TriluAttributes(Attributes):
    """Attributes of trilu.

    Attributes:
        upper: whether the upper triangle is kept instead of the lower one.
    """

    upper: bool = True


@dataclass(frozen=True)
class MatrixSetDiagAttributes(Attributes):
    """Attributes of matrix_set_diag.

    Attributes:
        k: the diagonal, or the lowest and the highest one, where 0 is the main diagonal and
            those above it are positive.
        align: the side to which shorter diagonals are shifted, of those above the main one and
            of those below it: "RIGHT_LEFT", "LEFT_RIGHT", "LEFT_LEFT" or "RIGHT_RIGHT".
    """

    k: int | tuple[int, int] = 0
    align: str = "RIGHT_LEFT"


def _trilu(attributes: TriluAttributes, inputs: Any, types: Any) -> list[Any]:
    data, diagonal = inputs

    def element(*output: Scalar) -> Scalar:
        distance = output[-1] - output[-2]
        limit = cast(diagonal[()], INDEX)
        kept = binary("ge" if attributes.upper else "le", distance, limit)
        return select(kept, load_at(data, output), number(0, data.dtype))

    return [compute("trilu", data.shape, element)]


def _trilu_reference(attributes: TriluAttributes, data: Array, diagonal: Array) -> Array:
    function = np.triu if attributes.upper else np.tril
    return np.asarray(function(data, int(diagonal)))


def _matrix_set_diag(attributes: MatrixSetDiagAttributes, inputs: Any, types: Any) -> list[Any]:
    data, diagonals = inputs
    lowest, highest = diagonal_range(attributes)

    def element(*output: Scalar) -> Scalar:
        row, column = output[-2], output[-1]
        diagonal = column - row
        position = binary("min", row, column)
        if lowest == highest:
            value = load_at(diagonals, [*output[:-2], position])
        else:
            shift = _shift(diagonal, data.shape[-2:], diagonals.shape[-1], attributes.align)
            line = binary("sub", highest, diagonal)
            value = load_at(diagonals, [*output[:-2], line, position + shift])
        inside = [binary("ge", diagonal, lowest), binary("le", diagonal, highest)]
        return select(all_of(inside), value, load_at(data, output))

    return [compute("matrix_set_diag", data.shape, element)]


def _shift(diagonal: Scalar, shape: tuple[int, int], width: int, align: str) -> Scalar:
    """How far the elements of a diagonal are shifted in a row of `width` elements."""
    rows, columns = shape
    below = binary("min", diagonal, 0) + rows
    above = binary("sub", columns, binary("max", diagonal, 0))
    gap = binary("sub", width, binary("min", below, above))
    sides = [gap if side == "RIGHT" else literal(0, INDEX) for side in align.split("_")]
    return select(binary("ge", diagonal, 0), sides[0], sides[1])


def _matrix_set_diag_reference(
    attributes: MatrixSetDiagAttributes, data: Array, diagonals: Array
) -> Array:
    lowest, highest = diagonal_range(attributes)
    result = data.copy()
    above, below = attributes.align.split("_")
    for diagonal in range(lowest, highest + 1):
        lines = diagonals if lowest == highest else diagonals[..., highest - diagonal, :]
        rows = np.arange(max(0, -diagonal), min(data.shape[-2], data.shape[-1] - diagonal))
        side = above if diagonal >= 0 else below
        first = lines.shape[-1] - len(rows) if side == "RIGHT" and lowest != highest else 0
        result[..., rows, rows + diagonal] = lines[..., first : first + len(rows)]
    return result


trilu = define(
    name="trilu",
    arguments=("data", "k"),
    relation=trilu_relation,
    kind=FusionKind.INJECTIVE,
    attributes=TriluAttributes,
    compute=_trilu,
    reference=_trilu_reference,
    documentation="The triangle on and above (or below) diagonal k of matrices, else zeros.",
)
matrix_set_diag = define(
    name="matrix_set_diag",
    arguments=("data", "diagonal"),
    relation=matrix_set_diagonal,
    kind=FusionKind.INJECTIVE,
    attributes=MatrixSetDiagAttributes,
    compute=_matrix_set_diag,
    reference=_matrix_set_diag_reference,
    documentation="Matrices with one diagonal, or a band of them, replaced.",
)
