"""Calls of functions of the C mathematical library, one for each lane."""

from __future__ import annotations

from collections.abc import Callable

from relay_tune.codegen.arithmetic import Arithmetic
from relay_tune.codegen.llvm_types import value_type


def library_function(name: str) -> Callable[[Arithmetic, str], str]:
    """A function of one float64 value that calls `double name(double)`."""

    def call(a: Arithmetic, x: str) -> str:
        return call_library(a, name, x)

    return call


def call_library(a: Arithmetic, name: str, *operands: str) -> str:
    """`name` of float64 operands of the shape of `a`; it must have no side effect that matters."""
    types = ", ".join(["double"] * len(operands))
    if not a.lanes:
        arguments = ", ".join(f"double {operand}" for operand in operands)
        return a.writer.call("double", name, arguments, types)
    result = "poison"
    for lane in range(a.lanes):
        elements = [
            a.writer.pure(f"extractelement {a.type} {operand}, i64 {lane}") for operand in operands
        ]
        arguments = ", ".join(f"double {element}" for element in elements)
        value = a.writer.call(value_type("float64"), name, arguments, types)
        result = a.writer.pure(f"insertelement {a.type} {result}, double {value}, i64 {lane}")
    return result
