"""How the elements of shape computations follow from those of their inputs.

The elements are dimensions: numbers, polynomials of symbols, `?` for what only a run knows, and
numbers 0 and 1 for truth values. A symbol is a size of at least 0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from onnx import TensorProto

from relay_tune.frontend.onnx_import.node import OnnxNode
from relay_tune.ir.dim import UNKNOWN, Dim, Symbol, UnknownDim
from relay_tune.ir.dim_arithmetic import (
    add,
    floor_divide,
    maximum,
    minimum,
    multiply,
    substitute,
    subtract,
    symbol_names,
)
from relay_tune.ir.dim_order import is_never_negative
from relay_tune.ir.dim_quotient import exact_quotient

Elements = np.ndarray
"""Dimensions (dtype object), of the shape of the tensor that they describe."""

Rule = Callable[[OnnxNode, Sequence[Elements | None]], Elements | None]


def dimensions(dims: Sequence[Dim]) -> Elements:
    """A vector of dimensions."""
    vector = np.empty(len(dims), object)
    vector[:] = dims
    return vector


def is_at_least_zero(dim: Dim) -> bool:
    """Whether a dimension is never negative, also where sizes are 0."""
    if isinstance(dim, UnknownDim):
        return False
    shifted = {name: subtract(Symbol(name), 1) for name in symbol_names(dim)}
    return is_never_negative(substitute(dim, shifted))


def is_less(left: Dim, right: Dim) -> Dim:
    """Whether `left < right`: 1, 0, or `?` where that depends on the run."""
    if is_at_least_zero(subtract(subtract(right, left), 1)):
        return 1
    return 0 if is_at_least_zero(subtract(left, right)) else UNKNOWN


def is_equal(left: Dim, right: Dim) -> Dim:
    """Whether both are equal: 1, 0, or `?`."""
    if isinstance(left, UnknownDim) or isinstance(right, UnknownDim):
        return UNKNOWN
    if left == right:
        return 1
    return 0 if 1 in (is_less(left, right), is_less(right, left)) else UNKNOWN


def least(left: Dim, right: Dim) -> Dim:
    """The smaller one; `?` where that depends on the run."""
    return _chosen(is_less(right, left), right, left)


def greatest(left: Dim, right: Dim) -> Dim:
    """The larger one; `?` where that depends on the run."""
    return _chosen(is_less(left, right), right, left)


def _smaller(left: Dim, right: Dim) -> Dim:
    """The smaller one, as a size that a run computes where that is open."""
    found = least(left, right)
    return minimum(left, right) if isinstance(found, UnknownDim) else found


def _larger(left: Dim, right: Dim) -> Dim:
    """The larger one, as a size that a run computes where that is open."""
    found = greatest(left, right)
    return maximum(left, right) if isinstance(found, UnknownDim) else found


def _chosen(condition: Dim, then: Dim, other: Dim) -> Dim:
    if isinstance(condition, UnknownDim):
        return then if then == other else UNKNOWN
    return then if condition else other


def _quotient(left: Dim, right: Dim) -> Dim:
    """The quotient rounded down, of a dividend that is not negative where sizes are at least 1."""
    exact = exact_quotient(left, right)
    if exact is not None:
        return exact
    if isinstance(right, int) and right > 0 and is_never_negative(left):
        return floor_divide(left, right)
    return UNKNOWN


def _remainder(left: Dim, right: Dim) -> Dim:
    """The remainder of the quotient rounded down, between 0 and the divisor."""
    if UNKNOWN in (left, right):
        return UNKNOWN
    if is_never_negative(left) and is_never_negative(subtract(subtract(right, left), 1)):
        return left
    if is_never_negative(subtract(-1, left)) and is_never_negative(add(left, right)):
        return add(left, right)
    quotient = _quotient(left, right)
    return subtract(left, multiply(quotient, right))


def _elementwise(operation: Callable[..., Dim]) -> Rule:
    def rule(node: OnnxNode, inputs: Sequence[Elements | None]) -> Elements | None:
        given = [each for each in inputs if each is not None]
        if len(given) < len(inputs):
            return None
        return np.asarray(np.frompyfunc(operation, len(given), 1)(*given), object)

    return rule


def _folded(operation: Callable[[Dim, Dim], Dim]) -> Rule:
    """Of any number of inputs."""

    def rule(node: OnnxNode, inputs: Sequence[Elements | None]) -> Elements | None:
        total = inputs[0]
        for each in inputs[1:]:
            if total is None or each is None:
                return None
            total = np.asarray(np.frompyfunc(operation, 2, 1)(total, each), object)
        return total

    return rule


def _unchanged(node: OnnxNode, inputs: Sequence[Elements | None]) -> Elements | None:
    return inputs[0]


def _cast(node: OnnxNode, inputs: Sequence[Elements | None]) -> Elements | None:
    if node.integer("to") != TensorProto.BOOL or inputs[0] is None:
        return inputs[0]
    return np.asarray(np.frompyfunc(lambda dim: subtract(1, is_equal(dim, 0)), 1, 1)(inputs[0]))


def _numbers(elements: Elements | None) -> np.ndarray | None:
    """The elements as int64; None where one is no number."""
    if elements is None or not all(isinstance(each, int) for each in elements.flat):
        return None
    return elements.astype(np.int64)


def _gather(node: OnnxNode, inputs: Sequence[Elements | None]) -> Elements | None:
    data, indices = inputs[0], _numbers(inputs[1])
    if data is None or indices is None:
        return None
    return np.asarray(np.take(data, indices, axis=node.integer("axis", 0)), object)


def _concat(node: OnnxNode, inputs: Sequence[Elements | None]) -> Elements | None:
    parts = [each for each in inputs if each is not None]
    if len(parts) < len(inputs):
        return None
    return np.concatenate(parts, axis=node.integer("axis"))


def _slice(node: OnnxNode, inputs: Sequence[Elements | None]) -> Elements | None:
    data = inputs[0]
    known: list[tuple[int, ...]]
    if node.opset < 10:
        known = [node.integers(name, ()) for name in ("starts", "ends", "axes", "steps")]
    else:
        bounds = [_vector(node, inputs, index) for index in range(1, 5)]
        known = [bound for bound in bounds if bound is not None]
        if len(known) < len(bounds):
            return None
    starts, ends, axes, steps = known
    if data is None:
        return None
    cuts = [slice(None)] * data.ndim
    axes, steps = axes or tuple(range(len(starts))), steps or (1,) * len(starts)
    for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
        cuts[axis] = _python_slice(start, end, step)
    return data[tuple(cuts)]


def _python_slice(start: int, end: int, step: int) -> slice:
    """A slice that ends before the first element where a file writes the least integer."""
    return slice(start, None if step < 0 and end <= -(2**31) else end, step)


def _vector(
    node: OnnxNode, inputs: Sequence[Elements | None], index: int
) -> tuple[int, ...] | None:
    """An input as integers, () where it is not given; None where one is no number."""
    if node.optional(index) is None:
        return ()
    numbers = _numbers(inputs[index])
    return None if numbers is None else tuple(numbers.reshape(-1).tolist())


def _transpose(node: OnnxNode, inputs: Sequence[Elements | None]) -> Elements | None:
    data = inputs[0]
    if data is None:
        return None
    return data.transpose(node.integers("perm", tuple(reversed(range(data.ndim)))))


def _reduced(operation: Callable[[Dim, Dim], Dim], start: int) -> Rule:
    """Of all elements of a vector."""

    def rule(node: OnnxNode, inputs: Sequence[Elements | None]) -> Elements | None:
        data = inputs[0]
        if data is None or data.ndim != 1 or node.flag("noop_with_empty_axes", 0):
            return None
        total: Dim = start
        for dim in data.flat:
            total = operation(total, dim)
        return dimensions([total]).reshape((1,) if node.flag("keepdims", 1) else ())

    return rule


def _expand(node: OnnxNode, inputs: Sequence[Elements | None]) -> Elements | None:
    data, shape = inputs[0], _numbers(inputs[1])
    if data is None or shape is None:
        return None
    return np.array(np.broadcast_to(data, np.broadcast_shapes(data.shape, tuple(shape.tolist()))))


RESHAPED = frozenset({"Reshape", "Squeeze", "Unsqueeze", "Flatten"})
"""Operators whose output has the elements of the first input, in their order."""

RULES: Mapping[str, Rule] = {
    "Identity": _unchanged,
    "Cast": _cast,
    "Add": _elementwise(add),
    "Sub": _elementwise(subtract),
    "Mul": _elementwise(multiply),
    "Div": _elementwise(_quotient),
    "Mod": _elementwise(_remainder),
    "Neg": _elementwise(lambda dim: multiply(-1, dim)),
    "Min": _folded(_smaller),
    "Max": _folded(_larger),
    "Equal": _elementwise(is_equal),
    "Less": _elementwise(is_less),
    "Greater": _elementwise(lambda a, b: is_less(b, a)),
    "LessOrEqual": _elementwise(lambda a, b: subtract(1, is_less(b, a))),
    "GreaterOrEqual": _elementwise(lambda a, b: subtract(1, is_less(a, b))),
    "Not": _elementwise(lambda dim: subtract(1, dim)),
    "And": _elementwise(lambda a, b: 0 if 0 in (a, b) else multiply(a, b)),
    "Or": _elementwise(lambda a, b: 1 if 1 in (a, b) else add(a, b)),
    "Where": _elementwise(_chosen),
    "Gather": _gather,
    "Concat": _concat,
    "Slice": _slice,
    "Transpose": _transpose,
    "ReduceProd": _reduced(multiply, 1),
    "ReduceSum": _reduced(add, 0),
    "Expand": _expand,
}
"""How the elements of an output follow from those of the inputs, where dimensions allow it."""
