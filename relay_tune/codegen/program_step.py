"""One step of a region: the kernels of one primitive, their arguments and work."""

from __future__ import annotations

from relay_tune.codegen.kernel_calls import KernelCall
from relay_tune.codegen.kernel_work import KernelWork
from relay_tune.quick_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class ProgramStep:
    """The kernels of one primitive in a region of a program.

    Attributes:
        title: the primitive in words, that of no other step.
        digest: the digest of its key.
        calls: its kernels with their arguments.
        work: what one run has to do; None where that depends on sizes of the run.
        nodes: the names of the user's nodes that it computes, the main one first.
    """

    title: str
    digest: str
    calls: tuple[KernelCall, ...]
    work: KernelWork | None
    nodes: tuple[str, ...] = ()
