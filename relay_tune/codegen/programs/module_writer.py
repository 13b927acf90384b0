"""What the functions of a program share while they are written."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field

import numpy as np

from relay_tune.codegen.programs.region_step import RegionStep
from relay_tune.codegen.programs.session import FIRST_MESSAGE
from relay_tune.ir.expr import Function
from relay_tune.program.program import FirstOrderProgram
from relay_tune.program.region import Region
from relay_tune.quick_dataclass import dataclass


@dataclass(eq=False, slots=True)
class ModuleWriter:
    """The module under construction.

    Attributes:
        program: the program.
        waiting: the step of each primitive that waits, or runs for several calls.
        regions: those of its regions.
        constant_object: the offset of the static tensor object with some content.
        declarations: LLVM declarations that functions need.
        messages: the program's own errors.
        passed: the most values that are passed through the session at a time.
        queued: the numbers of the primitives that wait to be run.
    """

    program: FirstOrderProgram
    waiting: Mapping[Function, RegionStep]
    regions: Mapping[Region, RegionStep]
    constant_object: Callable[[np.ndarray], int]
    declarations: set[str] = field(default_factory=set)
    messages: list[str] = field(default_factory=list)
    passed: int = 0
    queued: dict[Function, int] = field(default_factory=dict)

    def queue_number(self, primitive: Function) -> int:
        """The number of a primitive among those that wait to be run."""
        return self.queued.setdefault(primitive, len(self.queued))

    def message_number(self, message: str) -> int:
        """The number of an error."""
        if message not in self.messages:
            self.messages.append(message)
        return FIRST_MESSAGE + self.messages.index(message)
