"""A first-order program after compilation."""

from __future__ import annotations

from dataclasses import dataclass

from relay_tune.codegen.compiled_code import CompiledCode
from relay_tune.first_order.program import FirstOrderProgram


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class CompiledFunctions(CompiledCode):
    """The compiled code of a program: kernels, jobs, and the program itself.

    Attributes:
        program: its entry points and the layouts of its objects.
        messages: what the program's own errors say, in the order of their numbers.
    """

    program: FirstOrderProgram
    messages: tuple[str, ...]
