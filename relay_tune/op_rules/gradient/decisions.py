"""Where derivatives jump: conditions that rules of adjoints ask, and those of derived ones.

    relu:  d = where(greater(y, 0), dy, 0)        ->  d = where(decisive(greater(y, 0)), dy, 0)

What is computed from floats and is none itself, a truth value or a position, jumps. So a condition
is marked whatever rule asks it. Derivatives that are derived from a computation have no such call;
they are asked which of their inputs that compares.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from relay_tune.ir.dim import UNKNOWN
from relay_tune.ir.expr import Call, Expr, Tuple
from relay_tune.ir.operator import Operator
from relay_tune.ir.types import TensorType, TupleType
from relay_tune.op.derived import DerivedAttributes
from relay_tune.op_rules.gradient.derived import rewritten
from relay_tune.op_rules.gradient.rule import Adjoint, Differentiated
from relay_tune.op_rules.matching import (
    example_type,
    is_float,
    operator_call,
    operator_name,
    tensor_type,
)
from relay_tune.op_rules.typed import call
from relay_tune.remembered import remembered
from relay_tune.tensor.dependencies import dependencies, scalar_nodes, tensors_in_order
from relay_tune.tensor.expression import (
    COMPARISONS,
    Binary,
    Cast,
    Load,
    Scalar,
    Select,
    Tensor,
    Unary,
)
from relay_tune.tensor.scalar_semantics import is_float as is_float_type
from relay_tune.tensor.tensor import Computed, Input, input_tensor

JUMPS = frozenset("floor ceil round trunc sign floordiv floormod truncdiv truncmod".split())
"""Scalar functions of floats that jump, beside comparisons."""


def with_decisions(known: Differentiated, adjoints: Sequence[Adjoint]) -> Sequence[Adjoint]:
    """Adjoints that a rule has written, with their conditions marked as decisive."""
    given = {known.result, *_flat(known.call.arguments), *_flat([known.adjoint])}

    def visit(node: Expr) -> Expr:
        if node in given:
            return call("decisive", node) if _is_truth(node) else node
        return call("decisive", node) if _jumps(node) else node

    return rewritten(adjoints, visit, lambda node: node not in given)


def marked(node: Expr) -> Expr | None:
    """The operand of a call of `decisive`; None for all other expressions."""
    found = operator_call(node, "decisive")
    return None if found is None else found.arguments[0]


def _flat(values: Sequence[Adjoint]) -> Iterator[Expr]:
    for each in values:
        if isinstance(each, tuple):
            yield from _flat(each)
        elif isinstance(each, Tuple):
            yield from _flat(each.fields)
        elif each is not None:
            yield each


def _is_truth(node: Expr) -> bool:
    type_ = tensor_type(node)
    return type_ is not None and type_.dtype == "bool"


def _jumps(node: Expr) -> bool:
    """Whether a call makes something else of floats."""
    if not isinstance(node, Call) or operator_name(node) == "shape_of":
        return False
    is_other = tensor_type(node) is not None and not is_float(node)
    return is_other and any(map(is_float, node.arguments))


def decided_inputs(derived: Call) -> Sequence[int]:
    """The inputs, by number, that a derived adjoint or tangent compares; all where it is unknown.

    A call of another operator has none.
    """
    if not isinstance(derived.attributes, DerivedAttributes):
        return ()
    types = [argument.type for argument in derived.arguments]
    groups = tuple(type_ for type_ in types if isinstance(type_, TupleType))
    assert isinstance(derived.callee, Operator) and isinstance(derived.type, TensorType)
    return _decided(derived.callee, derived.attributes, groups, derived.type)


@remembered(1024, lasts=True)
def _decided(
    operator: Operator,
    attributes: DerivedAttributes,
    groups: tuple[TupleType, ...],
    result: TensorType,
) -> Sequence[int]:
    """The inputs that are compared in a call with arguments and a result of such types."""
    known = [each.shape for group in (*groups, TupleType((result,))) for each in _tensors(group)]
    if any(UNKNOWN in shape for shape in known):
        return range(len(groups[0].fields))
    tensors = [[_example(each) for each in _tensors(group)] for group in groups]
    assert operator.compute is not None
    (output,) = operator.compute(attributes, tensors, [example_type(result)])
    compared: set[Tensor] = set()
    for stage in reversed(tensors_in_order([output])):
        if stage in compared:
            compared.update(dependencies(stage))
        elif isinstance(stage, Computed):
            compared.update(_compared(stage.body))
        elif not isinstance(stage, Input):
            compared.update(dependencies(stage))
    return [number for number, tensor in enumerate(tensors[0]) if tensor in compared]


def _tensors(group: TupleType) -> Iterator[TensorType]:
    for field in group.fields:
        assert isinstance(field, TensorType)
        yield field


def _example(type_: TensorType) -> Input:
    type_ = example_type(type_)
    shape = tuple(dim for dim in type_.shape if isinstance(dim, int))
    return input_tensor("x", shape, type_.dtype)


def _compared(body: Scalar) -> Iterator[Tensor]:
    """The tensors of which something that jumps is computed."""
    for node in scalar_nodes(body):
        for value in _jumping(node):
            yield from (each.tensor for each in scalar_nodes(value) if isinstance(each, Load))


def _jumping(node: Scalar) -> Sequence[Scalar]:
    """The floats that an expression compares or rounds, and the condition of a choice."""
    match node:
        case Select(condition=condition):
            return (condition,)
        case Binary(operation=name, left=left, right=right) if name in COMPARISONS | JUMPS:
            return (left, right) if is_float_type(left.dtype) else ()
        case Unary(operation=name, operand=operand) if name in JUMPS:
            return (operand,)
        case Cast(operand=operand):
            jumps = is_float_type(operand.dtype) and not is_float_type(node.dtype)
            return (operand,) if jumps else ()
        case _:
            return ()
