"""Branches: one that is known is taken, others become branches of the language."""

from __future__ import annotations

from collections.abc import Sequence

from relay_tune.errors import ModelError
from relay_tune.frontend.onnx_import.build import Builder, known_scalar, shape_of, type_of
from relay_tune.frontend.onnx_import.node import OnnxNode
from relay_tune.frontend.onnx_import.open_sizes import are_known
from relay_tune.frontend.onnx_import.operators.reshape import reshape_to
from relay_tune.frontend.onnx_import.sequences import converted, joined_type
from relay_tune.frontend.onnx_import.subgraph import Enter, Subgraph
from relay_tune.ir.dim_arithmetic import product
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
    counts = [branch.output_count for branch in branches]
    if counts[0] != counts[1] or not counts[0]:
        raise ModelError(f"the branches have {counts[0]} and {counts[1]} outputs.")
    bodies, kinds = zip(*(_branch(build, branch, None) for branch in branches), strict=True)
    types = _types(node, build, kinds)
    if any(kind != types for kind in kinds):
        bodies, _ = zip(*(_branch(build, branch, types) for branch in branches), strict=True)
    if len(types) == 1:
        return [If(condition, *bodies, type=types[0])]
    result = If(condition, *bodies, type=TupleType(tuple(types)))
    return [build.item(result, index) for index in range(len(types))]


def _types(node: OnnxNode, build: Builder, kinds: Sequence[Sequence[Type]]) -> list[Type]:
    """Types for the results of both branches; see `branch_ranks` for those that differ in rank."""
    pairs = list(zip(*kinds, strict=True))
    if not any(map(_differ_in_rank, pairs)):
        return [joined_type(a, b) for a, b in pairs]
    chosen = build.branch_ranks.of(node.name)
    return [
        joined_type(*pair) if chosen is None or not _differ_by_ones(pair) else pair[chosen]
        for pair in pairs
    ]


def _differ_in_rank(pair: Sequence[Type]) -> bool:
    tensors = [type_ for type_ in pair if isinstance(type_, TensorType) and are_known(type_.shape)]
    return len(tensors) == 2 and len({(len(each.shape), each.dtype) for each in tensors}) == 2


def _differ_by_ones(pair: Sequence[Type]) -> bool:
    """Whether one type has the axes of the other, and further ones that may be of size 1.

    With as many elements, tensors of both then have the same elements in the same positions.
    """
    tensors = [type_ for type_ in pair if isinstance(type_, TensorType)]
    if not _differ_in_rank(tensors):
        return False
    shorter, longer = sorted((each.shape for each in tensors), key=len)
    pending = list(shorter)
    for dim in longer:
        if pending and dim == pending[0]:
            pending.pop(0)
        elif isinstance(dim, int) and dim != 1:
            return False
    return not pending


def _fitted(build: Builder, value: Expr, type_: Type) -> Expr:
    """A result of a branch as the type that results of both have."""
    if isinstance(type_, TensorType) and _differ_in_rank((type_of(value), type_)):
        flat = build.call("reshape", value, newshape=(-1,))
        flat = build.with_shape(flat, (product(type_.shape),))  # the run checks that they fit
        return reshape_to(build, flat, type_.shape)
    return converted(build, value, type_)


def _branch(
    build: Builder, branch: Subgraph, types: Sequence[Type] | None
) -> tuple[Expr, list[Type]]:
    """The output of a branch, a tuple of several, and their types.

    With `types` these are what they become.
    """
    with build.scope() as binding:
        outputs = branch.run(())
        if types is not None:
            outputs = [_fitted(build, v, t) for v, t in zip(outputs, types, strict=True)]
        body = outputs[0] if len(outputs) == 1 else build.tuple_of(outputs)
        return binding(body), [type_of(each) for each in outputs]
