"""Checks that windows fit where only a run tells the sizes.

before: %y = run nn.max_pool1d(%x, pool_size=[5])
after:  check that %x.shape[2] + -5 is not negative;  %y = run nn.max_pool1d(%x, pool_size=[5])

The number of windows is arithmetic that holds for axes that are no smaller than a window only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from relay_tune.ir.dim_arithmetic import symbol_names
from relay_tune.ir.dim_order import has_positive_terms
from relay_tune.ir.expr import Call, Function
from relay_tune.ir.traversal import post_order
from relay_tune.op.window_fit import WindowRoom, window_rooms
from relay_tune.program.instructions import CheckRoom, Register, SizeOf
from relay_tune.program.open_primitive import OpenPrimitive, is_open_primitive, open_primitive
from relay_tune.program.size_naming import SizeSource


def window_checks(primitive: Function, inputs: Sequence[Register]) -> Iterator[CheckRoom]:
    """Conditions to check before a primitive runs on inputs."""
    if not any(_open_rooms(primitive)) or not is_open_primitive(primitive):
        return
    named = open_primitive(primitive)
    for room in _open_rooms(named.function):
        symbols = {name: _source(named, inputs, name) for name in sorted(symbol_names(room.room))}
        yield CheckRoom(room.room, symbols, room.message)


def _open_rooms(primitive: Function) -> Iterator[WindowRoom]:
    """The rooms that may be negative."""
    for node in post_order(primitive.body):
        if isinstance(node, Call):
            yield from (each for each in window_rooms(node) if not has_positive_terms(each.room))


def _source(
    named: OpenPrimitive, inputs: Sequence[Register], symbol: str
) -> tuple[SizeOf, SizeSource]:
    source = named.symbols[symbol]
    return SizeOf(inputs[source.input], source.axis), source
