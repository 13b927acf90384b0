"""Python expressions as expressions of Relay.

What is known while the function is translated (numbers, shapes, weights, other functions, objects
with such parts) stays a Python object as long as possible; the rest becomes a data-flow graph.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from numbers import Integral
from types import MappingProxyType
from typing import Any

import numpy as np

from relay_tune.frontend.python import static as python_static
from relay_tune.frontend.python import tables as python_tables
from relay_tune.frontend.python.calls import Calls
from relay_tune.frontend.python.deferred import DIVIDE, MATMUL, IndexAttributes, index_operator
from relay_tune.frontend.python.scope import Meaning, NameScope, Static
from relay_tune.ir.expr import Call, Expr, Function, If, Tuple, Var, constant
from relay_tune.ir.operator import find_operator
from relay_tune.op.creation import shape_of
from relay_tune.op.logic import logical_and
from relay_tune.op.shape import transpose

NO_DEFAULTS: Mapping[str, object] = MappingProxyType({})


class Expressions(Calls):
    """Translates the expressions of one function."""

    def value(self, node: ast.expr, scope: NameScope) -> Meaning:
        """Translate a Python expression; raises ParseError."""
        meaning = self._value(node, scope)
        return self.located(meaning, node) if isinstance(meaning, Expr) else meaning

    def _value(self, node: ast.expr, scope: NameScope) -> Meaning:
        match node:
            case ast.Constant():
                return self._literal(node)
            case ast.Name():
                return self.named(node, scope)
            case ast.Attribute():
                return self._attribute(node, scope)
            case ast.Call():
                return self.call(node, scope)
            case ast.BinOp():
                return self.binary(node.op, node.left, node.right, node, scope)
            case ast.UnaryOp():
                return self._unary(node, scope)
            case ast.Compare():
                return self._comparison(node, scope)
            case ast.BoolOp():
                return self._logical(node, scope)
            case ast.IfExp():
                return self._conditional(node, scope)
            case ast.Tuple():
                return self._tuple(node, scope)
            case ast.List():
                return self._list(node, scope)
            case ast.Subscript():
                return self._subscript(node, scope)
            case ast.Lambda():
                return self._lambda(node, scope)
            case ast.ListComp():
                return self._comprehension(node, scope)
        raise self.source.error(
            node,
            f"This form of expression ({type(node).__name__}) has no meaning in Relay.",
            remedy="Use arithmetic, calls, tuples, lists, indices, comparisons, `if` or lambda.",
        )

    def _literal(self, node: ast.Constant) -> Static:
        if isinstance(node.value, bool | int | float | str | type(None)):
            return Static(node.value)
        if node.value is ...:
            return Static(...)
        raise self.source.error(node, f"A {type(node.value).__name__} is no value of Relay.")

    def _attribute(self, node: ast.Attribute, scope: NameScope) -> Meaning:
        operator = self.dotted_operator(node, scope)
        if operator is not None:
            return Static(operator)
        value = self.value(node.value, scope)
        if isinstance(value, Static) and not isinstance(value.value, np.ndarray):
            try:
                found = getattr(value.value, node.attr)
            except AttributeError as error:
                raise self.source.error(node, f"{error}.") from error
            self.program.note_weight(value.value, node.attr, found)
            return Static(found)
        if isinstance(value, Static) and node.attr == "shape":
            return Static(np.shape(value.value))
        match node.attr:
            case "T":
                return transpose(self.lift(value, node))
            case "shape":
                return shape_of(self.lift(value, node))
        raise self.source.error(
            node, f"Tensors have no attribute {node.attr}.", remedy="They have T and shape."
        )

    def binary(
        self, op: ast.operator, left: ast.expr, right: ast.expr, node: ast.AST, scope: NameScope
    ) -> Meaning:
        """`left op right`."""
        first, second = self.value(left, scope), self.value(right, scope)
        if isinstance(first, Static) and isinstance(second, Static):
            compute = python_static.BINARY.get(type(op))
            plain = python_static.is_plain(first.value) and python_static.is_plain(second.value)
            if compute is not None and plain:
                return self._computed(node, compute, first.value, second.value)
        match op:
            case ast.Div():
                return Call(DIVIDE, self.alike((first, second), node))
            case ast.MatMult():
                return Call(MATMUL, (self.lift(first, left), self.lift(second, right)))
        return self.pair(python_tables.BINARY[type(op)], first, second, node)

    def _computed(self, node: ast.AST, compute: Callable[..., Any], *values: Any) -> Static:
        """Evaluate in Python itself what depends on known values only."""
        try:
            return Static(compute(*values))
        except (TypeError, ValueError, ArithmeticError) as error:
            raise self.source.error(node, f"{error}.") from error

    def _unary(self, node: ast.UnaryOp, scope: NameScope) -> Meaning:
        value = self.value(node.operand, scope)
        if isinstance(value, Static) and python_static.is_plain(value.value):
            return self._computed(node, python_static.UNARY[type(node.op)], value.value)
        if isinstance(node.op, ast.UAdd):
            return value
        operator = find_operator(python_tables.UNARY[type(node.op)])
        assert operator is not None
        return operator(self.lift(value, node.operand))

    def _comparison(self, node: ast.Compare, scope: NameScope) -> Meaning:
        values = [self.value(part, scope) for part in (node.left, *node.comparators)]
        result: Meaning | None = None
        for op, left, right in zip(node.ops, values[:-1], values[1:], strict=True):
            step = self._compared(op, left, right, node)
            result = step if result is None else self._both(result, step, node)
        assert result is not None
        return result

    def _compared(self, op: ast.cmpop, left: Meaning, right: Meaning, node: ast.Compare) -> Meaning:
        plain = all(
            isinstance(side, Static) and python_static.is_plain(side.value)
            for side in (left, right)
        )
        identity = isinstance(op, ast.Is | ast.IsNot)
        if isinstance(left, Static) and isinstance(right, Static) and (plain or identity):
            compute = python_static.COMPARISON.get(type(op))
            if compute is not None:
                return self._computed(node, compute, left.value, right.value)
        if isinstance(op, ast.Is | ast.IsNot):
            return Static(isinstance(op, ast.IsNot))  # a value of the program is no Python object
        name = python_tables.COMPARISON.get(type(op))
        if name is None:
            raise self.source.error(
                node,
                "`in` has no meaning in Relay.",
                remedy="Compare with each value, or go through a list in a loop.",
            )
        return self.pair(name, left, right, node)

    def _both(self, left: Meaning, right: Meaning, node: ast.AST) -> Meaning:
        if isinstance(left, Static) and isinstance(right, Static):
            return Static(left.value and right.value)
        return logical_and(self.lift(left, node), self.lift(right, node))

    def _logical(self, node: ast.BoolOp, scope: NameScope) -> Meaning:
        """`and` and `or` look at the right side only where they must, as in Python."""
        *parts, last = node.values
        result = self.value(last, scope)
        for part in reversed(parts):
            left = self.value(part, scope)
            decided = isinstance(node.op, ast.Or)
            if isinstance(left, Static):
                result = left if bool(left.value) == decided else result
            elif decided:
                result = If(left, constant(True), self.lift(result, node))
            else:
                result = If(left, self.lift(result, node), constant(False))
        return result

    def _conditional(self, node: ast.IfExp, scope: NameScope) -> Meaning:
        condition = self.value(node.test, scope)
        if isinstance(condition, Static):
            return self.value(node.body if condition.value else node.orelse, scope)
        return If(condition, self.expr(node.body, scope), self.expr(node.orelse, scope))

    def _tuple(self, node: ast.Tuple, scope: NameScope) -> Meaning:
        parts = [self.value(part, scope) for part in node.elts]
        if all(isinstance(part, Static) for part in parts):
            return Static(tuple(part.value for part in parts if isinstance(part, Static)))
        pairs = zip(parts, node.elts, strict=True)
        return Tuple(tuple(self.lift(part, element) for part, element in pairs))

    def _list(self, node: ast.List, scope: NameScope) -> Meaning:
        if node.elts and isinstance(node.elts[-1], ast.Starred):
            items = [self.expr(part, scope) for part in node.elts[:-1]]
            return self.list_of(items, node, self.expr(node.elts[-1].value, scope))
        values = [self.value(part, scope) for part in node.elts]
        if values and all(isinstance(value, Static) for value in values):
            return Static([value.value for value in values if isinstance(value, Static)])
        pairs = zip(values, node.elts, strict=True)
        return self.list_of([self.lift(value, element) for value, element in pairs], node)

    def _subscript(self, node: ast.Subscript, scope: NameScope) -> Meaning:
        value = self.value(node.value, scope)
        if isinstance(value, Static) and isinstance(value.value, tuple | list | dict):
            index = self.static(node.slice, scope)
            try:
                return Static(value.value[index])
            except (LookupError, TypeError) as error:
                raise self.source.error(node, f"{type(error).__name__}: {error}.") from error
        entries = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        indices: list[Expr] = []
        items = tuple(self._entry(entry, indices, scope) for entry in entries)
        arguments = (self.lift(value, node.value), *indices)
        return Call(index_operator(len(indices)), arguments, IndexAttributes(items))

    def _entry(self, node: ast.expr, indices: list[Expr], scope: NameScope) -> tuple[object, ...]:
        """One entry between brackets; what is known at run time only goes to `indices`."""
        if isinstance(node, ast.Slice):
            step = None if node.step is None else self.static(node.step, scope, "Write a number.")
            bounds = [self._bound(each, indices, scope) for each in (node.lower, node.upper)]
            return ("slice", *bounds, self._whole(step, node))
        meaning = self.value(node, scope)
        match meaning:
            case Static(None):
                return ("new",)
            case Static(value) if value is ...:
                return ("rest",)
            case Static(int(index)):
                return ("at", index)
        indices.append(self.lift(meaning, node))
        return ("given", len(indices) - 1)

    def _bound(
        self, node: ast.expr | None, indices: list[Expr], scope: NameScope
    ) -> int | tuple[str, int] | None:
        """A bound of a slice, or its position among the `indices` that only the run tells."""
        meaning = Static(None) if node is None else self.value(node, scope)
        if isinstance(meaning, Static):
            return self._whole(meaning.value, node)
        indices.append(meaning)
        return ("given", len(indices) - 1)

    def _whole(self, value: object, node: ast.AST | None) -> int | None:
        """A bound or a step of a slice that is known."""
        if value is None or (isinstance(value, Integral) and not isinstance(value, bool)):
            return None if value is None else int(value)
        raise self.source.error(
            node or ast.Pass(),
            "The bounds and the step of a slice are whole numbers.",
            remedy="Write x[start:stop], or take rows by their numbers with np.take.",
        )

    def _lambda(self, node: ast.Lambda, scope: NameScope) -> Function:
        params = self.parameters(node.args, scope)
        for param in params:
            scope = scope.bind(param.name, param)
        return Function(params, self.expr(node.body, scope))

    def parameters(self, arguments: ast.arguments, scope: NameScope) -> tuple[Var, ...]:
        """Parameters without annotations."""
        self.only_plain(arguments)
        return tuple(Var(arg.arg, span=self.source.span(arg)) for arg in arguments.args)

    def only_plain(
        self, arguments: ast.arguments, defaults: Mapping[str, object] = NO_DEFAULTS
    ) -> None:
        """Refuse stars, and defaults but for numbers among `defaults`."""
        special = [arguments.vararg, arguments.kwarg, *arguments.kwonlyargs, *arguments.posonlyargs]
        for part in special:
            if part is not None:
                raise self.source.error(
                    part,
                    "Functions of Relay have plain parameters: no stars.",
                    remedy="Write each parameter as NAME, NAME: TYPE or NAME: TYPE = NUMBER.",
                )
        if arguments.defaults and not defaults:
            raise self.source.error(
                arguments.defaults[0],
                "Inner functions and lambdas have no defaults.",
                remedy="Omit the parameter, and use the name that the default has: inner functions "
                "see the names around them.",
            )
        for name, value in zip(defaults, arguments.defaults, strict=False):
            if not isinstance(defaults[name], bool | int | float | np.number):
                raise self.source.error(
                    value,
                    f"The default of {name} is no number.",
                    remedy="Omit the parameter, and use a name of Python outside of the function, "
                    "which may be text, None, a tuple or an array.",
                )

    def _comprehension(self, node: ast.ListComp, scope: NameScope) -> Meaning:
        """`[f(x) for x in xs if p(x)]` maps and filters."""
        if len(node.generators) != 1 or not isinstance(node.generators[0].target, ast.Name):
            raise self.source.error(
                node,
                "A list comprehension has one loop with one name.",
                remedy="Write it as [f(x) for x in xs if p(x)], or as loops.",
            )
        (generator,) = node.generators
        name = node.generators[0].target.id
        items = self.expr(generator.iter, scope)
        for condition in generator.ifs:
            items = self._over(name, condition, items, "filter", node, scope)
        return self._over(name, node.elt, items, "map", node, scope)

    def _over(
        self,
        name: str,
        body: ast.expr,
        items: Expr,
        function: str,
        node: ast.expr,
        scope: NameScope,
    ) -> Expr:
        var = Var(name)
        inner = Function((var,), self.expr(body, scope.bind(name, var)))
        found = self.library(function)
        if found is None:
            raise self.source.error(
                node,
                f"The base module has no function {function}.",
                remedy="Give relay a base that has it, or none to use the prelude.",
            )
        return self.located(Call(self.lift(found, node), (inner, items)), node)


def static_items(meaning: Meaning) -> Sequence[object] | None:
    """The items of a tuple or list that is known while the function is translated."""
    if isinstance(meaning, Static) and isinstance(meaning.value, tuple | list | range):
        return meaning.value
    return None
