"""Other axes in the place of those of a statement."""

import numpy as np
import pytest

from relay_tune.tensor.expression import INDEX, Axis, Scalar, binary, index_value, literal
from relay_tune.tensor.loops import (
    Allocate,
    Block,
    Branch,
    Buffer,
    BufferScope,
    Let,
    Loop,
    LoopKind,
    Statement,
    Store,
    While,
)
from relay_tune.tensor.rename_axes import with_axes
from relay_tune.tensor.run_loops import run_loops
from relay_tune.tensor.touched import statements

OUT = Buffer(name="out", shape=(8,), dtype="int64", scope=BufferScope.ARGUMENT)


def over(axis: Axis, begin: Scalar, end: int, body: Statement) -> Statement:
    return Loop(axis, begin, index_value(end), body, LoopKind.SERIAL)


def program(outer: Axis) -> Statement:
    """Every kind of statement, with `outer` in each position where an expression may stand."""
    inner, named = Axis("inner", 8), Axis("named", 8)
    cell = Buffer(name="cell", shape=(1,), dtype="int64", scope=BufferScope.LOCAL)
    zero = index_value(0)
    once = While(
        binary("lt", cell[0], outer + 1), Store(cell, (zero,), cell[0] + outer + literal(1, INDEX))
    )
    stored = Store(OUT, (named,), named * 10 + outer + cell[0])
    doubled = Store(OUT, (named,), OUT[named] * 2 + outer)
    chosen = Branch(binary("eq", outer, 3), doubled, Store(OUT, (outer,), index_value(-1)))
    body = Let(named, inner + outer - 3, Block((stored, chosen)))
    loop = over(inner, outer, 6, body)
    return Allocate(cell, Block((Store(cell, (zero,), zero), once, loop)))


@pytest.mark.parametrize("value", [3, 4])
def test_an_axis_is_replaced_wherever_it_occurs(value):
    outer, other = Axis("outer", 8), Axis("other", 8)
    expected, found = np.zeros(8, np.int64), np.zeros(8, np.int64)
    run_loops(over(outer, index_value(value), value + 1, program(outer)), {OUT: expected})
    renamed = with_axes(program(outer), {outer: other})
    run_loops(over(other, index_value(value), value + 1, renamed), {OUT: found})
    assert expected.any()
    np.testing.assert_array_equal(found, expected)


def test_axes_that_a_statement_binds_keep_their_names():
    outer = Axis("outer", 8)
    root = program(outer)
    bound = [s.axis for s in statements(root) if isinstance(s, Loop | Let)]
    renamed = with_axes(root, {outer: Axis("other", 8)})
    assert [s.axis for s in statements(renamed) if isinstance(s, Loop | Let)] == bound
