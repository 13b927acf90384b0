"""Which definitions of a module an expression or a data type mentions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from relay_tune.ir.expr import (
    Call,
    Constructor,
    ConstructorPattern,
    Expr,
    Function,
    GlobalVar,
    Match,
    Pattern,
    TuplePattern,
    Var,
)
from relay_tune.ir.module import Module
from relay_tune.ir.traversal import bound_vars, post_order
from relay_tune.ir.type_data import TypeData
from relay_tune.ir.types import GlobalTypeVar, Type
from relay_tune.quick_dataclass import dataclass
from relay_tune.typing.type_terms import leaves


@dataclass(frozen=True, slots=True)
class Uses:
    """Names of functions and of data types, in the order of first use."""

    functions: tuple[str, ...] = ()
    types: tuple[str, ...] = ()


def uses_of_module(module: Module) -> Uses:
    """What the definitions of a module mention."""
    functions = post_order(*module.functions.values())
    mentioned = [name for data in module.types.values() for name in _types_in_data(data)]
    return _uses(functions, mentioned)


def reachable(module: Module, start: Uses) -> Uses:
    """`start` and all that its definitions mention, directly or not, as far as `module` has it."""
    functions: dict[str, None] = {}
    types: dict[str, None] = {}
    pending = [start]
    while pending:
        uses = pending.pop()
        for name in uses.functions:
            if name in module.functions and name not in functions:
                functions[name] = None
                pending.append(_uses(post_order(module.functions[name]), ()))
        for name in uses.types:
            if name in module.types and name not in types:
                types[name] = None
                pending.append(Uses((), tuple(_types_in_data(module.types[name]))))
    return Uses(tuple(functions), tuple(types))


def _uses(nodes: Iterable[Expr], types: Iterable[str]) -> Uses:
    functions: dict[str, None] = {}
    data_types = dict.fromkeys(types)
    for node in nodes:
        if isinstance(node, GlobalVar):
            functions[node.name] = None
        data_types |= dict.fromkeys(_types_in_node(node))
    return Uses(tuple(functions), tuple(data_types))


def _types_in_node(node: Expr) -> Iterator[str]:
    """The data types that this very node mentions."""
    for var in bound_vars(node):
        yield from _types_in_annotation(var.annotation)
    match node:
        case Constructor():
            yield node.belongs_to.name
        case Var():
            yield from _types_in_annotation(node.annotation)
        case Function():
            yield from _types_in_annotation(node.result_type)
        case Call():
            for argument in node.type_arguments:
                yield from _types_in_annotation(argument)
        case Match():
            for clause in node.clauses:
                yield from _types_in_pattern(clause.pattern)


def _types_in_pattern(pattern: Pattern) -> Iterator[str]:
    match pattern:
        case ConstructorPattern():
            yield pattern.constructor.belongs_to.name
            for part in pattern.patterns:
                yield from _types_in_pattern(part)
        case TuplePattern():
            for part in pattern.patterns:
                yield from _types_in_pattern(part)


def _types_in_data(data: TypeData) -> Iterator[str]:
    for constructor in data.constructors:
        for part in constructor.inputs:
            yield from _types_in_annotation(part)


def _types_in_annotation(type_: Type | None) -> Iterator[str]:
    if type_ is not None:
        yield from (leaf.name for leaf in leaves(type_) if isinstance(leaf, GlobalTypeVar))
