"""Lanes of a vector as another vector, and vectors one behind the other."""

from __future__ import annotations

from collections.abc import Sequence

from relay_tune.codegen.arithmetic import Arithmetic
from relay_tune.codegen.kernels.transposing import shuffled
from relay_tune.codegen.llvm_types import value_type


def picked(a: Arithmetic, text: str, numbers: Sequence[int]) -> str:
    """The lanes with these numbers."""
    return shuffled(a.writer, value_type(a.dtype), a.lanes, (text, "poison"), numbers)


def joined(a: Arithmetic, pieces: Sequence[str]) -> str:
    """A power of two of vectors as one."""
    lanes, found = a.lanes, list(pieces)
    while len(found) > 1:
        pairs = zip(found[::2], found[1::2], strict=True)
        order = range(2 * lanes)
        found = [shuffled(a.writer, value_type(a.dtype), lanes, pair, order) for pair in pairs]
        lanes *= 2
    return found[0]
