"""Sizes that are no smaller than the windows which move along them.

    before:  fn (%x: Tensor[(1, s0, s1, 16), float32]) { nn.conv2d(%x, 3x3) }
             gives  Tensor[(1, s0 - 2, s1 - 2, 16), float32]
    after:   fn (%x: Tensor[(1, s0 + 2, s1 + 2, 16), float32]) { .. }
             gives  Tensor[(1, s0, s1, 16), float32]

A primitive does not run where a window does not fit (see `window_checks`), so its code may know
that one does: how many windows there are is a size then, and not a difference that might be less
than one, and their result can be stored into an image with zeros around it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from relay_tune.ir.dim import Dim, Polynomial, Symbol
from relay_tune.ir.expr import Call, Function
from relay_tune.ir.traversal import post_order
from relay_tune.op.window_fit import window_rooms


def least_sizes(primitive: Function) -> Mapping[str, int]:
    """The least value of each symbol of a typed primitive for which all windows fit, above one."""
    found: dict[str, int] = {}
    for node in post_order(primitive.body):
        if isinstance(node, Call):
            for each in window_rooms(node):
                for name, least in _least(each.room):
                    found[name] = max(least, found.get(name, 2))
    return found


def _least(room: Dim) -> Iterator[tuple[str, int]]:
    """The symbol of which a room is a multiple but for a number, and its least value."""
    terms = dict(room.terms) if isinstance(room, Polynomial) else {}
    constant = terms.pop((), 0)
    if len(terms) != 1:
        return
    ((product, factor),) = terms.items()
    least = -(constant // factor) if factor > 0 else 0
    if least > 1 and len(product) == 1 and isinstance(product[0], Symbol):
        yield product[0].name, least
