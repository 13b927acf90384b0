"""Weights of products on matrix registers: parts of them in groups of rows.

groups[o // 16, .., k // S, p, (k % S) // G, o % 16, k % G]    part p, of S = 32 steps, G = 2
"""

from __future__ import annotations

from dataclasses import replace
from math import prod

import ml_dtypes
import numpy as np

from relay_tune.schedule.rewrites.matrix_products.float_parts import (
    part_of,
    split_floats,
    zero_from,
)
from relay_tune.schedule.rewrites.matrix_products.form import Form
from relay_tune.schedule.rewrites.products import Product, unfused
from relay_tune.tensor.expression import Axis, Scalar, Tensor, index_value
from relay_tune.tensor.size import ceiling_quotient
from relay_tune.tensor.tensor import Computed, compute
from relay_tune.tensor.walk import substitute

CACHED_WEIGHTS = 1 << 16
"""So many weights at a time become parts of groups."""


def groups_shape(weights: tuple[int, ...], inner: int, form: Form) -> tuple[int, ...]:
    """The shape of `groups_of` weights of a shape."""
    *steps, columns = weights
    outer, fused = steps[: len(steps) - inner], steps[len(steps) - inner :]
    return (columns // form.columns, *outer, form.blocks(prod(fused)), *_register_shape(form))


def _register_shape(form: Form) -> tuple[int, int, int, int]:
    """That of the parts of the weights of a register."""
    return form.parts, form.steps // form.group, form.columns, form.group


def groups_of(weights: np.ndarray, inner: int, form: Form) -> np.ndarray:
    """The parts of weights (outer steps .., inner steps .., columns), the last `inner` fused.

    A few blocks of columns at a time, so that what is made of them stays in a cache.
    """
    *steps, columns = weights.shape
    outer, depth = prod(steps[: len(steps) - inner]), prod(steps[len(steps) - inner :])
    parts, rows, width, group = _register_shape(form)
    splits = form.splits(weights.dtype.name)
    shape = columns // width, outer, form.blocks(depth), parts, rows, width, group
    result = np.empty(shape, ml_dtypes.bfloat16 if splits else weights.dtype)
    together = width * max(1, CACHED_WEIGHTS // max(1, outer * depth * width))
    for begin in range(0, columns, together):
        some = weights[..., begin : begin + together]
        flat = np.zeros((outer, form.rounded(depth), some.shape[-1]), weights.dtype)
        flat[:, :depth] = some.reshape(outer, depth, -1)
        own = result[begin // width : (begin + together) // width]
        for part, values in enumerate(split_floats(flat, parts) if splits else [flat]):
            blocks = values.reshape(outer, -1, rows, group, len(own), width)
            for index in range(group):
                own[:, :, :, part, ..., index] = blocks[:, :, :, index].transpose(3, 0, 1, 2, 4)
    return result.reshape(groups_shape(weights.shape, inner, form))


def stored_groups(
    product: Product, weight: Tensor, inner: int, form: Form, part: int | None = None
) -> Computed:
    """The parts of weights that are only known at run time, as `groups_of` has those of constants.

    Before the blocks of columns stand the axes that data and weights share. With `part`, that one
    alone.
    """
    outer, fused = product.steps[:-inner], product.steps[-inner:]
    column, shared = product.stage.axes[-1], product.shared
    depth = prod(axis.extent for axis in fused)
    shape = (
        *(axis.extent for axis in shared),
        ceiling_quotient(column.extent, form.columns),
        *(axis.extent for axis in outer),
        form.blocks(depth),
        *_register_shape(form if part is None else replace(form, parts=1)),
    )

    def element(*at: Scalar) -> Scalar:
        *indices, number, row, position, inside = at
        if part is not None:
            number = index_value(part)
        block = indices[len(shared)]
        step = indices[-1] * form.steps + row * form.group + inside
        known: dict[Axis, Scalar] = dict(zip(shared, indices, strict=False))
        known |= dict(zip(outer, indices[len(shared) + 1 : -1], strict=True))
        known |= unfused(step, fused)
        known[column] = block * form.columns + position
        value = weight[tuple(substitute(index, known) for index in product.weight.indices)]
        found = part_of(number, value, form)
        found = found if depth % form.steps == 0 else zero_from(depth, step, found)
        is_whole = column.extent % form.columns == 0
        return found if is_whole else zero_from(column.extent, known[column], found)

    return compute("groups", shape, element)
