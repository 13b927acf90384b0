"""Operators that change shapes or the order of axes: reshape, transpose, layout_transform."""

from __future__ import annotations

from collections.abc import Sequence

from relay_tune.ir.dim import UNKNOWN, Dim
from relay_tune.ir.expr import Call, Expr
from relay_tune.ir.types import TensorType
from relay_tune.op_rules.matching import (
    RESHAPES,
    attribute,
    operator_call,
    static_shape,
    transpose_axes,
)
from relay_tune.op_rules.simplify.rule import RuleTable
from relay_tune.op_rules.typed import call, reshape


def drop_identity(call_: Call) -> Expr | None:
    """A call that gives its first argument unchanged (same type) is that argument.

    Two sizes `?` need not be equal: x[1:] of Tensor[(?), float32] has the same type as x.
    """
    data = call_.arguments[0]
    if not isinstance(data.type, TensorType) or UNKNOWN in data.type.shape:
        return None
    return data if data.type == call_.type else None


def to_reshape(call_: Call) -> Expr | None:
    """squeeze, expand_dims and the like on static shapes are reshapes."""
    shape = static_shape(call_)
    if shape is None or static_shape(call_.arguments[0]) is None:
        return None
    return reshape(call_.arguments[0], shape)


def merge_reshapes(call_: Call) -> Expr | None:
    """reshape(reshape(x)) is one reshape."""
    inner = operator_call(call_.arguments[0], *RESHAPES)
    shape = static_shape(call_)
    if inner is None or shape is None or static_shape(inner.arguments[0]) is None:
        return None
    return reshape(inner.arguments[0], shape)


def drop_identity_transpose(call_: Call) -> Expr | None:
    """transpose(x, (0, 1, ..)) is x."""
    axes = transpose_axes(call_)
    return call_.arguments[0] if axes == tuple(range(len(axes))) else None


def merge_transposes(call_: Call) -> Expr | None:
    """transpose(transpose(x, a), b) is transpose(x, a[b])."""
    inner = operator_call(call_.arguments[0], "transpose")
    if inner is None:
        return None
    inner_axes = transpose_axes(inner)
    axes = tuple(inner_axes[axis] for axis in transpose_axes(call_))
    return call("transpose", inner.arguments[0], axes=axes)


def transpose_of_unit_dims(call_: Call) -> Expr | None:
    """A transpose that keeps the order of all axes longer than 1 is a reshape."""
    shape, result = static_shape(call_.arguments[0]), static_shape(call_)
    if shape is None or result is None:
        return None
    moved = [axis for axis in transpose_axes(call_) if shape[axis] != 1]
    if moved != sorted(moved):
        return None
    return reshape(call_.arguments[0], result)


def transpose_without_unit_axes(call_: Call) -> Expr | None:
    """A transpose of some axes, around which others of size 1 go and come, is one of all axes.

    before: reshape(transpose(squeeze(%k, axis=[0]), axes=[0, 2, 1]), newshape=[1, 4, 8, -1])
    after:  transpose(%k, axes=[0, 1, 3, 2])             %k: Tensor[(1, 4, n, 8), float32]
    """
    turned = operator_call(call_.arguments[0], "transpose")
    inner = None if turned is None else operator_call(turned.arguments[0], *RESHAPES)
    if turned is None or inner is None:
        return None
    given, less, wanted = (_known_dims(each) for each in (inner.arguments[0], inner, call_))
    if given is None or less is None or wanted is None:
        return None
    parts = _kept_axes(given, less)
    if parts is None:
        return None
    kept, dropped = parts
    moved = [kept[axis] for axis in transpose_axes(turned)]
    axes: list[int] = []
    for dim in wanted:
        if moved and given[moved[0]] == dim:
            axes.append(moved.pop(0))
        elif dim == 1 and dropped:
            axes.append(dropped.pop(0))
        else:
            return None
    return None if moved or dropped else call("transpose", inner.arguments[0], axes=tuple(axes))


def _known_dims(expr: Expr) -> tuple[Dim, ...] | None:
    """The shape of an expression where each size has a name or is known."""
    shape = expr.type.shape if isinstance(expr.type, TensorType) else (UNKNOWN,)
    return None if UNKNOWN in shape else shape


def _kept_axes(shape: Sequence[Dim], less: Sequence[Dim]) -> tuple[list[int], list[int]] | None:
    """The axes that a shape has in common with one of fewer axes, and those of size 1 that it has
    not; None where there are others.
    """
    kept: list[int] = []
    dropped: list[int] = []
    for axis, dim in enumerate(shape):
        if len(kept) < len(less) and dim == less[len(kept)]:
            kept.append(axis)
        elif dim == 1:
            dropped.append(axis)
        else:
            return None
    return (kept, dropped) if len(kept) == len(less) else None


def layout_to_transpose(call_: Call) -> Expr | None:
    """layout_transform between layouts without blocks is a transpose."""
    source, target = attribute(call_, "src_layout"), attribute(call_, "dst_layout")
    if sorted(source) != sorted(target) or not (source + target).isupper():
        return None
    if not (source + target).isalpha():
        return None
    axes = tuple(source.index(letter) for letter in target)
    return call("transpose", call_.arguments[0], axes=axes)


RULES: RuleTable = {
    **dict.fromkeys(RESHAPES, (drop_identity, to_reshape, transpose_without_unit_axes)),
    "reshape": (drop_identity, merge_reshapes, transpose_without_unit_axes),
    "transpose": (drop_identity_transpose, merge_transposes, transpose_of_unit_dims),
    "layout_transform": (layout_to_transpose,),
    "broadcast_to": (drop_identity,),
}
