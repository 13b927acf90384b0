"""Constants of a program as inputs of @main, wherever they are read.

before:
    def @main(%x: Tensor[(2, 3), float32]) {
      @layer(%x)
    }

    def @layer(%x: Tensor[(2, 3), float32]) {
      nn.dense(%x, meta[relay.Constant][0])
    }

after:
    def @main(%x: Tensor[(2, 3), float32], %weight: Tensor[(4, 3), float32]) {
      @layer(%x, %weight)
    }

    def @layer(%x: Tensor[(2, 3), float32], %weight: Tensor[(4, 3), float32]) {
      nn.dense(%x, %weight)
    }

A function that is a value there becomes one that calls it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from relay_tune.ir.expr import Call, Constant, Expr, Function, GlobalVar, Var
from relay_tune.ir.module import Module
from relay_tune.ir.traversal import post_order, rewrite_with_original
from relay_tune.ir.types import TensorType
from relay_tune.quick_dataclass import dataclass


def opened(module: Module, names: Mapping[Constant, str]) -> Module:
    """The program in which constants are inputs of @main, behind those that it has.

    Args:
        module: a typed program.
        names: of the inputs, in their order.

    Types have to be inferred again.
    """
    read = _read_by(module, names)
    read["main"] = list(names)
    functions = {
        name: _Opening(module, names, read).function(name, function)
        for name, function in module.functions.items()
    }
    return replace(module, functions=functions)


def _read_by(module: Module, names: Mapping[Constant, str]) -> dict[str, list[Constant]]:
    """The constants that each function reads, itself or through those that it mentions."""
    nodes = {name: list(post_order(each)) for name, each in module.functions.items()}
    mentioned = {
        name: {node.name for node in each if isinstance(node, GlobalVar)}
        for name, each in nodes.items()
    }
    read = {name: {n for n in each if n in names} for name, each in nodes.items()}
    changed = True
    while changed:
        changed = False
        for name, others in mentioned.items():
            whole = read[name].union(*(read.get(other, set()) for other in others))
            changed |= len(whole) > len(read[name])
            read[name] = whole
    return {name: [each for each in names if each in found] for name, found in read.items()}


@dataclass(frozen=True)
class _Opening:
    """Makes functions take the constants that they read."""

    module: Module
    names: Mapping[Constant, str]
    read: Mapping[str, list[Constant]]

    def function(self, name: str, function: Function) -> Function:
        """The function with a parameter for each constant that it reads."""
        if not self.read[name]:
            return function
        variables = {each: self._variable(each) for each in self.read[name]}

        def given(name: str) -> list[Var]:
            return [variables[each] for each in self.read.get(name, ())]

        def changed(before: Expr, node: Expr) -> Expr:
            match before:
                case Constant() if before in variables:
                    return variables[before]
                case GlobalVar(other) if given(other):
                    return self._closure(other, given(other))
                case Call(GlobalVar(other) as callee) if given(other):
                    assert isinstance(node, Call)
                    return replace(node, callee=callee, arguments=(*node.arguments, *given(other)))
            return node

        body = rewrite_with_original(function.body, changed)
        return replace(
            function, params=(*function.params, *variables.values()), body=body, type=None
        )

    def _variable(self, constant: Constant) -> Var:
        type_ = TensorType(constant.data.shape, str(constant.data.dtype))
        return Var(self.names[constant], type_)

    def _closure(self, name: str, given: Sequence[Var]) -> Function:
        """A function of what the named one took, which calls it."""
        target = self.module.functions[name]
        known = not target.type_params
        params = tuple(Var(each.name, each.annotation if known else None) for each in target.params)
        return Function(params, Call(GlobalVar(name), (*params, *given)))
