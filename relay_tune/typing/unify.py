"""Unification of types: union-find over holes, with an occurs check and levels.

Levels (D. Remy, "Extension of ML type system with a sorted equational theory on types", 1992)
say how deep in nested `let` values a hole was made; a hole that keeps a deeper level than the
position of its `let` is known to nothing outside, so it may be generalised.
"""

from __future__ import annotations

from collections.abc import Sequence

from relay_tune.errors import RelayError, TypeInferenceError
from relay_tune.ir.dim import Dim
from relay_tune.ir.types import (
    FuncType,
    GlobalTypeVar,
    IncompleteType,
    RefType,
    TensorType,
    TupleType,
    Type,
    TypeCall,
)
from relay_tune.typing.type_terms import (
    holes,
    parts,
    substitute_symbols,
    substitute_vars,
    symbols,
    with_parts,
)
from relay_tune.typing.type_text import type_text
from relay_tune.typing.unify_dims import DimUnifier

DEEPEST_TYPE = 200
"""How deep a type may be nested: functions on types recurse as deep as they are."""

LARGEST_TYPE = 100_000
"""How many parts a type may have: sixty pairs of pairs have 2^60, though few objects hold them."""


class UnificationError(RelayError):
    """Two types that cannot be made equal; the message says why.

    Attributes:
        left, right: the types.
        sizes: two sizes that would have to be equal, where they are why.
    """

    def __init__(
        self, left: Type, right: Type, detail: str, sizes: tuple[Dim, Dim] | None = None
    ) -> None:
        super().__init__(detail)
        self.left = left
        self.right = right
        self.sizes = sizes


class Unifier:
    """Solutions found so far for the holes in types."""

    def __init__(self) -> None:
        self.dims = DimUnifier()
        self.level = 0
        self._bound: dict[IncompleteType, Type] = {}
        self._levels: dict[IncompleteType, int] = {}
        self._nesting = 0
        # Composite types without holes, by id, how deep they are, and how many parts they have.
        # That the types are among the values keeps the ids from being used again.
        self._closed: dict[int, tuple[Type, int, int]] = {}

    def fresh(self) -> IncompleteType:
        """A new hole."""
        hole = IncompleteType()
        self._levels[hole] = self.level
        return hole

    def adopt(self, type_: Type) -> Type:
        """A type written by the user, its holes being known from here on."""
        if not isinstance(type_, TensorType):
            for hole in holes(type_):
                self._levels.setdefault(hole, self.level)
        return type_

    def is_generalisable(self, hole: IncompleteType) -> bool:
        """Whether nothing outside of the `let` value that was just left knows this hole."""
        return self._levels.get(hole, 0) > self.level

    def resolve(self, type_: Type) -> Type:
        """The type with all that is known so far filled in.

        Raises TypeInferenceError, without a location, if it is nested deeper than `DEEPEST_TYPE` or
        has more parts than `LARGEST_TYPE`.
        """
        return self._resolve(type_, 0)

    def _resolve(self, type_: Type, level: int) -> Type:
        """Substitute the holes of a part of a type in which it is nested `level` deep."""
        if isinstance(type_, TensorType):
            return self._resolve_tensor(type_)
        if isinstance(type_, IncompleteType):
            found = self._find(type_)
            return found if isinstance(found, IncompleteType) else self._resolve(found, level)
        inner = parts(type_)
        _require_depth(level + self._depth(type_))
        if not inner or id(type_) in self._closed:
            return type_
        resolved = with_parts(type_, tuple(self._resolve(part, level + 1) for part in inner))
        new = parts(resolved)
        if self.dims.is_idle and all(self.is_known(part) for part in new):
            depth, count = 1 + max(map(self._depth, new)), 1 + sum(map(self._count, new))
            _require_count(count)
            self._closed[id(resolved)] = resolved, depth, count
        return resolved

    def _depth(self, type_: Type) -> int:
        """How deep a type is nested, as far as that is known at once."""
        known = self._closed.get(id(type_))
        return 0 if known is None else known[1]

    def _count(self, type_: Type) -> int:
        """How many parts a type has, as far as that is known at once."""
        known = self._closed.get(id(type_))
        return 1 if known is None else known[2]

    def unify(self, left: Type, right: Type) -> Type:
        """Make two types equal and return the common one; raises UnificationError.

        A size beside `?` gives `?`, since the common type must describe both values.
        """
        left, right = self._find(left), self._find(right)
        if left is right:
            return left
        if isinstance(left, IncompleteType):
            return self.bind(left, right)
        if isinstance(right, IncompleteType):
            return self.bind(right, left)
        match left, right:
            case TensorType(), TensorType():
                return self._unify_tensors(left, right)
            case FuncType(), FuncType():
                return self._unify_functions(left, right)
            case (TupleType(), TupleType()) | (RefType(), RefType()):
                return self._unify_parts(left, right)
            case (TypeCall() | GlobalTypeVar(), TypeCall() | GlobalTypeVar()):
                return self._unify_applications(left, right)
        raise self._error(left, right, "they are different kinds of types")

    def instantiate_symbols(self, type_: Type, rigid: set[str]) -> Type:
        """`type_` with fresh flexible symbols for those whose names are not in `rigid`."""
        found = {symbol for symbol in symbols(type_) if symbol.name not in rigid}
        found = {symbol for symbol in found if "'" not in symbol.name}
        return substitute_symbols(type_, {s.name: self.dims.fresh(s.name) for s in found})

    def _find(self, type_: Type) -> Type:
        """The end of a chain of bound holes, which is made short on the way."""
        if not isinstance(type_, IncompleteType):
            return type_
        chain: list[IncompleteType] = []
        end: Type = type_
        while isinstance(end, IncompleteType) and end in self._bound:
            chain.append(end)
            end = self._bound[end]
        for hole in chain[:-1]:
            self._bound[hole] = end
        return end

    def is_known(self, type_: Type) -> bool:
        """Whether a resolved type is known to have no holes."""
        if isinstance(type_, IncompleteType):
            return False
        return not parts(type_) or id(type_) in self._closed

    def bind(self, hole: IncompleteType, type_: Type) -> Type:
        """Fill an unbound hole; raises UnificationError if it would contain itself.

        Holes stand for types without type parameters of their own, as in L. Damas and R. Milner.
        """
        resolved = self.monotype(self.resolve(type_))
        if resolved is hole:
            return hole
        level = self._levels.get(hole, 0)
        if not self.is_known(resolved):
            for inner in holes(resolved):
                if inner is hole:
                    raise self._error(hole, resolved, "the type would contain itself")
                self._levels[inner] = min(level, self._levels.get(inner, 0))
        self._bound[hole] = resolved
        self.on_bound(hole, resolved)
        return resolved

    def on_bound(self, hole: IncompleteType, type_: Type) -> None:
        """Called when a hole becomes known, or equal to another hole."""

    def _resolve_tensor(self, tensor: TensorType) -> TensorType:
        if self.dims.is_idle:
            return tensor
        shape = self.dims.resolve_shape(tensor.shape)
        return tensor if shape == tensor.shape else TensorType(shape, tensor.dtype)

    def _unify_tensors(self, left: TensorType, right: TensorType) -> Type:
        if left == right:
            return left
        if left.dtype != right.dtype:
            raise self._error(left, right, f"dtype {left.dtype} does not match {right.dtype}")
        if len(left.shape) != len(right.shape):
            raise self._error(
                left, right, f"they have {len(left.shape)} and {len(right.shape)} dimensions"
            )
        dims = [self.dims.unify(a, b) for a, b in zip(left.shape, right.shape, strict=True)]
        shape = tuple(dim for dim in dims if dim is not None)
        if len(shape) != len(dims):
            position = dims.index(None)
            pair = [self.dims.resolve(side.shape[position]) for side in (left, right)]
            first, second = map(self.dims.readable, pair)
            detail = f"dimension {position} is {first} and {second}"
            raise self._error(left, right, detail, (pair[0], pair[1]))
        return TensorType(shape, left.dtype)

    def _unify_parts(self, left: Type, right: Type) -> Type:
        first, second = parts(left), parts(right)
        if len(first) != len(second):
            raise self._error(left, right, f"they have {len(first)} and {len(second)} fields")
        return with_parts(left, self._unify_all(first, second))

    def _unify_applications(self, left: Type, right: Type) -> Type:
        head, arguments = _application(left)
        other, other_arguments = _application(right)
        if head is not other and not (isinstance(head, GlobalTypeVar) and head == other):
            detail = f"{type_text(head)} and {type_text(other)} are different data types"
            raise self._error(left, right, detail)
        if len(arguments) != len(other_arguments):
            detail = f"they have {len(arguments)} and {len(other_arguments)} type arguments"
            raise self._error(left, right, detail)
        unified = self._unify_all(arguments, other_arguments)
        return left if not unified else TypeCall(head, unified)

    def _unify_functions(self, left: FuncType, right: FuncType) -> Type:
        """The right one must be at least as general as the left one.

        If only the right one is polymorphic, it is used at the instance that the left one is.
        """
        if left.type_params and not right.type_params:
            raise self._error(left, right, "the second one can be used at one type only")
        if len(left.params) != len(right.params):
            detail = f"they take {len(left.params)} and {len(right.params)} arguments"
            raise self._error(left, right, detail)
        first, second = FuncType(left.params, left.result), self.instance(right)
        unified = self._unify_all(parts(first), parts(second))
        return FuncType(unified[:-1], unified[-1], left.type_params)

    def _unify_all(self, left: Sequence[Type], right: Sequence[Type]) -> tuple[Type, ...]:
        """The common types of the parts of two types."""
        _require_depth(self._nesting + 1)
        self._nesting += 1
        try:
            return tuple([self.unify(a, b) for a, b in zip(left, right, strict=True)])
        finally:
            self._nesting -= 1

    def instance(self, function: FuncType) -> FuncType:
        """The type of a use of a polymorphic function: holes stand for its type parameters."""
        fresh: dict[Type, Type] = {var: self.fresh() for var in function.type_params}
        body = substitute_vars(FuncType(function.params, function.result), fresh)
        return body if isinstance(body, FuncType) else function

    def monotype(self, type_: Type) -> Type:
        """Type to bind a hole to: polymorphic functions in it are used at one instance."""
        return self._monotype(type_, set())

    def _monotype(self, type_: Type, kept: set[int]) -> Type:
        """`monotype`; `kept` are the ids of tuples that are known to stay as they are."""
        match type_:
            case FuncType(type_params=params) if params:
                return self.instance(type_)
            case TupleType() if id(type_) not in kept:
                fields = tuple(self._monotype(field, kept) for field in type_.fields)
                new = with_parts(type_, fields)
                if new is type_:
                    kept.add(id(type_))
                return new
            case _:
                return type_

    def _error(
        self, left: Type, right: Type, detail: str, sizes: tuple[Dim, Dim] | None = None
    ) -> UnificationError:
        return UnificationError(self.resolve(left), self.resolve(right), detail, sizes)


def _require_depth(depth: int) -> None:
    if depth > DEEPEST_TYPE:
        raise TypeInferenceError(
            f"A type is nested deeper than {DEEPEST_TYPE} levels.",
            remedy="Keep what is nested in a data type, such as a list.",
        )


def _require_count(count: int) -> None:
    if count > LARGEST_TYPE:
        raise TypeInferenceError(
            f"A type has more than {LARGEST_TYPE:,} parts.",
            remedy="Keep what is alike in a data type, such as a list.",
        )


def _application(type_: Type) -> tuple[Type, tuple[Type, ...]]:
    """The data type and the arguments of `D[a, b]`, or of a bare `D`."""
    if isinstance(type_, TypeCall):
        return type_.function, type_.arguments
    return type_, ()
