"""Which of two sizes is larger, for all values that their symbols can have.

A symbol is a size of at least one, or between other bounds where it says so, which may decide all.
A polynomial whose coefficients are
all positive after `n` was replaced by `1 + n` is positive; where it contains `n // d`, the same is
tried with `n` replaced by `d * (n // d) + r`, with r in 0 .. d - 1, and `(n + 1) // d` replaced by
`n // d` and something more. What contains `max(p, 0)` is decided with 0 and with p in its place:
where it grows with the maximum, one of both is enough.

Loops over an axis of size zero run never, so what is decided for sizes of at least one does no harm
there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import permutations

from relay_tune.ir.dim import Atom, Dim, Polynomial, PositivePart, Quotient, Symbol
from relay_tune.ir.dim_arithmetic import add, multiply, subtract
from relay_tune.ir.dim_bounds import dim_bounds


@lru_cache(maxsize=4096)
def is_never_negative(dim: Dim) -> bool:
    """Whether a dimension is at least zero for all values of its symbols."""
    least = dim_bounds(dim)[0]
    if least is not None and least >= 0:
        return True
    part = next((atom for atom in _atoms(dim) if isinstance(atom, PositivePart)), None)
    if part is None:
        return any(has_positive_terms(form) for form in _forms(dim))
    without, within = (_with_atom(dim, part, value) for value in (0, part.value))
    if _grows_with(dim, part):
        return is_never_negative(without) or is_never_negative(within)
    return is_never_negative(without) and is_never_negative(within)


def _with_atom(dim: Dim, replaced: Atom, value: Dim) -> Dim:
    """`dim` with another value in the place of an atom of its products."""
    assert isinstance(dim, Polynomial)  # a symbol has no parts
    total: Dim = 0
    for product, factor in dim.terms:
        term: Dim = factor
        for atom in product:
            term = multiply(term, value if atom == replaced else Polynomial((((atom,), 1),)))
        total = add(total, term)
    return total


def _grows_with(dim: Dim, part: PositivePart) -> bool:
    """Whether all products with an atom have positive factors."""
    assert isinstance(dim, Polynomial)  # a symbol has no parts
    return all(factor > 0 for product, factor in dim.terms if part in product)


def _forms(dim: Dim) -> Iterator[Dim]:
    """The dimension in terms of variables of at least zero, in several ways."""
    yield _replaced(dim, {})
    quotients = [atom for atom in _atoms(dim) if isinstance(atom, Quotient)]
    for quotient in quotients:
        numerator = quotient.numerator
        symbol, offset = _symbol_and_offset(numerator)
        if symbol is None:
            continue
        whole = multiply(quotient.divisor, _quotient_value(quotient))
        rest = Symbol(f"rest {quotient}")
        value = subtract(add(whole, rest), offset)
        yield _replaced(dim, {symbol: value})
        last = subtract(quotient.divisor - 1, rest)
        yield _replaced(dim, {symbol: subtract(add(whole, last), offset)})
    for smaller, larger in permutations(quotients, 2):
        if _is_at_most(smaller, larger):
            more = Symbol(f"more {larger}", 0)
            value = add(Polynomial((((smaller,), 1),)), more)
            yield _replaced(_with_atom(dim, larger, value), {})


def _is_at_most(first: Quotient, second: Quotient) -> bool:
    """Whether a quotient is by the same number as another one, of nothing larger."""
    if first.divisor != second.divisor:
        return False
    return has_positive_terms(subtract(second.numerator, first.numerator))


def _symbol_and_offset(numerator: Dim) -> tuple[Symbol | None, int]:
    """The n and c of n + c."""
    if isinstance(numerator, Symbol):
        return numerator, 0
    if isinstance(numerator, Polynomial):
        terms = dict(numerator.terms)
        offset = terms.pop((), 0)
        if len(terms) == 1:
            ((product, factor),) = terms.items()
            if factor == 1 and len(product) == 1 and isinstance(product[0], Symbol):
                return product[0], offset
    return None, 0


def _replaced(dim: Dim, values: Mapping[Symbol, Dim]) -> Dim:
    """`dim` with each symbol n as in `values` or least + n, and each quotient as a variable."""
    if isinstance(dim, Symbol):
        return values[dim] if dim in values else add(dim, dim.least)
    if not isinstance(dim, Polynomial):
        return dim
    total: Dim = 0
    for product, factor in dim.terms:
        term: Dim = factor
        for atom in product:
            if isinstance(atom, Symbol):
                term = multiply(term, _replaced(atom, values))
            elif isinstance(atom, PositivePart):
                term = multiply(term, Symbol(str(atom)))
            else:
                term = multiply(term, _quotient_value(atom))
        total = add(total, term)
    return total


def _quotient_value(quotient: Quotient) -> Dim:
    """A quotient as its least value plus a variable; its numerator is taken to be positive."""
    form = _replaced(quotient.numerator, {})
    least = 0
    if isinstance(form, Polynomial) and has_positive_terms(form):
        least = dict(form.terms).get((), 0) // quotient.divisor
    return add(Symbol(f"whole {quotient}"), least)


def _atoms(dim: Dim) -> set[Atom]:
    if not isinstance(dim, Polynomial):
        return set()
    return {atom for product, _ in dim.terms for atom in product}


def has_positive_terms(dim: Dim) -> bool:
    """Whether a dimension is at least zero for all symbols of at least zero, by its terms."""
    if isinstance(dim, int):
        return dim >= 0
    if isinstance(dim, Polynomial):
        return all(factor >= 0 for _, factor in dim.terms)
    return isinstance(dim, Symbol)
