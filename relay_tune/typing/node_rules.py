"""The types of all expressions but calls, patterns and binders."""

from __future__ import annotations

from collections.abc import Sequence

from relay_tune.errors import RelayError
from relay_tune.ir.dtypes import dtype_name
from relay_tune.ir.expr import (
    Call,
    Constant,
    Constructor,
    Expr,
    GlobalVar,
    If,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    Var,
    type_name,
)
from relay_tune.ir.operator import Operator
from relay_tune.ir.types import BOOL, UNIT, IncompleteType, RefType, TensorType, TupleType, Type
from relay_tune.typing.call_rules import call_type, global_type
from relay_tune.typing.solver import PendingRelation
from relay_tune.typing.state import InferenceState
from relay_tune.typing.type_text import type_text


def node_type(state: InferenceState, node: Expr) -> Type:
    """The type of a node whose children have been visited."""
    match node:
        case Call():
            return call_type(state, node)
        case Var():
            return _free_variable(state, node)
        case Constant():
            return TensorType(node.data.shape, dtype_name(node.data))
        case Tuple():
            fields = tuple(state.types[part] for part in node.fields)
            return state.composed(node, TupleType(fields))
        case TupleGetItem():
            return _field(state, node)
        case If():
            return _conditional(state, node)
        case RefCreate():
            value = state.solver.monotype(state.types[node.value])
            return state.composed(node, RefType(value))
        case RefRead():
            return _cell(state, node, node.ref, state.solver.fresh())
        case RefWrite():
            _cell(state, node, node.ref, state.types[node.value])
            return UNIT
        case GlobalVar():
            return state.solver.instantiate_symbols(global_type(state, node), set())
        case Constructor():
            return state.constructor(node, node)
        case Operator():
            raise _operator_as_value(state, node, node)
        case _:
            raise state.places.error(node, f"{type_name(node)} is no expression of the language.")


def _free_variable(state: InferenceState, var: Var) -> Type:
    """A variable that nothing around it binds."""
    if not state.allow_free:
        raise state.places.error(
            var,
            f"The variable %{var.name} is used where it is not bound.",
            label="not bound here",
            remedy="Bind it with let, or make it a parameter of the function.",
        )
    if var.annotation is None:
        raise state.places.error(var, f"The free variable %{var.name} has no type annotation.")
    return state.annotated(var, var.annotation)


def _conditional(state: InferenceState, node: If) -> Type:
    context = "The condition of if must be a scalar bool"
    remedy = "Compare a number with another one to get a bool."
    state.unify(node.condition, context, BOOL, state.types[node.condition], remedy)
    context, remedy = "The branches of if differ in type", "Give both branches one type."
    result = state.unify(node, context, state.solver.fresh(), state.types[node.true_branch])
    return state.unify(node, context, result, state.types[node.false_branch], remedy)


def _cell(state: InferenceState, node: Expr, ref: Expr, value: Type) -> Type:
    """The type of what a reference holds, made equal to `value`."""
    found = state.solver.resolve(state.types[ref])
    if not isinstance(found, RefType | IncompleteType):
        raise state.places.error(
            node,
            f"Only references can be read and written, but this has type {type_text(found)}.",
            remedy="Make a cell of it with ref(..), or use the value itself.",
        )
    remedy = "Write values of the type that the cell was made with."
    state.unify(node, "In the use of a reference", found, RefType(value), remedy)
    return found.value if isinstance(found, RefType) else value


def _field(state: InferenceState, node: TupleGetItem) -> Type:
    """A field of a tuple, now or when the solver learns how many it has."""
    value = state.solver.resolve(state.types[node.tuple_value])
    field = _known_field(state, node, value)
    if field is not None:
        return field

    def rule(inputs: Sequence[Type]) -> Type | None:
        return _known_field(state, node, inputs[0])

    output = state.solver.fresh()
    try:
        state.solver.add(PendingRelation(rule, (value,), output, node))
    except RelayError as error:
        raise state.places.wrap(node, "In the projection", error) from error
    return output


def _known_field(state: InferenceState, node: TupleGetItem, value: Type) -> Type | None:
    if isinstance(value, IncompleteType):
        return None
    if not isinstance(value, TupleType):
        raise state.places.error(
            node,
            f"Only tuples have fields, but this has type {type_text(value)}.",
            remedy="Omit the index; take and strided_slice give parts of tensors.",
        )
    if not 0 <= node.index < len(value.fields):
        raise state.places.error(
            node,
            f"Field {node.index} is out of range for {type_text(value)}, which has "
            f"{len(value.fields)} field(s).",
            remedy="Fields count from 0.",
        )
    return value.fields[node.index]


def refuse_operators(state: InferenceState, user: Expr, values: Sequence[Expr]) -> None:
    """Raise TypeInferenceError at `user` if it uses an operator as a value."""
    for value in values:
        if isinstance(value, Operator):
            raise _operator_as_value(state, user, value)


def _operator_as_value(state: InferenceState, user: Expr, operator: Operator) -> RelayError:
    names = ", ".join(f"%{name}" for name in operator.arguments)
    return state.places.error(
        user,
        f"The operator {operator.name} is used as a value, but an operator can only be called.",
        label=f"{operator.name} is no value",
        remedy=f"Write a function: fn ({names}) {{ {operator.name}({names}) }}.",
    )
