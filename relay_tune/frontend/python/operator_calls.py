"""Calls of operators in Python: their operands, and attributes that are known beforehand."""

from __future__ import annotations

import ast
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from relay_tune.arguments import did_you_mean
from relay_tune.errors import RelayError
from relay_tune.frontend.python import tables as python_tables
from relay_tune.frontend.python.deferred import NUMBER, NumberAttributes
from relay_tune.frontend.python.scope import Meaning, NameScope, Static
from relay_tune.frontend.python.static import is_number
from relay_tune.frontend.python.values import Values
from relay_tune.ir.attribute_check import AttributeMismatch, declared_attributes, describe, fitted
from relay_tune.ir.expr import AttributeValue, Call, Expr
from relay_tune.ir.operator import Operator, find_operator, operators

_PAIRWISE = ("lhs", "rhs")
_CASTS = {float: "float32", int: "int32", bool: "bool"}


class OperatorCalls(Values, ABC):
    """Translates calls of operators."""

    @abstractmethod
    def value(self, node: ast.expr, scope: NameScope) -> Meaning:
        """Translate a Python expression."""

    def expr(self, node: ast.expr, scope: NameScope) -> Expr:
        """The expression that a Python expression means."""
        return self.lift(self.value(node, scope), node)

    def static(
        self,
        node: ast.expr,
        scope: NameScope,
        remedy: str = "Write a number, or a name of Python that holds one.",
    ) -> Any:
        """A value that must be known while the function is translated."""
        meaning = self.value(node, scope)
        if isinstance(meaning, Static):
            return meaning.value
        raise self.source.error(
            node,
            "This must be known before the program runs.",
            label="depends on inputs",
            remedy=remedy,
        )

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
            self.located(Call(NUMBER, (tensor,), NumberAttributes(value.value)), node)
            if isinstance(value, Static) and is_number(value.value)
            else tensor
            if value is like
            else self.lift(value, node)
            for value in values
        )

    def dotted_operator(self, node: ast.expr, scope: NameScope) -> Operator | None:
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

    def call_form(
        self,
        form: python_tables.NumpyForm,
        arguments: list[ast.expr],
        node: ast.Call,
        scope: NameScope,
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
        named = {keyword.arg for keyword in given}
        given += [
            ast.keyword(name, ast.copy_location(ast.Constant(value), node))
            for name, value in form.defaults
            if name not in named
        ]
        return self.call_operator(operator, arguments[:count], given, node, scope, receiver)

    def call_operator(
        self,
        operator: Operator,
        arguments: Sequence[ast.expr],
        keywords: Sequence[ast.keyword],
        node: ast.Call,
        scope: NameScope,
        receiver: Expr | None = None,
    ) -> Expr:
        """The call of an operator; a receiver is its first operand, keywords are attributes."""
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


def _is_plain_number(value: Meaning) -> bool:
    return isinstance(value, Static) and is_number(value.value)


def _plain(value: object) -> object:
    """An attribute value: element types by their names, tuples for lists."""
    if isinstance(value, type | np.dtype):
        return dtype_of(value) or str(np.dtype(value))
    return tuple(value) if isinstance(value, list) else value


def dtype_of(value: object) -> str | None:
    """The element type that Python's float, numpy's float32 and so on stand for."""
    if isinstance(value, type):
        if value in _CASTS:
            return _CASTS[value]
        if issubclass(value, np.generic):
            return str(np.dtype(value))
    return None
