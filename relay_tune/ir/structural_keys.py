"""The parts of a node, besides its children, that structural equality compares.

A key is a tuple of (what, value) pairs of plain values. Spans, inferred types and the names of
bound variables are not in it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping

from relay_tune.ir.attribute_check import declared_attributes, required_attributes
from relay_tune.ir.dtypes import DTYPES
from relay_tune.ir.expr import (
    Attributes,
    AttributeValue,
    Call,
    Constant,
    Constructor,
    ConstructorPattern,
    Expr,
    Function,
    GlobalVar,
    Let,
    Match,
    Pattern,
    Tuple,
    TupleGetItem,
    TuplePattern,
    VarPattern,
    type_name,
)
from relay_tune.ir.operator import Operator
from relay_tune.ir.printer.types import type_text
from relay_tune.ir.type_data import TypeData
from relay_tune.ir.types import FuncType, RefType, TupleType, Type, TypeCall, TypeVar

Key = tuple[tuple[str, object], ...]
NameOf = Callable[[TypeVar], str]


def node_key(node: Expr, name_of: NameOf) -> Key:
    """The key of a node that is no variable; `name_of` names the type parameters in scope."""
    kind = ("node", type_name(node))
    match node:
        case GlobalVar():
            return (kind, ("name", f"@{node.name}"))
        case Operator():
            return (kind, ("operator", node.name))
        case Constructor():
            return (kind, ("constructor", f"{node.belongs_to.name}.{node.name}"))
        case Constant():
            return (kind, *_constant_key(node))
        case Tuple():
            return (kind, ("number of fields", len(node.fields)))
        case TupleGetItem():
            return (kind, ("index", node.index))
        case Function():
            return (kind, *_function_key(node, name_of))
        case Call():
            return (kind, *_call_key(node, name_of))
        case Let():
            return (kind, ("type of the variable", type_key(node.var.annotation, name_of)))
        case Match():
            patterns = tuple(_pattern_key(clause.pattern, name_of) for clause in node.clauses)
            return (kind, ("complete", node.complete), ("patterns", patterns))
        case _:
            return (kind,)


def type_key(type_: Type | None, name_of: NameOf) -> str:
    """A type as text in which variables that it binds itself have numbers for names."""
    if type_ is None:
        return "none"
    numbers = {variable: f"#{index}" for index, variable in enumerate(_bound_in(type_))}
    return type_text(type_, lambda variable: numbers.get(variable) or name_of(variable))


def mapping_key(attributes: Mapping[str, AttributeValue]) -> tuple[str, ...]:
    """Attributes of a function or module; their order does not count."""
    return tuple(sorted(f"{name}={value!r}" for name, value in attributes.items()))


def type_data_key(data: TypeData) -> Key:
    """The key of the definition of an algebraic data type."""
    numbers = {variable: f"#param{index}" for index, variable in enumerate(data.type_params)}

    def name_of(variable: TypeVar) -> str:
        return numbers.get(variable, variable.name)

    constructors = tuple(
        (constructor.name, *(type_key(part, name_of) for part in constructor.inputs))
        for constructor in data.constructors
    )
    kinds = tuple(variable.kind.value for variable in data.type_params)
    return (("extern", data.extern), ("type parameters", kinds), ("constructors", constructors))


def _constant_key(constant: Constant) -> Key:
    data = constant.data
    name = data.dtype.name
    little = data.astype(DTYPES[name].newbyteorder("<"), copy=False) if name in DTYPES else data
    digest = hashlib.blake2b(little.tobytes(), digest_size=16).hexdigest()
    return (("dtype", name), ("shape", data.shape), ("bits (hash)", digest))


def _function_key(function: Function, name_of: NameOf) -> Key:
    return (
        ("type parameters", tuple(variable.kind.value for variable in function.type_params)),
        ("parameters", tuple(type_key(param.annotation, name_of) for param in function.params)),
        ("result type", type_key(function.result_type, name_of)),
        ("attributes", mapping_key(function.attributes)),
    )


def _call_key(call: Call, name_of: NameOf) -> Key:
    is_operator = isinstance(call.callee, Operator)
    types = () if is_operator else tuple(type_key(part, name_of) for part in call.type_arguments)
    return (
        ("number of arguments", len(call.arguments)),
        ("type arguments", types),
        ("attributes", _record_key(_effective_record(call))),
    )


def _effective_record(call: Call) -> Attributes | None:
    """The attributes of a call; none given to an operator means its defaults."""
    if call.attributes is not None or not isinstance(call.callee, Operator):
        return call.attributes
    record = call.callee.attributes
    return None if required_attributes(record) else record()


def _record_key(record: Attributes | None) -> tuple[str, ...]:
    if record is None:
        return ()
    names = declared_attributes(type(record))
    return tuple(f"{name}={getattr(record, name)!r}" for name in names)


def _pattern_key(pattern: Pattern, name_of: NameOf) -> object:
    match pattern:
        case VarPattern():
            return ("variable", type_key(pattern.var.annotation, name_of))
        case TuplePattern():
            return ("tuple", *(_pattern_key(part, name_of) for part in pattern.patterns))
        case ConstructorPattern():
            constructor = f"{pattern.constructor.belongs_to.name}.{pattern.constructor.name}"
            return (constructor, *(_pattern_key(part, name_of) for part in pattern.patterns))
        case _:
            return "_"


def _bound_in(type_: Type) -> Iterator[TypeVar]:
    """The type parameters of the function types inside a type, from left to right."""
    match type_:
        case FuncType():
            yield from type_.type_params
            for part in (*type_.params, type_.result):
                yield from _bound_in(part)
        case TupleType():
            for part in type_.fields:
                yield from _bound_in(part)
        case TypeCall():
            for part in (type_.function, *type_.arguments):
                yield from _bound_in(part)
        case RefType():
            yield from _bound_in(type_.value)
        case _:
            return
