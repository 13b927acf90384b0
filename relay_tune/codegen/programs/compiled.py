"""A first-order program after compilation."""

from __future__ import annotations

from relay_tune.codegen.compiled_code import CompiledCode
from relay_tune.codegen.kernel_calls import Calls, single_calls
from relay_tune.codegen.program_step import ProgramStep
from relay_tune.program.program import FirstOrderProgram
from relay_tune.quick_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class CompiledRegion:
    """A region: the symbol of the function that runs its kernels, and its steps.

    Attributes:
        job: the symbol.
        calls: the kernels that it calls.
        steps: what they compute: each step has its kernels, those of alternatives in order.
        elsewhere: the bytes of constants that other regions read between two runs of it, at least.
        workspace: the bytes of its intermediate tensors, where all sizes are known.
    """

    job: str
    calls: Calls
    steps: tuple[ProgramStep, ...]
    elsewhere: int = 0
    workspace: int = 0


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class CompiledFunctions(CompiledCode):
    """The compiled code of a program: kernels, the jobs of regions, and the program itself.

    The object files are those of the kernels, then that of all jobs, then the others.

    Attributes:
        program: its entry points and the layouts of its objects.
        kernel_objects: how many of the object files are those of kernels.
        messages: what the program's own errors say, in the order of their numbers.
        regions: the kernels that run together, or by themselves.
        is_strained: whether a limit of memory has some kernels run again, or had others chosen.
        held: the most bytes of tensors that functions hold while a region runs, as loops do.
    """

    program: FirstOrderProgram
    kernel_objects: int
    messages: tuple[str, ...]
    regions: tuple[CompiledRegion, ...] = ()
    is_strained: bool = False
    held: int = 0

    @property
    def workspace_bytes(self) -> int:
        """The bytes between kernels; of regions that follow each other, those of the largest."""
        return max((region.workspace for region in self.regions), default=0)

    @property
    def kernel_symbols(self) -> tuple[str, ...]:
        """The symbols of all kernels, each once."""
        single = (call for region in self.regions for call in single_calls(region.calls))
        return tuple(dict.fromkeys(call.symbol for call in single))
