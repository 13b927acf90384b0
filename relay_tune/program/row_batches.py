"""Many calls of a primitive as one: its rows.

before: fn (%p0: Tensor[(1, 300), float32], Primitive=1) { nn.dense(%p0, W) }     called 16 times
after:  fn (%p0: Tensor[(16, 300), float32], Primitive=1) { nn.dense(%p0, W) }    called once

Row i of each argument is that of call i, and row i of each result is its result. So one pass over
the weights serves all calls. It is allowed where each row of every tensor depends on the same row
of the arguments alone, which the tensor expressions tell.
"""

from __future__ import annotations

from dataclasses import replace

from relay_tune.errors import RelayError
from relay_tune.ir.expr import Call, Expr, Function, Var
from relay_tune.ir.traversal import rewrite
from relay_tune.ir.types import TensorType, Type
from relay_tune.op.decisive import part_attributes
from relay_tune.op.lower import lower_function
from relay_tune.op.slicing import StridedSliceAttributes
from relay_tune.program.kinds import component_types, function_type
from relay_tune.tensor.dependencies import dependencies, tensors_in_order
from relay_tune.tensor.expression import Tensor
from relay_tune.tensor.program import TensorProgram
from relay_tune.tensor.tensor import Computed
from relay_tune.tensor.walk import loads
from relay_tune.typing.infer import infer_expr


def with_rows(primitive: Function, rows: int) -> Function | None:
    """The primitive for so many calls at once; None where it cannot be."""
    type_ = function_type(primitive)
    params = [_row_type(param, rows) for param in type_.params]
    results = [_row_type(result, rows) for result in component_types(type_.result)]
    if not params or None in params or None in results:
        return None
    new = [Var(old.name, t) for old, t in zip(primitive.params, params, strict=True)]
    mapping: dict[Expr, Expr] = dict(zip(primitive.params, new, strict=True))
    body = rewrite(primitive.body, lambda node: mapping.get(node) or _all_rows(node))
    try:
        batched = infer_expr(Function(tuple(new), body, attributes=part_attributes(primitive)))
        assert isinstance(batched, Function)
        if list(component_types(function_type(batched).result)) != results:
            return None
        return batched if _rows_are_independent(lower_function(batched)) else None
    except RelayError:  # an operator names the old shape, or has no native form
        return None


def _all_rows(node: Expr) -> Expr:
    """A slice that takes the only row there is takes all rows; any other node as it is."""
    if not isinstance(node, Call) or not isinstance(node.attributes, StridedSliceAttributes):
        return node
    sliced, attributes = node.arguments[0].type, node.attributes
    axes = attributes.axes or tuple(range(len(attributes.begin)))
    strides = attributes.strides or (1,)
    if not isinstance(sliced, TensorType) or sliced.shape[:1] != (1,) or set(strides) != {1}:
        return node
    bounds = zip(axes, attributes.begin, attributes.end, strict=True)
    cuts = [cut for cut in bounds if cut != (0, 0, 1)]
    others = replace(
        attributes,
        axes=tuple(axis for axis, _, _ in cuts),
        begin=tuple(begin for _, begin, _ in cuts),
        end=tuple(end for _, _, end in cuts),
        strides=(1,) * len(cuts),
    )
    return replace(node, attributes=others)


def _row_type(type_: Type, rows: int) -> TensorType | None:
    if isinstance(type_, TensorType) and type_.shape[:1] == (1,):
        return TensorType((rows, *type_.shape[1:]), type_.dtype)
    return None


def _rows_are_independent(program: TensorProgram) -> bool:
    """Whether each row of the results depends on the same row of the inputs alone."""
    by_row: set[Tensor] = set(program.inputs)
    for tensor in tensors_in_order(program.outputs):
        if by_row.isdisjoint(dependencies(tensor)):
            continue
        if not isinstance(tensor, Computed) or not tensor.axes:
            return False
        row = tensor.axes[0]
        for load in loads(tensor.body):
            if load.tensor in by_row and load.indices[0] is not row:
                return False
        by_row.add(tensor)
    return by_row.issuperset(program.outputs)
