"""Blocks of rows: what they are split into is multiplied before the next ones are.

    before:  for all m:  parts[m, p, k] = part p of x[m, k];  then for all m, o: y[m, o] = ..
    after:   for blocks of 64 rows:  parts' = parts of x[m ..];  y[m .., o] = ..

The parts of images of a batch take as much memory as these, and would be written to and read from
where that is slow.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from relay_tune.ir.dtypes import DTYPES
from relay_tune.schedule.rewrites.matrix_products.form import Form
from relay_tune.schedule.rewrites.matrix_products.operands import steps_in_place
from relay_tune.schedule.rewrites.matrix_products.stages import matched_products
from relay_tune.schedule.rewrites.products import Product
from relay_tune.schedule.row_groups.groups import RowGroup, Step, with_groups
from relay_tune.schedule.row_groups.in_place import in_place
from relay_tune.schedule.row_groups.row_blocks import (
    MAXIMUM_LOCAL_BYTES,
    RowBlocks,
    room_bytes,
    row_blocks,
)
from relay_tune.tensor.expression import Tensor
from relay_tune.tensor.program import TensorProgram
from relay_tune.tensor.size import nominal

FAR_BYTES = 2 << 20
"""Parts of so many bytes leave the second cache before all of them are multiplied."""


def splits_far_rows(program: TensorProgram, form: Form, gathers: bool) -> bool:
    """Whether parts of rows outgrow the second cache, and can be multiplied block by block."""
    return any(
        form.splits(product.data.dtype)
        and (gathers or steps_in_place(product, form) == 1)
        and _stored_bytes(product, form, gathers) >= FAR_BYTES
        for product in matched_products(program, form)
    )


def _stored_bytes(product: Product, form: Form, gathers: bool) -> int:
    """What the parts of the data of a product take, those of the example where sizes are open."""
    read = (*product.rows, *product.steps)
    shape = [axis.extent for axis in read] if gathers else product.data.tensor.shape
    return nominal(prod(shape)) * form.parts * DTYPES[form.pattern.left].itemsize


def in_blocks(
    nests: Sequence[Step], outputs: Sequence[Tensor], rows: int
) -> Sequence[Step | RowBlocks]:
    """The nests of a program, those of products with what they alone read in blocks of rows.

    Groups whose blocks have no room stay apart.
    """
    found: list[Step | RowBlocks] = []
    for step in with_groups(nests, outputs):
        if not isinstance(step, RowGroup):
            found.append(step)
        elif _has_product(step) and room_bytes(step, rows) <= MAXIMUM_LOCAL_BYTES:
            found.append(row_blocks(in_place(step), rows))
        else:
            found += [member.nest for member in step.members]
    return found


def _has_product(group: RowGroup) -> bool:
    return any(member.nest.pattern is not None for member in group.members)
