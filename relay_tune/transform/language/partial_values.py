"""What partial evaluation knows of values, and the residual program that it writes.

A value stands for an expression of the residual program and, where known, for what that expression
will evaluate to: a tensor, a tuple of values, a value of a data type, a closure, a cell.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field

import numpy as np

from relay_tune.ir.expr import (
    Constant,
    Constructor,
    ConstructorPattern,
    Expr,
    Function,
    GlobalVar,
    Let,
    Pattern,
    Tuple,
    TuplePattern,
    Var,
    VarPattern,
)
from relay_tune.ir.types import Type
from relay_tune.quick_dataclass import dataclass


@dataclass(slots=True, eq=False)
class PartialValue:
    """A value of the program.

    Attributes:
        known: what is known of it; None for nothing.
        expr: the name or constant that it has in the residual program, None until it needs one.
        binding: the point of the residual program where it can be given a name.
    """

    known: Known | None = None
    expr: Expr | None = None
    binding: ResidualLet | None = None


@dataclass(frozen=True, slots=True, eq=False)
class KnownTuple:
    """A tuple of values."""

    fields: tuple[PartialValue, ...]


@dataclass(frozen=True, slots=True, eq=False)
class KnownData:
    """A value of a data type; `types` are the type arguments of its constructor."""

    constructor: Constructor
    fields: tuple[PartialValue, ...]
    types: tuple[Type, ...]


@dataclass(frozen=True, slots=True, eq=False)
class KnownClosure:
    """A function with the values of its free variables."""

    function: Function
    scope: Activation


@dataclass(frozen=True, slots=True, eq=False)
class KnownCell:
    """A cell that the program has made; identity is that of the cell."""


Known = np.ndarray | KnownTuple | KnownData | KnownClosure | KnownCell | GlobalVar
Store = dict[KnownCell, PartialValue]
"""What the cells hold, as far as it is known."""


@dataclass(slots=True)
class Activation:
    """The values of variables in one activation and, through `outer`, around it."""

    values: dict[Var, PartialValue] = field(default_factory=dict)
    outer: Activation | None = None

    def find(self, var: Var) -> PartialValue:
        """The value of a variable."""
        scope: Activation | None = self
        while scope is not None:
            if var in scope.values:
                return scope.values[var]
            scope = scope.outer
        return PartialValue(expr=var)


@dataclass(slots=True, eq=False)
class ResidualLet:
    """A let of the residual program; it is left out if it got no value."""

    var: Var
    value: Expr | None = None


@dataclass(slots=True)
class Residual:
    """A block of the residual program: bindings in order."""

    bindings: list[ResidualLet] = field(default_factory=list)

    def bind(self, value: Expr, name: str = "v") -> PartialValue:
        """A value of which nothing is known but the expression that computes it."""
        binding = ResidualLet(Var(name), value)
        self.bindings.append(binding)
        return PartialValue(expr=binding.var)

    def reserve(self, known: Known, name: str = "v") -> PartialValue:
        """A known value with a reserved binding for its expression, used on demand."""
        binding = ResidualLet(Var(name))
        self.bindings.append(binding)
        return PartialValue(known, None, binding)

    def ending(self, result: Expr) -> Expr:
        """The block as an expression; a last binding that is the result is not bound."""
        bindings = [binding for binding in self.bindings if binding.value is not None]
        if bindings and bindings[-1].var is result and not _is_function(bindings[-1]):
            result = bindings.pop().value or result
        for binding in reversed(bindings):
            if binding.value is not None:
                result = Let(binding.var, binding.value, result)
        return result


def _is_function(binding: ResidualLet) -> bool:
    return isinstance(binding.value, Function)


def size_of(value: PartialValue) -> int | None:
    """How large a known value is, for telling whether recursion comes to an end: an integer's
    absolute value, or the number of known constructors; None if nothing is known."""
    match value.known:
        case np.ndarray() as array if array.ndim == 0 and array.dtype.kind in "iu":
            return abs(int(array))
        case KnownData():
            return sum(1 for _ in _known_data(value))
        case _:
            return None


def _known_data(value: PartialValue) -> Iterator[KnownData]:
    stack = [value]
    while stack:
        known = stack.pop().known
        if isinstance(known, KnownData):
            yield known
        if isinstance(known, KnownData | KnownTuple):
            stack.extend(known.fields)


def match_value(
    pattern: Pattern, value: PartialValue, bound: dict[Var, PartialValue]
) -> bool | None:
    """Whether a pattern fits a value, its variables added to `bound`; None if that is not known."""
    match pattern:
        case VarPattern():
            bound[pattern.var] = value
            return True
        case ConstructorPattern():
            if not isinstance(value.known, KnownData):
                return None
            if value.known.constructor.name != pattern.constructor.name:
                return False
            return _match_all(pattern.patterns, value.known.fields, bound)
        case TuplePattern():
            if not isinstance(value.known, KnownTuple):
                return None
            return _match_all(pattern.patterns, value.known.fields, bound)
        case _:
            return True


def _match_all(
    patterns: tuple[Pattern, ...], values: tuple[PartialValue, ...], bound: dict[Var, PartialValue]
) -> bool | None:
    answers = [match_value(p, v, bound) for p, v in zip(patterns, values, strict=True)]
    if False in answers:
        return False
    return None if None in answers else True


def agreeing(stores: list[Store]) -> Store:
    """The entries on which all stores agree, for the join of branches."""
    first, *others = stores
    return {
        cell: value
        for cell, value in first.items()
        if all(other.get(cell) is value for other in others)
    }


def known_constant(value: PartialValue) -> Expr | None:
    """A constant, or a tuple of them, that a value is known to be."""
    match value.known:
        case np.ndarray():
            return Constant(value.known)
        case KnownTuple():
            fields = [known_constant(field) for field in value.known.fields]
            known = tuple(field for field in fields if field is not None)
            return Tuple(known) if len(known) == len(fields) else None
        case _:
            return None
