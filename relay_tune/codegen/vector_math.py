"""Mathematical functions on vectors, as polynomials in IR; see `VECTOR_FUNCTIONS` at the end."""

from __future__ import annotations

from collections.abc import Callable

from relay_tune.codegen.arithmetic import Arithmetic


def _library(name: str) -> Callable[[Arithmetic, str], str]:
    def call(a: Arithmetic, x: str) -> str:
        return a.intrinsic(name, x)

    return call


def sigmoid(a: Arithmetic, x: str) -> str:
    """1 / (1 + exp(-x))."""
    e = VECTOR_FUNCTIONS["exp"](a, a.writer.pure(f"fneg {a.type} {x}"))
    return a.binary("fdiv", a.number(1.0), a.binary("fadd", a.number(1.0), e))


VECTOR_FUNCTIONS: dict[str, Callable[[Arithmetic, str], str]] = {
    "exp": _library("exp"),
    "log": _library("log"),
    "tanh": _library("tanh"),
    "sigmoid": sigmoid,
}
