"""Code for some sizes of an open dimension, beside that for all of them.

    nn.dense(%x, W)                        for 1, 2, .. 8 rows: one kernel each
    nn.batch_matmul(%x, %y)                for up to 8 rows: operands are read as they lie
    nn.conv2d(%x, W)                       for 1 image; for up to 8

Reading the weights takes most of the time of a product of few rows. What is copied so that many
rows read it in order, few rows read as it lies.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import prod

from relay_tune.building.open_primitives import Example, example_sizes, open_program
from relay_tune.building.primitive import Primitive, PrimitiveCase
from relay_tune.first_order.open_primitive import OpenPrimitive, with_size
from relay_tune.op.lower import TensorProgram, lower_function
from relay_tune.op.primitive_key import PrimitiveKey, primitive_key
from relay_tune.schedule.plan import plan_program
from relay_tune.tensor.dependencies import tensors_in_order
from relay_tune.tensor.expression import Reduce
from relay_tune.tensor.size import UndecidedSizeError
from relay_tune.tensor.tensor import Computed
from relay_tune.tensor.walk import axes_of, loads

FEW_ROWS = 8
"""Up to so many rows, code is chosen for an example of so many."""

LEAST_WEIGHTS = 32 << 10
"""Bytes of weights that do not stay in a first cache."""

USUAL_SIZES = (1,)
"""Sizes of open dimensions that get code of their own: a single sample is the commonest batch."""


def size_cases(
    named: OpenPrimitive, key: PrimitiveKey, program: TensorProgram, sizes: Sequence[int]
) -> tuple[PrimitiveCase, ...]:
    """The cases of an open primitive, in the order in which they are tried.

    Products with weights have one for each of `sizes`. A fixed size has a schedule, and a record in
    the tuning log, of its own. Where a size is a number of rows, each small one is fixed.
    """
    rows = _rows_of_products(program)
    if not rows:
        return tuple(_few(named, key, s) for s in named.symbols if _differs(named, program, s))
    if len(named.symbols) != 1:
        return ()
    (symbol,) = named.symbols
    known = [_fixed(named, symbol, size) for size in dict.fromkeys(sizes)]
    if rows != {example_sizes(named)[symbol]}:
        return (*known, _few(named, key, symbol))
    others = [size for size in range(1, FEW_ROWS + 1) if size not in sizes]
    cases = [_fixed(named, symbol, size) for size in others]
    return (*known, *(replace(case, shares_packing=True) for case in cases))


def _fixed(named: OpenPrimitive, symbol: str, size: int) -> PrimitiveCase:
    fixed = with_size(named, symbol, size)
    own = Primitive(primitive_key(fixed), lower_function(fixed))
    return PrimitiveCase(symbol, size, size, own)


def _few(named: OpenPrimitive, key: PrimitiveKey, symbol: str) -> PrimitiveCase:
    """The same code for all sizes of a symbol that are few."""
    own = PrimitiveKey(f"{key.digest}{symbol}f{FEW_ROWS}", key.title)
    example = Example({symbol: FEW_ROWS})
    few = Primitive(own, open_program(named, example), open=named, example=example)
    return PrimitiveCase(symbol, 1, FEW_ROWS, few)


def _differs(named: OpenPrimitive, program: TensorProgram, symbol: str) -> bool:
    """Whether few points of an axis are computed in other steps: operands are not copied, say."""
    if not any(_products(program)):
        return False
    try:
        many = plan_program(program)
        few = plan_program(open_program(named, Example({symbol: FEW_ROWS})))
    except UndecidedSizeError:  # there is no code for all sizes, which is said where it is written
        return False
    return len(many.steps) != len(few.steps)


def _rows_of_products(program: TensorProgram) -> set[int]:
    """For each reduction that reads large constants, how many results read the same element."""
    known = {tensor for tensor, data in program.constants if data.nbytes >= LEAST_WEIGHTS}
    found: set[int] = set()
    for tensor in _products(program):
        for load in loads(tensor.body):
            if load.tensor in known:
                used = axes_of(*load.indices)
                found.add(prod(axis.extent for axis in tensor.axes if axis not in used))
    return found


def _products(program: TensorProgram) -> Iterator[Computed]:
    """The reductions of a program that read more than one tensor."""
    for tensor in tensors_in_order(program.outputs):
        if not isinstance(tensor, Computed) or not isinstance(tensor.body, Reduce):
            continue
        if len({load.tensor for load in loads(tensor.body)}) > 1:
            yield tensor
