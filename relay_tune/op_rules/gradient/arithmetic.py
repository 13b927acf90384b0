"""Adjoints of arithmetic on two tensors, which broadcast.

maximum and minimum give the whole adjoint to the first argument where both are equal.
"""

from __future__ import annotations

from collections.abc import Callable

from relay_tune.ir.expr import Expr
from relay_tune.op_rules.gradient.expressions import (
    minus,
    negated,
    number,
    product,
    quotient,
    summed_to,
    zero_where,
)
from relay_tune.op_rules.gradient.rule import (
    Adjoint,
    AdjointRule,
    Differentiated,
    GradientRule,
    GradientRules,
)
from relay_tune.op_rules.typed import call

Part = Callable[[Differentiated], Expr]
"""The adjoint of one argument, in the shape of the result."""


def broadcasting(left: Part, right: Part) -> AdjointRule:
    """The rule of an operator of two tensors that broadcast to each other."""

    def adjoints(known: Differentiated) -> tuple[Adjoint, Adjoint]:
        first, second = known.call.arguments
        return summed_to(left(known), first), summed_to(right(known), second)

    return adjoints


def _unchanged(known: Differentiated) -> Expr:
    return known.tensor


def _negated(known: Differentiated) -> Expr:
    return negated(known.tensor)


def _times(index: int) -> Part:
    return lambda known: product(known.tensor, known.call.arguments[index])


def _divided(known: Differentiated) -> Expr:
    return quotient(known.tensor, known.call.arguments[1])


def _divisor(known: Differentiated) -> Expr:
    """d(x / y) / dy = -(x / y) / y."""
    slope = quotient(known.result, known.call.arguments[1])
    return negated(product(known.tensor, slope))


def _base(known: Differentiated) -> Expr:
    """d(x^y) / dx = y x^(y - 1), and 0 where y is 0, even at x = 0."""
    base, exponent = known.call.arguments
    lower = call("power", base, minus(exponent, number(1.0, exponent)))
    is_constant = call("equal", exponent, number(0.0, exponent))
    return product(known.tensor, zero_where(is_constant, product(exponent, lower)))


def _exponent(known: Differentiated) -> Expr:
    """d(x^y) / dy = x^y log(x), and 0 at x = 0, as its limit for y > 0 is."""
    base, _ = known.call.arguments
    at_zero = call("equal", base, number(0.0, base))
    safe = call("where", at_zero, number(1.0, base), base)
    return product(known.tensor, zero_where(at_zero, product(known.result, call("log", safe))))


def _where_first(comparison: str) -> Part:
    def chosen(known: Differentiated) -> Expr:
        return zero_where(call(comparison, *known.call.arguments), known.tensor)

    return chosen


def _where_second(comparison: str) -> Part:
    def chosen(known: Differentiated) -> Expr:
        loses = call(comparison, *known.call.arguments)
        return call("where", loses, known.tensor, number(0.0, known.tensor))

    return chosen


RULES: GradientRules = {
    "add": GradientRule(broadcasting(_unchanged, _unchanged)),
    "subtract": GradientRule(broadcasting(_unchanged, _negated)),
    "multiply": GradientRule(broadcasting(_times(1), _times(0))),
    "divide": GradientRule(broadcasting(_divided, _divisor)),
    "power": GradientRule(broadcasting(_base, _exponent)),
    "maximum": GradientRule(broadcasting(_where_first("less"), _where_second("less"))),
    "minimum": GradientRule(broadcasting(_where_first("greater"), _where_second("greater"))),
}
