"""Kernels whose arguments and results are bfloat16 in memory.

before:  fn (%p: Tensor[.., float32]) { nn.conv2d(%p, W) }
after:   fn (%p: Tensor[.., bfloat16]) { cast(nn.conv2d(cast(%p, "float32"), W), "bfloat16") }
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from relay_tune.ir.expr import Call, Constant, Expr, Function, Tuple, Var
from relay_tune.ir.structural import structural_equal
from relay_tune.ir.traversal import children, post_order, rebuild
from relay_tune.ir.types import FuncType, TensorType, Type
from relay_tune.op.primitive_views import computes_nothing
from relay_tune.op_rules.matching import tensor_type
from relay_tune.op_rules.typed import call, constant_of, recall, tuple_of
from relay_tune.tensor.scalar_semantics import numpy_dtype
from relay_tune.transform.kernel_readings import are_narrow

WIDE, NARROW = "float32", "bfloat16"


def with_types(kernel: Function, arguments: Sequence[bool], result: bool) -> Function:
    """A kernel of which some arguments, and perhaps the result, are bfloat16."""
    given = any(each.type is not None and _is_narrow(each.type) for each in kernel.params)
    if not (result or given or any(arguments)):
        return kernel
    own = [
        _narrow(param) if is_narrow else param
        for param, is_narrow in zip(kernel.params, arguments, strict=True)
    ]
    moves = computes_nothing(kernel)
    parts: dict[Expr, Expr] = {
        param: now if now is param or moves else call("cast", now, dtype=WIDE)
        for param, now in zip(kernel.params, own, strict=True)
    }
    if given or any(arguments):
        parts |= _narrow_constants(kernel)
    for node in post_order(kernel.body):
        if node not in parts:
            new = [parts[child] for child in children(node)]
            parts[node] = _moved(node, new) if moves else rebuild(node, new)
    body = parts[kernel.body]
    if result and not moves:
        body = _before_widening(body) or call("cast", body, dtype=NARROW)
    types = tuple(each.type for each in own if each.type is not None)
    type_ = None if body.type is None else FuncType(types, body.type)
    return replace(kernel, params=tuple(own), body=body, result_type=body.type, type=type_)


def _narrow_constants(kernel: Function) -> dict[Expr, Expr]:
    """Weights of a file of bfloat16 that were made float32 for convolutions, as they were."""
    return {
        node: call("cast", constant_of(node.data.astype(numpy_dtype(NARROW))), dtype=WIDE)
        for node in post_order(kernel.body)
        if isinstance(node, Constant) and _is_matrix(node.data) and are_narrow(node.data)
    }


def _is_matrix(data: np.ndarray) -> bool:
    return data.dtype.name == WIDE and data.ndim > 1 and data.size > 1


def is_plain(node: Expr) -> bool:
    """Whether an expression is one tensor of float32."""
    type_ = tensor_type(node)
    return type_ is not None and type_.dtype == WIDE


def _before_widening(body: Expr) -> Expr | None:
    """What a result of float32 is in bfloat16, where that has all of its digits."""
    if not isinstance(body, Call) or len(body.arguments) != 1 or not is_plain(body):
        return None
    (inner,) = body.arguments
    if inner.type is None or not _is_narrow(inner.type):
        return None
    return inner if structural_equal(body, call("cast", inner, dtype=WIDE)) else None


def is_copy(kernel: Function) -> bool:
    """Whether a kernel widens its argument and rounds it again, which changes nothing."""
    if len(kernel.params) != 1 or kernel.params[0].type != kernel.body.type:
        return False
    (param,) = kernel.params
    if kernel.body is param:
        return True
    copy = call("cast", call("cast", param, dtype=WIDE), dtype=NARROW)
    return structural_equal(kernel.body, copy, map_free_vars=True)


def _moved(node: Expr, parts: Sequence[Expr]) -> Expr:
    """A node of a kernel that computes nothing, with other parts."""
    match node:
        case Call():
            return recall(node, parts[1:])
        case Tuple():
            return tuple_of(parts)
        case _:
            return node


def _narrow(param: Var) -> Var:
    type_ = tensor_type(param)
    assert type_ is not None
    narrow = replace(type_, dtype=NARROW)
    return Var(param.name, narrow, type=narrow)


def _is_narrow(type_: Type) -> bool:
    return isinstance(type_, TensorType) and type_.dtype == NARROW
