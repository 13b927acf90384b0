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

from collections.abc import Mapping
from dataclasses import replace
from functools import reduce as fold
from math import prod
from operator import add

import numpy as np

from relay_tune.schedule.nests.rewritten_stages import Rewriting, with_rewritten_stages
from relay_tune.schedule.rewrites.matrix_products.match import match_matrix_product, whole_columns
from relay_tune.schedule.rewrites.matrix_products.operands import (
    COLUMNS,
    PAIR,
    STEPS,
    LeftOperand,
    pairs_of,
    pairs_shape,
    rows_gathered,
    rows_in_place,
    steps_in_place,
    stored_pairs,
)
from relay_tune.schedule.rewrites.products import Product
from relay_tune.tensor.deferred_array import ConstantData
from relay_tune.tensor.dependencies import tensors_in_order
from relay_tune.tensor.expression import Axis, Scalar, Tensor, binary, cast, reduce, select
from relay_tune.tensor.program import TensorProgram
from relay_tune.tensor.scalar_semantics import Array
from relay_tune.tensor.tensor import Computed, compute, input_tensor

TERMS = {
    2: ((1, 0), (0, 0), (0, 1)),
    3: ((2, 0), (1, 0), (1, 1), (0, 1), (0, 0), (0, 2)),
}
"""The parts of left and right operand in each product; from one to the next only one changes."""


def multiplications(program: TensorProgram) -> int:
    """How many multiplications of float32 matrix registers can take over."""
    return sum(
        prod((*product.stage.shape, *(axis.extent for axis in product.steps)))
        for product in _products(program)
    )


def ways_to_gather(program: TensorProgram) -> tuple[bool, ...]:
    """The values of `gathers` that give programs of their own; none without such products."""
    products = _products(program)
    if not products:
        return ()
    return (False, True) if any(map(_gathering_differs, products)) else (False,)


def _gathering_differs(product: Product) -> bool:
    """Whether a copy of what each row reads is other than the data, part of which lie in place.

    It is not where every element is read by one row, as in 1x1 convolutions of stride 1.
    """
    if not 0 < steps_in_place(product) < len(product.steps):
        return False
    if any(axis.extent > 1 for axis in product.steps[:-1]):
        return True
    rows = prod(axis.extent for axis in product.rows)
    return rows != prod(product.data.tensor.shape[:-1])


def _products(program: TensorProgram) -> list[Product]:
    known = dict[Tensor, ConstantData](program.constants)
    found = (match_matrix_product(t, known) for t in tensors_in_order(program.outputs))
    return [product for product in found if product is not None]


def matrix_program(program: TensorProgram, parts: int, gathers: bool) -> TensorProgram | None:
    """The program with its products in so many parts; None if it has none.

    If it `gathers`, what each row of a product reads is copied to one place.
    """

    def rewrite(stage: Computed, rewriting: Rewriting) -> Computed | None:
        product = match_matrix_product(stage, rewriting.constants)
        if product is None:
            return None
        columns, count = stage.shape[-1], whole_columns(product)
        if count == columns:
            return _stages(product, rewriting, parts, gathers)
        whole, rest = product.part(0, count), product.part(count, columns - count)
        return _joined(_stages(whole, rewriting, parts, gathers), _direct(rest, rewriting))

    return with_rewritten_stages(program, rewrite)


def _stages(product: Product, rewriting: Rewriting, parts: int, gathers: bool) -> Computed:
    """The product of stages with other operands, and the constants that it reads."""
    data = rewriting.now(product.data.tensor)
    left = None if gathers else rows_in_place(product, data, parts)
    if left is None:
        left = rows_gathered(product, data, parts)
    weight = product.weight.tensor
    if weight not in rewriting.constants:
        pairs = stored_pairs(product, rewriting.now(weight), len(left.inner), parts)
        return _summed(product, left, pairs, parts)
    inner = len(left.inner)
    shape = pairs_shape(product.weights_shape, inner, parts)
    pairs = input_tensor(f"{weight.name}_pairs", shape, "bfloat16")

    def packed(arrays: Mapping[Tensor, Array]) -> Array:
        return pairs_of(product.weights(arrays), inner, parts)

    return _summed(product, left, rewriting.constant(pairs, (weight,), packed), parts)


def _direct(product: Product, rewriting: Rewriting) -> Computed:
    """Columns that fill no register, computed as they are written, with weights of their own."""
    stage, weight = product.stage, product.weight.tensor
    if weight not in rewriting.constants:
        return rewriting.rebuilt(stage)
    rest = input_tensor(f"{weight.name}_rest", product.weights_shape, weight.dtype)
    constant = rewriting.constant(
        rest, (weight,), lambda arrays: np.ascontiguousarray(product.weights(arrays))
    )
    data = product.data
    moved = replace(data, tensor=rewriting.now(data.tensor))
    product_of_both = moved * constant[(*product.steps, stage.axes[-1])]
    return replace(stage, body=reduce("sum", product.steps, product_of_both))


def _joined(left: Computed, right: Computed) -> Computed:
    """Columns side by side."""
    width = left.shape[-1]

    def element(*at: Scalar) -> Scalar:
        *rows, column = at
        behind = right[(*rows, column - width)]
        return select(binary("lt", column, width), left[(*rows, column)], behind)

    return compute(left.name, (*left.shape[:-1], width + right.shape[-1]), element)


def _summed(product: Product, left: LeftOperand, pairs: Tensor, parts: int) -> Computed:
    """The product over its operands' parts, with the axes of the stage that it replaces."""
    outer = product.steps[: len(product.steps) - len(left.inner)]
    depth = prod(axis.extent for axis in left.inner)
    block, half, pair = (
        Axis(name, extent)
        for name, extent in (("kb", -(-depth // STEPS)), ("kh", STEPS // PAIR), ("kp", PAIR))
    )
    step = block * STEPS + half * PAIR + pair
    column = product.stage.axes[-1]

    def right(part: int) -> Scalar:
        place: tuple[Scalar | int, ...] = (
            *product.shared,
            column // COLUMNS,
            *outer,
            block,
            part,
            half,
            column % COLUMNS,
            pair,
        )
        return cast(pairs[place], "float32")

    terms = [cast(left.at(a, step), "float32") * right(b) for a, b in TERMS[parts]]
    total = reduce("sum", (*outer, block, half, pair), fold(add, terms))
    stage = product.stage
    return Computed(
        name=stage.name, shape=stage.shape, dtype=stage.dtype, axes=stage.axes, body=total
    )
