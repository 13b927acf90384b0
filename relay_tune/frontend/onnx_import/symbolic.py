"""Shape computations on sizes that are known by name only.

A model asks for the shape of a tensor, picks and multiplies sizes, joins them, and reshapes by the
result. Where a size is a symbol the values are not constant; but their elements are dimensions, and
the few operators that models use there are evaluated on arrays of dimensions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from relay_tune.frontend.onnx_import.build import Builder, dtype_of
from relay_tune.frontend.onnx_import.node import OnnxNode
from relay_tune.frontend.onnx_import.types import is_integer
from relay_tune.ir.dim import Dim, UnknownDim
from relay_tune.ir.dim_arithmetic import add, floor_divide, multiply, subtract
from relay_tune.ir.expr import Constant, Expr

Elements = np.ndarray
"""Dimensions (dtype object), of the shape of the tensor that they describe."""

MAXIMUM_ELEMENTS = 1024


def elements_of(build: Builder, expr: Expr | None) -> Elements | None:
    """What is known of the elements of an integer tensor; None if nothing is."""
    if isinstance(expr, Constant):
        if expr.data.dtype.kind not in "iu" or expr.data.size > MAXIMUM_ELEMENTS:
            return None
        return dimensions(expr.data.reshape(-1).tolist()).reshape(expr.data.shape)
    return None if expr is None else build.symbolic.get(expr)


def dimensions(dims: Sequence[Dim]) -> Elements:
    """A vector of dimensions."""
    vector = np.empty(len(dims), object)
    vector[:] = dims
    return vector


def known_dims(build: Builder, expr: Expr) -> tuple[Dim, ...] | None:
    """The elements of a shape vector as dimensions; None if one of them is not known."""
    elements = elements_of(build, expr)
    if elements is None or any(isinstance(dim, UnknownDim) for dim in elements.flat):
        return None
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
    if not any(each in build.symbolic for each in node.inputs if each is not None):
        return results
    dtype = dtype_of(results[0])
    if not is_integer(dtype):
        return results
    found = rule(node, [elements_of(build, each) for each in node.inputs])
    if found is None:
        return results
    if all(isinstance(dim, int) for dim in found.flat):
        return [build.constant(found.astype(np.int64), dtype), *results[1:]]
    build.symbolic[results[0]] = found
    return results


Rule = Callable[[OnnxNode, Sequence[Elements | None]], Elements | None]


def _binary(operation: Callable[[Dim, Dim], Dim]) -> Rule:
    def rule(node: OnnxNode, inputs: Sequence[Elements | None]) -> Elements | None:
        left, right = inputs
        if left is None or right is None:
            return None
        return np.asarray(np.frompyfunc(operation, 2, 1)(left, right), object)

    return rule


def _divide(node: OnnxNode, inputs: Sequence[Elements | None]) -> Elements | None:
    numerator, divisor = inputs
    if numerator is None or divisor is None:
        return None
    if not all(isinstance(each, int) and each > 0 for each in divisor.flat):
        return None
    return np.asarray(np.frompyfunc(floor_divide, 2, 1)(numerator, divisor), object)


def _unchanged(node: OnnxNode, inputs: Sequence[Elements | None]) -> Elements | None:
    return inputs[0]


def _gather(node: OnnxNode, inputs: Sequence[Elements | None]) -> Elements | None:
    data, indices = inputs
    if data is None or indices is None or not all(isinstance(each, int) for each in indices.flat):
        return None
    taken = np.take(data, indices.astype(np.int64), axis=node.integer("axis", 0))
    return np.asarray(taken, object)


def _concat(node: OnnxNode, inputs: Sequence[Elements | None]) -> Elements | None:
    parts = [each for each in inputs if each is not None]
    return np.concatenate(parts) if len(parts) == len(inputs) else None


def _as_shaped_like_vector(node: OnnxNode, inputs: Sequence[Elements | None]) -> Elements | None:
    """Unsqueeze of a scalar, Squeeze of a vector of one element."""
    data = inputs[0]
    if data is None or data.size != 1:
        return None
    return data.reshape((1,) if node.operator == "Unsqueeze" else ())


def _slice(node: OnnxNode, inputs: Sequence[Elements | None]) -> Elements | None:
    data = inputs[0]
    if data is None or data.ndim != 1:
        return None
    if node.opset < 10:
        bounds = [node.integers("starts"), node.integers("ends")]
    else:
        given = [each for each in (*inputs[1:3], *inputs[4:5]) if each is not None]
        bounds = [tuple(each.reshape(-1).tolist()) for each in given]
    if not all(len(bound) == 1 and isinstance(bound[0], int) for bound in bounds):
        return None
    return data[slice(*(bound[0] for bound in bounds))]


def _product(node: OnnxNode, inputs: Sequence[Elements | None]) -> Elements | None:
    data = inputs[0]
    if data is None:
        return None
    total: Dim = 1
    for dim in data.flat:
        total = multiply(total, dim)
    return dimensions([total]).reshape((1,) if node.flag("keepdims", 1) else ())


def _reshape(node: OnnxNode, inputs: Sequence[Elements | None]) -> Elements | None:
    data, shape = inputs
    if data is None or shape is None or not all(isinstance(each, int) for each in shape.flat):
        return None
    return data.reshape(tuple(shape.tolist()))


RULES: Mapping[str, Rule] = {
    "Identity": _unchanged,
    "Cast": _unchanged,
    "Add": _binary(add),
    "Sub": _binary(subtract),
    "Mul": _binary(multiply),
    "Div": _divide,
    "Gather": _gather,
    "Concat": _concat,
    "Unsqueeze": _as_shaped_like_vector,
    "Squeeze": _as_shaped_like_vector,
    "Slice": _slice,
    "ReduceProd": _product,
    "Reshape": _reshape,
}
"""How the elements of an output follow from those of the inputs, where dimensions allow it."""
