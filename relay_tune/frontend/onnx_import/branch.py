"""Branches: one that is known is taken, others become branches of the language."""

from __future__ import annotations

from collections.abc import Sequence

from relay_tune.errors import ModelError, UnsupportedOperatorError
from relay_tune.frontend.onnx_import.build import (
    Builder,
    known_scalar,
    shape_of,
    type_of,
)
from relay_tune.frontend.onnx_import.node import OnnxNode
from relay_tune.frontend.onnx_import.subgraph import Enter, Subgraph
from relay_tune.ir.dim import UNKNOWN
from relay_tune.ir.expr import Constant, Expr, If
from relay_tune.ir.types import TensorType, TupleType, Type


def translate_if(node: OnnxNode, build: Builder, enter: Enter) -> Sequence[Expr | None]:
    """A known condition takes its branch; another becomes an `if` of the language."""
    condition = node.input(0)
    branches = enter(node.graph("then_branch")), enter(node.graph("else_branch"))
    if isinstance(condition, Constant):
        return branches[0 if known_scalar(condition, "the condition") else 1].run(())
    if shape_of(condition):
        condition = build.call("reshape", condition, newshape=())
    then, other = (_branch(build, branch) for branch in branches)
    if isinstance(then.type, TupleType) and isinstance(other.type, TupleType):
        fields = then.type.fields, other.type.fields
        if len(fields[0]) != len(fields[1]):
            raise ModelError(f"the branches have {len(fields[0])} and {len(fields[1])} outputs.")
        types = tuple(_common_type(a, b) for a, b in zip(*fields, strict=True))
        result = If(condition, then, other, type=TupleType(types))
        return [build.item(result, index) for index in range(len(types))]
    return [If(condition, then, other, type=_common_type(type_of(then), type_of(other)))]


def _branch(build: Builder, branch: Subgraph) -> Expr:
    """The output of a branch, a tuple of several, with the variables that it binds."""
    with build.scope() as binding:
        outputs = branch.run(())
        if not outputs:
            raise ModelError("a branch has no outputs.")
        return binding(outputs[0] if len(outputs) == 1 else build.tuple_of(outputs))


def _common_type(left: Type, right: Type) -> Type:
    if left == right:
        return left
    if not isinstance(left, TensorType) or not isinstance(right, TensorType):
        raise UnsupportedOperatorError("the branches give values of different kinds.")
    if left.dtype != right.dtype:
        raise ModelError(f"the branches give {left.dtype} and {right.dtype}.")
    if len(left.shape) != len(right.shape):
        raise UnsupportedOperatorError("the branches give different numbers of dimensions.")
    pairs = zip(left.shape, right.shape, strict=True)
    return TensorType(tuple(a if a == b else UNKNOWN for a, b in pairs), left.dtype)
