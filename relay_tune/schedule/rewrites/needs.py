"""Requirements of algorithms on the machine that runs them."""

from __future__ import annotations

from collections.abc import Callable

from relay_tune.machine.machine import Machine
from relay_tune.machine.pattern import WordPattern


def runs_anywhere(_: Machine) -> bool:
    """What an algorithm needs that any machine can run."""
    return True


def has_small_tiles(machine: Machine) -> bool:
    """What an algorithm needs that saves lines of the second cache: tiles that do little with one.

    Larger tiles were not seen to wait for them where steps are not pages apart (`row_copies`).
    """
    return machine.vectors.has_few


def multiplies(pattern: WordPattern) -> Callable[[Machine], bool]:
    """What an algorithm needs whose sums are dot products of words: the instruction for these."""
    return lambda machine: pattern.name in machine.dot_products
