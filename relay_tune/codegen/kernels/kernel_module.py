"""Kernels as one LLVM module."""

from __future__ import annotations

from collections.abc import Sequence

from relay_tune.codegen.kernels.kernel_writer import write_kernel
from relay_tune.codegen.target import Target
from relay_tune.tensor.loops import Kernel


def module_text(kernels: Sequence[Kernel], target: Target) -> str:
    """The LLVM module of some kernels.

    Raises BuildError if they use an intrinsic that the target does not have.
    """
    functions = [
        write_kernel(
            kernel,
            target.scales_powers,
            target.rounds_bfloats,
            target.intrinsics,
            target.dot_products,
            target.lookups,
            target.streaming,
        )
        for kernel in kernels
    ]
    declarations = sorted({line for function in functions for line in function.declarations})
    head = f'target triple = "{target.triple}"'
    return "\n".join([head, *declarations, *(function.text for function in functions)])
