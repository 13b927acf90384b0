"""Values that are no tensors: sequences and optionals of ONNX.

    known length    a tuple                             SequenceConstruct(a, b)    (%a, %b)
    other length    List[Tensor[(?, 4), float32]]       an input, or what a loop carries and grows
    given optional  the value itself                    Optional(%a)               %a
    other optional  Option[...]                         an input, or what branches give

The elements of a list have one type: sizes in which they differ are `?`. A tuple becomes a list,
and a value an optional, only where two values meet that are not of one type: after a branch, or
from round to round of a loop.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce

from relay_tune.errors import ModelError, UnsupportedOperatorError
from relay_tune.frontend.onnx_import.build import Builder, type_of
from relay_tune.ir.dim import UNKNOWN
from relay_tune.ir.expr import (
    Call,
    Clause,
    ConstructorPattern,
    Expr,
    Function,
    GlobalVar,
    Match,
    Tuple,
    Var,
    VarPattern,
)
from relay_tune.ir.types import FuncType, GlobalTypeVar, TensorType, TupleType, Type, TypeCall
from relay_tune.std import constructor
from relay_tune.typing.type_text import type_text

_LIST, _OPTION = GlobalTypeVar("List"), GlobalTypeVar("Option")

NOTHING = TypeCall(_OPTION, ())
"""The type of an empty optional whose value could be of any type."""


def list_of(element: Type) -> TypeCall:
    """The type of lists of such elements; data holds no names of sizes, they become `?`."""
    return TypeCall(_LIST, (_without_names(element),))


def option_of(value: Type) -> TypeCall:
    """The type of optionals of such values; data holds no names of sizes, they become `?`."""
    return TypeCall(_OPTION, (_without_names(value),))


def _without_names(type_: Type) -> Type:
    match type_:
        case TensorType(shape=shape, dtype=dtype):
            return TensorType(tuple(d if isinstance(d, int) else UNKNOWN for d in shape), dtype)
        case TupleType(fields=fields):
            return TupleType(tuple(map(_without_names, fields)))
        case _:
            return type_


def is_list(type_: Type) -> bool:
    """Whether a sequence is a list, rather than a tuple."""
    return isinstance(type_, TypeCall) and type_.function == _LIST


def is_option(type_: Type) -> bool:
    """Whether a value may be missing."""
    return isinstance(type_, TypeCall) and type_.function == _OPTION


def is_sequence(type_: Type) -> bool:
    """Whether a type is one of sequences."""
    return isinstance(type_, TupleType) or is_list(type_)


def inner_type(type_: Type) -> Type:
    """The type of the elements of a list, or of the value of an optional."""
    assert isinstance(type_, TypeCall)
    return type_.arguments[0]


def made(name: str, type_: Type, *fields: Expr) -> Call:
    """A value of a list or an optional."""
    return Call(constructor(name), fields, type=type_)


def cons(build: Builder, value: Expr, rest: Expr) -> Call:
    """A list with a first element of a type that fits the others."""
    type_ = type_of(rest)
    return made("Cons", type_, converted(build, value, inner_type(type_)), rest)


def called(name: str, type_: Type, *arguments: Expr) -> Call:
    """A call of a function of the prelude."""
    return Call(GlobalVar(name), arguments, type=type_)


def nothing() -> Expr:
    """An empty optional."""
    return Tuple((), type=NOTHING)


def case(name: str, variables: Sequence[Var], body: Expr) -> Clause:
    """Clause of a match for a constructor, whose fields the variables are."""
    patterns = tuple(VarPattern(variable) for variable in variables)
    return Clause(ConstructorPattern(constructor(name), patterns), body)


def known_fields(build: Builder, sequence: Expr) -> list[Expr] | None:
    """The elements of a sequence of known length, None for a list.

    Raises ModelError for what is no sequence.
    """
    type_ = type_of(sequence)
    if is_list(type_):
        return None
    if not isinstance(type_, TupleType):
        raise ModelError(f"expects a sequence, but found {type_text(type_)}.")
    return [build.item(sequence, index) for index in range(len(type_.fields))]


def element_type(sequence: Type) -> Type | None:
    """A type for all elements of a sequence; None where it has no element."""
    if isinstance(sequence, TupleType):
        return reduce(joined_type, sequence.fields) if sequence.fields else None
    return inner_type(sequence)


def joined_type(left: Type, right: Type) -> Type:
    """A type for the values of both; sizes that differ are `?`.

    Raises UnsupportedOperatorError where there is none.
    """
    if left == right:
        return left
    if is_option(left) or is_option(right):
        return _joined_options(left, right)
    if isinstance(left, TensorType) and isinstance(right, TensorType):
        return _joined_tensors(left, right)
    if not (is_sequence(left) and is_sequence(right)):
        raise UnsupportedOperatorError(
            f"values of different kinds, {text_of(left)} and {text_of(right)}, meet."
        )
    if isinstance(left, TupleType) and isinstance(right, TupleType):
        pairs = list(zip(left.fields, right.fields, strict=False))
        if len(pairs) == len(left.fields) == len(right.fields):
            return TupleType(tuple(joined_type(a, b) for a, b in pairs))
    elements = [each for each in map(element_type, (left, right)) if each is not None]
    return list_of(reduce(joined_type, elements))


def _joined_options(left: Type, right: Type) -> Type:
    values = [inner_type(t) if is_option(t) else t for t in (left, right) if t != NOTHING]
    return option_of(reduce(joined_type, map(_opened, values)))


def _opened(type_: Type) -> Type:
    """A sequence in an optional is a list wherever the type of its elements is known."""
    element = element_type(type_) if isinstance(type_, TupleType) else None
    return type_ if element is None else list_of(element)


def _joined_tensors(left: TensorType, right: TensorType) -> TensorType:
    if left.dtype != right.dtype or len(left.shape) != len(right.shape):
        raise UnsupportedOperatorError(
            f"values of different types, {type_text(left)} and {type_text(right)}, meet."
        )
    pairs = zip(left.shape, right.shape, strict=True)
    return TensorType(tuple(a if a == b else UNKNOWN for a, b in pairs), left.dtype)


def text_of(type_: Type) -> str:
    """A type in words."""
    return "an empty optional" if type_ == NOTHING else type_text(type_)


def converted(build: Builder, value: Expr, type_: Type) -> Expr:
    """A value in a type that `joined_type` gave for it and others."""
    source = type_of(value)
    if source == type_:
        return value
    if isinstance(type_, TensorType):
        return build.with_shape(value, type_.shape)
    if isinstance(type_, TupleType):
        fields = known_fields(build, value) or []
        pairs = zip(fields, type_.fields, strict=True)
        return build.tuple_of([converted(build, field, wanted) for field, wanted in pairs])
    if is_option(type_):
        return _as_option(build, value, type_)
    return as_list(build, value, inner_type(type_))


def as_list(build: Builder, sequence: Expr, element: Type) -> Expr:
    """A sequence as a list of elements of a type."""
    wanted = list_of(element)
    fields = known_fields(build, sequence)
    if fields is None:
        if type_of(sequence) == wanted:
            return sequence
        source, target = inner_type(type_of(sequence)), inner_type(wanted)
        widen = function_of(build, source, lambda value: converted(build, value, target))
        return called("map", wanted, widen, sequence)
    result = made("Nil", wanted)
    for field in reversed(fields):
        result = cons(build, field, result)
    return result


def _as_option(build: Builder, value: Expr, type_: Type) -> Expr:
    source, wanted = type_of(value), inner_type(type_)
    if source == NOTHING:
        return made("None", type_)
    if not is_option(source):
        return made("Some", type_, converted(build, value, wanted))
    given = Var("given", inner_type(source), type=inner_type(source))
    with build.scope() as binding:
        inner = binding(made("Some", type_, converted(build, given, wanted)))
    clauses = (case("Some", (given,), inner), case("None", (), made("None", type_)))
    return Match(value, clauses, type=type_)


def function_of(build: Builder, parameter: Type, body: Callable[[Expr], Expr]) -> Function:
    """A function of one element."""
    var = Var("element", parameter, type=parameter)
    with build.scope() as binding:
        result = binding(body(var))
    type_ = FuncType((parameter,), type_of(result))
    return Function((var,), result, result_type=type_of(result), type=type_)
