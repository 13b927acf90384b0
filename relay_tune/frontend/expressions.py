"""Expressions, with all operators known, so that `x + 1` means something."""

import relay_tune.op  # noqa: F401  # registers the operators behind Python's
from relay_tune.ir.expr import (
    Call,
    Constant,
    Expr,
    Function,
    GlobalVar,
    If,
    Let,
    Match,
    Tuple,
    TupleGetItem,
    Var,
    constant,
)

__all__ = [
    "Call",
    "Constant",
    "Expr",
    "Function",
    "GlobalVar",
    "If",
    "Let",
    "Match",
    "Tuple",
    "TupleGetItem",
    "Var",
    "constant",
]
