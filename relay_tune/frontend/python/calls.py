"""Calls in Python: of constructors, functions, methods of tensors, parts of numpy, operators."""

from __future__ import annotations

import ast
import builtins
from abc import ABC
from types import ModuleType

import numpy as np

from relay_tune.frontend.python import suggestions
from relay_tune.frontend.python import tables as python_tables
from relay_tune.frontend.python.deferred import LENGTH
from relay_tune.frontend.python.operator_calls import OperatorCalls, dtype_of
from relay_tune.frontend.python.program import PythonFunction
from relay_tune.frontend.python.scope import Meaning, Scope, Static
from relay_tune.ir.expr import (
    Call,
    Constructor,
    Expr,
    GlobalVar,
    RefCreate,
    RefRead,
    RefWrite,
)
from relay_tune.ir.operator import Operator, find_operator
from relay_tune.op.cast import cast

_REFERENCES = {"ref": (RefCreate, 1), "ref_read": (RefRead, 1), "ref_write": (RefWrite, 2)}


class Calls(OperatorCalls, ABC):
    """Translates calls."""

    def call(self, node: ast.Call, scope: Scope) -> Meaning:
        """The value of a call."""
        for argument in node.args:
            if isinstance(argument, ast.Starred):
                raise self.source.error(
                    argument,
                    "Arguments with a star are not translated.",
                    remedy="Write the arguments one by one.",
                )
        if isinstance(node.func, ast.Name) and self._is_reference(node.func, scope):
            return self._reference(node, scope)
        if isinstance(node.func, ast.Attribute):
            receiver = self._receiver(node.func, scope)
            if receiver is not None:
                return self._method(node, node.func.attr, receiver, scope)
        callee = self.value(node.func, scope)
        if isinstance(callee, Expr):
            return Call(callee, self._positional(node, scope))
        return self._call_of_object(callee.value, node, scope)

    def _call_of_object(self, callee: object, node: ast.Call, scope: Scope) -> Meaning:
        match callee:
            case Operator():
                return self.call_operator(callee, node.args, node.keywords, node, scope)
            case Constructor() | GlobalVar():
                return Call(callee, self._positional(node, scope))
            case PythonFunction():
                return Call(self.program.mention(callee), self._by_name(callee, node, scope))
        form = _numpy_form(callee)
        if form is not None:
            return self.call_form(form, list(node.args), node, scope)
        builtin = self._builtin(callee, node, scope)
        if builtin is None:
            raise self._no_value(callee, node.func)
        return builtin

    def _builtin(self, callee: object, node: ast.Call, scope: Scope) -> Meaning | None:
        """The value of a call of len, min, float, np.float32 and the like."""
        if callee is len and len(node.args) == 1:
            value = self.value(node.args[0], scope)
            if isinstance(value, Static) and isinstance(value.value, tuple | list):
                return Static(len(value.value))
            return Call(LENGTH, (self.lift(value, node.args[0]),))
        if (callee is min or callee is max) and len(node.args) == 2:
            first, second = (self.value(argument, scope) for argument in node.args)
            return self.pair("minimum" if callee is min else "maximum", first, second, node)
        dtype = dtype_of(callee)
        if dtype is not None and len(node.args) == 1:
            return self._converted(dtype, node.args[0], scope)
        for name, meaning in python_tables.BUILTINS.items():
            found = self.library(meaning)
            if callee is getattr(builtins, name) and found is not None:
                return self._call_of_object(found.value, node, scope)
        name = getattr(callee, "__name__", "")
        operator = find_operator(name) if getattr(builtins, name, None) is callee else None
        return None if operator is None else self._call_of_object(operator, node, scope)

    def _converted(self, dtype: str, node: ast.expr, scope: Scope) -> Meaning:
        value = self.value(node, scope)
        if isinstance(value, Static) and isinstance(value.value, bool | int | float):
            return Static(np.asarray(value.value, dtype)[()])
        return cast(self.lift(value, node), dtype=dtype)

    def _receiver(self, node: ast.Attribute, scope: Scope) -> Expr | None:
        """The tensor whose method is called, None if something else stands before the point."""
        if self.dotted_operator(node, scope) is not None:
            return None
        value = self.value(node.value, scope)
        if isinstance(value, Static) and isinstance(value.value, np.ndarray | np.generic):
            return self.lift(value, node.value)
        return value if isinstance(value, Expr) else None

    def _method(self, node: ast.Call, name: str, receiver: Expr, scope: Scope) -> Expr:
        form = python_tables.METHODS.get(name)
        if form is None:
            raise self.source.error(
                node.func,
                f"Tensors have no method {name}.",
                remedy=suggestions.METHODS.get(
                    name, f"They have: {', '.join(python_tables.METHODS)}."
                ),
            )
        arguments = list(node.args)
        if (
            name in ("reshape", "transpose")
            and arguments
            and not isinstance(arguments[0], ast.Tuple | ast.List)
        ):
            arguments = [ast.Tuple(arguments, ast.Load())]
            ast.copy_location(arguments[0], node)
            ast.fix_missing_locations(arguments[0])
        return self.call_form(form, arguments, node, scope, receiver)

    def _positional(self, node: ast.Call, scope: Scope) -> tuple[Expr, ...]:
        if node.keywords:
            raise self.source.error(
                node.keywords[0].value,
                "This function has no named arguments.",
                remedy="Give its arguments by position.",
            )
        return tuple(self.expr(argument, scope) for argument in node.args)

    def _by_name(self, function: PythonFunction, node: ast.Call, scope: Scope) -> tuple[Expr, ...]:
        """The arguments in the order of the function's parameters."""
        names = list(function.parameters)[len(node.args) :]
        given = {keyword.arg: keyword.value for keyword in node.keywords}
        if set(given) != set(names) or len(node.args) + len(given) != len(function.parameters):
            raise self.source.error(
                node,
                f"{function.name} takes the arguments ({', '.join(function.parameters)}).",
                label=f"{len(node.args) + len(given)} given",
                remedy="Give one value for each of them, by position or by name.",
            )
        return tuple(self.expr(part, scope) for part in [*node.args, *(given[n] for n in names)])

    def _is_reference(self, node: ast.Name, scope: Scope) -> bool:
        known = scope.find(node.id) is not None or self.environment.find(node.id) is not None
        return node.id in _REFERENCES and not known

    def _reference(self, node: ast.Call, scope: Scope) -> Expr:
        assert isinstance(node.func, ast.Name)
        kind, count = _REFERENCES[node.func.id]
        arguments = self._positional(node, scope)
        if len(arguments) != count:
            raise self.source.error(
                node, f"{node.func.id} takes {count} argument(s).", remedy="Give just so many."
            )
        made: Expr = kind(*arguments)
        return made


def _numpy_form(callee: object) -> python_tables.Form | None:
    """How a function of numpy is an operator, None for anything else."""
    name = getattr(callee, "__name__", "")
    if isinstance(callee, ModuleType) or getattr(np, name, None) is not callee:
        return None
    return python_tables.NUMPY.get(name)
