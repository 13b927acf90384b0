"""Exact quotients of dimensions: division of polynomials."""

from __future__ import annotations

from relay_tune.ir.dim import Dim, UnknownDim
from relay_tune.ir.dim_arithmetic import (
    Product,
    add,
    multiply,
    normal_form,
    subtract,
    term_key,
    terms_of,
)


def exact_quotient(dividend: Dim, divisor: Dim) -> Dim | None:
    """`dividend / divisor` where it is a dimension for all values of the symbols; None elsewhere.

    Sums are divided as polynomials, terms of the highest degree first (D. Cox, J. Little,
    D. O'Shea, "Ideals, Varieties, and Algorithms", section 2.3):
    `(a*b + a + b + 1) / (a + 1) = b + 1`.
    """
    if isinstance(dividend, UnknownDim) or isinstance(divisor, UnknownDim):
        return None
    if dividend == divisor:
        return 1
    wanted, by = next(iter(terms_of(divisor).items()))
    quotient: Dim = 0
    left: Dim = dividend
    while left != 0:
        product, factor = _first_term(left)
        rest = _product_quotient(product, wanted)
        if rest is None or by == 0 or factor % by:
            return None
        term = normal_form({rest: factor // by})
        quotient, left = add(quotient, term), subtract(left, multiply(term, divisor))
        if left != 0 and term_key(_first_term(left)) <= term_key((product, factor)):
            return None  # another form of what was taken away
    return quotient


def _first_term(dim: Dim) -> tuple[Product, int]:
    return next(iter(terms_of(dim).items()))


def _product_quotient(product: Product, divisor: Product) -> Product | None:
    """The atoms of a product without those of another one; None where it has not all of them."""
    left = list(product)
    for atom in divisor:
        if atom not in left:
            return None
        left.remove(atom)
    return tuple(left)
