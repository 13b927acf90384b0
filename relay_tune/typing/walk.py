"""The walk that types a program: every node once, what it depends on first, without recursion.

Most nodes are typed after their children. The binders have stages, since they must act between
their children: a function types its parameters before its body, a `let` its variable between the
value and the body, a `match` its patterns between the value and the clauses.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from relay_tune.errors import TypeInferenceError
from relay_tune.ir.expr import (
    Call,
    Constructor,
    ConstructorPattern,
    Expr,
    Function,
    GlobalVar,
    Let,
    Match,
    Pattern,
    TuplePattern,
    VarPattern,
)
from relay_tune.ir.operator import Operator
from relay_tune.ir.traversal import children
from relay_tune.ir.types import FuncType, TupleType, Type
from relay_tune.typing.call_rules import settle_sizes
from relay_tune.typing.generalize import generalize
from relay_tune.typing.node_rules import node_type, refuse_operators
from relay_tune.typing.state import InferenceState
from relay_tune.typing.type_terms import holes, substitute_vars, symbols

Task = Callable[[], None]


class Walk:
    """A stack of what is still to be done; `run` types everything below an expression."""

    def __init__(self, state: InferenceState) -> None:
        self._state = state
        self._stack: list[Task] = []

    def run(self, root: Expr) -> Type:
        """Type `root` and everything that it is made of."""
        stack = self._stack
        self._visit(root)
        while stack:
            stack.pop()()
        return self._state.types[root]

    def _enter(self, node: Expr) -> None:
        if node in self._state.types:
            return
        match node:
            case Function():
                self._enter_function(node)
            case Let():
                self._enter_let(node)
            case Match():
                self._then(partial(self._match_clauses, node))
                self._visit(node.value)
            case Expr():
                self._enter_plain(node)
            case _:
                raise _no_expression(node)

    def _enter_plain(self, node: Expr) -> None:
        """Visit the children, then the node; at once if nothing is left to visit."""
        types = self._state.types
        below = children(node)
        if isinstance(node, Call) and isinstance(node.callee, Operator | GlobalVar | Constructor):
            below = node.arguments
        refuse_operators(self._state, node, below)
        missing = [child for child in below if child not in types]
        if not missing:
            self._finish_plain(node)
            return
        self._then(partial(self._finish_plain, node))
        for child in reversed(missing):
            self._visit(child)

    def _finish_plain(self, node: Expr) -> None:
        found = node_type(self._state, node)
        # An equal type that the node has from an earlier inference is kept as an object, so that
        # comparing the types made of it stays cheap.
        earlier = node.type
        self._state.types[node] = earlier if earlier is not None and earlier == found else found

    def _enter_function(self, function: Function) -> None:
        for param in function.params:
            self._state.variable(param)
        names = self._param_symbols(function)
        self._state.rigid_symbols.update(names)
        self._then(partial(self._finish_function, function))
        self._visit(function.body)

    def _finish_function(self, function: Function) -> None:
        state = self._state
        state.rigid_symbols.subtract(self._param_symbols(function))
        result = state.types[function.body]
        if function.result_type is not None:
            annotated = state.annotated(function, function.result_type)
            context = "The body of the function does not have the declared result type"
            remedy = "Change the declared type, the first one, or the body."
            state.unify(function, context, annotated, result, remedy)
            result = annotated
        params = tuple(state.types[param] for param in function.params)
        type_ = FuncType(params, result, function.type_params)
        state.types[function] = state.composed(function, type_)

    def _param_symbols(self, function: Function) -> set[str]:
        annotations = (param.annotation for param in function.params)
        return {s.name for type_ in annotations if type_ is not None for s in symbols(type_)}

    def _enter_let(self, let: Let) -> None:
        refuse_operators(self._state, let, (let.value,))
        self._then(partial(self._bind_let, let))
        if isinstance(let.value, Function):
            self._state.solver.level += 1
            self._state.types[let.var] = recursive_type(self._state, let.value)
        self._visit(let.value)

    def _bind_let(self, let: Let) -> None:
        state = self._state
        value = state.types[let.value]
        if isinstance(let.value, Function):
            value = self._close_recursion(let, let.value, value)
        if let.var.annotation is not None:
            annotated = state.annotated(let.var, let.var.annotation)
            context = f"The value of %{let.var.name} does not have the annotated type"
            remedy = "Change the annotation, the first type, or the value."
            state.unify(let, context, annotated, value, remedy)
            value = annotated
        state.types[let.var] = value
        self._then(partial(self._finish_let, let))
        self._visit(let.body)

    def _close_recursion(self, let: Let, function: Function, found: Type) -> Type:
        """Make the type assumed inside of a recursive function true, then generalise it."""
        state = self._state
        context = f"The uses of %{let.var.name} in its own body do not fit its type"
        close_recursion(state, function, state.types[let.var], found, context)
        state.solver.level -= 1
        if let.var.annotation is None:
            generalize(state, (function,))
        return state.types[function]

    def _finish_let(self, let: Let) -> None:
        self._state.types[let] = self._state.types[let.body]

    def _match_clauses(self, node: Match) -> None:
        value = self._state.types[node.value]
        for clause in node.clauses:
            bind_pattern(self._state, node, clause.pattern, value)
        self._then(partial(self._finish_match, node))
        for clause in reversed(node.clauses):
            self._visit(clause.body)

    def _finish_match(self, node: Match) -> None:
        state = self._state
        result: Type = state.solver.fresh()
        for clause in node.clauses:
            context = "The clauses of match differ in type"
            found, remedy = state.types[clause.body], "Give all clauses one type."
            result = state.unify(clause.body, context, result, found, remedy)
        state.types[node] = result
        state.matches.append(node)

    def _visit(self, node: Expr) -> None:
        self._stack.append(partial(self._enter, node))

    def _then(self, task: Task) -> None:
        self._stack.append(task)


def _no_expression(value: object) -> TypeInferenceError:
    return TypeInferenceError(
        f"A value of type {type(value).__name__} stands where an expression is needed.",
        remedy="Write numbers and arrays as constant(value).",
    )


def recursive_type(state: InferenceState, function: Function) -> FuncType:
    """The type that a function has in its own body.

    It is polymorphic there only if its type is written out (polymorphic recursion cannot be
    inferred: F. Henglein, "Type inference with polymorphic recursion", 1993).
    """
    params = tuple(state.variable(param) for param in function.params)
    if function.result_type is None:
        return FuncType(params, state.solver.fresh())
    result = state.solver.adopt(function.result_type)
    written_out = not any(True for type_ in (*params, result) for _ in holes(type_))
    return FuncType(params, result, function.type_params if written_out else ())


def close_recursion(
    state: InferenceState, function: Function, assumed: Type, found: Type, context: str
) -> None:
    """Unify the result that the body assumed of its function with the one it turned out to have."""
    if isinstance(assumed, FuncType) and isinstance(found, FuncType):
        state.unify(function, context, assumed.result, found.result)
    settle_sizes(state, function, context)


def bind_pattern(state: InferenceState, node: Expr, pattern: Pattern, value: Type) -> None:
    """Type the variables of `pattern`, which a value of type `value` is matched with at `node`."""
    stack = [(pattern, value)]
    while stack:
        current, type_ = stack.pop()
        match current:
            case VarPattern():
                _bind_variable(state, node, current, type_)
            case TuplePattern():
                fields = tuple(state.solver.fresh() for _ in current.patterns)
                remedy = "Write one pattern for each field; _ matches anything."
                state.unify(node, "In a tuple pattern", type_, TupleType(fields), remedy)
                stack.extend(zip(current.patterns, fields, strict=True))
            case ConstructorPattern():
                inputs = _constructor_inputs(state, node, current, type_)
                stack.extend(zip(current.patterns, inputs, strict=True))


def _bind_variable(state: InferenceState, node: Expr, pattern: VarPattern, value: Type) -> None:
    if pattern.var.annotation is None:
        state.types[pattern.var] = value
        return
    annotated = state.variable(pattern.var)
    remedy = "Change the annotation, the first type, or omit it."
    state.unify(node, f"In the pattern %{pattern.var.name}", annotated, value, remedy)


def _constructor_inputs(
    state: InferenceState, node: Expr, pattern: ConstructorPattern, value: Type
) -> tuple[Type, ...]:
    """The types of the fields of a constructor, where the data type is that of the value."""
    constructor = state.constructor(node, pattern.constructor)
    if len(constructor.params) != len(pattern.patterns):
        raise state.places.error(
            node,
            f"The constructor {pattern.constructor.name} has {len(constructor.params)} field(s), "
            f"but its pattern has {len(pattern.patterns)}.",
            remedy="Write one pattern for each field; _ matches anything.",
        )
    mapping: dict[Type, Type] = {var: state.solver.fresh() for var in constructor.type_params}
    result = substitute_vars(constructor.result, mapping)
    remedy = "Match with the constructors of the value's type, the first one."
    state.unify(node, f"In the pattern {pattern.constructor.name}", value, result, remedy)
    return tuple(substitute_vars(type_, mapping) for type_ in constructor.params)
