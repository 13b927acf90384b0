"""Operators of com.microsoft that ONNX has, too, under other rules for their arguments."""

from __future__ import annotations

from collections.abc import Mapping

from relay_tune.errors import ModelError
from relay_tune.frontend.onnx_import.build import Builder, known_integer, rank_of
from relay_tune.frontend.onnx_import.node import OnnxNode
from relay_tune.frontend.onnx_import.operators.constant import translate_range
from relay_tune.frontend.onnx_import.operators.image import translate_grid_sample
from relay_tune.frontend.onnx_import.operators.indexing import translate_gather_nd
from relay_tune.frontend.onnx_import.operators.microsoft.fused import as_standard, standard
from relay_tune.frontend.onnx_import.operators.pad import translate_pad
from relay_tune.frontend.onnx_import.operators.shape import translate_trilu
from relay_tune.frontend.onnx_import.operators.translator import Translator
from relay_tune.frontend.onnx_import.operators.unique import translate_unique
from relay_tune.ir.expr import Expr


def _range(node: OnnxNode, build: Builder) -> Expr:
    """start, start + delta, ... below limit; delta is 1 where it is not given."""
    start = node.input(0)
    delta = node.optional(2)
    step = build.like(1, start) if delta is None else delta
    scalars = [build.call("reshape", each, newshape=()) for each in (start, node.input(1), step)]
    result = translate_range(standard(node, *scalars), build)
    assert isinstance(result, Expr)  # it has one output
    return result


def _unique(node: OnnxNode, build: Builder) -> list[Expr | None]:
    """Distinct values in order of occurrence, the index of each element's value, and the counts."""
    values, _, inverse, counts = translate_unique(standard(node, node.input(0), sorted=0), build)
    return [values, inverse, counts]


def _pad(node: OnnxNode, build: Builder) -> Expr:
    """Padding whose widths may also be a matrix of one row."""
    widths = build.call("reshape", node.input(1), newshape=(-1,))
    result = translate_pad(standard(node, node.input(0), widths, node.optional(2)), build)
    assert isinstance(result, Expr)  # it has one output
    return result


def _expand_dims(node: OnnxNode, build: Builder) -> Expr:
    """A new axis before the one that a number names."""
    axis, rank = known_integer(node.input(1), "the input axis"), rank_of(node.input(0))
    if not -rank - 1 <= axis <= rank:
        raise ModelError(f"axis {axis} is out of range for {rank} axes and a new one.")
    return build.call("expand_dims", node.input(0), axis=axis % (rank + 1))


def _distances(node: OnnxNode, build: Builder) -> Expr:
    """How far apart the rows of two matrices are, [rows, rows]."""
    metric = node.text("metric", "sqeuclidean")
    if metric not in ("euclidean", "sqeuclidean"):
        raise ModelError(f"attribute metric has the unknown value {metric!r}.")
    if rank_of(node.input(0)) != 2 or rank_of(node.input(1)) != 2:
        raise ModelError("expects two matrices, one vector a row.")
    left = build.call("expand_dims", node.input(0), axis=1)
    apart = build.call("subtract", left, build.call("expand_dims", node.input(1), axis=0))
    squares = build.call("sum", build.call("multiply", apart, apart), axis=(2,))
    return build.call("sqrt", squares) if metric == "euclidean" else squares


ALSO_STANDARD: Mapping[str, Translator] = {
    "Pad": _pad,
    "Trilu": as_standard(translate_trilu),
    "GatherND": as_standard(translate_gather_nd),
    "Range": _range,
    "Unique": _unique,
    "ExpandDims": _expand_dims,
    "GridSample": as_standard(translate_grid_sample),
    "CDist": _distances,
}
