"""Kernels in a fused module, and what they compute."""

from __future__ import annotations

from relay_tune.ir.expr import Call, Expr, Function
from relay_tune.op.lower import lower_function
from relay_tune.program.open_primitive import is_open_primitive, open_primitive
from relay_tune.program.open_programs import open_program
from relay_tune.tensor.program import TensorProgram


def kernel_of(node: Expr) -> Function | None:
    """The kernel that an expression calls, if it does."""
    if not isinstance(node, Call) or not isinstance(node.callee, Function):
        return None
    return node.callee if node.callee.is_primitive else None


def kernel_program(kernel: Function) -> TensorProgram:
    """What a kernel computes, for any sizes that only a run knows."""
    if not is_open_primitive(kernel):
        return lower_function(kernel)
    return open_program(open_primitive(kernel))
