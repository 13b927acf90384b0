"""Blocks of rows: what they are split into is multiplied before the next ones are.

    before:  for all m:  parts[m, p, k] = part p of x[m, k];  then for all m, o: y[m, o] = ..
    after:   for blocks of 64 rows:  parts' = parts of x[m ..];  y[m .., o] = ..

The parts of images of a batch take as much memory as these, and would be written to and read from
where that is slow.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
from relay_tune.tensor.tensor import Computed

BLOCK_ROWS = 64
"""Rows of a block: what they are split into stays in the nearest caches."""

FEW_BLOCK_ROWS = 32
"""The same of rows that are computed first: of scores they have up to 4,096 elements."""

FAR_BYTES = 2 << 20
"""Parts of so many bytes leave the second cache before all of them are multiplied."""


def block_rows(program: TensorProgram, form: Form, gathers: bool) -> Iterator[int]:
    """The rows of blocks that are worth a look: what products read outgrows the second cache.

    That are parts of their data, or what the program computes for them, as shares of attention.
    """
    far = [
        product
        for product in matched_products(program, form)
        if (gathers or steps_in_place(product, form) == 1)
        and _stored_bytes(product, form, gathers) >= FAR_BYTES
    ]
    if any(form.splits(product.data.dtype) for product in far):
        yield BLOCK_ROWS
    if any(isinstance(product.data.tensor, Computed) for product in far):
        yield FEW_BLOCK_ROWS


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
            continue
        group = in_place(step)
        if _has_product(group) and room_bytes(group, rows) <= MAXIMUM_LOCAL_BYTES:
            found.append(row_blocks(group, rows))
        else:
            found += [member.nest for member in step.members]
    return found


def _has_product(group: RowGroup) -> bool:
    return any(member.nest.pattern is not None for member in group.members)
