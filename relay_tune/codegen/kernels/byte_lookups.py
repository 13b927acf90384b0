"""Bytes that are looked up in registers: a table of 256 of them, a part for each instruction.

An instruction looks up in its part of the table what an index picks there. For an index of another
part it gives 0, so that OR joins the parts, or it ignores the first bit, which then selects.
"""

from __future__ import annotations

from collections.abc import Sequence

from relay_tune.codegen.arithmetic import Arithmetic
from relay_tune.codegen.kernels.vector_pieces import joined, picked
from relay_tune.machine.architecture import Lookup

Part = Sequence[str]
"""The registers of a part of the table."""


def looked_up(a: Arithmetic, known: Lookup, table: Sequence[str], index: str) -> str:
    """The text of `table[index]`; `a` is the arithmetic of the index, `table` its registers."""
    if a.lanes == known.lanes:
        return _whole(a, known, table, index)
    whole = a.at_lanes(known.lanes)
    if a.lanes < known.lanes:
        wide = picked(a, index, [min(n, a.lanes - 1) for n in range(known.lanes)])
        return picked(whole, _whole(whole, known, table, wide), range(a.lanes))
    pieces = [
        _whole(whole, known, table, picked(a, index, range(begin, begin + known.lanes)))
        for begin in range(0, a.lanes, known.lanes)
    ]
    return joined(whole, pieces)


def _whole(a: Arithmetic, known: Lookup, table: Sequence[str], index: str) -> str:
    parts = [table[n : n + known.registers] for n in range(0, len(table), known.registers)]
    found = [_of_part(a, known, part, number, index) for number, part in enumerate(parts)]
    if not known.is_zero_beyond:
        first, second = found
        return a.select(a.of("int8").compare("slt", index, a.number(0)), second, first)
    total = found[0]
    for each in found[1:]:
        total = a.binary("or", total, each)
    return total


def _of_part(a: Arithmetic, known: Lookup, part: Part, number: int, index: str) -> str:
    """What an index picks in a part of the table."""
    begin = number * known.registers * known.lanes
    if known.is_zero_beyond and begin:
        index = a.binary("sub", index, a.number(begin))
    operands = list(part)
    operands.insert(known.index_place, index)
    arguments = ", ".join(f"{a.type} {text}" for text in operands)
    return a.writer.call(a.type, known.instruction, arguments, ", ".join([a.type] * len(operands)))
