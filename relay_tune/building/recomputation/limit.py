"""How much memory a program may have between its kernels."""

from __future__ import annotations

from relay_tune.arguments import whole_number
from relay_tune.quick_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class MemoryLimit:
    """A limit of memory.

    Attributes:
        bytes: the most for what a region plans.
        with_held: whether tensors that functions hold while a region runs count, too
            (`relay_tune.program.held_tensors`).
    """

    bytes: int
    with_held: bool = False


def memory_limit_of(given: int | MemoryLimit | None) -> MemoryLimit | None:
    """The limit that a number of bytes is; InputError unless it is a whole one."""
    if given is None or isinstance(given, MemoryLimit):
        return given
    return MemoryLimit(whole_number(given, "memory_limit", 0))
