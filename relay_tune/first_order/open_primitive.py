"""Primitives whose sizes are known at run time only, with a name for each size.

    before:  fn (%a: Tensor[(?, 4), float32], %b: Tensor[(1, 4), float32]) {
               concatenate((%a, %b)) }                 gives  Tensor[(?, 4), float32]
    after:   fn (%a: Tensor[(s0, 4), float32], ..) {
               concatenate((%a, %b)) }                 gives  Tensor[(s0 + 1, 4), float32]

So the types of the renamed primitive say, as arithmetic of the inputs' sizes, what shape each
result has: they are its shape function. Equal primitives have equal names.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from relay_tune.errors import FIX_SIZES, NoNativeCodeError, TypeInferenceError
from relay_tune.first_order.kinds import component_types, function_type, is_open_type, type_of
from relay_tune.ir.dim import Dim, Polynomial, Symbol, UnknownDim
from relay_tune.ir.dim_arithmetic import (
    common_factor,
    exact_quotient,
    floor_divide,
    multiply,
    substitute,
    symbol_names,
)
from relay_tune.ir.expr import Call, Constant, Expr, Function, Let, Var
from relay_tune.ir.operator import Operator
from relay_tune.ir.traversal import post_order, rewrite
from relay_tune.ir.types import TensorType, TupleType, Type
from relay_tune.op.lower import finds_sizes
from relay_tune.typing.infer import infer_expr
from relay_tune.typing.type_terms import substitute_symbols


@dataclass(frozen=True, slots=True)
class SizeSource:
    """Where a size is found: an axis of a tensor among the primitive's inputs.

    The size of the axis is `divisor` times the size.
    """

    input: int
    axis: int
    divisor: int = 1


@dataclass(frozen=True, eq=False, slots=True)
class OpenPrimitive:
    """A primitive with names for its sizes.

    Attributes:
        function: the typed primitive; its types have symbols, but no `?`.
        symbols: where each symbol is read.
        checks: sizes of inputs that must be as given, because the primitive has no type otherwise.
        outputs: the shape of each result.
        found: the names of the results' sizes that the operator finds from its inputs.
    """

    function: Function
    symbols: Mapping[str, SizeSource]
    checks: tuple[tuple[SizeSource, Dim], ...]
    outputs: tuple[tuple[Dim, ...], ...]
    found: tuple[str, ...] = ()


def is_open_primitive(primitive: Function) -> bool:
    """Whether some sizes of a typed primitive are known at run time only."""
    types = (type_of(node) for node in (*primitive.params, primitive.body))
    return any(is_open_type(part) for each in types for part in component_types(each))


def open_primitive(primitive: Function) -> OpenPrimitive:
    """A primitive with names for its sizes.

    Where distinct names for sizes that are `?` give no type, `?` of equal places, counted from the
    last axis, are taken to be equal, as few of them as give one; or else one or two `?` are equal
    to some other sizes, if that gives a type. Raises NoNativeCodeError if nothing does, or the size
    of a result depends on the elements of inputs.
    """
    failure: TypeInferenceError | None = None
    params = function_type(primitive).params
    for equal in _equalities(params):
        try:
            naming, typed = _named(primitive, equal)
        except TypeInferenceError as error:
            failure = failure or error
            continue
        naming, typed = _with_fewer(primitive, equal, (naming, typed))
        shapes = [t.shape for t in tensors_of(function_type(typed).result)]
        outputs, found = _with_names_for_unknown(shapes)
        if found and not finds_sizes(typed):
            names = _operators(typed)
            raise NoNativeCodeError(
                f"A size of a result of {names} does not follow from those of its inputs.",
                where=primitive.span,
                remedy=FIX_SIZES,
            )
        return OpenPrimitive(typed, naming.symbols, tuple(naming.checks), outputs, found)
    raise NoNativeCodeError(
        "The sizes of an operation that are known at run time only do not fit.",
        notes=() if failure is None else (failure.message,),
        where=primitive.span,
    ) from failure


def _named(primitive: Function, equal: Equal) -> tuple[_Naming, Function]:
    """The primitive under a naming; TypeInferenceError if it has no type then."""
    naming = _Naming(equal, function_type(primitive).params)
    types = [naming.named(type_) for type_ in function_type(primitive).params]
    typed = infer_expr(retyped(primitive, types))
    assert isinstance(typed, Function)
    return naming, typed


def _with_fewer(
    primitive: Function, equal: Equal, found: tuple[_Naming, Function]
) -> tuple[_Naming, Function]:
    """What `_named` finds if sizes that need not be equal have names of their own."""
    earlier = (~other for other in equal.values() if isinstance(other, int) and other < 0)
    for place in sorted({*equal, *earlier}):
        fewer = _without(place, equal)
        try:
            found, equal = _named(primitive, fewer), fewer
        except TypeInferenceError:
            continue
    return found


def _without(place: int, equal: Equal) -> Equal:
    """The equalities but for those of a `?`; what was equal to it is equal to each other."""
    rest = {p: other for p, other in equal.items() if p != place and other != ~place}
    others = [p for p, other in equal.items() if other == ~place]
    if place in equal:
        return rest | dict.fromkeys(others, equal[place])
    return rest | dict.fromkeys(others[1:], ~others[0] if others else 0)


def _with_names_for_unknown(
    shapes: Sequence[tuple[Dim, ...]],
) -> tuple[tuple[tuple[Dim, ...], ...], tuple[str, ...]]:
    """Shapes with names for what is `?`, and the names."""
    found: list[str] = []

    def named(dim: Dim) -> Dim:
        if not isinstance(dim, UnknownDim):
            return dim
        found.append(f"u{len(found)}")
        return Symbol(found[-1])

    outputs = tuple(tuple(named(dim) for dim in shape) for shape in shapes)
    return outputs, tuple(found)


def _operators(function: Function) -> str:
    names = [
        node.callee.name
        for node in post_order(function.body)
        if isinstance(node, Call) and isinstance(node.callee, Operator)
    ]
    return ", ".join(dict.fromkeys(names))


def with_size(primitive: OpenPrimitive, symbol: str, size: int) -> Function:
    """The typed primitive for one size of a symbol."""
    sizes = {symbol: size}
    types = [substitute_symbols(t, sizes) for t in function_type(primitive.function).params]
    typed = infer_expr(retyped(primitive.function, types))
    assert isinstance(typed, Function)
    return typed


MOST_EQUALITIES = 2
"""How many `?` may be equal to other sizes, if it is not told by their places."""

Equal = Mapping[int, int | Symbol | Polynomial]
"""To what a `?`, by number, is equal: an earlier one, by number less than zero, or another size."""


def _equalities(types: Sequence[Type]) -> Iterator[Equal]:
    """Which `?` among the sizes of inputs may be equal to other sizes, little first."""
    yield {}
    yield _equal_places(types)
    dims = [dim for type_ in types for t in tensors_of(type_) for dim in t.shape]
    count = sum(isinstance(dim, UnknownDim) for dim in dims)
    known = (d for d in dict.fromkeys(dims) if not isinstance(d, UnknownDim))
    others = [d for d in known if d not in (0, 1)]
    for equalities in range(1, MOST_EQUALITIES + 1):
        for places in itertools.combinations(range(count), equalities):
            options = [[*(~earlier for earlier in range(place)), *others] for place in places]
            for chosen in itertools.product(*options):
                yield dict(zip(places, chosen, strict=True))


def _equal_places(types: Sequence[Type]) -> Equal:
    """Each `?` is equal to the first one at the same place, counted from the last axis."""
    first: dict[int, int] = {}
    equal: dict[int, int | Symbol | Polynomial] = {}
    number = itertools.count()
    for tensor in (t for type_ in types for t in tensors_of(type_)):
        for from_end, dim in enumerate(tensor.shape, start=-len(tensor.shape)):
            if not isinstance(dim, UnknownDim):
                continue
            place = next(number)
            if from_end in first:
                equal[place] = ~first[from_end]
            first.setdefault(from_end, place)
    return equal


class _Naming:
    """Names for the sizes of inputs, in order."""

    def __init__(self, equal: Equal, types: Sequence[Type]) -> None:
        self._equal = equal
        self._places = _places(types)
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
        place = next(self._inputs)
        shape = tuple(
            self._size(dim, SizeSource(place, axis)) for axis, dim in enumerate(type_.shape)
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
        if symbol_names(dim) <= self._known.keys() | self._places.keys():
            return substitute(dim, {name: self._part(Symbol(name)) for name in symbol_names(dim)})
        for other in self._places.values():
            quotient = exact_quotient(dim, other.dim)
            if quotient not in (None, 1) and self._is_part(quotient):
                return multiply(self._part(other.dim), self._part(quotient))
        divisor = common_factor(dim)
        part = floor_divide(dim, divisor)
        is_new = part not in self._others
        size = self._shared(part, replace(source, divisor=divisor))
        if isinstance(part, Symbol):
            self._known.setdefault(part.name, size)
        if divisor > 1 or not is_new:
            self.checks.append((source, multiply(divisor, size)))
        return multiply(divisor, size)

    def _is_part(self, dim: Dim | None) -> bool:
        """Whether a size is a number, or that of an axis of an input."""
        return isinstance(dim, int) or str(dim) in self._places

    def _part(self, dim: Dim | None) -> Dim:
        """The name of a size that is that of an axis of an input."""
        if dim is None or isinstance(dim, int):
            return dim or 0
        if not isinstance(dim, Symbol):
            return self._compound_size(dim, self._places[str(dim)].source)
        if dim.name not in self._known:
            self._known[dim.name] = self._new(self._places[dim.name].source)
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
class _Place:
    """A size with symbols, and the axis of an input that has it."""

    dim: Dim
    source: SizeSource


def _places(types: Sequence[Type]) -> dict[str, _Place]:
    """Where each size with symbols stands first, by its text."""
    found: dict[str, _Place] = {}
    for place, tensor in enumerate(t for type_ in types for t in tensors_of(type_)):
        for axis, dim in enumerate(tensor.shape):
            if isinstance(dim, Symbol | Polynomial):
                found.setdefault(str(dim), _Place(dim, SizeSource(place, axis)))
    return found


def retyped(function: Function, types: Sequence[Type]) -> Function:
    """A primitive with parameters of other types, and nothing known of types inside."""
    new = {p: Var(p.name, t, span=p.span) for p, t in zip(function.params, types, strict=True)}
    for node in post_order(function.body):
        if isinstance(node, Let):
            new[node.var] = Var(node.var.name, span=node.var.span)

    def visit(node: Expr) -> Expr:
        match node:
            case Var():
                return new[node]
            case Constant() | Operator():
                return node
            case Let():
                return replace(node, var=new[node.var], type=None)
            case _:
                return replace(node, type=None)

    params = tuple(new[param] for param in function.params)
    return Function(params, rewrite(function.body, visit), attributes=function.attributes)


def tensors_of(type_: Type) -> Iterator[TensorType]:
    """The tensors in the type of an input or a result of a primitive, in order."""
    for part in component_types(type_):
        assert isinstance(part, TensorType)  # a primitive takes and gives nothing else
        yield part
