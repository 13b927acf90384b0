"""Dimensions of tensor types: integers, symbols, polynomials of them, and the unknown `?`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from relay_tune.quick_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Symbol:
    """A dimension known by name only, such as a batch size `n`.

    Attributes:
        name: the name.
        least: the least value that it may have.
        most: the largest one; None where it may be any.
    """

    name: str
    least: int = 1
    most: int | None = None

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Quotient:
    """`numerator // divisor`, rounded down, as an atom of a polynomial."""

    numerator: Dim
    divisor: int

    def __str__(self) -> str:
        is_sum = isinstance(self.numerator, Polynomial)
        numerator = f"({self.numerator})" if is_sum else str(self.numerator)
        return f"{numerator} // {self.divisor}"


@dataclass(frozen=True, slots=True)
class PositivePart:
    """`max(value, 0)`, as an atom of a polynomial."""

    value: Dim

    def __str__(self) -> str:
        return f"max({self.value}, 0)"


Atom = Symbol | Quotient | PositivePart


@dataclass(frozen=True, slots=True)
class Polynomial:
    """A sum of integer multiples of products of atoms, in normal form.

    `terms` maps sorted products of atoms to coefficients; the empty product is the constant. Use
    the functions of `relay_tune.ir.dim_arithmetic`, which keep the normal form.
    """

    terms: tuple[tuple[tuple[Atom, ...], int], ...]
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_hash", hash(self.terms))

    def __hash__(self) -> int:
        """That of the terms, found once: sums of sizes are keys of many tables."""
        return self._hash

    def __str__(self) -> str:
        text = " + ".join(_term(product, factor) for product, factor in self.terms)
        return text.replace("+ -", "- ")


@dataclass(frozen=True, slots=True)
class UnknownDim:
    """`?`: a size that is known at run time only, related to no other."""

    def __str__(self) -> str:
        return "?"


UNKNOWN = UnknownDim()

Dim = int | Symbol | Polynomial | UnknownDim


def size_label(dim: Dim) -> int | str | None:
    """A size as other formats write it: a number, the text of symbols, or None for `?`."""
    match dim:
        case int():
            return dim
        case UnknownDim():
            return None
        case _:
            return str(dim)


def shape_text(shape: Sequence[Dim]) -> str:
    """Sizes as a tuple, such as (n, 3) or (n,), for messages."""
    comma = "," if len(shape) == 1 else ""
    return f"({', '.join(map(str, shape))}{comma})"


def _term(product: tuple[Atom, ...], factor: int) -> str:
    if factor == 1 and len(product) == 1:
        return str(product[0])
    names = [f"({atom})" if isinstance(atom, Quotient) else str(atom) for atom in product]
    if factor == -1 and names:
        return f"-{' * '.join(names)}"
    if factor != 1 or not names:
        names.insert(0, str(factor))
    return " * ".join(names)
