"""From Python objects to expressions, and what names mean."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from relay_tune.errors import RelayError
from relay_tune.frontend.python import suggestions
from relay_tune.frontend.python.derivative_calls import AskedDerivative
from relay_tune.frontend.python.environment import Environment
from relay_tune.frontend.python.program import PythonFunction, TranslatedProgram
from relay_tune.frontend.python.scope import Meaning, Missing, NameScope, Static
from relay_tune.frontend.python.source import PythonSource
from relay_tune.ir.expr import Call, Constant, Constructor, Expr, GlobalVar, Tuple, Var, constant
from relay_tune.ir.module import Module
from relay_tune.ir.operator import find_operator, operators


class Values:
    """State of the translation of one function."""

    def __init__(
        self,
        source: PythonSource,
        environment: Environment,
        program: TranslatedProgram,
        base: Module,
    ) -> None:
        self.source = source
        self.environment = environment
        self.program = program
        self.base = base
        self.constructors = {c.name: c for d in base.types.values() for c in d.constructors}

    def lift(self, meaning: Meaning, node: ast.AST) -> Expr:
        """A meaning as an expression: numbers and arrays become constants, functions globals."""
        if isinstance(meaning, Expr):
            return meaning
        match meaning.value:
            case np.ndarray() as array:
                return self.program.constant(array)
            case np.generic() as number:
                lifted: Expr = Constant(np.asarray(number))
            case bool() | int() | float() as number:
                lifted = self._number(number, node)
            case Constructor(inputs=()) as constructor:
                lifted = Call(constructor, ())
            case Expr() as expr:
                return expr
            case tuple() as parts:
                lifted = Tuple(tuple(self.lift(Static(part), node) for part in parts))
            case list() as items:
                return self.list_of([self.lift(Static(item), node) for item in items], node)
            case PythonFunction() as function:
                lifted = self.program.mention(function)
            case AskedDerivative(fields=()) as derivative:
                return derivative.function
            case other:
                raise self._no_value(other, node)
        return self.located(lifted, node)

    def located(self, expr: Expr, node: ast.AST) -> Expr:
        """`expr` with the location of a Python node, unless it has one."""
        if expr.span is not None or isinstance(expr, Var | Constructor | Constant):
            return expr
        return replace(expr, span=self.source.span(node))

    def list_of(self, items: Sequence[Expr], node: ast.AST, rest: Expr | None = None) -> Expr:
        """A list of the prelude, which goes on with `rest`."""
        result = self.located(Call(self._constructor("Nil", node), ()), node)
        result = result if rest is None else rest
        for item in reversed(items):
            result = self.located(Call(self._constructor("Cons", node), (item, result)), node)
        return result

    def named(self, node: ast.Name, scope: NameScope) -> Meaning:
        """Resolve a name: a local one, what Python sees, the library's, or an operator."""
        local = scope.find(node.id)
        if isinstance(local, Missing):
            raise self.source.error(
                node,
                f"{node.id} may have no value here: {local.reason}.",
                remedy="Assign it before as well.",
            )
        found = local or self.environment.find(node.id) or self.library(node.id)
        if found is None:
            known = [*scope, *self.constructors, *self.base.functions]
            raise self.source.unknown(node, node.id, [*known, *(o.name for o in operators())])
        return found

    def library(self, name: str) -> Static | None:
        """A constructor or function of the base module, or an operator."""
        if name in self.constructors:
            return Static(self.constructors[name])
        if name in self.base.functions:
            return Static(GlobalVar(name))
        operator = find_operator(name)
        return None if operator is None else Static(operator)

    def _constructor(self, name: str, node: ast.AST) -> Constructor:
        if name not in self.constructors:
            raise self.source.error(
                node,
                f"The constructor {name} is not known.",
                remedy='Give the decorator base=rt.prelude("List").',
            )
        return self.constructors[name]

    def _number(self, number: bool | int | float, node: ast.AST) -> Expr:
        try:
            return constant(number)
        except OverflowError as error:
            raise self.source.error(
                node,
                f"{number} does not fit into int32.",
                remedy="Write np.int64(..) around it.",
            ) from error

    def _suggestion(self, value: object, name: str) -> str:
        """Return the table's advice for a function of Python or numpy that programs cannot call."""
        owner = type(getattr(value, "__self__", None)).__module__
        package = (getattr(value, "__module__", None) or owner).partition(".")[0]
        match package:
            case "builtins":
                return suggestions.FUNCTIONS.get(name, suggestions.DECORATE)
            case "numpy":
                return suggestions.FUNCTIONS.get(name, suggestions.OF_NUMPY)
            case _:
                return suggestions.DECORATE

    def _no_value(self, value: object, node: ast.AST) -> RelayError:
        if isinstance(value, AskedDerivative):
            return self.source.error(
                node,
                "A derivative is no value by itself.",
                remedy="Call it: rt.grad(f)(x); or pass on an inner function that does.",
            )
        if callable(value):
            name = getattr(value, "__name__", type(value).__name__)
            return self.source.error(
                node,
                f"{name} is an ordinary Python object and no value of Relay.",
                remedy=self._suggestion(value, name),
            )
        return self.source.error(node, f"A {type(value).__name__} is no value of Relay.")
