"""The change of a call's result for changes of its arguments: forward mode of one operator.

Where the adjoints of an operator are written by hand, its tangent is found from them. They are
linear in the adjoint of the result: a = J'u. Their own adjoint with regard to u, for the changes t
in the place of weights, is Jt.
"""

from __future__ import annotations

from collections.abc import Sequence

from relay_tune.ir.expr import Call, Expr, Tuple, TupleGetItem, Var
from relay_tune.ir.operator import Operator
from relay_tune.ir.traversal import children, post_order, rewrite
from relay_tune.ir.types import TupleType, Type
from relay_tune.op_rules.gradient.derived import derived_tangent, plus
from relay_tune.op_rules.gradient.rule import Adjoint, Differentiated
from relay_tune.op_rules.gradient.table import GRADIENT, adjoints_of
from relay_tune.op_rules.matching import is_float


def tangents_of(call: Call, result: Expr, tangents: Sequence[Adjoint]) -> Adjoint:
    """The change of the value of a typed call, `result`; None is zero.

    BuildError where the operator has no derivative.
    """
    rule = GRADIENT.rule_of(call)
    if rule is not None and rule.constant:
        return None
    operator = call.callee
    assert isinstance(operator, Operator)
    is_written = rule is not None or operator.composition is not None
    if not is_written:
        return derived_tangent(call, tangents)
    given = _unknown(result.type)
    adjoints = adjoints_of(Differentiated(call, result, given))
    pairs = [
        pair
        for adjoint, tangent in zip(adjoints, tangents, strict=True)
        for pair in _pairs(adjoint, tangent)
    ]
    found = _weighted(pairs)

    shapes = dict(_places(given, result))

    def known(node: Expr) -> Expr:
        """What is left of the unknowns lends its shape only."""
        return shapes.get(node, node)

    def tangent(part: Adjoint) -> Adjoint:
        if isinstance(part, tuple):
            fields = tuple(tangent(each) for each in part)
            return None if all(each is None for each in fields) else fields
        weight = None if part is None else found.get(part)
        return rewrite(weight, known) if isinstance(weight, Expr) else weight

    return tangent(given)


def _unknown(type_: Type | None) -> Adjoint:
    """Variables for the adjoint of a result."""
    if isinstance(type_, TupleType):
        return tuple(_unknown(part) for part in type_.fields)
    var = Var("u", type_, type=type_)
    return var if is_float(var) else None


def _places(given: Adjoint, value: Expr) -> list[tuple[Expr, Expr]]:
    """Each unknown with the part of a value that it is the adjoint of."""
    if isinstance(given, Expr):
        return [(given, value)]
    if given is None or not isinstance(value.type, TupleType):
        return []
    return [
        pair
        for place, (part, type_) in enumerate(zip(given, value.type.fields, strict=True))
        for pair in _places(part, TupleGetItem(value, place, type=type_))
    ]


def _pairs(adjoint: Adjoint, tangent: Adjoint) -> list[tuple[Expr, Adjoint]]:
    """Adjoints of arguments with the changes of these."""
    if adjoint is None or tangent is None:
        return []
    if isinstance(adjoint, Expr):
        return [(adjoint, tangent)]
    fields = tangent
    if isinstance(fields, Expr):
        fields = tuple(
            TupleGetItem(fields, place, type=each.type if isinstance(each, Expr) else None)
            for place, each in enumerate(adjoint)
        )
    return [pair for each in zip(adjoint, fields, strict=True) for pair in _pairs(*each)]


def _weighted(pairs: Sequence[tuple[Expr, Adjoint]]) -> dict[Expr, Adjoint]:
    """The adjoints of the variables named u, where each expression has the adjoint beside it."""
    found: dict[Expr, Adjoint] = {}
    varied: set[Expr] = set()
    nodes = list(post_order(*(expr for expr, _ in pairs)))
    for node in nodes:
        is_unknown = isinstance(node, Var) and node.name == "u" and node.annotation is not None
        if is_unknown or any(child in varied for child in children(node)):
            varied.add(node)
    for expr, weight in pairs:
        if expr in varied:
            found[expr] = plus(found.get(expr), weight)
    for node in reversed(nodes):
        weight = found.get(node)
        if weight is not None and node in varied:
            for operand, part in _parts(node, weight):
                if operand in varied:
                    found[operand] = plus(found.get(operand), part)
    return found


def _parts(node: Expr, adjoint: Adjoint) -> Sequence[tuple[Expr, Adjoint]]:
    match node:
        case Call(callee=Operator()):
            parts = adjoints_of(Differentiated(node, node, adjoint))
            return list(zip(node.arguments, parts, strict=True))
        case Tuple() if isinstance(adjoint, tuple):
            return list(zip(node.fields, adjoint, strict=True))
        case TupleGetItem():
            whole = node.tuple_value.type
            assert isinstance(whole, TupleType)
            fields = range(len(whole.fields))
            return [(node.tuple_value, tuple(adjoint if i == node.index else None for i in fields))]
        case _:
            return ()
