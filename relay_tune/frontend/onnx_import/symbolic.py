"""Shape computations on sizes that are known by name only.

A model asks for the shape of a tensor, picks and multiplies sizes, joins them, and reshapes by the
result. Where a size is a symbol the values are not constant; but their elements are dimensions, and
the few operators that models use there are evaluated on arrays of dimensions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from relay_tune.errors import ModelError
from relay_tune.frontend.onnx_import.build import (
    Builder,
    dtype_of,
    is_known,
    known_integers,
    tensor_type,
)
from relay_tune.frontend.onnx_import.node import OnnxNode
from relay_tune.frontend.onnx_import.run_time_axes import vector_length
from relay_tune.frontend.onnx_import.symbolic_rules import RULES, Elements, dimensions
from relay_tune.frontend.onnx_import.types import is_integer
from relay_tune.ir.dim import UNKNOWN, Dim, UnknownDim
from relay_tune.ir.expr import Constant, Expr
from relay_tune.ir.types import TensorType

MAXIMUM_ELEMENTS = 1024


def _has_elements(type_: TensorType) -> bool:
    """Whether elements of a type are sizes, or truth values about them."""
    return is_integer(type_.dtype) or type_.dtype == "bool"


def elements_of(build: Builder, expr: Expr | None) -> Elements | None:
    """What is known of the elements of an integer tensor, `?` where that is nothing.

    None if there is no tensor, or one of another type, of many elements, or of unknown shape.
    """
    if expr is None or not isinstance(expr.type, TensorType) or not _has_elements(expr.type):
        return None
    if expr in build.symbolic:
        return build.symbolic[expr]
    sizes = [size for size in expr.type.shape if isinstance(size, int)]
    if len(sizes) < len(expr.type.shape) or math.prod(sizes) > MAXIMUM_ELEMENTS:
        return None
    known = isinstance(expr, Constant)
    values = expr.data.reshape(-1).tolist() if isinstance(expr, Constant) else []
    return dimensions(values if known else [UNKNOWN] * math.prod(sizes)).reshape(sizes)


def known_dims(build: Builder, expr: Expr) -> tuple[Dim, ...] | None:
    """The elements of a shape vector as dimensions; None if one of them is not known."""
    elements = elements_of(build, expr)
    if elements is None or any(isinstance(dim, UnknownDim) for dim in elements.flat):
        return None
    return tuple(elements.reshape(-1).tolist())


def vector_dims(build: Builder, expr: Expr, what: str) -> tuple[Dim, ...]:
    """The elements of an integer vector, `?` for those that only a run knows.

    Raises ModelError where it is no vector of integers, RunTimeValueError where its length is not
    known.
    """
    elements = elements_of(build, expr)
    if elements is None:
        return known_integers(expr, what) if is_known(expr) else (UNKNOWN,) * vector_length(expr)
    if elements.ndim > 1:
        raise ModelError(f"{what} must be a vector of integers, but has shape {elements.shape}.")
    return tuple(elements.reshape(-1).tolist())


def with_known_elements(
    build: Builder, node: OnnxNode, results: Sequence[Expr | None]
) -> Sequence[Expr | None]:
    """The outputs of a node; the first as a constant if its elements follow from sizes.

    Where they are made of symbolic sizes, what is known of them is remembered.
    """
    rule = RULES.get(node.operator)
    if rule is None or not results or results[0] is None or isinstance(results[0], Constant):
        return results
    if not any(each in build.symbolic or isinstance(each, Constant) for each in node.inputs):
        return results  # there are but values that only a run knows
    dtype = dtype_of(results[0])
    if not _has_elements(tensor_type(results[0])):
        return results
    found = rule(node, [elements_of(build, each) for each in node.inputs])
    if found is None or all(isinstance(dim, UnknownDim) for dim in found.flat):
        return results
    if all(isinstance(dim, int) for dim in found.flat):
        return [build.constant(found.astype(np.int64), dtype), *results[1:]]
    build.symbolic[results[0]] = found
    return results
