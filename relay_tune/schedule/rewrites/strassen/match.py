"""Which products can be computed from halves of their operands, and are worth it."""

from __future__ import annotations

from collections.abc import Container
from math import prod

from relay_tune.quick_dataclass import dataclass
from relay_tune.schedule.rewrites.products import Product, match_product
from relay_tune.tensor.affine import axis_affine
from relay_tune.tensor.expression import Axis, Load, Tensor
from relay_tune.tensor.walk import axes_of

LEAST_COLUMNS = 32
"""Of half a result: fewer fill no register tile."""

LEAST_REUSE = 96
"""Multiplications for each element that is read or written.

An eighth of them is saved, and each element is moved some four times more. Measured on one core of
an AMD server processor: 102 lost 5 % of the time, 205 won 5 %.
"""


@dataclass(frozen=True, eq=False, slots=True)
class HalvedProduct:
    """A product whose rows, steps and columns are cut into halves.

    Attributes:
        product: the product.
        row: the row axis that is cut.
        step: the reduction axis that is cut.
        row_dim: the dimension of the data that `row` goes along.
        step_dim: the dimension of the data that is `step`.
        weight_dims: the dimensions of the weight that are `step` and the column.
    """

    product: Product
    row: Axis
    step: Axis
    row_dim: int
    step_dim: int
    weight_dims: tuple[int, int]

    @property
    def rows(self) -> int:
        """Half of the row axis."""
        return self.row.extent // 2

    @property
    def steps(self) -> int:
        """Half of the reduction axis."""
        return self.step.extent // 2

    @property
    def columns(self) -> int:
        """Half of the columns."""
        return self.product.stage.shape[-1] // 2

    @property
    def row_stride(self) -> int:
        """How far two rows are apart in the data."""
        return _coefficient(self.product.data, self.row_dim, self.row)


def match_halves(stage: Tensor, constants: Container[Tensor]) -> HalvedProduct | None:
    """The halves of the product that a stage computes, or None if that is none or not worth it.

    A dimension of the data must go along a row axis of even extent that the weight does not depend
    on, another one must be a reduction axis of even extent.
    """
    product = match_product(stage, constants)
    if product is None or stage.shape[-1] % 2 or stage.shape[-1] < 2 * LEAST_COLUMNS:
        return None
    if _reuse(product, product.weight.tensor in constants) < LEAST_REUSE:
        return None
    step = product.steps[-1]
    row = next((a for a in product.rows if a not in product.shared and a.extent % 2 == 0), None)
    if row is None or step.extent % 2:
        return None
    data, weight = product.data, product.weight
    row_dim, step_dim = _only_dim(data, row), _dim_of(data, step)
    inner, column = _dim_of(weight, step), _dim_of(weight, product.stage.axes[-1])
    if row_dim is None or step_dim is None or inner is None or column is None:
        return None
    return HalvedProduct(product, row, step, row_dim, step_dim, (inner, column))


def _reuse(product: Product, is_constant: bool) -> float:
    """Multiplications for each element of operands and result that run time moves."""
    shape = product.stage.shape
    moved = prod(product.data.tensor.shape) + prod(shape)
    moved += 0 if is_constant else prod(product.weight.tensor.shape)
    return prod((*shape, *(axis.extent for axis in product.steps))) / moved


def _only_dim(load: Load, axis: Axis) -> int | None:
    """The only dimension whose index depends on an axis, forward; None if there are others."""
    dims = [dim for dim, index in enumerate(load.indices) if axis in axes_of(index)]
    if len(dims) != 1 or _coefficient(load, dims[0], axis) <= 0:
        return None
    return dims[0]


def _dim_of(load: Load, axis: Axis) -> int | None:
    """The dimension whose index is an axis and nothing else, where no other depends on it."""
    dim = _only_dim(load, axis)
    return dim if dim is not None and load.indices[dim] is axis else None


def _coefficient(load: Load, dim: int, axis: Axis) -> int:
    form = axis_affine(load.indices[dim])
    return 0 if form is None else form.coefficient(axis)
