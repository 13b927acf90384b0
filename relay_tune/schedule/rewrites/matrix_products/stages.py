"""Products as sums of products of bfloat16, as ordinary stages of a program.

    before:  y[m, o] = sum(k) x[m, k] * w[k, o]
    after:   x0 = parts[0, m, k] = bfloat16(x), x1 = parts[1, m, k] = bfloat16(x - x0)
             y[m, o] = sum(k) x1[m, k] * w0[k, o] + x0[m, k] * w0[k, o] + x0[m, k] * w1[k, o]

Two parts with three products leave out about 2^-17 of the largest summand, three parts with six
about as much as float32 rounds anyway (Henry, Tang and Heinecke, ARITH 2019, section III).

Infinities and NaN come out where sums of float32 put them (see `operands`). Parts below 2^-126
count as zero, so that numbers below 2^-110 lose bits.

Matrix registers multiply bfloat16 some fifteen times as fast as vector registers multiply float32.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import reduce as fold
from math import prod
from operator import add

import numpy as np

from relay_tune.schedule.nests.rewritten_stages import Rewriting, with_rewritten_stages
from relay_tune.schedule.rewrites.matrix_products.form import Form
from relay_tune.schedule.rewrites.matrix_products.match import match_matrix_product, whole_columns
from relay_tune.schedule.rewrites.matrix_products.operands import (
    LeftOperand,
    Lines,
    rows_gathered,
    rows_in_place,
    steps_in_place,
)
from relay_tune.schedule.rewrites.matrix_products.weight_groups import (
    groups_of,
    groups_shape,
    stored_groups,
)
from relay_tune.schedule.rewrites.products import Product
from relay_tune.tensor.deferred_array import ConstantData
from relay_tune.tensor.dependencies import tensors_in_order
from relay_tune.tensor.expression import Axis, Scalar, Tensor, binary, cast, reduce, select
from relay_tune.tensor.program import TensorProgram
from relay_tune.tensor.scalar_semantics import Array
from relay_tune.tensor.size import nominal
from relay_tune.tensor.tensor import Computed, Panels, compute, copy_of, input_tensor, panels_of
from relay_tune.tensor.walk import substitute

Weights = Callable[[Mapping[Tensor, Array]], Array]

TERMS = {
    1: ((0, 0),),
    2: ((1, 0), (0, 0), (0, 1)),
    3: ((2, 0), (1, 0), (1, 1), (0, 1), (0, 0), (0, 2)),
}
"""The parts of left and right operand in each product; from one to the next only one changes."""


def multiplications(program: TensorProgram, form: Form) -> int:
    """How many multiplications matrix registers can take over."""
    return sum(
        nominal(prod((*product.stage.shape, *(axis.extent for axis in product.steps))))
        for product in matched_products(program, form)
    )


def ways_to_gather(program: TensorProgram, form: Form) -> tuple[bool, ...]:
    """The values of `gathers` that give programs of their own; none without such products."""
    products = matched_products(program, form)
    if not products:
        return ()
    differs = any(_gathering_differs(product, form) for product in products)
    return (False, True) if differs else (False,)


def _gathering_differs(product: Product, form: Form) -> bool:
    """Whether a copy of what each row reads is other than the data, part of which lie in place.

    It is not where every element is read by one row, as in 1x1 convolutions of stride 1.
    """
    in_place = steps_in_place(product, form)
    if not in_place:
        return False
    if any(axis.extent > 1 for axis in product.steps[:-1]):
        return in_place < len(product.steps)
    rows = prod(axis.extent for axis in product.rows)
    return rows != prod(product.data.tensor.shape[:-1])


def matched_products(program: TensorProgram, form: Form) -> list[Product]:
    """The products of a program that fill registers."""
    known = dict[Tensor, ConstantData](program.constants)
    found = (match_matrix_product(t, known, form) for t in tensors_in_order(program.outputs))
    return [product for product in found if product is not None]


def matrix_program(
    program: TensorProgram, form: Form, gathers: bool, *, beside: bool = False
) -> TensorProgram | None:
    """The program with its products in a form; None if it has none.

    If it `gathers`, what each row of a product reads is copied to one buffer. Else products that
    read the same data, as the phases of a transposed convolution, read the same parts of it. With
    `beside`, all parts of what a row reads lie together, so that rows can run in blocks.
    """
    known: Lines = {}

    def left_operand(product: Product, rewriting: Rewriting) -> LeftOperand:
        data = rewriting.now(product.data.tensor)
        left = None if gathers else rows_in_place(product, data, form, known, beside=beside)
        return rows_gathered(product, data, form, beside=beside) if left is None else left

    def rewrite(stage: Computed, rewriting: Rewriting) -> Computed | None:
        product = match_matrix_product(stage, rewriting.constants, form)
        if product is None:
            return None
        columns, count = stage.shape[-1], whole_columns(product, form)
        if count == columns:
            return product_stages(product, rewriting, left_operand(product, rewriting))
        whole = product.part(0, count)
        left = left_operand(whole, rewriting)
        rest = _last_columns(product, count, rewriting, whole, left)
        return _joined(product_stages(whole, rewriting, left), rest, columns)

    return with_rewritten_stages(program, rewrite)


def product_stages(
    product: Product, rewriting: Rewriting, left: LeftOperand, weights: Weights | None = None
) -> Computed:
    """The product of stages with other operands, and the constants that it reads.

    `weights` gives the values of constant weights, where these are others.
    """
    weight, inner, narrow = product.weight.tensor, len(left.inner), left.form
    if weight not in rewriting.constants:
        return _summed(product, left, *_groups(product, rewriting.now(weight), inner, narrow))
    shape = groups_shape(product.weights_shape, inner, narrow)
    groups = input_tensor(f"{weight.name}_groups", shape, narrow.pattern.right)
    values = product.weights if weights is None else weights

    def packed(arrays: Mapping[Tensor, Array]) -> Array:
        return groups_of(values(arrays), inner, narrow)

    return _summed(product, left, rewriting.constant(groups, (weight,), packed))


def _groups(product: Product, weight: Tensor, inner: int, form: Form) -> list[Tensor]:
    """The parts of weights that are only known at run time; of panels each is by itself."""
    if not isinstance(weight, Panels):
        return [copy_of(stored_groups(product, weight, inner, form))]
    parts = range(form.parts)
    return [panels_of(stored_groups(product, weight, inner, form, part)) for part in parts]


def _last_columns(
    product: Product, begin: int, rewriting: Rewriting, whole: Product, left: LeftOperand
) -> Computed:
    """Columns that fill no register: beside columns of zeros, if their weights are constants.

    They are stored by themselves, so that what follows them takes no part in the product. `left` is
    the left operand of the columns before them, the product `whole`.
    """
    rest = product.part(begin, product.stage.shape[-1] - begin)
    if product.weight.tensor not in rewriting.constants:
        return rewriting.rebuilt(rest.stage)
    filled = product.part(begin, left.form.columns)
    before, after = ((*each.rows, *each.steps) for each in (whole, filled))
    indices: dict[Axis, Scalar] = dict(zip(before, after, strict=True))
    own = replace(left, at=lambda part, step: substitute(left.at(part, step), indices))
    missing = filled.stage.shape[-1] - rest.stage.shape[-1]

    def weights(arrays: Mapping[Tensor, Array]) -> Array:
        found = rest.weights(arrays)
        return np.pad(found, [*[(0, 0)] * (found.ndim - 1), (0, missing)])

    sums = product_stages(filled, rewriting, own, weights)
    return copy_of(compute(sums.name, sums.shape, lambda *at: sums[at]))


def _joined(left: Computed, right: Computed, columns: int) -> Computed:
    """So many columns side by side, as many of them as there are on the left."""
    width = left.shape[-1]

    def element(*at: Scalar) -> Scalar:
        *rows, column = at
        behind = right[(*rows, column - width)]
        return select(binary("lt", column, width), left[(*rows, column)], behind)

    return compute(left.name, (*left.shape[:-1], columns), element)


def _summed(product: Product, left: LeftOperand, *groups: Tensor) -> Computed:
    """The product over its operands' parts, with the axes of the stage that it replaces.

    `groups` are the weights, all of their parts together or each by itself.
    """
    form = left.form
    outer = product.steps[: len(product.steps) - len(left.inner)]
    depth = prod(axis.extent for axis in left.inner)
    extents = form.blocks(depth), form.steps // form.group, form.group
    block, row, inside = (
        Axis(name, extent) for name, extent in zip(("kb", "kh", "kp"), extents, strict=True)
    )
    step = block * form.steps + row * form.group + inside
    column = product.stage.axes[-1]

    def right(part: int) -> Scalar:
        tensor, number = (groups[0], part) if len(groups) == 1 else (groups[part], 0)
        index: tuple[Scalar | int, ...] = (
            *product.shared,
            column // form.columns,
            *outer,
            block,
            number,
            row,
            column % form.columns,
            inside,
        )
        return cast(tensor[index], stage.dtype)

    stage = product.stage
    terms = [cast(left.at(a, step), stage.dtype) * right(b) for a, b in TERMS[form.parts]]
    total = reduce("sum", (*outer, block, row, inside), fold(add, terms))
    return Computed(
        name=stage.name, shape=stage.shape, dtype=stage.dtype, axes=stage.axes, body=total
    )
