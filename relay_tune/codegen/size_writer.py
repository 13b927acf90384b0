"""Sizes as LLVM values: numbers as they are, symbolic sizes computed from their symbols."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from relay_tune.ir.dim import Atom, Dim, Polynomial, PositivePart, Symbol
from relay_tune.tensor.size import dim_of, is_symbolic


class SizeWriter:
    """Writes the arithmetic of sizes.

    `symbols` are the LLVM names of the symbols; `emit` writes a pure instruction, given without its
    result, and gives the result's name.
    """

    def __init__(self, symbols: Mapping[str, str], emit: Callable[[str], str]) -> None:
        self._symbols = symbols
        self._emit = emit
        self._known: dict[Dim, str] = {}

    def text(self, size: int) -> str:
        """A size as an operand of type i64."""
        if not is_symbolic(size):
            return str(size)
        return self.dim(dim_of(size))

    def dim(self, dim: Dim) -> str:
        """A dimension with these symbols as an operand of type i64."""
        if isinstance(dim, int):
            return str(dim)
        known = self._known.get(dim)
        if known is None:
            known = self._new_dim(dim)
            self._known[dim] = known
        return known

    def _new_dim(self, dim: Dim) -> str:
        if isinstance(dim, Symbol):
            return self._symbols[dim.name]
        assert isinstance(dim, Polynomial)  # `?` is no symbolic size
        total = ""
        for product, factor in dim.terms:
            term = self._term(product, factor)
            total = self._emit(f"add nsw i64 {total}, {term}") if total else term
        return total

    def _term(self, product: tuple[Atom, ...], factor: int) -> str:
        term = "" if factor == 1 and product else str(factor)
        for atom in product:
            value = self._atom(atom)
            term = self._emit(f"mul nsw i64 {value}, {term}") if term else value
        return term

    def _atom(self, atom: Atom) -> str:
        if isinstance(atom, Symbol):
            return self._symbols[atom.name]
        if isinstance(atom, PositivePart):
            value = self.dim(atom.value)
            is_positive = self._emit(f"icmp sgt i64 {value}, 0")
            return self._emit(f"select i1 {is_positive}, i64 {value}, i64 0")
        numerator = self.dim(atom.numerator)
        quotient = self._emit(f"sdiv i64 {numerator}, {atom.divisor}")
        rest = self._emit(f"srem i64 {numerator}, {atom.divisor}")
        step = self._emit(f"ashr i64 {rest}, 63")
        return self._emit(f"add nsw i64 {quotient}, {step}")
