"""The types of calls: of operators, of functions and of constructors."""

from __future__ import annotations

from collections.abc import Sequence

from relay_tune.errors import RelayError
from relay_tune.ir.expr import Attributes, Call, Constructor, Expr, GlobalVar
from relay_tune.ir.operator import Operator, RelationError
from relay_tune.ir.types import FuncType, IncompleteType, TensorType, Type
from relay_tune.typing.places import callee_name
from relay_tune.typing.relations.elementwise import GIVES_FIRST
from relay_tune.typing.solver import PendingRelation
from relay_tune.typing.state import InferenceState
from relay_tune.typing.type_terms import substitute_vars
from relay_tune.typing.type_text import type_text


def call_type(state: InferenceState, call: Call) -> Type:
    """The type of a call whose callee and arguments have been visited."""
    if isinstance(call.callee, Operator):
        return _operator_call(state, call, call.callee)
    callee = state.solver.resolve(callee_type(state, call, call.callee))
    arguments = tuple(state.types[argument] for argument in call.arguments)
    if isinstance(callee, IncompleteType):
        result = state.solver.fresh()
        state.unify(call, _context(call), callee, FuncType(arguments, result))
        return result
    if not isinstance(callee, FuncType):
        raise state.places.error(
            call,
            f"Only functions can be called, but {callee_name(call.callee)} has type "
            f"{type_text(callee)}.",
            label="not a function",
            remedy="Call a function, an operator or a constructor.",
        )
    return _function_call(state, call, callee, arguments)


def callee_type(state: InferenceState, node: Expr, callee: Expr) -> Type:
    """The type of what is called, with nothing instantiated yet."""
    if isinstance(callee, Constructor):
        return state.constructor(node, callee)
    if isinstance(callee, GlobalVar):
        return global_type(state, callee)
    return state.types[callee]


def global_type(state: InferenceState, var: GlobalVar) -> Type:
    """The type of a function of the module."""
    found = state.global_types.get(var.name)
    if found is not None:
        return found
    known = ", ".join(f"@{name}" for name in state.module.functions) or "none"
    raise state.places.error(
        var, f"The module has no function @{var.name}.", notes=(f"It has: {known}.",)
    )


def _function_call(
    state: InferenceState, call: Call, callee: FuncType, arguments: tuple[Type, ...]
) -> Type:
    if len(arguments) != len(callee.params):
        many = "many" if len(arguments) > len(callee.params) else "few"
        raise state.places.error(
            call,
            f"Too {many} arguments: {callee_name(call.callee)} takes {len(callee.params)}, "
            f"but {_given(len(arguments))}.",
            notes=(f"Its type is {type_text(callee)}.",),
            remedy="Pass as many arguments as it has parameters.",
        )
    instance = _instance(state, call, callee)
    for index, (wanted, given) in enumerate(zip(instance.params, arguments, strict=True)):
        context = f"Argument {index} of {callee_name(call.callee)}"
        remedy = "Pass a value of the parameter's type, the first one, or change the parameter."
        _require_polymorphic(state, call, context, wanted, given)
        state.unify(call, context, wanted, given, remedy)
        _require_polymorphic(state, call, context, wanted, given)  # if it was not known before
    settle_sizes(state, call, _context(call))
    return state.resolved(call, instance.result)


def _require_polymorphic(
    state: InferenceState, call: Call, context: str, wanted: Type, given: Type
) -> None:
    """A function that its callee uses at several types must be polymorphic itself."""
    given = state.solver.resolve(given)
    if _is_polymorphic(wanted) and isinstance(given, FuncType) and not given.type_params:
        raise state.places.error(
            call,
            f"{context}: a polymorphic function is needed, but {type_text(given)} is given.",
            label="used at one type only",
            notes=(f"The parameter is of type {type_text(wanted)}.",),
            remedy="Pass a function with type parameters.",
        )


def _is_polymorphic(type_: Type) -> bool:
    return isinstance(type_, FuncType) and bool(type_.type_params)


def settle_sizes(state: InferenceState, node: Expr, context: str) -> None:
    """Look again at equations of sizes that could not be decided one by one."""
    if state.solver.dims.is_idle:
        return
    conflict = state.solver.dims.settle()
    if conflict is not None:
        first, second = map(state.solver.dims.readable, conflict)
        raise state.places.error(
            node,
            f"{context}: the sizes {first} and {second} do not match.",
            label=f"{first} is not {second}",
            remedy="Give sizes that fit all parameters which share a symbol.",
        )


def _instance(state: InferenceState, call: Call, callee: FuncType) -> FuncType:
    """The callee's type with fresh holes for type parameters and fresh sizes for its symbols."""
    given = call.type_arguments
    if given and len(given) != len(callee.type_params):
        raise state.places.error(
            call,
            f"{callee_name(call.callee)} takes {len(callee.type_params)} type argument(s), but "
            f"{_given(len(given))}.",
            notes=(f"Its type is {type_text(callee)}.",),
            remedy="Write one type for each type parameter, or none to have them inferred.",
        )
    if callee.type_params:
        given = tuple(state.annotated(call, type_) for type_ in given)
        given = given or tuple(state.solver.fresh() for _ in callee.type_params)
        state.type_arguments[call] = given
    body = FuncType(callee.params, callee.result)
    body_instance = substitute_vars(body, dict(zip(callee.type_params, given, strict=False)))
    closed = isinstance(call.callee, GlobalVar | Constructor)
    rigid = set() if closed else {name for name, count in state.rigid_symbols.items() if count}
    instance = state.solver.instantiate_symbols(body_instance, rigid)
    return instance if isinstance(instance, FuncType) else body


def _operator_call(state: InferenceState, call: Call, operator: Operator) -> Type:
    if len(call.arguments) != len(operator.arguments):
        raise state.places.error(
            call,
            f"Operator {operator.name} takes {len(operator.arguments)} argument(s) "
            f"({', '.join(operator.arguments)}), but {_given(len(call.arguments))}.",
            remedy="Pass the arguments that are named.",
        )
    attributes = _attributes(state, call, operator)
    inputs = [state.types[argument] for argument in call.arguments]
    resolve = state.solver.resolve
    inputs = [resolve(type_) for type_ in inputs]
    if all(map(state.solver.is_known, inputs)):
        output = _apply(state, call, operator, attributes, inputs)
        if output is not None:
            return output
    return _postpone(state, call, operator, attributes, inputs)


def _apply(
    state: InferenceState,
    call: Call,
    operator: Operator,
    attributes: Attributes | None,
    inputs: Sequence[Type],
) -> Type | None:
    try:
        output = operator.relation(inputs, attributes, state.solver)
        _require_sizes(output)
    except RelayError as error:
        raise state.places.wrap(call, _context(call), error) from error
    return output


def _require_sizes(output: Type | None) -> None:
    """RelationError where a result would have less than no elements along an axis."""
    if isinstance(output, TensorType):
        for axis, dim in enumerate(output.shape):
            if isinstance(dim, int) and dim < 0:
                raise RelationError(
                    f"axis {axis} of the result would have the size {dim}",
                    remedy="Give larger inputs, or smaller windows, strides or crops.",
                )


def _postpone(
    state: InferenceState,
    call: Call,
    operator: Operator,
    attributes: Attributes | None,
    inputs: Sequence[Type],
) -> Type:
    """Hand the relation to the solver, which runs it now and whenever it learns of an input.

    Where the result has the type of the first argument, what is found of it is found of this one.
    """

    def rule(known: Sequence[Type]) -> Type | None:
        return _apply(state, call, operator, attributes, known)

    output = state.solver.fresh()
    if operator.relation in GIVES_FIRST and isinstance(inputs[0], IncompleteType):
        output = inputs[0]
    try:
        state.solver.add(PendingRelation(rule, tuple(inputs), output, call))
    except RelayError as error:
        failed = state.solver.running
        node = call if failed is None else failed.node
        raise state.places.wrap(node, _context(call), error) from error
    return state.solver.resolve(output)


def _attributes(state: InferenceState, call: Call, operator: Operator) -> Attributes | None:
    """The call's attributes; those by default where it was made without any."""
    if call.attributes is not None:
        return call.attributes
    try:
        return operator.attributes()
    except TypeError as error:
        raise state.places.error(
            call, f"Operator {operator.name} needs attributes: {error}."
        ) from error


def _context(call: Call) -> str:
    return f"In the call of {callee_name(call.callee)}"


def _given(count: int) -> str:
    return f"{count} is given" if count == 1 else f"{count} are given"
