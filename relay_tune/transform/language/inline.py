"""Replace calls by the bodies of the functions that they call.

before:
    def @double(%x: float32, Inline=1) {
      add(%x, %x)
    }

    def @main(%x: float32) {
      %0 = exp(%x);
      @double(%0)
    }

after:
    def @main(%x: float32) {
      let %x_1 = exp(%x);
      add(%x_1, %x_1)
    }

A function is inlined if it has the attribute Inline=1, or is no larger than the pass allows; never
if it is recursive, alone or with others, or is compiled elsewhere (attributes Compiler, Extern). A
function that was inlined everywhere disappears, unless it is the entry.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from typing import ClassVar

from relay_tune.ir.expr import NO_ATTRIBUTES, Call, Expr, Function, GlobalVar, Let, Var
from relay_tune.ir.module import Module
from relay_tune.ir.traversal import post_order, rewrite
from relay_tune.ir.types import Type
from relay_tune.op_rules.matching import is_opaque_function
from relay_tune.quick_dataclass import dataclass
from relay_tune.transform.language.fresh_copy import fresh_copy
from relay_tune.transform.language.let_blocks import is_atom
from relay_tune.transform.language.operands import rewrite_operands
from relay_tune.transform.module_pass import with_body
from relay_tune.typing.call_graph import recursive_groups, used_globals
from relay_tune.typing.infer import infer_types

COMPILED_ELSEWHERE = ("Compiler", "Extern", "Primitive")


@dataclass(frozen=True)
class Inline:
    """Inlines marked and small functions.

    Fields:
        maximum_size: the largest number of nodes of functions that are inlined unmarked.
        entry: the function that is kept in any case.
    """

    name: ClassVar[str] = "inline"
    maximum_size: int = 0
    entry: str = "main"

    def __call__(self, module: Module) -> Module:
        """The typed module with calls replaced, callees first, so that chains collapse."""
        chosen = _Chosen()
        functions: dict[str, Function] = {}
        for group in recursive_groups(module):
            for name in group:
                function = functions[name] = chosen.inlined_into(module[name])
                if len(group) == 1 and self._is_inlined(name, function):
                    chosen.functions[name] = function
        if not chosen.functions:
            return module
        ordered = {name: functions[name] for name in module.functions}
        return infer_types(replace(module, functions=self._still_used(ordered, chosen)))

    def _is_inlined(self, name: str, function: Function) -> bool:
        if name in used_globals(function) or name == self.entry:
            return False
        if any(function.attributes.get(mark) for mark in COMPILED_ELSEWHERE):
            return False
        if function.attributes.get("Inline") == 1:
            return True
        return sum(1 for _ in post_order(function.body)) <= self.maximum_size

    def _still_used(
        self, functions: dict[str, Function], chosen: _Chosen
    ) -> Mapping[str, Function]:
        used = {name for function in functions.values() for name in used_globals(function)}
        return {
            name: function
            for name, function in functions.items()
            if name not in chosen.functions or name in used
        }


@dataclass(frozen=True)
class _Chosen:
    """The functions that are inlined, with what they call inlined already."""

    functions: dict[str, Function] = field(default_factory=dict)

    def inlined_into(self, function: Function) -> Function:
        """A function without calls of these."""
        if function.is_primitive or not any(n in self.functions for n in used_globals(function)):
            return function
        named = rewrite_operands(function, self._value)
        body = rewrite(named.body, self._visit, enter=lambda node: not is_opaque_function(node))
        return with_body(function, body)

    def _visit(self, node: Expr) -> Expr:
        if isinstance(node, Call) and isinstance(node.callee, GlobalVar):
            callee = self.functions.get(node.callee.name)
            if callee is not None:
                return inlined_call(callee, node)
        return node

    def _value(self, node: Expr) -> Expr:
        """The function itself, where it is used without being called."""
        callee = self.functions.get(node.name) if isinstance(node, GlobalVar) else None
        return node if callee is None else fresh_copy(replace(callee, attributes=NO_ATTRIBUTES))


def inlined_call(function: Function, call: Call) -> Expr:
    """The body of a function for a call: arguments that are no names or constants are bound."""
    values: dict[Var, Expr] = {}
    bindings: list[tuple[Var, Expr]] = []
    types: dict[Type, Type] = dict(zip(function.type_params, call.type_arguments, strict=False))
    for param, argument in zip(function.params, call.arguments, strict=True):
        if not is_atom(argument):
            bindings.append((Var(param.name), argument))
            argument = bindings[-1][0]
        values[param] = argument
    body = fresh_copy(function.body, values, types)
    for var, argument in reversed(bindings):
        body = Let(var, argument, body, span=call.span)
    return body
