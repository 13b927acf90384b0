"""Reductions over chosen axes: their attributes, and how indices run over data and result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from relay_tune.ir.expr import Attributes
from relay_tune.ir.types import TensorType
from relay_tune.op.elements import Array, elementwise, integer_shape, load_at, wide_dtype
from relay_tune.quick_dataclass import dataclass
from relay_tune.tensor.expression import INDEX, Axis, Load, Scalar, Tensor, cast, literal, reduce
from relay_tune.tensor.scalar_semantics import numpy_dtype
from relay_tune.tensor.tensor import Computed, compute
from relay_tune.typing.relations.reduction import reduced_axes


@dataclass(frozen=True)
class ReduceAttributes(Attributes):
    """Attributes of a reduction.

    Attributes:
        axis: the axes to reduce; None: all of them, (): none.
        keepdims: whether reduced axes stay, with size 1.
        exclude: whether `axis` names the axes that stay instead.
    """

    axis: int | tuple[int, ...] | None = None
    keepdims: bool = False
    exclude: bool = False


def axes_of(attributes: Any, shape: Sequence[int]) -> tuple[int, ...]:
    """The axes that a reduction removes from a tensor of `shape`, ascending."""
    return reduced_axes(attributes.axis, attributes.exclude, TensorType(tuple(shape), "float32"))


class Reduction:
    """The indices of one reduction of a tensor over `axes`; axes of size 1 need no variable."""

    def __init__(self, data: Tensor, axes: Sequence[int]) -> None:
        self.data = data
        self.axes = tuple(axes)
        self.variables = {
            axis: Axis(f"r{index}", data.shape[axis], dtype=INDEX)
            for index, axis in enumerate(self.axes)
            if data.shape[axis] != 1
        }

    def load(self, output: Sequence[Scalar]) -> Load:
        """The element that takes part in the result at `output`."""
        kept = len(output) == self.data.rank
        rest = iter(output)
        indices: list[Scalar] = []
        for axis in range(self.data.rank):
            if axis in self.axes:
                indices.append(self.variables.get(axis, literal(0, INDEX)))
                if kept:
                    next(rest)
            else:
                indices.append(next(rest))
        return load_at(self.data, indices)

    def reduce(self, operation: str, body: Scalar) -> Scalar:
        """`body` reduced over the variables."""
        return reduce(operation, list(self.variables.values()), body)

    def position(self) -> Scalar:
        """The row-major number of the element among those that are reduced together."""
        total: Scalar = literal(0, INDEX)
        stride = 1
        for axis in reversed(self.axes):
            if axis in self.variables:
                total = self.variables[axis] * stride + total
            stride *= self.data.shape[axis]
        return total

    @property
    def count(self) -> int:
        """How many elements make one element of the result."""
        return prod(self.data.shape[axis] for axis in self.axes)


def reduced(
    name: str,
    type_: Any,
    reduction: Reduction,
    operation: str,
    element: Callable[[Scalar], Scalar] = lambda x: x,
) -> Computed:
    """The reduction of `element(x)`, calculated in the wide type of the data."""
    wide = wide_dtype(reduction.data.dtype)

    def body(*output: Scalar) -> Scalar:
        return reduction.reduce(operation, element(cast(reduction.load(output), wide)))

    return compute(name, integer_shape(type_), body)


def finished(
    name: str, tensor: Computed, dtype: str, element: Callable[[Scalar], Scalar] = lambda x: x
) -> Computed:
    """`element(x)` of a reduced tensor, as `dtype`; the tensor itself if nothing is to be done."""
    result = elementwise(name, tensor.shape, [tensor], lambda x: cast(element(x), dtype))
    return tensor if isinstance(result.body, Load) else result


def wide_array(data: Array) -> Array:
    """The array in the type that it is reduced in."""
    return data.astype(numpy_dtype(wide_dtype(data.dtype.name)), copy=False)
