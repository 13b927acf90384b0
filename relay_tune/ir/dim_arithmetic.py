"""Arithmetic of dimensions: sums, products, floor quotients and maxima, always in normal form.

A polynomial in normal form has no zero coefficient, like products are joined, products and terms
are sorted (higher degree first, the constant last), and whatever is a plain integer or a single
symbol is given as such. So dimensions that are equal as polynomials are equal as values. A maximum
is a sum with the positive part of a difference, `max(a, b) = max(a - b, 0) + b`, and leaves
quotients: `max(a, b) // 2` is `max(a // 2, b // 2)`. Quotients of quotients are one, and what a
quotient leaves of a size is one rounded up: `n - n // 2` is `(n + 1) // 2`. `?` (the unknown size)
absorbs: any operation on it is unknown.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from math import gcd

from relay_tune.errors import InputError
from relay_tune.ir.dim import (
    UNKNOWN,
    Atom,
    Dim,
    Polynomial,
    PositivePart,
    Quotient,
    Symbol,
    UnknownDim,
)

Product = tuple[Atom, ...]
Terms = dict[Product, int]


def add(left: Dim, right: Dim) -> Dim:
    """`left + right`."""
    if isinstance(left, int) and isinstance(right, int):
        return left + right
    if isinstance(left, UnknownDim) or isinstance(right, UnknownDim):
        return UNKNOWN
    return _sum(left, right)


@lru_cache(maxsize=4096)
def _sum(left: int | Symbol | Polynomial, right: int | Symbol | Polynomial) -> Dim:
    terms = _terms(left)
    for product, factor in _terms(right).items():
        terms[product] = terms.get(product, 0) + factor
    return normal_form(terms)


def subtract(left: Dim, right: Dim) -> Dim:
    """`left - right`."""
    return add(left, multiply(-1, right))


def multiply(left: Dim, right: Dim) -> Dim:
    """`left * right`."""
    if isinstance(left, int) and isinstance(right, int):
        return left * right
    if isinstance(left, UnknownDim) or isinstance(right, UnknownDim):
        return UNKNOWN
    return _product(left, right)


@lru_cache(maxsize=4096)
def _product(left: int | Symbol | Polynomial, right: int | Symbol | Polynomial) -> Dim:
    terms: Terms = {}
    for left_product, left_factor in _terms(left).items():
        for right_product, right_factor in _terms(right).items():
            product = _sorted_product(left_product + right_product)
            terms[product] = terms.get(product, 0) + left_factor * right_factor
    return normal_form(terms)


def product(dims: Iterable[Dim]) -> Dim:
    """The product of dimensions; 1 for none."""
    result: Dim = 1
    for dim in dims:
        result = multiply(result, dim)
    return result


def floor_divide(dim: Dim, divisor: int) -> Dim:
    """`dim // divisor`, rounded down; raises InputError if the divisor is 0.

    Whole multiples of the divisor leave the quotient: `(4 * n + 5) // 4` is `n + 1`.
    """
    if divisor == 0:
        raise InputError(
            f"The dimension {dim} cannot be divided by 0.", remedy="Divide by a size of at least 1."
        )
    if isinstance(dim, int):
        return dim // divisor
    if isinstance(dim, UnknownDim):
        return UNKNOWN
    if divisor < 0:
        return floor_divide(multiply(-1, dim), -divisor)
    whole: Terms = {}
    rest: Terms = {}
    for product, factor in _terms(dim).items():
        whole[product], rest[product] = divmod(factor, divisor)
    for product, factor in terms_of(_quotient_of_rest(normal_form(rest), divisor)).items():
        whole[product] = whole.get(product, 0) + factor
    return normal_form(whole)


def maximum(left: Dim, right: Dim) -> Dim:
    """The larger one of two dimensions."""
    return add(positive_part(subtract(left, right)), right)


def minimum(left: Dim, right: Dim) -> Dim:
    """The smaller one of two dimensions."""
    return subtract(left, positive_part(subtract(left, right)))


def positive_part(dim: Dim) -> Dim:
    """`max(dim, 0)`; `dim` itself where no term of it can be negative."""
    if isinstance(dim, UnknownDim):
        return UNKNOWN
    if is_sum_of_sizes(dim):
        return dim
    if isinstance(dim, int):
        return 0
    common = gcd(*_terms(dim).values())
    if common > 1:
        return multiply(common, positive_part(floor_divide(dim, common)))
    if next(iter(_terms(dim).values())) < 0:  # max(-p, 0) = max(p, 0) - p
        return add(dim, positive_part(multiply(-1, dim)))
    found = _lone_positive_part(dim)
    if found is not None:
        part, factor, rest = found
        if isinstance(rest, int):  # less than 0: max(k max(p, 0) - c, 0) = max(k p - c, 0)
            return positive_part(add(multiply(factor, part.value), rest))
    return Polynomial((((PositivePart(dim),), 1),))


def is_sum_of_sizes(dim: Dim) -> bool:
    """Whether a dimension is at least zero because all of its terms are; a size is no less."""
    if isinstance(dim, int):
        return dim >= 0
    if isinstance(dim, UnknownDim):
        return False
    return all(
        factor > 0 and all(is_sum_of_sizes(a.numerator) for a in product if isinstance(a, Quotient))
        for product, factor in _terms(dim).items()
    )


def substitute(dim: Dim, values: Mapping[str, Dim]) -> Dim:
    """`dim` with symbols replaced by other dimensions; symbols not in `values` stay."""
    if isinstance(dim, int | UnknownDim):
        return dim
    total: Dim = 0
    for product, factor in _terms(dim).items():
        term: Dim = factor
        for atom in product:
            term = multiply(term, _substitute_atom(atom, values))
        total = add(total, term)
    return total


def common_factor(dim: Dim) -> int:
    """The greatest number that divides all coefficients; 1 where there are none."""
    if isinstance(dim, int | UnknownDim):
        return 1
    return gcd(*_terms(dim).values())


def symbols(dim: Dim) -> Iterator[Symbol]:
    """The symbols that occur in `dim`, those in quotients and maxima too."""
    for product in () if isinstance(dim, int | UnknownDim) else _terms(dim):
        for atom in product:
            if isinstance(atom, Symbol):
                yield atom
            else:
                yield from symbols(operand(atom))


def symbol_names(dim: Dim) -> frozenset[str]:
    """The names of the symbols that occur in `dim`."""
    return frozenset(symbol.name for symbol in symbols(dim))


def positive_parts(dim: Dim) -> Iterator[PositivePart]:
    """The atoms `max(p, 0)` of a dimension, those inside of others first."""
    for product in () if isinstance(dim, int | UnknownDim) else _terms(dim):
        for atom in product:
            if not isinstance(atom, Symbol):
                yield from positive_parts(operand(atom))
            if isinstance(atom, PositivePart):
                yield atom


def operand(atom: Quotient | PositivePart) -> Dim:
    """The dimension inside of an atom."""
    return atom.numerator if isinstance(atom, Quotient) else atom.value


def _terms(dim: int | Symbol | Polynomial) -> Terms:
    match dim:
        case int():
            return {(): dim}
        case Symbol():
            return {(dim,): 1}
        case Polynomial():
            return dict(dim.terms)


def normal_form(terms: Terms) -> int | Symbol | Polynomial:
    """The dimension that terms add up to."""
    kept = {product: factor for product, factor in terms.items() if factor != 0}
    while (roundable := _roundable(kept)) is not None:
        kept = _rounded_otherwise(kept, *roundable)
    if not kept.keys() - {()}:
        return kept.get((), 0)
    ordered = tuple(sorted(kept.items(), key=term_key))
    product, factor = ordered[0]
    if len(ordered) == 1 and factor == 1 and len(product) == 1 and isinstance(product[0], Symbol):
        return product[0]
    return Polynomial(ordered)


def _roundable(terms: Terms) -> tuple[Product, Quotient] | None:
    """A product with a quotient that is shorter rounded the other way, as in n - n // 2.

    Of several the one with the largest factors, which are small in the other form.
    """
    found: tuple[float, Product, Quotient] | None = None
    for product, factor in terms.items():
        quotients = [atom for atom in product if isinstance(atom, Quotient)]
        if len(quotients) != 1:
            continue
        others = _without(product, quotients[0])
        beside = [
            terms.get(_sorted_product((*others, *part)), 0)
            for part in terms_of(quotients[0].numerator)
            if part
        ]
        if all(each >= -factor for each in beside) if factor < 0 else max(beside) <= -factor:
            size = max(terms_of(quotients[0].numerator).values()) / quotients[0].divisor
            if found is None or size > found[0]:
                found = size, product, quotients[0]
    return None if found is None else found[1:]


def _rounded_otherwise(terms: Terms, product: Product, quotient: Quotient) -> Terms:
    """The same terms, where n - n // 2 is (n + 1) // 2.

    With R = sum(c * x) + k, `R // d == sum(x) - (sum((d - c) * x) + d - 1 - k) // d`.
    """
    others, divisor = _without(product, quotient), quotient.divisor
    found = dict(terms)
    factor = found.pop(product)
    upper: Terms = {}
    for part, times in terms_of(quotient.numerator).items():
        if part:
            whole = _sorted_product((*others, *part))
            found[whole] = found.get(whole, 0) + factor
        upper[part] = divisor - times if part else -times
    upper[()] = upper.get((), 0) + divisor - 1
    rest = multiply(normal_form({others: -factor}), floor_divide(normal_form(upper), divisor))
    for part, times in terms_of(rest).items():
        found[part] = found.get(part, 0) + times
    return {part: times for part, times in found.items() if times != 0}


def _without(product: Product, atom: Atom) -> Product:
    position = product.index(atom)
    return (*product[:position], *product[position + 1 :])


def terms_of(dim: Dim) -> Terms:
    """The terms of a dimension in normal form, in their order."""
    assert not isinstance(dim, UnknownDim)  # there is no `?` in a sum
    return _terms(dim)


def term_key(term: tuple[Product, int]) -> tuple[int, tuple[tuple[int, str], ...]]:
    """The order of terms: higher degree first."""
    product, _ = term
    return -len(product), tuple(_atom_key(atom) for atom in product)


def _sorted_product(product: Product) -> Product:
    return tuple(sorted(product, key=_atom_key))


@lru_cache(maxsize=4096)
def _atom_key(atom: Atom) -> tuple[int, str]:
    return (Symbol, Quotient, PositivePart).index(type(atom)), str(atom)


def _lone_positive_part(
    dim: int | Symbol | Polynomial,
) -> tuple[PositivePart, int, int | Symbol | Polynomial] | None:
    """The p, k and rest of `k * max(p, 0) + rest` with k > 0; None if there are none or several."""
    terms = _terms(dim)
    found = [product for product in terms if any(isinstance(a, PositivePart) for a in product)]
    if len(found) != 1 or len(found[0]) != 1 or terms[found[0]] < 0:
        return None
    (part,) = found[0]
    assert isinstance(part, PositivePart)  # the one that was looked for
    factor = terms.pop(found[0])
    return part, factor, normal_form(terms)


def _quotient_of_rest(rest: int | Symbol | Polynomial, divisor: int) -> Dim:
    """`rest // divisor` for coefficients in [0, divisor), maxima outside."""
    found = _lone_positive_part(rest)
    if found is None:
        return _quotient(rest, divisor)
    part, factor, others = found
    positive = floor_divide(add(multiply(factor, part.value), others), divisor)
    return maximum(positive, floor_divide(others, divisor))


def _quotient(rest: int | Symbol | Polynomial, divisor: int) -> Dim:
    """`rest // divisor` for coefficients in [0, divisor)."""
    if isinstance(rest, int):
        return 0
    terms = _terms(rest)
    inner = _lone_quotient(terms)
    if inner is not None:  # (n // a + p) // d == (n + a*p) // (a*d)
        others = normal_form({t: factor for t, factor in terms.items() if t != (inner,)})
        total = add(inner.numerator, multiply(inner.divisor, others))
        return floor_divide(total, inner.divisor * divisor)
    constant = terms.pop((), 0)
    common = gcd(divisor, *terms.values())
    # (g*p + c) // (g*d) == (p + c // g) // d
    reduced = {product: factor // common for product, factor in terms.items()}
    reduced[()] = constant // common
    numerator, divisor = normal_form(reduced), divisor // common
    if divisor == 1:
        return numerator
    if common > 1 and _lone_quotient(_terms(numerator)) is not None:
        return floor_divide(numerator, divisor)
    return Polynomial((((Quotient(numerator, divisor),), 1),))


def _lone_quotient(terms: Terms) -> Quotient | None:
    """The only product of terms that has a quotient, if it is nothing but that quotient."""
    found = [product for product in terms if any(isinstance(a, Quotient) for a in product)]
    if len(found) != 1 or terms[found[0]] != 1 or len(found[0]) != 1:
        return None
    (atom,) = found[0]
    return atom if isinstance(atom, Quotient) else None


def _substitute_atom(atom: Atom, values: Mapping[str, Dim]) -> Dim:
    if isinstance(atom, Symbol):
        return values.get(atom.name, atom)
    inner = substitute(operand(atom), values)
    return floor_divide(inner, atom.divisor) if isinstance(atom, Quotient) else positive_part(inner)
