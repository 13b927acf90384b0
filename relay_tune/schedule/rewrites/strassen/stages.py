"""Products by Strassen's algorithm: one stage becomes three, of ordinary expressions.

    before:  y[m, o] = sum(k) x[m, k] * w[k, o]
    after:   a[p, m, k] = a half of x, or the sum of two           m, k, o in halves from here on
             t[p, m, o] = sum(k) a[p, m, k] * b[p, k, o]           p in 0 .. 6
             y[m, o] = two or four of t[p, m, o]                   by the half of y (`combinations`)

Constant weights are added up when the program is planned. The rows of a convolution are halves of
its image, whose windows may overlap. Seven eighths of the multiplications are left; results differ
from the direct ones by a few times their rounding errors, since halves of unlike size are added.
A NaN or an infinity spoils the same element of the other halves.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from relay_tune.quick_dataclass import dataclass
from relay_tune.schedule.nests.rewritten_stages import Rewriting, with_rewritten_stages
from relay_tune.schedule.rewrites.strassen.combinations import (
    LEFT,
    PRODUCTS,
    RIGHT,
    Signed,
    factors,
    results,
)
from relay_tune.schedule.rewrites.strassen.match import HalvedProduct, match_halves
from relay_tune.tensor.element_at import element_at
from relay_tune.tensor.expression import Axis, Scalar, Tensor, reduce
from relay_tune.tensor.program import TensorProgram
from relay_tune.tensor.scalar_semantics import Array
from relay_tune.tensor.tensor import Computed, compute, input_tensor
from relay_tune.tensor.walk import substitute


def strassen_program(program: TensorProgram) -> TensorProgram | None:
    """The program with its products computed from halves; None if it has none."""
    return with_rewritten_stages(program, _from_halves)


Right = Callable[[Scalar, Mapping[Axis, Scalar]], Scalar]
"""The right factor of a product, where the axes of halves stand for those of the whole."""


def _from_halves(stage: Computed, rewriting: Rewriting) -> Computed | None:
    """The product that a stage computes, from halves; None if it is none."""
    halves = match_halves(stage, rewriting.constants)
    if halves is None:
        return None
    weight = halves.product.weight.tensor
    if weight in rewriting.constants:
        outer = halves.product.weights_shape[:-2]
        shape = (PRODUCTS, *outer, halves.steps, halves.columns)
        sums = input_tensor(f"{weight.name}_sums", shape, weight.dtype)

        def summed(arrays: Mapping[Tensor, Array]) -> Array:
            return _constant_sums(halves, arrays)

        right = _from_constant(halves, rewriting.constant(sums, (weight,), summed))
    else:
        right = _from_sums(halves, rewriting.now(weight))
    return _stages(halves, rewriting.now(halves.product.data.tensor), right)


@dataclass(frozen=True, slots=True)
class _Cut:
    """How a dimension of a tensor falls into halves.

    Attributes:
        dim: the dimension.
        kept: the elements of a half.
        second: where the second half begins, before the end of the first one if they overlap.
    """

    dim: int
    kept: int
    second: int


def _sums(name: str, tensor: Tensor, signed: Sequence[Signed], cuts: tuple[_Cut, _Cut]) -> Computed:
    """One side of each product, one after the other along the outer dimension that is cut."""
    outer = min(cuts, key=lambda cut: cut.dim)
    shape = list(tensor.shape)
    for cut in cuts:
        shape[cut.dim] = cut.kept
    shape[outer.dim] *= PRODUCTS

    def element(*at: Scalar) -> Scalar:
        inside = list(at)
        inside[outer.dim] = at[outer.dim] % outer.kept

        def half(*which: int) -> Scalar:
            element = list(inside)
            for cut, number in zip(cuts, which, strict=True):
                element[cut.dim] = inside[cut.dim] + number * cut.second
            return tensor[tuple(element)]

        return element_at(factors(signed, half), at[outer.dim] // outer.kept)

    return compute(name, shape, element)


def _read(sums: Tensor, cuts: tuple[_Cut, _Cut], p: Scalar, indices: Sequence[Scalar]) -> Scalar:
    """The element of a side of product p at indices within a half."""
    outer = min(cuts, key=lambda cut: cut.dim)
    element = list(indices)
    element[outer.dim] = p * outer.kept + indices[outer.dim]
    return sums[tuple(element)]


def _constant_sums(halves: HalvedProduct, known: Mapping[Tensor, Array]) -> Array:
    """The right factors of all products, (7, steps, columns) of halves."""
    weights = halves.product.weights(known)
    steps, columns = halves.steps, halves.columns

    def half(i: int, j: int) -> Array:
        return weights[..., i * steps : (i + 1) * steps, j * columns : (j + 1) * columns]

    sums: Array = np.stack([sum(sign * half(*at) for at, sign in terms) for terms in RIGHT])
    return sums


def _from_constant(halves: HalvedProduct, sums: Tensor) -> Right:
    product = halves.product

    def right(p: Scalar, axes: Mapping[Axis, Scalar]) -> Scalar:
        return sums[(p, *(axes[step] for step in product.steps), axes[product.stage.axes[-1]])]

    return right


def _from_sums(halves: HalvedProduct, weight: Tensor) -> Right:
    step, column = halves.weight_dims
    cuts = (
        _Cut(step, halves.steps, halves.steps),
        _Cut(column, halves.columns, halves.columns),
    )
    sums = _sums("right_sums", weight, RIGHT, cuts)

    def right(p: Scalar, axes: Mapping[Axis, Scalar]) -> Scalar:
        indices = [substitute(index, axes) for index in halves.product.weight.indices]
        return _read(sums, cuts, p, indices)

    return right


def _stages(halves: HalvedProduct, data: Tensor, right: Right) -> Computed:
    """The result by way of sums of the data, and products."""
    product, stage = halves.product, halves.product.stage
    distance = halves.row_stride * halves.rows
    cuts = (
        _Cut(halves.row_dim, data.shape[halves.row_dim] - distance, distance),
        _Cut(halves.step_dim, halves.steps, halves.steps),
    )
    left = _sums("left_sums", data, LEFT, cuts)
    row = product.rows.index(halves.row)

    def multiplied(p: Scalar, *at: Scalar) -> Scalar:
        steps = [
            Axis(axis.name, halves.steps if axis is halves.step else axis.extent)
            for axis in product.steps
        ]
        axes = {
            **dict(zip(stage.axes, at, strict=True)),
            **dict(zip(product.steps, steps, strict=True)),
        }
        indices = [substitute(index, axes) for index in product.data.indices]
        return reduce("sum", steps, _read(left, cuts, p, indices) * right(p, axes))

    shape = list(stage.shape)
    shape[row], shape[-1] = halves.rows, halves.columns
    products = compute("products", (PRODUCTS, *shape), multiplied)

    def result(*at: Scalar) -> Scalar:
        element = list(at)
        element[row], element[-1] = at[row] % halves.rows, at[-1] % halves.columns
        which = at[row] // halves.rows * 2 + at[-1] // halves.columns
        return element_at(results(lambda p: products[(p, *element)]), which)

    return compute(stage.name, stage.shape, result)
