"""Dot products of words that are several instructions of machine code."""

from __future__ import annotations

from relay_tune.quick_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class WordSteps:
    """What the product of two vectors of words takes that several instructions add to a sum.

    Attributes:
        instructions: of all; one that multiplies and adds is 1.
        registers: beside those of sums and operands.
    """

    instructions: int
    registers: int


JOINED = WordSteps(1, 0)
"""One instruction does it."""
