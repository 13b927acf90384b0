"""Calls in Python: of constructors, functions, methods of tensors, parts of numpy, operators."""

from __future__ import annotations

import ast
import builtins
from abc import ABC
from types import ModuleType
from typing import Any

import numpy as np

from relay_tune.errors import RelayError
from relay_tune.frontend.python import compositions, suggestions
from relay_tune.frontend.python import tables as python_tables
from relay_tune.frontend.python.deferred import LENGTH, EinsumAttributes, einsum_operator
from relay_tune.frontend.python.derivative_calls import (
    AskedDerivative,
    DerivativeForm,
    asked_derivative,
    derivative_form,
)
from relay_tune.frontend.python.operator_calls import OperatorCalls, dtype_of
from relay_tune.frontend.python.program import PythonFunction
from relay_tune.frontend.python.scope import Meaning, NameScope, Static
from relay_tune.ir.expr import Call, Constructor, Expr, GlobalVar, RefCreate, RefRead, RefWrite
from relay_tune.ir.operator import Operator, find_operator
from relay_tune.op.cast import cast

_REFERENCES = {"ref": (RefCreate, 1), "ref_read": (RefRead, 1), "ref_write": (RefWrite, 2)}
_DERIVATIVE = frozenset(("program", "wrt"))


class Calls(OperatorCalls, ABC):
    """Translates calls."""

    def call(self, node: ast.Call, scope: NameScope) -> Meaning:
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

    def _call_of_object(self, callee: object, node: ast.Call, scope: NameScope) -> Meaning:
        match callee:
            case Operator():
                return self.call_operator(callee, node.args, node.keywords, node, scope)
            case Constructor() | GlobalVar():
                return Call(callee, self._positional(node, scope))
            case PythonFunction():
                return Call(self.program.mention(callee), self._by_name(callee, node, scope))
            case AskedDerivative():
                return callee.called(self._positional(node, scope))
        derivative = derivative_form(callee)
        if derivative is not None:
            return Static(self._derivative(derivative, node, scope))
        name = _numpy_name(callee)
        form = python_tables.NUMPY.get(name)
        if form is not None:
            return self.call_form(form, list(node.args), node, scope)
        if name in compositions.NUMPY:
            return self._composed(name, compositions.NUMPY[name], node, scope)
        if name == "einsum":
            return self._einsum(node, scope)
        known = self._computed_by_numpy(callee, node, scope) if name else None
        if known is not None:
            return known
        builtin = self._builtin(callee, node, scope)
        if builtin is None:
            raise self._no_value(callee, node.func)
        return builtin

    def _derivative(
        self, form: DerivativeForm, node: ast.Call, scope: NameScope
    ) -> AskedDerivative:
        """What rt.grad and its relatives make of a function."""
        given = dict(zip(("program", "wrt"), node.args, strict=False))
        given |= {str(keyword.arg): keyword.value for keyword in node.keywords}
        if len(node.args) > len(given) or "program" not in given or not given.keys() <= _DERIVATIVE:
            raise self.source.error(
                node,
                "A derivative is that of one function.",
                remedy="Write it like rt.grad(f, wrt=[0])(x).",
            )
        function = self.value(given["program"], scope)
        known = function.value if isinstance(function, Static) else None
        names = known.parameters if isinstance(known, PythonFunction) else ()
        wrt = self.static(given["wrt"], scope) if "wrt" in given else None
        try:
            return asked_derivative(form, self.lift(function, given["program"]), names, wrt)
        except RelayError as error:
            raise self.source.error(node, error.message, remedy=error.remedy) from error

    def _composed(
        self,
        name: str,
        composition: compositions.Composition,
        node: ast.Call,
        scope: NameScope,
        receiver: Expr | None = None,
    ) -> Expr:
        """The operators that a function of numpy or a method is."""
        count = composition.tensors - (receiver is not None)
        tensors = [] if receiver is None else [receiver]
        tensors += [self.expr(argument, scope) for argument in node.args[:count]]
        given = zip(composition.options, node.args[count:], strict=False)
        keywords = {keyword.arg: keyword.value for keyword in node.keywords}
        options = dict(given) | keywords
        fits = len(node.args) <= count + len(composition.options) and len(node.args) >= count
        if not fits or not set(options) <= set(composition.options):
            takes = f"{composition.tensors} tensor(s)"
            raise self.source.error(
                node,
                f"{name} takes {takes} and {', '.join(composition.options) or 'nothing else'}.",
                remedy="Give just these, each once; the others of numpy have no meaning here.",
            )
        values = {str(option): self.static(value, scope) for option, value in options.items()}
        try:
            return composition.build(*tensors, **values)
        except (ValueError, TypeError) as error:
            raise self.source.error(node, f"{error}.") from error

    def _einsum(self, node: ast.Call, scope: NameScope) -> Expr:
        """A sum of products; what it is made of depends on the types of the tensors."""
        if len(node.args) < 2 or node.keywords:
            raise self.source.error(
                node,
                "einsum takes an equation and one tensor or several.",
                remedy='Write it like np.einsum("ij,jk->ik", x, y).',
            )
        equation = self.static(node.args[0], scope, "Write the equation as text.")
        if not isinstance(equation, str):
            raise self.source.error(
                node.args[0],
                "The equation of einsum is text.",
                remedy='Write it like np.einsum("ij,jk->ik", x, y).',
            )
        tensors = tuple(self.expr(argument, scope) for argument in node.args[1:])
        return Call(einsum_operator(len(tensors)), tensors, EinsumAttributes(equation))

    def _computed_by_numpy(self, callee: Any, node: ast.Call, scope: NameScope) -> Static | None:
        """Evaluate a call of numpy on known arguments, such as np.arange(10).

        Numbers for which no type is given become int32 and float32, as those of the program do.
        None where an argument is not known, or is a weight, which training may change.
        """
        parts = [*node.args, *(keyword.value for keyword in node.keywords)]
        found = [self.value(part, scope) for part in parts]
        known = [each.value for each in found if isinstance(each, Static)]
        if len(known) < len(found) or any(map(self.program.is_weight, known)):
            return None
        names = [str(keyword.arg) for keyword in node.keywords]
        count = len(node.args)
        try:
            result = callee(*known[:count], **dict(zip(names, known[count:], strict=True)))
        except (TypeError, ValueError, ArithmeticError, LookupError) as error:
            raise self.source.error(node, f"{error}.") from error
        if not isinstance(result, np.ndarray | np.generic | bool | int | float | tuple | list):
            return None
        typed = any(isinstance(value, np.ndarray) or dtype_of(value) for value in known)
        if isinstance(result, np.ndarray | np.generic) and "dtype" not in names and not typed:
            result = _in_32_bits(result)
        return Static(result)

    def _builtin(self, callee: object, node: ast.Call, scope: NameScope) -> Meaning | None:
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

    def _converted(self, dtype: str, node: ast.expr, scope: NameScope) -> Meaning:
        value = self.value(node, scope)
        if isinstance(value, Static) and isinstance(value.value, bool | int | float):
            return Static(np.asarray(value.value, dtype)[()])
        return cast(self.lift(value, node), dtype=dtype)

    def _receiver(self, node: ast.Attribute, scope: NameScope) -> Expr | None:
        """The tensor whose method is called, None if something else stands before the point."""
        if self.dotted_operator(node, scope) is not None:
            return None
        value = self.value(node.value, scope)
        if isinstance(value, Static) and isinstance(value.value, np.ndarray | np.generic):
            return self.lift(value, node.value)
        return value if isinstance(value, Expr) else None

    def _method(self, node: ast.Call, name: str, receiver: Expr, scope: NameScope) -> Expr:
        form = python_tables.METHODS.get(name)
        if name in compositions.METHODS:
            return self._composed(name, compositions.METHODS[name], node, scope, receiver)
        if form is None:
            raise self.source.error(
                node.func,
                f"Tensors have no method {name}.",
                remedy=suggestions.METHODS.get(
                    name,
                    f"They have: {', '.join((*python_tables.METHODS, *compositions.METHODS))}.",
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

    def _positional(self, node: ast.Call, scope: NameScope) -> tuple[Expr, ...]:
        if node.keywords:
            raise self.source.error(
                node.keywords[0].value,
                "This function has no named arguments.",
                remedy="Give its arguments by position.",
            )
        return tuple(self.expr(argument, scope) for argument in node.args)

    def _by_name(
        self, function: PythonFunction, node: ast.Call, scope: NameScope
    ) -> tuple[Expr, ...]:
        """The arguments in the order of the function's parameters."""
        names = list(function.parameters)[len(node.args) :]
        given = {keyword.arg: keyword.value for keyword in node.keywords}
        defaults = {n: d for n, d in function.defaults.items() if n in names and n not in given}
        count = len(node.args) + len(given) + len(defaults)
        if {*given, *defaults} != set(names) or count != len(function.parameters):
            raise self.source.error(
                node,
                f"{function.name} takes the arguments ({', '.join(function.parameters)}).",
                label=f"{len(node.args) + len(given)} given",
                remedy="Give one value for each of them, by position or by name.",
            )
        values = [self.expr(part, scope) for part in node.args]
        for name in names:
            known = name in defaults
            default = Static(defaults[name]) if known else None
            values.append(
                self.expr(given[name], scope) if default is None else self.lift(default, node)
            )
        return tuple(values)

    def _is_reference(self, node: ast.Name, scope: NameScope) -> bool:
        known = scope.find(node.id) is not None or self.environment.find(node.id) is not None
        return node.id in _REFERENCES and not known

    def _reference(self, node: ast.Call, scope: NameScope) -> Expr:
        assert isinstance(node.func, ast.Name)
        kind, count = _REFERENCES[node.func.id]
        arguments = self._positional(node, scope)
        if len(arguments) != count:
            raise self.source.error(
                node, f"{node.func.id} takes {count} argument(s).", remedy="Give just so many."
            )
        made: Expr = kind(*arguments)
        return made


def _numpy_name(callee: object) -> str:
    """The name of a function of numpy; empty for anything else."""
    name = getattr(callee, "__name__", "")
    is_other = isinstance(callee, ModuleType | type) or not callable(callee)
    return "" if is_other or getattr(np, name, None) is not callee else str(name)


def _in_32_bits(value: np.ndarray | np.generic) -> np.ndarray | np.generic:
    """A value of numpy's usual types in those that the numbers of a program have."""
    narrow = {"int64": "int32", "float64": "float32"}.get(str(value.dtype))
    return value if narrow is None else value.astype(narrow)
