"""Adjoints of functions of one tensor, element by element: slope times adjoint."""

from __future__ import annotations

import math
from collections.abc import Callable

from relay_tune.ir.expr import Expr
from relay_tune.op_rules.gradient.expressions import (
    minus,
    negated,
    number,
    plus,
    product,
    quotient,
)
from relay_tune.op_rules.gradient.rule import Adjoint, Differentiated, GradientRule, GradientRules
from relay_tune.op_rules.typed import call

Slope = Callable[[Expr, Expr], Expr]
"""slope(x, f(x)) -> f'(x)."""

JUMPS = "the function is constant between its jumps"


def by_slope(slope: Slope) -> GradientRule:
    """The rule of a function with this derivative."""

    def adjoints(known: Differentiated) -> tuple[Adjoint]:
        return (product(known.tensor, slope(known.call.arguments[0], known.result)),)

    return GradientRule(adjoints)


def _square(x: Expr) -> Expr:
    return product(x, x)


def _one_less(x: Expr) -> Expr:
    """1 - x."""
    return minus(number(1.0, x), x)


def _one_more(x: Expr) -> Expr:
    """1 + x."""
    return plus(number(1.0, x), x)


def _reciprocal(x: Expr) -> Expr:
    return quotient(number(1.0, x), x)


def _of_logarithm(base: float) -> Slope:
    return lambda x, _: _reciprocal(product(x, number(math.log(base), x)))


def _of_erf(x: Expr, _: Expr) -> Expr:
    return product(number(2.0 / math.sqrt(math.pi), x), call("exp", negated(_square(x))))


def _of_acosh(x: Expr, _: Expr) -> Expr:
    """1 / sqrt((x - 1)(x + 1)): the product is right near 1."""
    return call("rsqrt", product(minus(x, number(1.0, x)), _one_more(x)))


def _of_asin(x: Expr, _: Expr) -> Expr:
    return call("rsqrt", product(_one_less(x), _one_more(x)))


def _of_rsqrt(x: Expr, result: Expr) -> Expr:
    return product(number(-0.5, x), quotient(result, x))


_CONSTANT = GradientRule(constant=JUMPS)

RULES: GradientRules = {
    "negative": GradientRule(lambda known: (negated(known.tensor),)),
    "abs": by_slope(lambda x, _: call("decisive", call("sign", x))),
    "exp": by_slope(lambda _, result: result),
    "log": GradientRule(lambda known: (quotient(known.tensor, known.call.arguments[0]),)),
    "log2": by_slope(_of_logarithm(2.0)),
    "log10": by_slope(_of_logarithm(10.0)),
    "log1p": GradientRule(
        lambda known: (quotient(known.tensor, _one_more(known.call.arguments[0])),)
    ),
    "sqrt": by_slope(lambda x, result: quotient(number(0.5, x), result)),
    "rsqrt": by_slope(_of_rsqrt),
    "tanh": by_slope(lambda _, result: _one_less(_square(result))),
    "sigmoid": by_slope(lambda _, result: product(result, _one_less(result))),
    "erf": by_slope(_of_erf),
    "sin": by_slope(lambda x, _: call("cos", x)),
    "cos": by_slope(lambda x, _: negated(call("sin", x))),
    "tan": by_slope(lambda _, result: _one_more(_square(result))),
    "asin": by_slope(_of_asin),
    "acos": by_slope(lambda x, result: negated(_of_asin(x, result))),
    "atan": by_slope(lambda x, _: _reciprocal(_one_more(_square(x)))),
    "sinh": by_slope(lambda x, _: call("cosh", x)),
    "cosh": by_slope(lambda x, _: call("sinh", x)),
    "asinh": by_slope(lambda x, _: call("rsqrt", _one_more(_square(x)))),
    "acosh": by_slope(_of_acosh),
    "atanh": by_slope(lambda x, _: _reciprocal(product(_one_less(x), _one_more(x)))),
    "copy": GradientRule(lambda known: (known.adjoint,)),
    "ceil": _CONSTANT,
    "floor": _CONSTANT,
    "round": _CONSTANT,
    "sign": _CONSTANT,
    "trunc": _CONSTANT,
}
