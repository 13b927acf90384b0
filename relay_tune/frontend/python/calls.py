"""Calls in Python: of operators, constructors, functions, methods of tensors, parts of numpy."""

from __future__ import annotations

import ast
import builtins
from abc import ABC, abstractmethod
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import numpy as np

from relay_tune.arguments import did_you_mean
from relay_tune.errors import RelayError
from relay_tune.frontend.python import tables as python_tables
from relay_tune.frontend.python.deferred import LENGTH, NUMBER, NumberAttributes
from relay_tune.frontend.python.program import PythonFunction
from relay_tune.frontend.python.scope import Meaning, Scope, Static
from relay_tune.frontend.python.static import is_number
from relay_tune.frontend.python.values import Values
from relay_tune.ir.attribute_check import (
    AttributeMismatch,
    declared_attributes,
    describe,
    fitted,
)
from relay_tune.ir.expr import (
    AttributeValue,
    Call,
    Constructor,
    Expr,
    GlobalVar,
    RefCreate,
    RefRead,
    RefWrite,
)
from relay_tune.ir.operator import Operator, find_operator, operators
from relay_tune.op.cast import cast

_PAIRWISE = ("lhs", "rhs")
_REFERENCES = {"ref": (RefCreate, 1), "ref_read": (RefRead, 1), "ref_write": (RefWrite, 2)}
_CASTS = {float: "float32", int: "int32", bool: "bool"}


class Calls(Values, ABC):
    """Translates calls."""

    @abstractmethod
    def value(self, node: ast.expr, scope: Scope) -> Meaning:
        """What a Python expression means."""

    def expr(self, node: ast.expr, scope: Scope) -> Expr:
        """The expression that a Python expression means."""
        return self.lift(self.value(node, scope), node)

    def static(self, node: ast.expr, scope: Scope) -> Any:
        """A value that must be known while the function is translated."""
        meaning = self.value(node, scope)
        if isinstance(meaning, Static):
            return meaning.value
        raise self.source.error(
            node,
            "This must be known before the program runs.",
            label="depends on inputs",
            remedy="Write a number, or a name of Python that holds one.",
        )

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

    def pair(self, name: str, left: Meaning, right: Meaning, node: ast.AST) -> Expr:
        """The call of an operator on two tensors; a plain number takes the other one's type."""
        operator = find_operator(name)
        assert operator is not None
        return operator(*self.alike((left, right), node))

    def alike(self, values: Sequence[Meaning], node: ast.AST) -> tuple[Expr, ...]:
        """The values as expressions; plain numbers take the element type of the first tensor."""
        like = next((value for value in values if not _is_plain_number(value)), None)
        if like is None:
            return tuple(self.lift(value, node) for value in values)
        tensor = self.lift(like, node)
        return tuple(
            self.placed(Call(NUMBER, (tensor,), NumberAttributes(value.value)), node)
            if isinstance(value, Static) and is_number(value.value)
            else tensor
            if value is like
            else self.lift(value, node)
            for value in values
        )

    def _call_of_object(self, callee: object, node: ast.Call, scope: Scope) -> Meaning:
        match callee:
            case Operator():
                return self._operator(callee, node.args, node.keywords, node, scope)
            case Constructor() | GlobalVar():
                return Call(callee, self._positional(node, scope))
            case PythonFunction():
                return Call(self.program.mention(callee), self._by_name(callee, node, scope))
        form = _numpy_form(callee)
        if form is not None:
            return self._form(form, list(node.args), node, scope)
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
        dtype = _dtype_of(callee)
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

    def dotted_operator(self, node: ast.expr, scope: Scope) -> Operator | None:
        """The operator that a name with points is, such as nn.dense, where nn is nothing else."""
        root = node
        while isinstance(root, ast.Attribute):
            root = root.value
        if not isinstance(root, ast.Name) or root is node:
            return None
        if scope.find(root.id) is not None or self.environment.find(root.id) is not None:
            return None
        name = ast.unparse(node)
        operator = find_operator(name)
        if operator is None:
            remedy = did_you_mean(
                name, (o.name for o in operators()), "The language page lists them."
            )
            raise self.source.error(
                node, f"There is no operator {name}.", label="not defined", remedy=remedy
            )
        return operator

    def _method(self, node: ast.Call, name: str, receiver: Expr, scope: Scope) -> Expr:
        form = python_tables.METHODS.get(name)
        if form is None:
            raise self.source.error(
                node.func,
                f"Tensors have no method {name}.",
                remedy=f"They have: {', '.join(python_tables.METHODS)}.",
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
        return self._form(form, arguments, node, scope, receiver)

    def _form(
        self,
        form: python_tables.Form,
        arguments: list[ast.expr],
        node: ast.Call,
        scope: Scope,
        receiver: Expr | None = None,
    ) -> Expr:
        """The operator that a function of numpy or a method is."""
        operator = find_operator(form.operator)
        assert operator is not None
        count = len(operator.arguments) - (receiver is not None)
        keywords = [
            ast.keyword(name, value)
            for name, value in zip(form.attributes, arguments[count:], strict=False)
        ]
        if len(arguments) > count + len(form.attributes):
            raise self.source.error(
                node,
                f"These are too many arguments for {operator.name}.",
                remedy="Give attributes by name.",
            )
        given = [*keywords, *node.keywords]
        return self._operator(operator, arguments[:count], given, node, scope, receiver)

    def _operator(
        self,
        operator: Operator,
        arguments: Sequence[ast.expr],
        keywords: Sequence[ast.keyword],
        node: ast.Call,
        scope: Scope,
        receiver: Expr | None = None,
    ) -> Expr:
        values: list[Meaning] = [] if receiver is None else [receiver]
        values += [self.value(argument, scope) for argument in arguments]
        exprs = self._operands(operator, values, node)
        attributes = {}
        for keyword in keywords:
            if keyword.arg is None:
                raise self.source.error(
                    node,
                    "Arguments with stars are not translated.",
                    remedy="Write the arguments one by one.",
                )
            value = _plain(self.static(keyword.value, scope))
            attributes[keyword.arg] = self._fitted_attribute(operator, keyword, value)
        try:
            return operator(*exprs, **attributes)
        except (RelayError, ValueError, TypeError) as error:
            message = error.message if isinstance(error, RelayError) else f"{error}."
            raise self.source.error(node, message) from error

    def _fitted_attribute(
        self, operator: Operator, keyword: ast.keyword, value: Any
    ) -> AttributeValue:
        """The value of an attribute; one number where several are wanted is a tuple of one."""
        name = str(keyword.arg)
        declared = declared_attributes(operator.attributes)
        if name not in declared:
            raise self.source.error(
                keyword.value,
                f"Operator {operator.name} has no attribute {name}.",
                remedy=f"It has: {', '.join(declared) or 'none'}.",
            )
        choices = (value, (value,)) if isinstance(value, int) else (value,)
        for choice in choices:
            try:
                return fitted(operator.attributes, name, choice)
            except AttributeMismatch:
                continue
        raise self.source.error(
            keyword.value,
            f"The attribute {name} of {operator.name} must be "
            f"{describe(operator.attributes, name)}.",
            label=f"this is {type(value).__name__}",
            remedy="Give a value of that kind.",
        )

    def _operands(
        self, operator: Operator, values: Sequence[Meaning], node: ast.Call
    ) -> tuple[Expr, ...]:
        if operator.arguments == _PAIRWISE and len(values) == 2:
            return self.alike(values, node)
        if operator.name == "where" and len(values) == 3:
            return (self.lift(values[0], node), *self.alike(values[1:], node))
        exprs = [self.lift(value, node) for value in values]
        return tuple(exprs)

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


def _is_plain_number(value: Meaning) -> bool:
    return isinstance(value, Static) and is_number(value.value)


def _plain(value: object) -> object:
    """An attribute value: element types by their names, tuples for lists."""
    if isinstance(value, type | np.dtype):
        return _dtype_of(value) or str(np.dtype(value))
    return tuple(value) if isinstance(value, list) else value


def _dtype_of(value: object) -> str | None:
    """The element type that Python's float, numpy's float32 and so on stand for."""
    if isinstance(value, type):
        if value in _CASTS:
            return _CASTS[value]
        if issubclass(value, np.generic):
            return str(np.dtype(value))
    return None


def _numpy_form(callee: object) -> python_tables.Form | None:
    """How a function of numpy is an operator, None for anything else."""
    name = getattr(callee, "__name__", "")
    if isinstance(callee, ModuleType) or getattr(np, name, None) is not callee:
        return None
    return python_tables.NUMPY.get(name)
