"""Code for rows of an open length that have a longest, beside that for rows of any length.

    nn.batch_matmul(nn.softmax(nn.batch_matmul(%q, %k)), %v)      for up to 4096 keys

    any length:    scores[12, n, t] = ..; exp ..; sums ..; shares ..; y = ..      through memory
    up to 4096:    for each block of 64 rows: all of these, in a buffer of 64 * 4096 elements

Where a longest row is known, a block of rows has room in a buffer of a known size, and the groups
of `relay_tune.schedule.row_groups` serve as for sizes that are fixed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from relay_tune.building.primitive import Primitive, PrimitiveCase
from relay_tune.ir.dim_arithmetic import symbol_names
from relay_tune.op.primitive_key import PrimitiveKey
from relay_tune.program.open_primitive import OpenPrimitive
from relay_tune.program.open_programs import Example, is_possible, open_program, products_of
from relay_tune.schedule.plan import plan_program
from relay_tune.tensor.program import TensorProgram
from relay_tune.tensor.size import UndecidedSizeError, dim_of

LONGEST_ROW = 4096
"""Up to so much of each size, rows of scores have a room of their own beside the registers."""

EXAMPLE_ROW = 512
"""The example for which the code of so many rows of so many scores is chosen.

Of few rows all scores would stay in a near cache.
"""


def bounded_rows(
    named: OpenPrimitive, key: PrimitiveKey, program: TensorProgram, example: Example
) -> Iterator[PrimitiveCase]:
    """The case of rows that have a longest, if these leave more choices than rows of any length.

    Scores of attention: blocks of their rows stay in a near cache, in a buffer of a known size.
    """
    products = [product for product in products_of(program) if product.axes]
    ends = (dim_of(product.axes[-1].extent) for product in products)
    lengths = dict.fromkeys(sorted({symbol for end in ends for symbol in symbol_names(end)}), 0)
    if len(products) < 2 or not lengths:
        return
    counts = (dim_of(axis.extent) for product in products for axis in product.axes)
    rows = sorted({symbol for count in counts for symbol in symbol_names(count)})
    own = {**example.own, **dict.fromkeys(rows, EXAMPLE_ROW)}
    most = dict.fromkeys(lengths, LONGEST_ROW)
    bounded = replace(example, own=own, most=most)
    shorter = open_program(named, bounded)
    if is_possible(shorter) and _choices(shorter) > _choices(program):
        own_key = PrimitiveKey(f"{key.digest}r{LONGEST_ROW}", key.title)
        case = Primitive(own_key, shorter, named.function, open=named, example=bounded)
        bounds = {name: (example.least.get(name, 1), size) for name, size in most.items()}
        yield PrimitiveCase(bounds, case)


def _choices(program: TensorProgram) -> int:
    """The number of algorithms; 0 where there is no code for all sizes."""
    try:
        return len(plan_program(program).algorithms)
    except UndecidedSizeError:  # which is said where it is written
        return 0
