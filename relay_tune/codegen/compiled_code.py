"""The machine code and constants of a compiled program."""

from __future__ import annotations

from relay_tune.codegen.constants import Constants
from relay_tune.codegen.target import Target
from relay_tune.quick_dataclass import dataclass


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class CompiledCode:
    """Machine code with its constants, to run in this process or to link into a library.

    Attributes:
        target: the machine that the code is for.
        features: what the code asks of the processor.
        threads: how many threads the schedules were made for.
        objects: object files: kernels, and the functions that call them.
        constants: the bytes of all constants, made when they are wanted.
    """

    target: Target
    features: tuple[str, ...]
    threads: int
    objects: tuple[bytes, ...]
    constants: Constants
