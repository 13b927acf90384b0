"""Names for the sizes of a primitive's inputs, the same for equal primitives.

before:  Tensor[(?, n), float32], Tensor[(n, 4*n), float32]
after:   Tensor[(s0, s1), float32], Tensor[(s1, 4*s1), float32]
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace

from relay_tune.ir.dim import Dim, Polynomial, Symbol, UnknownDim
from relay_tune.ir.dim_arithmetic import (
    add,
    common_factor,
    floor_divide,
    multiply,
    product,
    substitute,
    subtract,
    symbol_names,
)
from relay_tune.ir.dim_order import is_never_negative
from relay_tune.ir.dim_quotient import exact_quotient
from relay_tune.ir.types import TensorType, TupleType, Type
from relay_tune.program.kinds import tensors_of
from relay_tune.program.size_equalities import Equal, is_unknown_name, unknown_name
from relay_tune.quick_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class SizeSource:
    """Where a size is found: an axis of a tensor among the primitive's inputs.

    The axis has `divisor` times the size, and `offset` elements more.
    """

    input: int
    axis: int
    divisor: int = 1
    offset: int = 0

    def size(self, extent: Dim) -> Dim:
        """The size where the axis has an extent."""
        return floor_divide(subtract(extent, self.offset), self.divisor)

    def extent(self, size: Dim) -> Dim:
        """The extent of the axis where the size is as given."""
        return add(multiply(self.divisor, size), self.offset)

    def without(self, number: int) -> SizeSource:
        """Where so much less than the size is found."""
        return replace(self, offset=self.offset + self.divisor * number)


class SizeNaming:
    """Names for the sizes of inputs, in order.

    An axis of `(h + 15) // 16 + 2` elements has `s0 + 2`: what remains of a padded image without
    its border is then known to have a size.

    Attributes:
        symbols: where each name is read.
        checks: sizes of inputs that must be as given.
        meanings: what each name stands for: a symbol of the program, a `?` by its number, or the
            text of another size.
    """

    def __init__(self, equal: Equal, types: Sequence[Type]) -> None:
        self._equal = equal
        self._symbolic = _symbolic_sizes(types)
        self._symbols = {
            each.dim.name: each.source
            for each in self._symbolic.values()
            if isinstance(each.dim, Symbol)
        }
        self._parts = {str(part): (part, source) for part, source in self._compound_parts()}
        self._provisional: set[str] = set()
        self.symbols: dict[str, SizeSource] = {}
        self.checks: list[tuple[SizeSource, Dim]] = []
        self.meanings: dict[str, Symbol] = {}
        self._unknown = itertools.count()
        self._inputs = itertools.count()
        self._known: dict[str, Dim] = {}
        self._others: dict[Dim, Dim] = {}

    @property
    def free(self) -> tuple[str, ...]:
        """Definitions of sizes that are equal to nothing else yet, the first to replace first."""
        last_first = [symbol.name for symbol in reversed(self.meanings.values())]
        unknown = [name for name in last_first if is_unknown_name(name)]
        compound = [name for name in last_first if name in self._parts]
        return tuple(dict.fromkeys((*unknown, *compound, *last_first)))

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
                return self._symbol_size(Symbol(unknown_name(next(self._unknown))), source)
            case _:
                return self._compound_size(dim, source)

    def _compound_size(self, dim: Dim, source: SizeSource) -> Dim:
        """A size that is made of symbols, in terms of other sizes of the inputs where it can be."""
        if symbol_names(dim) <= self._known.keys() | self._symbolic.keys():
            return self._substituted(dim)
        factors = self._factors(dim)
        if factors is not None:
            return product(map(self._part, factors))
        part, source = _part_of(dim, source)
        if str(part) in self._equal:
            size = source.extent(self._value(Symbol(str(part))))
            self.checks.append((source, size))
            return size
        is_new = part not in self._others
        size = source.extent(self._shared(part, source))
        if source.divisor > 1 or not is_new:
            self.checks.append((source, size))
        return size

    def _compound_parts(self) -> Iterator[tuple[Dim, SizeSource]]:
        """The sizes that stand in axes of inputs, and where they are read."""
        for each in self._symbolic.values():
            if not isinstance(each.dim, Symbol):
                yield _part_of(each.dim, each.source)

    def _factors(self, dim: Dim) -> list[Dim] | None:
        """Other sizes of the inputs, and at most one number, whose product a size is."""
        whole = (each.dim for each in self._symbolic.values())
        for other in (*whole, *(part for part, _ in self._parts.values())):
            rest = exact_quotient(dim, other) if other not in (dim, 1) else None
            if rest is None:
                continue
            others = [rest] if self._is_part(rest) else self._factors(rest)
            if others is not None:
                return [other, *others]
        return None

    def _is_part(self, dim: Dim | None) -> bool:
        """Whether a size is a number, or that of an input's axis but for a factor and a border."""
        return isinstance(dim, int) or str(dim) in self._symbolic.keys() | self._parts.keys()

    def _part(self, dim: Dim | None) -> Dim:
        """The name of a size that is that of an axis of an input, or a part of it."""
        if dim is None or isinstance(dim, int):
            return dim or 0
        text = str(dim)
        if not isinstance(dim, Symbol):
            if text in self._symbolic:
                return self._compound_size(dim, self._symbolic[text].source)
            if text in self._equal:
                return self._value(Symbol(text))
            return self._shared(*self._parts[text])
        if dim.name in self._equal:
            return self._value(dim)
        if dim.name in self._known:
            return self._known[dim.name]
        if dim.name in self._symbols:
            return self._known.setdefault(dim.name, self._new(dim, self._symbols[dim.name]))
        return self._shared(*self._parts[dim.name])

    def _symbol_size(self, symbol: Symbol, source: SizeSource) -> Dim:
        """The name of a symbol, or what it is equal to, which is checked then."""
        if symbol.name in self._equal:
            return self._equal_size(symbol, source)
        if symbol.name in self._provisional:
            self._provisional.remove(symbol.name)
            self.checks.append((source, self._known[symbol.name]))
        if symbol.name not in self._known:
            self._known[symbol.name] = self._new(symbol, source)
        return self._known[symbol.name]

    def _equal_size(self, symbol: Symbol, source: SizeSource) -> Dim:
        """Definition of a symbol; another symbol that comes later is read here."""
        other = self._representative(symbol)
        if isinstance(other, Symbol) and other.name in self._symbols.keys() - self._known.keys():
            self._provisional.add(other.name)
            self._known[other.name] = self._new(other, source)
            return self._known[other.name]
        value = self._value(symbol)
        self.checks.append((source, value))
        return value

    def _representative(self, symbol: Symbol) -> Dim:
        """Definition of a symbol that is equal to nothing else."""
        value: Dim = symbol
        while isinstance(value, Symbol) and value.name in self._equal:
            value = self._equal[value.name]
        return value

    def _value(self, symbol: Symbol) -> Dim:
        """Definition of a symbol by the names of other sizes."""
        return self._substituted(self._representative(symbol))

    def _substituted(self, dim: Dim) -> Dim:
        """A size by the names of other sizes; new names come in the order of the old ones."""
        return substitute(dim, {n: self._part(Symbol(n)) for n in sorted(symbol_names(dim))})

    def _shared(self, part: Dim, source: SizeSource) -> Dim:
        if part not in self._others:
            self._others[part] = self._new(Symbol(str(part)), source)
        if isinstance(part, Symbol):
            self._known.setdefault(part.name, self._others[part])
        return self._others[part]

    def _new(self, meaning: Symbol, source: SizeSource) -> Symbol:
        symbol = Symbol(f"s{len(self.symbols)}")
        self.symbols[symbol.name] = source
        self.meanings[symbol.name] = meaning
        return symbol


def _part_of(dim: Dim, source: SizeSource) -> tuple[Dim, SizeSource]:
    """The size that stands in an axis but for a factor and an offset, and where it is read."""
    offset = _offset(dim)
    found = replace(source, divisor=common_factor(subtract(dim, offset)), offset=offset)
    return found.size(dim), found


def _offset(dim: Dim) -> int:
    """The number in a sum, where what is left is a size of at least one."""
    if not isinstance(dim, Polynomial):
        return 0
    offset = dict(dim.terms).get((), 0)
    return offset if offset > 0 and is_never_negative(subtract(dim, offset + 1)) else 0


@dataclass(frozen=True, slots=True)
class _SymbolicSize:
    """A size with symbols, and the axis of an input that has it."""

    dim: Dim
    source: SizeSource


def _symbolic_sizes(types: Sequence[Type]) -> dict[str, _SymbolicSize]:
    """Where each size with symbols stands first, by its text; `?` by their numbers."""
    found: dict[str, _SymbolicSize] = {}
    unknown = itertools.count()
    for index, tensor in enumerate(t for type_ in types for t in tensors_of(type_)):
        for axis, dim in enumerate(tensor.shape):
            known = Symbol(unknown_name(next(unknown))) if isinstance(dim, UnknownDim) else dim
            if not isinstance(known, int):
                found.setdefault(str(known), _SymbolicSize(known, SizeSource(index, axis)))
    return found
