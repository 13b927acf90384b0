"""Expressions of tensors whose sizes are open in between: `?`, names, and sizes that grow."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random

import numpy as np

import relay_tune.op  # noqa: F401  # operators of the text
from relay_tune.ir.dim import UNKNOWN
from relay_tune.ir.expr import Call, Constant, Constructor, Expr, Function, GlobalVar, Let, Var
from relay_tune.ir.parser.parse import parse
from relay_tune.ir.types import TensorType, Type
from relay_tune.typing.infer import infer_types
from tests.properties.programs.program_types import FLOAT
from tests.properties.programs.tensors import UNARY, operate

LISTS = Path(__file__).with_name("library.relay").read_text()
LIBRARY = infer_types(parse(LISTS + Path(__file__).with_name("open_library.relay").read_text()))
OPEN_FUNCTIONS: Mapping[str, Function] = {
    name: LIBRARY[name] for name in ("mixed", "row_means", "shared", "stacked")
}
"""Functions that these expressions call."""

Make = Callable[[Type], Expr]
ROWS = 2
WIDE = TensorType((ROWS, 3), FLOAT.dtype)
OPEN_ROWS = TensorType((UNKNOWN, 3), FLOAT.dtype)


def open_expression(rng: Random, type_: TensorType, make: Make) -> Expr:
    """A tensor of floats of a type; `make(type)` gives those that it is made of."""
    match type_.shape:
        case ():
            return operate(
                rng.choice(("mean", "max")), rng.choice((_stacked, _pair))(rng, WIDE, make)
            )
        case (2,):
            return _told(
                Call(GlobalVar("row_means"), (make(TensorType((2, 3), "float32")),)), type_
            )
        case (_, 3):
            chosen = rng.choice((_mixed, _shared, _pair, _pair))
            return _told(chosen(rng, type_, make), type_)
        case _:
            return _told(_pair(rng, type_, make), type_)


def _told(value: Expr, type_: TensorType) -> Expr:
    var = Var("told", type_)
    return Let(var, value, var)


def _forgotten(rng: Random, type_: TensorType, value: Expr) -> Expr:
    shape = tuple(UNKNOWN if rng.random() < 0.7 else dim for dim in type_.shape)
    var = Var("open", TensorType(shape, type_.dtype))
    return Let(var, value, var)


def _pair(rng: Random, type_: TensorType, make: Make) -> Expr:
    """Two tensors that are the same size only when the program runs."""
    left, right = (_forgotten(rng, type_, make(type_)) for _ in range(2))
    changed = operate(rng.choice(UNARY), left)
    return operate(rng.choice(("multiply", "maximum", "minimum")), changed, right)


def _mixed(rng: Random, type_: TensorType, make: Make) -> Expr:
    count = Constant(np.asarray(rng.randint(0, 3), "int32"))
    left, right = (rng.choice((make(type_), _forgotten(rng, type_, make(type_)))) for _ in range(2))
    return Call(GlobalVar("mixed"), (left, right, count))


def _shared(rng: Random, type_: TensorType, make: Make) -> Expr:
    return Call(GlobalVar("shared"), (make(type_),))


def _stacked(rng: Random, type_: TensorType, make: Make) -> Expr:
    """A tensor with a row for each of a list, which no type tells."""
    data = LIBRARY.types["List"].constructors
    cons, nil = (next(part for part in data if part.name == name) for name in ("Cons", "Nil"))
    rows: Expr = _listed(nil)
    for _ in range(rng.randint(0, 3)):
        rows = _listed(cons, make(type_), rows)
    return Call(GlobalVar("stacked"), (rows, make(type_)))


def _listed(constructor: Constructor, *fields: Expr) -> Expr:
    return Call(constructor, fields, None, (OPEN_ROWS,))
