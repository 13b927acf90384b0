"""A first-order program after compilation."""

from __future__ import annotations

from dataclasses import dataclass

from relay_tune.codegen.compiled_code import CompiledCode
from relay_tune.codegen.kernel_work import KernelWork
from relay_tune.codegen.program_step import ProgramStep
from relay_tune.first_order.program import FirstOrderProgram


@dataclass(frozen=True, slots=True)
class KernelFunction:
    """A kernel as code calls it: with addresses, sizes, its share and the number of shares.

    Attributes:
        symbol: its name.
        arguments: how many addresses it takes.
        sizes: how many dynamic sizes.
    """

    symbol: str
    arguments: int
    sizes: int


@dataclass(frozen=True, slots=True)
class ProgramPrimitive:
    """A primitive that a program may run by itself, any number of times.

    Attributes:
        title: the primitive in words, that of no other.
        digest: the digest of its key.
        kernels: that compute it.
        work: what one run has to do; None where that depends on sizes of the run.
        nodes: the names of the user's nodes that it computes, the main one first.
    """

    title: str
    digest: str
    kernels: tuple[KernelFunction, ...]
    work: KernelWork | None
    nodes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CompiledRegion:
    """A region: the symbol of the function that runs its kernels, and its steps in order."""

    job: str
    steps: tuple[ProgramStep, ...]


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class CompiledFunctions(CompiledCode):
    """The compiled code of a program: kernels, regions, other jobs, and the program itself.

    The object files are those of the kernels, then one for each region, then the others.

    Attributes:
        program: its entry points and the layouts of its objects.
        kernel_objects: how many of the object files are those of kernels.
        messages: what the program's own errors say, in the order of their numbers.
        primitives: what kernels compute that run by themselves.
        regions: the kernels that run together.
    """

    program: FirstOrderProgram
    kernel_objects: int
    messages: tuple[str, ...]
    primitives: tuple[ProgramPrimitive, ...] = ()
    regions: tuple[CompiledRegion, ...] = ()

    @property
    def kernel_symbols(self) -> tuple[str, ...]:
        """The symbols of all kernels, each once."""
        lone = (kernel.symbol for each in self.primitives for kernel in each.kernels)
        steps = (step for region in self.regions for step in region.steps)
        together = (call.symbol for step in steps for call in step.calls)
        return tuple(dict.fromkeys((*lone, *together)))
