"""A first-order program after compilation."""

from __future__ import annotations

from dataclasses import dataclass

from relay_tune.codegen.constants import Constants
from relay_tune.codegen.target import Target
from relay_tune.first_order.program import FirstOrderProgram


@dataclass(frozen=True, eq=False, slots=True)
class CompiledFunctions:
    """All that is needed to run a program in this process or to link it into a library.

    Attributes:
        target: the machine that the code is for.
        features: what the code asks of the processor.
        threads: how many threads the schedules were made for.
        program: its entry points and the layouts of its objects.
        objects: object files: kernels, jobs, and the program itself.
        constants: the bytes of all constants, made when they are wanted.
        messages: what the program's own errors say, in the order of their numbers.
    """

    target: Target
    features: tuple[str, ...]
    threads: int
    program: FirstOrderProgram
    objects: tuple[bytes, ...]
    constants: Constants
    messages: tuple[str, ...]
