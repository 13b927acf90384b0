"""Reverse mode of cells: the adjoint of what a cell holds lies in a second cell."""

from __future__ import annotations

from relay_tune.ir.expr import Expr, RefCreate, RefRead, RefWrite, Tuple, TupleGetItem, Var
from relay_tune.op_rules.gradient.rule import Adjoint
from relay_tune.transform.gradient.block_code import BlockCode
from relay_tune.transform.gradient.cells import is_pair
from relay_tune.transform.gradient.typed_nodes import cell_read, cell_written, field_of, type_of


def sweep_cell(code: BlockCode, value: Expr, adjoint: Adjoint) -> None:
    """Reading adds to the adjoint of a cell's value; writing takes it, and leaves zero.

    Cells with floats are pairs; the adjoint is in the second one.
    """
    match value:
        case RefRead() if adjoint is not None and (cell := _adjoint_cell(code, value.ref)):
            known = code.bound("d_cell", cell_read(cell))
            given = code.of.values.value(adjoint, known)
            code.bound("_", cell_written(cell, code.of.values.sum(known, given)))
        case RefWrite() if cell := _adjoint_cell(code, value.ref):
            taken = code.bound("d_cell", cell_read(cell))
            zero = code.of.values.zero(type_of(taken), value.value)
            code.bound("_", cell_written(cell, zero))
            code.contribute(value.value, taken)


def sweep_new_cell(code: BlockCode, pair: Var, value: Tuple) -> None:
    """Give the adjoint that is left in a new pair to the first value of its first cell."""
    first = code.of.definitions.get(value.fields[0])
    if isinstance(first, RefCreate):
        code.contribute(first.value, code.bound("d_cell", cell_read(field_of(pair, 1))))


def _adjoint_cell(code: BlockCode, cell: Expr) -> Expr | None:
    """The second cell of the pair whose first one `cell` is."""
    match code.of.definitions.get(cell):
        case TupleGetItem(tuple_value=pair, index=0):
            return field_of(pair, 1) if is_pair(code.of.types, type_of(pair)) else None
        case _:
            return None
