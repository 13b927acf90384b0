"""Derivatives that nobody has written: derived from an operator's computation or composition."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from relay_tune.ir.expr import Attributes, Call, Constant, Expr, Let, Tuple, TupleGetItem, Var
from relay_tune.ir.operator import Operator
from relay_tune.ir.record_text import text_of_record
from relay_tune.ir.traversal import children, post_order, rewrite
from relay_tune.ir.types import TupleType
from relay_tune.op.derived import TENSOR
from relay_tune.op_rules.gradient.rule import Adjoint, Differentiated
from relay_tune.op_rules.matching import attributes_of, is_float
from relay_tune.op_rules.typed import call, tuple_of, with_types

Rule = Callable[[Differentiated], Sequence[Adjoint]]
"""The adjoints of the arguments of a call."""

TangentRule = Callable[[Call, Expr, Sequence[Adjoint]], Adjoint]
"""rule(call, its value, changes of its arguments) -> the change of its result; None is zero."""


def derived_adjoints(known: Differentiated) -> Sequence[Adjoint]:
    """The adjoints of a call's arguments, from the computation of its operator."""
    changes = _given(known.adjoint)
    if not changes:
        return (None,) * len(known.call.arguments)
    values = [_fields(argument) for argument in known.call.arguments]
    inputs = tuple_of([value for each in values for value in each])
    numbers = iter(range(len(inputs.fields)))
    adjoints = tuple_of(list(changes.values()))

    def adjoint(value: Expr) -> Expr | None:
        number = next(numbers)
        if not is_float(value):
            return None
        attributes = _described(known.call, (number,), tuple(changes))
        return call("derivative.adjoint", inputs, adjoints, **attributes)

    found = [[adjoint(value) for value in each] for each in values]
    return tuple(
        tuple(each) if isinstance(argument.type, TupleType) else each[0]
        for argument, each in zip(known.call.arguments, found, strict=True)
    )


def derived_tangent(original: Call, tangents: Sequence[Adjoint]) -> Adjoint:
    """The change of the result of a call for changes of its arguments (None: none).

    It is that of a tensor, or of each field of a tuple; None where it is zero.
    """
    values = [_fields(argument) for argument in original.arguments]
    inputs = tuple_of([value for each in values for value in each])
    flat = [
        part
        for each, change in zip(values, tangents, strict=True)
        for part in flat_adjoint(change, len(each))
    ]
    varied = {n: change for n, change in enumerate(flat) if isinstance(change, Expr)}
    if not varied:
        return None
    changes = tuple_of(list(varied.values()))

    def tangent(number: int, field: Expr) -> Expr | None:
        if not is_float(field):
            return None
        attributes = _described(original, tuple(varied), (number,))
        return call("derivative.tangent", inputs, changes, **attributes)

    if not isinstance(original.type, TupleType):
        return tangent(0, original)
    return tuple(tangent(n, field) for n, field in enumerate(_fields(original)))


def _given(adjoint: Adjoint) -> dict[int, Expr]:
    """The adjoints of the results of a call that are not zero, by number."""
    each = adjoint if isinstance(adjoint, tuple) else (adjoint,)
    return {number: part for number, part in enumerate(each) if isinstance(part, Expr)}


def _fields(value: Expr) -> list[Expr]:
    """The tensors of an argument: itself, or the fields of a tuple."""
    if isinstance(value, Tuple):
        return list(value.fields)
    if not isinstance(value.type, TupleType):
        return [value]
    return [with_types(TupleGetItem(value, n)) for n in range(len(value.type.fields))]


def _described(
    original: Call, varied: tuple[int, ...], results: tuple[int, ...]
) -> dict[str, object]:
    """The attributes of the derivative of a call."""
    operator = original.callee
    assert isinstance(operator, Operator)
    record: Attributes = attributes_of(original)
    types = [argument.type for argument in original.arguments]
    return {
        "operator": operator.name,
        "attributes": text_of_record(record),
        "fields": tuple(len(t.fields) if isinstance(t, TupleType) else TENSOR for t in types),
        "varied": varied,
        "results": results,
    }


def is_composed(known: Call) -> bool:
    """Whether the operator of a call is written in simpler ones only."""
    operator = known.callee
    assert isinstance(operator, Operator)
    return operator.compute is None and operator.composition is not None


def composed_adjoints(known: Differentiated, rule: Rule) -> Sequence[Adjoint]:
    """The adjoints of the arguments of a call that is written in simpler operators.

    `rule` gives those of the simpler calls.
    """
    params, body = composed(known.call)
    adjoints = expression_adjoints(body, known.adjoint, params, rule)
    return with_values(adjoints, dict(zip(params, known.call.arguments, strict=True)))


def expression_adjoints(
    body: Expr, adjoint: Adjoint, params: Sequence[Var], rule: Rule
) -> list[Adjoint]:
    """The adjoints of variables of a typed expression of operators and tuples, given its own."""
    adjoints: dict[Expr, Adjoint] = {body: adjoint}
    nodes = list(post_order(body))
    varied: set[Expr] = set(params)
    for node in nodes:
        if not varied.isdisjoint(children(node)):
            varied.add(node)
    for node in reversed(nodes):
        known = adjoints.get(node)
        parts = () if known is None or node not in varied else _parts(node, known, rule)
        for operand, part in parts:
            if operand in varied:
                adjoints[operand] = plus(adjoints.get(operand), part)
    return [adjoints.get(param) for param in params]


def composed(original: Call) -> tuple[tuple[Var, ...], Expr]:
    """Parameters, and a call of an operator of them written in simpler operators."""
    operator = original.callee
    assert isinstance(operator, Operator) and operator.composition is not None
    types = [argument.type for argument in original.arguments]
    params = tuple(Var(f"p{n}", type_, type=type_) for n, type_ in enumerate(types))
    known = [type_ for type_ in types if type_ is not None]
    body = operator.composition(attributes_of(original), params, known)
    return params, with_types(body)


def plus(left: Adjoint, right: Adjoint) -> Adjoint:
    """The sum of two adjoints of one value."""
    if left is None or right is None:
        return right if left is None else left
    if isinstance(left, tuple):
        assert isinstance(right, tuple)
        return tuple(plus(*pair) for pair in zip(left, right, strict=True))
    assert isinstance(right, Expr)
    return call("add", left, right)


def _parts(node: Expr, adjoint: Adjoint, rule: Rule) -> Sequence[tuple[Expr, Adjoint]]:
    """What a node contributes to the adjoints of its operands."""
    match node:
        case Call(callee=Operator()):
            parts = rule(Differentiated(node, node, adjoint))
            return list(zip(node.arguments, parts, strict=True))
        case Tuple() if isinstance(adjoint, tuple):
            return list(zip(node.fields, adjoint, strict=True))
        case TupleGetItem():
            whole = node.tuple_value
            assert isinstance(whole.type, TupleType)
            count = len(whole.type.fields)
            return [(whole, tuple(adjoint if n == node.index else None for n in range(count)))]
        case Var() | Constant():
            return ()
        case Let():
            raise TypeError("a composition is an expression without names")
    raise TypeError(f"a composition has no {type(node).__name__}")


def flat_adjoint(adjoint: Adjoint, count: int) -> Sequence[Adjoint]:
    """That of each tensor of a value of so many."""
    return adjoint if isinstance(adjoint, tuple) else (adjoint,) * count


def with_values(adjoints: Sequence[Adjoint], arguments: dict[Var, Expr]) -> list[Adjoint]:
    """Adjoints with values in place of parameters; what they share stays shared."""

    def value(node: Expr) -> Expr:
        return arguments.get(node, node) if isinstance(node, Var) else node

    return rewritten(adjoints, value)


def rewritten(
    adjoints: Sequence[Adjoint],
    visit: Callable[[Expr], Expr],
    enter: Callable[[Expr], bool] = lambda _: True,
) -> list[Adjoint]:
    """Adjoints rewritten bottom up, as `ir.traversal.rewrite` does it, all together."""
    leaves = [leaf for adjoint in adjoints for leaf in _leaves(adjoint)]
    whole = rewrite(tuple_of(leaves), visit, enter=enter)
    assert isinstance(whole, Tuple)
    renamed = iter(whole.fields)

    def rebuilt(adjoint: Adjoint) -> Adjoint:
        if isinstance(adjoint, tuple):
            return tuple(rebuilt(part) for part in adjoint)
        return None if adjoint is None else next(renamed)

    return [rebuilt(adjoint) for adjoint in adjoints]


def _leaves(adjoint: Adjoint) -> list[Expr]:
    if isinstance(adjoint, tuple):
        return [leaf for part in adjoint for leaf in _leaves(part)]
    return [] if adjoint is None else [adjoint]


def composed_tangent(original: Call, tangents: Sequence[Adjoint], rule: TangentRule) -> Adjoint:
    """The change of the result of a call that is written in simpler operators."""
    params, body = composed(original)
    changes: dict[Expr, Adjoint] = dict(zip(params, tangents, strict=True))
    for node in post_order(body):
        if node not in changes:
            changes[node] = _tangent(node, changes, rule)
    named = dict(zip(params, original.arguments, strict=True))
    return with_values([changes[body]], named)[0]


def _tangent(node: Expr, changes: dict[Expr, Adjoint], rule: TangentRule) -> Adjoint:
    """The change of a node whose operands have theirs."""
    match node:
        case Call(callee=Operator()):
            return rule(node, node, [changes[argument] for argument in node.arguments])
        case Tuple():
            fields = tuple(changes[field] for field in node.fields)
            return None if all(field is None for field in fields) else fields
        case TupleGetItem():
            whole = changes[node.tuple_value]
            return whole[node.index] if isinstance(whole, tuple) else None
    return None
