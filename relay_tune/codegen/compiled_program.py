"""A program after compilation: object files, constants, and where everything lies.

The main function takes a table of addresses: inputs, outputs, the workspace, the constants.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from relay_tune.codegen.compiled_code import CompiledCode
from relay_tune.codegen.index_checks import ProgramCheck
from relay_tune.codegen.program_step import ProgramStep
from relay_tune.ir.types import TensorType

MAIN_SYMBOL = "relay_tune_main"


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class CompiledProgram(CompiledCode):
    """The compiled code of a network; its main function is `MAIN_SYMBOL`.

    Attributes:
        inputs: the types of the inputs by name, shapes static.
        outputs: the types of the outputs by name.
        workspace_bytes: memory that a run needs for intermediate tensors.
        steps: the primitives in the order in which they run.
        checks: of indices; where there are some, objects have the function `STATUS_SYMBOL`.
    """

    inputs: Mapping[str, TensorType]
    outputs: Mapping[str, TensorType]
    workspace_bytes: int
    steps: tuple[ProgramStep, ...]
    checks: tuple[ProgramCheck, ...] = ()

    @property
    def workspace_slot(self) -> int:
        """The slot of the workspace in the table of addresses; the constants' is the next."""
        return len(self.inputs) + len(self.outputs)

    @property
    def slots(self) -> int:
        """The length of the table."""
        return self.workspace_slot + 2

    @property
    def kernel_symbols(self) -> tuple[str, ...]:
        """The symbols of all kernels, each once."""
        return tuple(dict.fromkeys(call.symbol for step in self.steps for call in step.calls))
