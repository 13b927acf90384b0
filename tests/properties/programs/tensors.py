"""Expressions of tensor types, from operators that neither overflow nor amplify.

Floats stay in [-1, 1], and no operator changes its result by more than its inputs change, so that
two ways of rounding give nearly equal answers. Integers stay in [-1000, 1000]. Conditions are made
of integers only, which are exact, so that no branch depends on rounding.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import numpy as np

from relay_tune.ir.dim import UNKNOWN
from relay_tune.ir.expr import Call, Constant, Expr, Let, Tuple, TupleGetItem, Var
from relay_tune.ir.operator import find_operator
from relay_tune.ir.types import BOOL, TensorType, Type
from tests.properties.programs.program_types import FLOAT, INT

Make = Callable[[Type], Expr]

UNARY = ("tanh", "sigmoid", "negative", "abs", "sin", "nn.relu", "copy")
COMPARISONS = ("less", "less_equal", "greater", "greater_equal", "equal", "not_equal")
INTEGER_LIMIT = 1000.0


def operate(name: str, *arguments: Expr, **attributes: object) -> Call:
    """A call of an operator by name."""
    operator = find_operator(name)
    assert operator is not None, name
    return operator(*arguments, **attributes)


def random_array(rng: Random, type_: TensorType) -> np.ndarray:
    """An array of the tame range."""
    shape = tuple(dim for dim in type_.shape if isinstance(dim, int))
    count = int(np.prod(shape, dtype=int))
    match type_.dtype:
        case "float32":
            values = [rng.randint(-16, 16) / 16 for _ in range(count)]
        case "int32":
            values = [rng.randint(-5, 5) for _ in range(count)]
        case _:
            values = [rng.random() < 0.5 for _ in range(count)]
    return np.asarray(values, type_.dtype).reshape(shape)


def random_constant(rng: Random, type_: TensorType) -> Expr:
    """A constant of the tame range."""
    return Constant(random_array(rng, type_))


def operator_call(rng: Random, type_: TensorType, make: Make) -> Expr:
    """An operator call with a result of the type; `make(type)` gives arguments."""
    if type_ == INT:
        return _integer(rng, make)
    if type_ == BOOL:
        return _condition(rng, make)
    if type_.dtype == "float32":
        return _float(rng, type_, make)
    return random_constant(rng, type_)


def _integer(rng: Random, make: Make) -> Expr:
    match rng.randrange(5):
        case 0:
            return operate(rng.choice(("maximum", "minimum")), make(INT), make(INT))
        case 1:
            return operate("negative", make(INT))
        case 2:
            return operate("where", make(BOOL), make(INT), make(INT))
        case _:
            name = rng.choice(("add", "subtract", "multiply"))
            result = operate(name, make(INT), make(INT))
            return operate("clip", result, a_min=-INTEGER_LIMIT, a_max=INTEGER_LIMIT)


def _condition(rng: Random, make: Make) -> Expr:
    match rng.randrange(4):
        case 0:
            return operate("logical_not", make(BOOL))
        case 1:
            name = rng.choice(("logical_and", "logical_or"))
            return operate(name, make(BOOL), make(BOOL))
        case _:
            return operate(rng.choice(COMPARISONS), make(INT), make(INT))


def _float(rng: Random, type_: TensorType, make: Make) -> Expr:
    candidates = [_unary, _average, _product, _extreme, _choice]
    only_scalar, only_wide = (
        [_from_scalar_integer, _mean],
        [_rearranged, _matrix, _slice, _forgotten],
    )
    candidates += only_scalar if type_ == FLOAT else only_wide
    return rng.choice(candidates)(rng, type_, make)


def _half() -> Expr:
    return Constant(np.asarray(0.5, "float32"))


def _unary(rng: Random, type_: TensorType, make: Make) -> Expr:
    return operate(rng.choice(UNARY), make(type_))


def _forgotten(rng: Random, type_: TensorType, make: Make) -> Expr:
    """Of a tensor some of whose sizes are forgotten, which are told again of the result."""
    shape = tuple(UNKNOWN if rng.random() < 0.7 else dim for dim in type_.shape)
    before, after = Var("open", TensorType(shape, type_.dtype)), Var("told", type_)
    value = rng.choice((before, operate(rng.choice(UNARY), before)))
    return Let(before, make(type_), Let(after, value, after))


def _average(rng: Random, type_: TensorType, make: Make) -> Expr:
    second = make(rng.choice((type_, FLOAT)))
    total = operate(rng.choice(("add", "subtract")), make(type_), second)
    return operate("multiply", total, _half())


def _product(rng: Random, type_: TensorType, make: Make) -> Expr:
    return operate("multiply", operate("multiply", make(type_), make(type_)), _half())


def _extreme(rng: Random, type_: TensorType, make: Make) -> Expr:
    return operate(rng.choice(("maximum", "minimum")), make(type_), make(type_))


def _choice(rng: Random, type_: TensorType, make: Make) -> Expr:
    return operate("where", make(BOOL), make(type_), make(type_))


def _from_scalar_integer(rng: Random, type_: TensorType, make: Make) -> Expr:
    scale = Constant(np.asarray(1 / INTEGER_LIMIT, "float32"))
    return operate("multiply", operate("cast", make(INT), dtype="float32"), scale)


def _mean(rng: Random, type_: TensorType, make: Make) -> Expr:
    wide = TensorType(rng.choice(((2,), (2, 3), (3,))), "float32")
    return operate(rng.choice(("mean", "max", "min")), make(wide))


def _rearranged(rng: Random, type_: TensorType, make: Make) -> Expr:
    match type_.shape:
        case (int() as rows, int() as columns):
            if rng.random() < 0.5:
                return operate("transpose", make(TensorType((columns, rows), "float32")))
            return operate("nn.softmax", make(type_))
        case (3,):
            return operate("reshape", make(TensorType((1, 3), "float32")), newshape=(3,))
        case _:
            halves = [operate("expand_dims", make(FLOAT), axis=0) for _ in range(2)]
            return operate("concatenate", Tuple(tuple(halves)), axis=0)


def _matrix(rng: Random, type_: TensorType, make: Make) -> Expr:
    if len(type_.shape) != 2:
        return _average(rng, type_, make)
    rows, columns = type_.shape
    inner = rng.choice((2, 3))
    product = operate(
        "nn.dense",
        make(TensorType((rows, inner), "float32")),
        make(TensorType((columns, inner), "float32")),
    )
    scale = Constant(np.asarray(0.5 / inner, "float32"))
    return operate("multiply", product, scale)


def _slice(rng: Random, type_: TensorType, make: Make) -> Expr:
    if type_.shape != (2,):
        return _unary(rng, type_, make)
    if rng.random() < 0.5:
        whole = make(TensorType((3,), "float32"))
        return operate("strided_slice", whole, begin=(1,), end=(3,))
    parts = operate("split", make(TensorType((2, 2), "float32")), indices_or_sections=2, axis=0)
    return operate("squeeze", TupleGetItem(parts, rng.randrange(2)), axis=(0,))
