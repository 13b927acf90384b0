"""Give the inputs of a program fixed shapes, and everything that depends on them.

before: fn (%x: Tensor[(n, 64), float32]) { .. }         with {"x": (8, 64)}
after:  fn (%x: Tensor[(8, 64), float32]) { .. }

All types are taken off, since they were found for symbolic shapes; infer them again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

from relay_tune.ir.dim import Dim, Symbol
from relay_tune.ir.expr import Call, Constant, Expr, Function, GlobalVar, Let, Var
from relay_tune.ir.module import Module
from relay_tune.ir.operator import Operator
from relay_tune.ir.traversal import bound_vars, post_order, rewrite
from relay_tune.ir.types import TensorType, Type
from relay_tune.quick_dataclass import dataclass
from relay_tune.typing.type_terms import substitute_symbols


@dataclass(frozen=True)
class FixInputShapes:
    """Fixes the shapes of main's inputs; `shapes` are by name and fit the inputs' ranks.

    A size may be given as another dimension instead of a number.
    """

    shapes: Mapping[str, tuple[Dim, ...]]
    name: ClassVar[str] = "fix_input_shapes"

    def __call__(self, module: Module) -> Module:
        """The untyped module with static inputs."""
        main = module.main
        sizes = _symbol_sizes(main, self.shapes)
        fixed = {param: self._fixed(param, sizes) for param in main.params}
        return module.with_function("main", _retyped(main, fixed, sizes))

    def _fixed(self, param: Var, sizes: Mapping[str, Dim]) -> Var:
        type_ = _declared_type(param)
        if type_ is None:
            return param
        shape = self.shapes.get(param.name)
        if not isinstance(type_, TensorType) or shape is None:
            return Var(param.name, substitute_symbols(type_, sizes), span=param.span)
        return Var(param.name, TensorType(shape, type_.dtype), span=param.span)


def _declared_type(param: Var) -> Type | None:
    return param.annotation if param.annotation is not None else param.type


def _symbol_sizes(main: Function, shapes: Mapping[str, tuple[Dim, ...]]) -> dict[str, Dim]:
    """What each symbol of the inputs stands for."""
    sizes: dict[str, Dim] = {}
    for param in main.params:
        type_ = _declared_type(param)
        if isinstance(type_, TensorType):
            pairs = zip(type_.shape, shapes.get(param.name, ()), strict=False)
            sizes |= {dim.name: size for dim, size in pairs if isinstance(dim, Symbol)}
    return sizes


def _retyped(main: Function, fixed: Mapping[Var, Var], sizes: Mapping[str, Dim]) -> Function:
    """`main` over other parameters, without types, symbols in annotations replaced."""

    def known(type_: Type | None) -> Type | None:
        return None if type_ is None else substitute_symbols(type_, sizes)

    new: dict[Var, Var] = dict(fixed)
    for node in post_order(main):
        if isinstance(node, Function | Let):
            for var in bound_vars(node):
                new.setdefault(var, Var(var.name, known(var.annotation), span=var.span))

    def visit(node: Expr) -> Expr:
        match node:
            case Var():
                return new.get(node, node)
            case Constant() | Operator() | GlobalVar():
                return node
            case Let():
                return replace(node, var=new[node.var], type=None)
            case Function():
                params = tuple(new[param] for param in node.params)
                return replace(node, params=params, result_type=known(node.result_type), type=None)
            case Call():
                arguments = tuple(substitute_symbols(t, sizes) for t in node.type_arguments)
                return replace(node, type_arguments=arguments, type=None)
            case _:
                return replace(node, type=None)

    result = rewrite(main, visit)
    assert isinstance(result, Function)
    return replace(result, result_type=None)
