"""Between which numbers a size lies, from the bounds of its symbols (interval arithmetic).

    n from 1 to 100:    2 * n + 3 is 5 to 203       n // 4 is 0 to 25       n * n is 1 to 10000
    n from 1, m from 1: n - m may be anything

The bounds are no narrower than those of the terms: n - n // 2 is bounded as n - m would be.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from math import prod

from relay_tune.ir.dim import Atom, Dim, PositivePart, Quotient, Symbol, UnknownDim

Bounds = tuple[int | None, int | None]
"""The least and the largest value; None where there is none."""


@lru_cache(maxsize=4096)
def dim_bounds(dim: Dim) -> Bounds:
    """The bounds of a dimension."""
    match dim:
        case int():
            return dim, dim
        case UnknownDim():
            return None, None
        case Symbol():
            return dim.least, dim.most
        case _:
            terms = [_scaled(_product(product), factor) for product, factor in dim.terms]
            return _total(low for low, _ in terms), _total(high for _, high in terms)


def _total(values: Iterator[int | None]) -> int | None:
    known = list(values)
    return None if None in known else sum(value for value in known if value is not None)


def _scaled(bounds: Bounds, factor: int) -> Bounds:
    low, high = (None if bound is None else bound * factor for bound in bounds)
    return (low, high) if factor >= 0 else (high, low)


def _product(atoms: tuple[Atom, ...]) -> Bounds:
    """The bounds of a product, where none of its factors is negative."""
    bounds = [_atom(atom) for atom in atoms]
    lows = [low for low, _ in bounds if low is not None and low >= 0]
    if len(lows) < len(bounds):
        return bounds[0] if len(bounds) == 1 else (None, None)
    highs = [high for _, high in bounds if high is not None]
    return prod(lows), prod(highs) if len(highs) == len(bounds) else None


def _atom(atom: Atom) -> Bounds:
    match atom:
        case Quotient():
            low, high = dim_bounds(atom.numerator)
            return (
                None if low is None else low // atom.divisor,
                None if high is None else high // atom.divisor,
            )
        case PositivePart():
            low, high = dim_bounds(atom.value)
            return max(low or 0, 0), None if high is None else max(high, 0)
        case _:
            return dim_bounds(atom)
