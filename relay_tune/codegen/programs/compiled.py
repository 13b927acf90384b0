"""A first-order program after compilation."""

from __future__ import annotations

from dataclasses import dataclass

from relay_tune.codegen.compiled_code import CompiledCode
from relay_tune.codegen.kernel_work import KernelWork
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
    """A primitive that a program may run, any number of times.

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


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class CompiledFunctions(CompiledCode):
    """The compiled code of a program: kernels, jobs, and the program itself.

    Attributes:
        program: its entry points and the layouts of its objects.
        kernel_objects: how many of the object files, the first ones, are those of kernels.
        messages: what the program's own errors say, in the order of their numbers.
        primitives: what the kernels compute.
    """

    program: FirstOrderProgram
    kernel_objects: int
    messages: tuple[str, ...]
    primitives: tuple[ProgramPrimitive, ...] = ()
