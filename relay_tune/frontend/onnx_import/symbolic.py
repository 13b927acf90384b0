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
from relay_tune.frontend.onnx_import.build import Builder, is_known, known_integers, tensor_type
from relay_tune.frontend.onnx_import.node import OnnxNode
from relay_tune.frontend.onnx_import.open_sizes import Size
from relay_tune.frontend.onnx_import.run_time_axes import int64_vector, vector_length
from relay_tune.frontend.onnx_import.symbolic_rules import (
    RESHAPED,
    RULES,
    Elements,
    dimensions,
    is_at_least_zero,
)
from relay_tune.frontend.onnx_import.types import integer_range, is_integer
from relay_tune.ir.dim import UNKNOWN, Dim, UnknownDim
from relay_tune.ir.expr import Constant, Expr
from relay_tune.ir.types import TensorType

MAXIMUM_ELEMENTS = 1024


def _has_elements(type_: TensorType) -> bool:
    """Whether elements of a type are sizes, or truth values about them."""
    return is_integer(type_.dtype) or type_.dtype == "bool"


def elements_of(build: Builder, expr: Expr | None) -> Elements | None:
    """Known elements of an integer tensor, `?` for each unknown one.

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


def vector_sizes(build: Builder, expr: Expr, what: str) -> tuple[Size, ...]:
    """The elements of an integer vector as sizes; those that only a run knows are taken from it."""
    return tuple(
        build.call("take", int64_vector(build, expr), build.constant(index), axis=0)
        if isinstance(dim, UnknownDim)
        else dim
        for index, dim in enumerate(vector_dims(build, expr, what))
    )


def with_known_elements(
    build: Builder, node: OnnxNode, results: Sequence[Expr | None]
) -> Sequence[Expr | None]:
    """The outputs of a node; the first as a constant if its elements follow from sizes.

    Where they are made of symbolic sizes, what is known of them is remembered.
    """
    if node.operator not in RULES and node.operator not in RESHAPED:
        return results
    if not results or results[0] is None or isinstance(results[0], Constant):
        return results
    if not any(each in build.symbolic or isinstance(each, Constant) for each in node.inputs):
        return results  # there are but values that only a run knows
    type_ = tensor_type(results[0])
    if not _has_elements(type_):
        return results
    found = _elements_of_result(build, node, type_)
    if found is None or all(isinstance(dim, UnknownDim) for dim in found.flat):
        return results
    if all(isinstance(dim, int) for dim in found.flat):
        return [build.constant(found.astype(np.int64), type_.dtype), *results[1:]]
    build.symbolic[results[0]] = found
    return results


def _elements_of_result(build: Builder, node: OnnxNode, type_: TensorType) -> Elements | None:
    """Known elements of the first output of a node, which has the type `type_`."""
    inputs = [elements_of(build, each) for each in node.inputs]
    if node.operator in RESHAPED:
        found = _reshaped(inputs[0], type_)
    else:
        found = RULES[node.operator](node, inputs)
    if found is None or type_.dtype == "bool":
        return found
    return np.asarray(np.frompyfunc(lambda dim: _held_by(dim, type_.dtype), 1, 1)(found), object)


def _reshaped(data: Elements | None, type_: TensorType) -> Elements | None:
    sizes = [size for size in type_.shape if isinstance(size, int)]
    return None if data is None or len(sizes) < len(type_.shape) else data.reshape(sizes)


def _held_by(dim: Dim, dtype: str) -> Dim:
    """An element where each of its values is one of `dtype`; `?` where it may wrap around."""
    lowest, highest = integer_range(dtype)
    if isinstance(dim, int):
        return dim if lowest <= dim <= min(highest, 2**63 - 1) else UNKNOWN
    if highest < 2**31 - 1 or (lowest == 0 and not is_at_least_zero(dim)):
        return UNKNOWN
    return dim
