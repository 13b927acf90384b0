"""Which way a module is built, and the passes before a program is lowered."""

from __future__ import annotations

from relay_tune.ir.expr import Call, Constant, Expr, Function, Let, Tuple, TupleGetItem, Var
from relay_tune.ir.module import Module
from relay_tune.ir.operator import Operator
from relay_tune.ir.traversal import post_order
from relay_tune.ir.types import TensorType, TupleType, Type
from relay_tune.transform.infer import InferTypes
from relay_tune.transform.language.propagate_constants import PropagateConstants
from relay_tune.transform.language.specialize import Specialize
from relay_tune.transform.pipeline import default_pipeline


def is_network(typed: Module) -> bool:
    """Whether main only calls operators on tensors, so that its memory can be planned."""
    main = typed.main
    if not all(isinstance(_type(param), TensorType) for param in main.params):
        return False
    nodes = post_order(main.body, enter=lambda node: not isinstance(node, Function))
    return _is_flat(main.body.type) and all(_is_plain(node) for node in nodes)


def program_module(typed: Module) -> Module:
    """The fused module of a program, every node typed."""
    return InferTypes()(default_pipeline()(PropagateConstants()(Specialize()(typed))))


def _is_plain(node: Expr) -> bool:
    match node:
        case Call(callee=Function() as function):
            return function.is_primitive
        case Call():
            return isinstance(node.callee, Operator)
        case Function():
            return node.is_primitive
        case _:
            return isinstance(node, Var | Constant | Let | Tuple | TupleGetItem | Operator)


def _is_flat(type_: Type | None) -> bool:
    """Whether a result is a tensor, or a tuple of several tensors."""
    if isinstance(type_, TupleType) and len(type_.fields) > 1:
        return all(isinstance(field, TensorType) for field in type_.fields)
    return isinstance(type_, TensorType)


def _type(param: Var) -> Type | None:
    return param.type if param.type is not None else param.annotation
