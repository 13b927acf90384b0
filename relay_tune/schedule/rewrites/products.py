"""Stages that are products of matrices, along whatever axes of their operands.

    y[.., o] = sum(steps) data[..] * weight[.., o]

A convolution is one, whose data are read at `h + kh`; so is a batch of products. Only those count
of whose weights another form is worth storing, as parts for matrix registers or sums of halves.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from math import prod

from relay_tune.quick_dataclass import dataclass
from relay_tune.tensor.affine import axis_affine
from relay_tune.tensor.expression import (
    Axis,
    Binary,
    Cast,
    Load,
    Reduce,
    Scalar,
    Tensor,
    cast,
    reduce,
)
from relay_tune.tensor.scalar_semantics import NARROW_FLOATS, Array
from relay_tune.tensor.scalar_value import values_over
from relay_tune.tensor.size import is_symbolic, nominal
from relay_tune.tensor.tensor import Computed
from relay_tune.tensor.walk import axes_of, substitute

LEAST_ROWS = 4
"""Fewer rows read the weights and do little else, in whatever form."""

LEAST_USES = 32
"""The same of weights that are only known at run time: their other form is stored first."""


@dataclass(frozen=True, eq=False, slots=True)
class Product:
    """A stage result[.., o] = sum(steps) data[..] * weight[.., o].

    Attributes:
        stage: the result; its last axis is o.
        data: what the weights are multiplied by; it does not depend on o.
        weight: the other load, over `steps`, o, and what both depend on.
        steps: the reduction axes, as the data lie in memory, the innermost last.
    """

    stage: Computed
    data: Load
    weight: Load
    steps: tuple[Axis, ...]

    @property
    def rows(self) -> tuple[Axis, ...]:
        """The axes of the result but the last."""
        return self.stage.axes[:-1]

    @property
    def shared(self) -> tuple[Axis, ...]:
        """The rows that the weight depends on, too, as of a batch of products."""
        used = set(axes_of(self.weight))
        return tuple(axis for axis in self.rows if axis in used)

    @property
    def uses(self) -> int:
        """How many rows each weight is multiplied by."""
        return prod(axis.extent for axis in self.rows if axis not in self.shared)

    def part(self, begin: int, count: int) -> Product:
        """The product of some of the columns, with axes of its own."""
        stage, body = self.stage, self.stage.body
        assert isinstance(body, Reduce)
        column = Axis(stage.axes[-1].name, count)
        own = {axis: Axis(axis.name, axis.extent) for axis in (*self.rows, *body.axes)}
        indices: dict[Axis, Scalar] = {**own, stage.axes[-1]: column + begin}
        data, weight = (substitute(load, indices) for load in (self.data, self.weight))
        assert isinstance(data, Load) and isinstance(weight, Load)
        total = reduce("sum", [own[axis] for axis in body.axes], product_of(data, weight, stage))
        axes = (*(own[axis] for axis in self.rows), column)
        shape = (*stage.shape[:-1], count)
        part = Computed(name=stage.name, shape=shape, dtype=stage.dtype, axes=axes, body=total)
        return Product(part, data, weight, tuple(own[axis] for axis in self.steps))

    @property
    def weights_shape(self) -> tuple[int, ...]:
        """The extents of `steps` and o."""
        return tuple(axis.extent for axis in (*self.steps, self.stage.axes[-1]))

    def weights(self, constants: Mapping[Tensor, Array]) -> Array:
        """Constant weights as an array over `steps` and o."""
        return values_over(self.weight, (*self.steps, self.stage.axes[-1]), constants)


def product_of(data: Load, weight: Load, stage: Computed) -> Scalar:
    """A product of two factors as a stage sums it: widened to its type."""
    return cast(data, stage.dtype) * cast(weight, stage.dtype)


@dataclass(frozen=True, slots=True)
class FactorTypes:
    """The dtypes of the data, of the weights and of the sums of a product."""

    data: str
    weight: str
    sums: str


FLOATS = FactorTypes("float32", "float32", "float32")


def match_product(
    stage: Tensor,
    constants: Container[Tensor],
    types: FactorTypes = FLOATS,
    *,
    open_sizes: bool = False,
) -> Product | None:
    """The product that a stage computes, or None if it is none whose weights are used enough.

    All of its sizes are numbers, unless there may be `open_sizes`, its elements of these types.
    Constant weights depend on no rows.
    """
    if not isinstance(stage, Computed) or len(stage.shape) < 2 or stage.dtype != types.sums:
        return None
    for total, *loads in factors(stage):
        data, weight = map(_of_type, loads, (types.data, types.weight))
        if data is None or weight is None:
            continue
        found = _matched(stage, total, data, weight, open_sizes)
        if found is not None and _is_worth_it(found, weight.tensor in constants):
            return found
    return None


def factors(stage: Computed) -> Iterator[tuple[Reduce, Load, Load]]:
    """The sum that a stage is, and its data and its weight: of two loads each may be either.

    They may be widened before they are multiplied.
    """
    total = stage.body
    if not isinstance(total, Reduce) or total.operation != "sum":
        return
    product = total.body
    if not isinstance(product, Binary) or product.operation != "mul":
        return
    left, right = _as_given(product.left), _as_given(product.right)
    if isinstance(left, Load) and isinstance(right, Load):
        yield total, left, right
        yield total, right, left


def _as_given(factor: Scalar) -> Scalar:
    """A factor as it was before it was widened to the type of sums."""
    is_widened = isinstance(factor, Cast) and factor.dtype in ("int32", "float32")
    return factor.operand if isinstance(factor, Cast) and is_widened else factor


def _of_type(load: Load, dtype: str) -> Load | None:
    """A load of a type, or what it widens; None if neither is of this type."""
    return next((each for each in (load, as_stored(load)) if each.dtype == dtype), None)


def as_stored(load: Load) -> Load:
    """The load behind stages that only widen narrow floats, or move them; else the load itself."""
    found: Load = load
    is_widened = False
    while isinstance(stage := found.tensor, Computed):
        match stage.body:
            case Load() as moved:
                inner = moved
            case Cast(dtype="float32", operand=Load() as inner) if inner.dtype in NARROW_FLOATS:
                is_widened = True
            case _:
                break
        new = substitute(inner, dict(zip(stage.axes, found.indices, strict=True)))
        assert isinstance(new, Load)
        found = new
        if is_widened:
            return found
    return load


def _is_worth_it(product: Product, is_constant: bool) -> bool:
    """Whether weights are used often enough for another form of them to be made."""
    if is_constant:
        return not product.shared and nominal(product.uses) >= LEAST_ROWS
    return nominal(product.uses) >= LEAST_USES


def _matched(
    stage: Computed, total: Reduce, data: Load, weight: Load, open_sizes: bool
) -> Product | None:
    steps, column = set(total.axes), stage.axes[-1]
    if not open_sizes and any(map(is_symbolic, stage.shape)):
        return None
    if any(is_symbolic(axis.extent) for axis in steps) and (not open_sizes or len(steps) > 1):
        return None
    if not {*steps, column} <= set(axes_of(weight)) or column in axes_of(data):
        return None
    forms = [axis_affine(index) for index in data.indices]
    if any(form is None for form in forms) or not steps <= set(axes_of(data)):
        return None
    strides = dict.fromkeys(total.axes, 0)
    for position, form in enumerate(forms):
        assert form is not None
        for axis in total.axes:
            strides[axis] += form.coefficient(axis) * prod(data.tensor.shape[position + 1 :])
    ordered = sorted(total.axes, key=lambda axis: -abs(nominal(strides[axis])))
    return Product(stage, data, weight, tuple(ordered))


def unfused(number: Scalar, axes: Sequence[Axis]) -> dict[Axis, Scalar]:
    """The index on each of several axes that are counted as one, the last one fastest."""
    found: dict[Axis, Scalar] = {}
    for n, axis in enumerate(axes):
        index = number // prod(each.extent for each in axes[n + 1 :])
        found[axis] = index % axis.extent if n else index
    return found
