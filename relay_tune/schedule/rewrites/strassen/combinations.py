"""Which sums of halves Strassen's algorithm multiplies, and which products add up to a result.

V. Strassen, "Gaussian elimination is not optimal" (1969), with the halves a[i, k] of the left and
b[k, j] of the right matrix:

    p0 = (a00 + a11) (b00 + b11)    p1 = (a10 + a11) b00    p2 = a00 (b01 - b11)
    p3 = a11 (b10 - b00)            p4 = (a00 + a01) b11    p5 = (a10 - a00) (b00 + b01)
    p6 = (a01 - a11) (b10 + b11)

    c00 = p0 + p3 - p4 + p6    c01 = p2 + p4    c10 = p1 + p3    c11 = p0 - p1 + p2 + p5
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce as fold

from relay_tune.tensor.expression import Scalar

PRODUCTS = 7

Half = tuple[int, int]
"""Which half along the first and along the second axis of a matrix."""

Signed = tuple[tuple[Half, int], ...]
"""Halves with signs; the first one is positive."""

LEFT: tuple[Signed, ...] = (
    (((0, 0), 1), ((1, 1), 1)),
    (((1, 0), 1), ((1, 1), 1)),
    (((0, 0), 1),),
    (((1, 1), 1),),
    (((0, 0), 1), ((0, 1), 1)),
    (((1, 0), 1), ((0, 0), -1)),
    (((0, 1), 1), ((1, 1), -1)),
)
"""For each product its left factor."""

RIGHT: tuple[Signed, ...] = (
    (((0, 0), 1), ((1, 1), 1)),
    (((0, 0), 1),),
    (((0, 1), 1), ((1, 1), -1)),
    (((1, 0), 1), ((0, 0), -1)),
    (((1, 1), 1),),
    (((0, 0), 1), ((0, 1), 1)),
    (((1, 0), 1), ((1, 1), 1)),
)
"""For each product its right factor."""

RESULTS: tuple[tuple[tuple[int, int], ...], ...] = (
    ((0, 1), (3, 1), (4, -1), (6, 1)),
    ((2, 1), (4, 1)),
    ((1, 1), (3, 1)),
    ((0, 1), (1, -1), (2, 1), (5, 1)),
)
"""For c00, c01, c10 and c11 the products with their signs; the first one is positive."""


def factors(signed: Sequence[Signed], half: Callable[[int, int], Scalar]) -> list[Scalar]:
    """One side of each product, where `half(i, j)` is an element of a half."""
    return [_total([(half(*at), sign) for at, sign in terms]) for terms in signed]


def results(product: Callable[[int], Scalar]) -> list[Scalar]:
    """c00, c01, c10 and c11, where `product(p)` is an element of a product."""
    return [_total([(product(p), sign) for p, sign in terms]) for terms in RESULTS]


def _total(terms: Sequence[tuple[Scalar, int]]) -> Scalar:
    (first, _), *others = terms
    return fold(
        lambda total, term: total + term[0] if term[1] > 0 else total - term[0], others, first
    )
