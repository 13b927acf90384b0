"""Concatenations onto tensors that are used for the last time: in place, where there is room.

    before: function @loop(i, all):  row = run tanh(x);  more = run concatenate(all, row)
                                     tail call @loop(i, more)
    after:  function @loop(i, all):  row = run tanh(x);  more = extend(all, row)
                                     tail call @loop(i, more)

`extend` consumes the tensor. If this was the last reference, and the block of memory has room, the
rows are written behind those that are there; otherwise the tensor moves to a block with half as
much room again, so that a loop which adds n rows copies a number of them that is proportional to n.
The axis must be the outermost one of more than one element, and the inner sizes must be known.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace

from relay_tune.program.concatenations import Concatenation, concatenation
from relay_tune.program.instructions import ExtendTensor, Instruction, Register
from relay_tune.program.kinds import TensorKind
from relay_tune.program.program import FirstOrderFunction


def with_extended_tensors(function: FirstOrderFunction, is_entry: bool) -> FirstOrderFunction:
    """The function with concatenations in place; those onto inputs of an entry stay as they are."""
    fixed = function.parameters if is_entry else ()
    blocks = tuple(
        replace(
            block,
            instructions=tuple(
                new for each in block.instructions for new in _instructions(each, fixed)
            ),
        )
        for block in function.blocks
    )
    return replace(function, blocks=blocks)


def _instructions(instruction: Instruction, fixed: Collection[Register]) -> Iterator[Instruction]:
    """Replace an instruction that can be in place; others stay."""
    joined = concatenation(instruction)
    if joined is None or joined.old in fixed or not _lies_behind(joined):
        yield instruction
        return
    if joined.computed is not None:
        yield joined.computed
    yield ExtendTensor(joined.result, joined.old, joined.rows, joined.axis)


def _lies_behind(joined: Concatenation) -> bool:
    """Whether rows lie behind those that are there: one slice, and rows of one known size."""
    old, rows = joined.old.kind, joined.rows.kind
    if not isinstance(old, TensorKind) or not isinstance(rows, TensorKind):
        return False
    axis = joined.axis
    outer = (*old.type.shape[:axis], *rows.type.shape[:axis])
    inner, other = old.type.shape[axis + 1 :], rows.type.shape[axis + 1 :]
    is_known = all(isinstance(dim, int) for dim in inner)
    return all(dim == 1 for dim in outer) and is_known and inner == other
