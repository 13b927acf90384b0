"""Which stages multiply data by weights that are stored in a narrow type.

w[o, k] = float32(q[o, k]) * s[o, k // 32]          from constants alone
y[i, o] = sum(k) x[i, k] * w[o, k]
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from math import prod

from relay_tune.ir.dtypes import DTYPES
from relay_tune.quick_dataclass import dataclass
from relay_tune.tensor.dependencies import dependencies
from relay_tune.tensor.expression import Axis, Binary, Load, Reduce, Scalar, Tensor
from relay_tune.tensor.size import is_symbolic, nominal
from relay_tune.tensor.tensor import Computed
from relay_tune.tensor.walk import axes_of


@dataclass(frozen=True, eq=False, slots=True)
class StoredProduct:
    """A stage that sums products of data and converted weights.

    Attributes:
        stage: the sums.
        data: the other factor.
        weights: the load of what is made of constants alone.
        column: the axis of the results that the weights depend on, the last one of the stage.
        steps: the summed axes that they depend on, outermost first as the tensor has them.
    """

    stage: Computed
    data: Scalar
    weights: Load
    column: Axis
    steps: tuple[Axis, ...]

    @property
    def rows(self) -> int:
        """How many results read the same weight."""
        return prod(axis.extent for axis in self.stage.axes if axis is not self.column)

    @property
    def bytes_of_column(self) -> int:
        """What the weights of one column take when they are converted."""
        elements = prod(axis.extent for axis in self.steps)
        return elements * DTYPES[self.weights.dtype].itemsize


def stored_product(stage: Tensor, constants: Collection[Tensor]) -> StoredProduct | None:
    """How a stage multiplies by stored weights; None if it does not."""
    if not isinstance(stage, Computed) or not stage.axes or not stage.dtype.startswith("float"):
        return None
    total = stage.body
    if not isinstance(total, Reduce) or total.operation != "sum":
        return None
    if not isinstance(total.body, Binary) or total.body.operation != "mul":
        return None
    found = (_weights(stage, total, *way, constants) for way in _ways(total.body))
    return next((each for each in found if each is not None), None)


def _ways(product: Binary) -> Iterator[tuple[Scalar, Scalar]]:
    yield product.left, product.right
    yield product.right, product.left


def _weights(
    stage: Computed, total: Reduce, data: Scalar, weights: Scalar, constants: Collection[Tensor]
) -> StoredProduct | None:
    column = stage.axes[-1]
    if not isinstance(weights, Load) or not _is_converted(weights.tensor, constants):
        return None
    used = axes_of(weights)
    steps = tuple(axis for axis in used if axis in total.axes)
    if not steps or set(used) != {column, *steps} or column in axes_of(data):
        return None
    if set(weights.indices) != set(used) or any(is_symbolic(axis.extent) for axis in used):
        return None
    return StoredProduct(stage, data, weights, column, steps)


def _is_converted(tensor: Tensor, constants: Collection[Tensor]) -> bool:
    """Whether a tensor is computed element by element of constants that take fewer bytes."""
    if not isinstance(tensor, Computed) or not _is_known(tensor, constants):
        return False
    read = [each for each in dependencies(tensor) if each in constants]
    return bool(read) and all(_bytes(each) < _bytes(tensor) for each in read)


def _bytes(tensor: Tensor) -> int:
    return nominal(prod(tensor.shape)) * DTYPES[tensor.dtype].itemsize


def _is_known(tensor: Tensor, constants: Collection[Tensor]) -> bool:
    """Whether a tensor is a constant, or made of constants and numbers alone."""
    if tensor in constants:
        return True
    if not isinstance(tensor, Computed) or isinstance(tensor.body, Reduce):
        return False
    return all(_is_known(each, constants) for each in dependencies(tensor))
