"""Writing the types that were found into a new program; what had them already is kept."""

from __future__ import annotations

from dataclasses import replace

from relay_tune.ir.expr import (
    Call,
    Clause,
    ConstructorPattern,
    Expr,
    Function,
    Let,
    Match,
    Pattern,
    TuplePattern,
    Var,
    VarPattern,
)
from relay_tune.ir.operator import Operator
from relay_tune.ir.traversal import children, post_order, rebuild
from relay_tune.ir.types import FuncType, TensorType, Type
from relay_tune.typing.call_rules import callee_type
from relay_tune.typing.places import describe
from relay_tune.typing.state import InferenceState
from relay_tune.typing.type_terms import holes, map_leaves


class TypedTree:
    """Builds typed copies of expressions, with the sharing that they had."""

    def __init__(self, state: InferenceState) -> None:
        self._state = state
        self._done: dict[Expr, Expr] = {}
        self._signature = {p for function in state.added_type_params for p in function.params}

    def write(self, root: Expr) -> Expr:
        """`root` with the type of every expression filled in; operators have none.

        Raises TypeInferenceError at an expression whose type is not known.
        """
        done = self._done
        for node in post_order(root):
            if node not in done:
                done[node] = self._typed(node)
        return done[root]

    def _typed(self, node: Expr) -> Expr:
        match node:
            case Operator():
                return node
            case Var():
                return self._variable(node)
            case Call():
                return self._call(node)
            case Function():
                return self._function(node)
            case Let():
                new = (self._variable(node.var), self._done[node.value], self._done[node.body])
                if all(a is b for a, b in zip(new, (node.var, *children(node)), strict=True)):
                    return self._with_type(node, node)
                return Let(*new, type=self._type_of(node), span=node.span)
            case Match():
                return self._match(node)
            case _:
                below = [self._done[child] for child in children(node)]
                return self._with_type(node, rebuild(node, below))

    def _with_type(self, original: Expr, node: Expr) -> Expr:
        type_ = self._type_of(original)
        return node if node.type == type_ else replace(node, type=type_)

    def _type_of(self, node: Expr) -> Type:
        found = self._state.types.get(node)
        if found is None:
            found = callee_type(self._state, node, node)
        return self._final(node, found)

    def _final(self, node: Expr, type_: Type) -> Type:
        """A type at the end of inference: no holes are left, and free sizes are `?`."""
        solver = self._state.solver
        resolved = solver.resolve(type_)
        if not solver.dims.is_idle:
            resolved = map_leaves(resolved, self._settled)
        elif solver.is_known(resolved):
            return resolved
        if any(True for _ in holes(resolved)):
            raise self._state.places.error(
                node,
                f"The type of {describe(node)} cannot be inferred: nothing determines it.",
                label="of unknown type",
                remedy="Annotate a variable or a function with its type.",
            )
        return resolved

    def _settled(self, leaf: Type) -> Type:
        if not isinstance(leaf, TensorType):
            return leaf
        shape = self._state.solver.dims.settled_shape(leaf.shape)
        return leaf if shape == leaf.shape else TensorType(shape, leaf.dtype)

    def _annotation(self, node: Expr, annotation: Type | None) -> Type | None:
        """An annotation as it was written, with its holes filled."""
        if annotation is None or not any(True for _ in holes(annotation)):
            return annotation
        return self._final(node, annotation)

    def _variable(self, var: Var) -> Var:
        known = self._done.get(var)
        if isinstance(known, Var):
            return known
        type_ = self._type_of(var)
        written_out = var in self._signature
        annotation = type_ if written_out else self._annotation(var, var.annotation)
        same = annotation is var.annotation and type_ == var.type
        new = var if same else Var(var.name, annotation, type=type_, span=var.span)
        self._done[var] = new
        return new

    def _call(self, call: Call) -> Expr:
        callee = self._done[call.callee]
        arguments = tuple(self._done[argument] for argument in call.arguments)
        type_ = self._type_of(call)
        given = self._state.type_arguments.get(call, ())
        type_arguments = tuple(self._final(call, argument) for argument in given)
        if (
            callee is call.callee
            and all(a is b for a, b in zip(arguments, call.arguments, strict=True))
            and type_ == call.type
            and type_arguments == call.type_arguments
        ):
            return call
        return Call(callee, arguments, call.attributes, type_arguments, type=type_, span=call.span)

    def _function(self, function: Function) -> Expr:
        """Where type parameters were found, the signature is written out, since it names them."""
        params = tuple(self._variable(param) for param in function.params)
        new = replace(
            function,
            params=params,
            body=self._done[function.body],
            result_type=self._result_annotation(function),
            type_params=function.type_params + self._state.added_type_params.get(function, ()),
            type=self._type_of(function),
        )
        unchanged = (
            all(a is b for a, b in zip(params, function.params, strict=True))
            and new.body is function.body
            and new.result_type is function.result_type
            and new.type_params == function.type_params
            and new.type == function.type
        )
        return function if unchanged else new

    def _result_annotation(self, function: Function) -> Type | None:
        if function in self._state.added_type_params:
            type_ = self._type_of(function)
            return type_.result if isinstance(type_, FuncType) else None
        return self._annotation(function, function.result_type)

    def _match(self, node: Match) -> Expr:
        clauses = tuple(
            Clause(self._pattern(clause.pattern), self._done[clause.body])
            for clause in node.clauses
        )
        return replace(
            node, value=self._done[node.value], clauses=clauses, type=self._type_of(node)
        )

    def _pattern(self, pattern: Pattern) -> Pattern:
        match pattern:
            case VarPattern():
                return VarPattern(self._variable(pattern.var))
            case ConstructorPattern():
                inner = tuple(self._pattern(part) for part in pattern.patterns)
                return ConstructorPattern(pattern.constructor, inner)
            case TuplePattern():
                return TuplePattern(tuple(self._pattern(part) for part in pattern.patterns))
            case _:
                return pattern
