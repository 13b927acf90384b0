"""One value out of the lanes of a vector."""

from __future__ import annotations

from collections.abc import Mapping

from relay_tune.codegen.arithmetic import Arithmetic, Value
from relay_tune.codegen.operations import binary_operation

STEPS: Mapping[str, str] = {"sum": "add", "prod": "mul", "max": "max", "min": "min"}
"""The binary operation of each reduction."""


def reduce_lanes(arithmetic: Arithmetic, operation: str, operand: Value) -> str:
    """A logarithmic tree of shuffles; the last step leaves the result in lane 0.

    `arithmetic` is of the operand's type; its lanes are a power of two.
    """
    width, text = operand.lanes, operand.text
    kind, writer = operand.llvm_type, arithmetic.writer
    while width > 1:
        width //= 2
        order = ", ".join(
            f"i32 {lane + width if lane < width else 0}" for lane in range(operand.lanes)
        )
        moved = writer.pure(
            f"shufflevector {kind} {text}, {kind} poison, <{operand.lanes} x i32> <{order}>"
        )
        text = binary_operation(arithmetic, STEPS[operation], moved, text)
    return writer.pure(f"extractelement {kind} {text}, i64 0")
