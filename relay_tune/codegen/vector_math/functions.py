"""Mathematical functions of floats on scalars and vectors.

float32 values (and 16-bit floats, which are computed as float32) take polynomials: exp, exp2, log,
tanh, erf and sigmoid have their own, the others compute in float64. float64 values call the C
library lane by lane, save the few functions that it lacks.
"""

from __future__ import annotations

from collections.abc import Callable

from relay_tune.codegen.arithmetic import Arithmetic
from relay_tune.codegen.llvm_types import value_type
from relay_tune.codegen.vector_math import exp as exponential
from relay_tune.codegen.vector_math import hyperbolic, trigonometry
from relay_tune.codegen.vector_math import log as logarithm
from relay_tune.codegen.vector_math.erf import erf
from relay_tune.codegen.vector_math.exp2 import exp2
from relay_tune.codegen.vector_math.power import power as float32_power
from relay_tune.codegen.vector_math.wide import in_float64


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


UnaryFunction = Callable[[Arithmetic, str], str]

FLOAT32_FUNCTIONS: dict[str, UnaryFunction] = {
    "exp": exponential.exp,
    "exp2": exp2,
    "tanh": exponential.tanh,
    "sigmoid": exponential.sigmoid,
    "log": logarithm.log,
    "log2": logarithm.log2,
    "erf": erf,
    "sin": in_float64(trigonometry.sin),
    "cos": in_float64(trigonometry.cos),
    "tan": in_float64(trigonometry.tan),
    "asin": in_float64(trigonometry.asin),
    "acos": in_float64(trigonometry.acos),
    "atan": in_float64(trigonometry.atan),
    "sinh": in_float64(hyperbolic.sinh),
    "cosh": in_float64(hyperbolic.cosh),
    "asinh": in_float64(hyperbolic.asinh),
    "acosh": in_float64(hyperbolic.acosh),
    "atanh": in_float64(hyperbolic.atanh),
    "expm1": in_float64(hyperbolic.expm1),
    "log1p": in_float64(hyperbolic.log1p),
}


def _sigmoid_float64(a: Arithmetic, x: str) -> str:
    e = call_library(a, "exp", a.writer.pure(f"fneg {a.type} {x}"))
    return a.binary("fdiv", a.number(1.0), a.binary("fadd", a.number(1.0), e))


FLOAT64_FUNCTIONS: dict[str, UnaryFunction] = {
    **{name: library_function(name) for name in FLOAT32_FUNCTIONS},
    "sigmoid": _sigmoid_float64,
}


def _by_element(name: str) -> UnaryFunction:
    def function(a: Arithmetic, x: str) -> str:
        table = FLOAT64_FUNCTIONS if a.dtype == "float64" else FLOAT32_FUNCTIONS
        return table[name](a, x)

    return function


VECTOR_FUNCTIONS: dict[str, UnaryFunction] = {name: _by_element(name) for name in FLOAT32_FUNCTIONS}
"""The unary operations on floats that need more than an instruction: operation -> writer.

A writer takes the shape of the values and the operand's text and gives the result's text.
"""


def power(a: Arithmetic, x: str, y: str) -> str:
    """x^y with the special cases of C, for floats."""
    if a.dtype == "float64":
        return call_library(a, "pow", x, y)
    return float32_power(a, x, y)
