"""Names for the sizes of a primitive's inputs, the same for equal primitives.

before:  Tensor[(?, n), float32], Tensor[(n, 4*n), float32]
after:   Tensor[(s0, s1), float32], Tensor[(s1, 4*s1), float32]
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace

from relay_tune.first_order.kinds import tensors_of
from relay_tune.first_order.size_equalities import Equal
from relay_tune.ir.dim import Dim, Polynomial, Symbol, UnknownDim
from relay_tune.ir.dim_arithmetic import (
    common_factor,
    exact_quotient,
    floor_divide,
    multiply,
    product,
    substitute,
    symbol_names,
)
from relay_tune.ir.types import TensorType, TupleType, Type


@dataclass(frozen=True, slots=True)
class SizeSource:
    """Where a size is found: an axis of a tensor among the primitive's inputs.

    The size of the axis is `divisor` times the size.
    """

    input: int
    axis: int
    divisor: int = 1


class SizeNaming:
    """Names for the sizes of inputs, in order.

    Attributes:
        symbols: where each name is read.
        checks: sizes of inputs that must be as given.
    """

    def __init__(self, equal: Equal, types: Sequence[Type]) -> None:
        self._equal = equal
        self._symbolic = _symbolic_sizes(types)
        self._unknown: list[Dim] = []
        self._lent: set[str] = set()
        self.symbols: dict[str, SizeSource] = {}
        self.checks: list[tuple[SizeSource, Dim]] = []
        self._numbers = itertools.count()
        self._inputs = itertools.count()
        self._known: dict[str, Dim] = {}
        self._others: dict[object, Dim] = {}

    def named(self, type_: Type) -> Type:
        """A type with names for its sizes."""
        if isinstance(type_, TupleType):
            return TupleType(tuple(self.named(field) for field in type_.fields))
        if not isinstance(type_, TensorType):
            return type_
        index = next(self._inputs)
        shape = tuple(
            self._size(dim, SizeSource(index, axis)) for axis, dim in enumerate(type_.shape)
        )
        return TensorType(shape, type_.dtype)

    def _size(self, dim: Dim, source: SizeSource) -> Dim:
        match dim:
            case int():
                return dim
            case Symbol():
                return self._symbol_size(dim, source)
            case UnknownDim():
                self._unknown.append(self._unknown_size(source))
                return self._unknown[-1]
            case _:
                return self._compound_size(dim, source)

    def _compound_size(self, dim: Dim, source: SizeSource) -> Dim:
        """A size that is made of symbols, in terms of other sizes of the inputs where it can be."""
        if symbol_names(dim) <= self._known.keys() | self._symbolic.keys():
            return substitute(dim, {name: self._part(Symbol(name)) for name in symbol_names(dim)})
        factors = self._factors(dim)
        if factors is not None:
            return product(map(self._part, factors))
        divisor = common_factor(dim)
        part = floor_divide(dim, divisor)
        is_new = part not in self._others
        size = self._shared(part, replace(source, divisor=divisor))
        if isinstance(part, Symbol):
            self._known.setdefault(part.name, size)
        if divisor > 1 or not is_new:
            self.checks.append((source, multiply(divisor, size)))
        return multiply(divisor, size)

    def _factors(self, dim: Dim) -> list[Dim] | None:
        """Other sizes of the inputs, and at most one number, whose product a size is."""
        for other in self._symbolic.values():
            rest = exact_quotient(dim, other.dim) if other.dim != dim else None
            if rest is None:
                continue
            others = [rest] if self._is_part(rest) else self._factors(rest)
            if others is not None:
                return [other.dim, *others]
        return None

    def _is_part(self, dim: Dim | None) -> bool:
        """Whether a size is a number, or that of an axis of an input."""
        return isinstance(dim, int) or str(dim) in self._symbolic

    def _part(self, dim: Dim | None) -> Dim:
        """The name of a size that is that of an axis of an input."""
        if dim is None or isinstance(dim, int):
            return dim or 0
        if not isinstance(dim, Symbol):
            return self._compound_size(dim, self._symbolic[str(dim)].source)
        if dim.name not in self._known:
            self._known[dim.name] = self._new(self._symbolic[dim.name].source)
        return self._known[dim.name]

    def _symbol_size(self, symbol: Symbol, source: SizeSource) -> Dim:
        """The name of a symbol; where a `?` has it already, that is checked."""
        if symbol.name in self._lent:
            self._lent.remove(symbol.name)
            self.checks.append((source, self._known[symbol.name]))
        if symbol.name not in self._known:
            self._known[symbol.name] = self._new(source)
        return self._known[symbol.name]

    def _unknown_size(self, source: SizeSource) -> Dim:
        """The name of a `?`; that of the size that it is equal to, which is checked then."""
        other = self._equal.get(len(self._unknown))
        if other is None:
            return self._new(source)
        dim: Dim = other
        if isinstance(other, int) and other < 0:
            dim = self._unknown[~other]
        elif isinstance(other, Symbol):
            if other.name not in self._known:
                self._lent.add(other.name)
                return self._known.setdefault(other.name, self._new(source))
            dim = self._known[other.name]
        elif isinstance(other, Polynomial):
            dim = self._compound_size(other, source)
        self.checks.append((source, dim))
        return dim

    def _shared(self, key: object, source: SizeSource) -> Dim:
        if key not in self._others:
            self._others[key] = self._new(source)
        return self._others[key]

    def _new(self, source: SizeSource) -> Symbol:
        symbol = Symbol(f"s{next(self._numbers)}")
        self.symbols[symbol.name] = source
        return symbol


@dataclass(frozen=True, slots=True)
class _SymbolicSize:
    """A size with symbols, and the axis of an input that has it."""

    dim: Dim
    source: SizeSource


def _symbolic_sizes(types: Sequence[Type]) -> dict[str, _SymbolicSize]:
    """Where each size with symbols stands first, by its text."""
    found: dict[str, _SymbolicSize] = {}
    for index, tensor in enumerate(t for type_ in types for t in tensors_of(type_)):
        for axis, dim in enumerate(tensor.shape):
            if isinstance(dim, Symbol | Polynomial):
                found.setdefault(str(dim), _SymbolicSize(dim, SizeSource(index, axis)))
    return found
