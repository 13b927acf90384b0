"""Operators that move elements without changing them: reshape, transpose, slices, padding."""

from __future__ import annotations

from collections.abc import Sequence

from relay_tune.ir.dim import UNKNOWN, Dim
from relay_tune.ir.expr import Call, Expr, Tuple
from relay_tune.ir.types import TensorType, TupleType
from relay_tune.op_rules.matching import (
    attribute,
    operator_call,
    rank,
    static_shape,
    tensor_type,
    transpose_axes,
)
from relay_tune.op_rules.reshapes import RESHAPES
from relay_tune.op_rules.simplify.rule import RuleTable
from relay_tune.op_rules.typed import call, recall, reshape, with_types

MAXIMUM_MERGED_PARTS = 64
"""Concatenations of concatenations are merged up to so many parts: x, (x, x), ((x, x), (x, x)) ..
doubles with each step."""


def drop_identity(call_: Call) -> Expr | None:
    """A call that gives its first argument unchanged (same type) is that argument.

    Two sizes `?` need not be equal: x[1:] of Tensor[(?), float32] has the same type as x.
    """
    data = call_.arguments[0]
    if not isinstance(data.type, TensorType) or UNKNOWN in data.type.shape:
        return None
    return data if data.type == call_.type else None


def drop_identity_cast(call_: Call) -> Expr | None:
    """A cast to the type that the elements have already is its argument, whatever its shape is."""
    before, after = tensor_type(call_.arguments[0]), tensor_type(call_)
    if before is None or after is None or before.dtype != after.dtype:
        return None
    return call_.arguments[0]


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


def layout_to_transpose(call_: Call) -> Expr | None:
    """layout_transform between layouts without blocks is a transpose."""
    source, target = attribute(call_, "src_layout"), attribute(call_, "dst_layout")
    if sorted(source) != sorted(target) or not (source + target).isupper():
        return None
    if not (source + target).isalpha():
        return None
    axes = tuple(source.index(letter) for letter in target)
    return call("transpose", call_.arguments[0], axes=axes)


def drop_single_concatenate(call_: Call) -> Expr | None:
    """The concatenation of one tensor is that tensor."""
    parts = call_.arguments[0]
    if isinstance(parts, Tuple) and len(parts.fields) == 1:
        return parts.fields[0]
    return None


def merge_concatenates(call_: Call) -> Expr | None:
    """concatenate((concatenate((a, b)), c)) along one axis is concatenate((a, b, c))."""
    parts, dims = call_.arguments[0], rank(call_)
    if not isinstance(parts, Tuple) or dims is None:
        return None
    axis = attribute(call_, "axis") % dims
    fields: list[Expr] = []
    for field in parts.fields:
        inner = operator_call(field, "concatenate")
        nested = inner.arguments[0] if inner is not None else None
        same_axis = inner is not None and attribute(inner, "axis") % dims == axis
        fields.extend(nested.fields if same_axis and isinstance(nested, Tuple) else (field,))
    if len(fields) == len(parts.fields) or len(fields) > MAXIMUM_MERGED_PARTS:
        return None
    return recall(call_, (with_types(Tuple(tuple(fields))),))


def merge_pads(call_: Call) -> Expr | None:
    """Two constant pads with the same value are one."""
    inner = operator_call(call_.arguments[0], "nn.pad")
    if inner is None or not _same_constant_pad(call_, inner):
        return None
    pairs = zip(attribute(inner, "pad_width"), attribute(call_, "pad_width"), strict=True)
    widths = tuple((a + c, b + d) for (a, b), (c, d) in pairs)
    return recall(call_, (inner.arguments[0], *call_.arguments[1:]), pad_width=widths)


def merge_casts(call_: Call) -> Expr | None:
    """cast(cast(x, wider), t) is cast(x, t) where the first cast loses nothing."""
    inner = operator_call(call_.arguments[0], "cast")
    source = None if inner is None else tensor_type(inner.arguments[0])
    middle = None if inner is None else tensor_type(inner)
    if inner is None or source is None or middle is None:
        return None
    if (source.dtype, middle.dtype) not in LOSSLESS_CASTS:
        return None
    return recall(call_, (inner.arguments[0],))


def drop_whole_slice(call_: Call) -> Expr | None:
    """A slice with unit strides that gives the whole tensor is that tensor."""
    strides = attribute(call_, "strides") or (1,)
    return drop_identity(call_) if set(strides) == {1} else None


def merge_slices(call_: Call) -> Expr | None:
    """A slice of a slice is one slice of the sum of the offsets, where strides are 1."""
    inner = operator_call(call_.arguments[0], "strided_slice")
    outer_box = slice_box(call_)
    inner_box = None if inner is None else slice_box(inner)
    if inner is None or outer_box is None or inner_box is None:
        return None
    pairs = list(zip(inner_box, outer_box, strict=True))
    begin = tuple(first[0] + second[0] for first, second in pairs)
    end = tuple(first[0] + second[1] for first, second in pairs)
    return slice_of(inner.arguments[0], begin, end)


def slice_of(data: Expr, begin: Sequence[int], end: Sequence[Dim]) -> Call:
    """The box [begin, end) of `data`; axes with an open end, which begin at 0, are whole."""
    axes = tuple(axis for axis, stop in enumerate(end) if isinstance(stop, int))
    return call(
        "strided_slice",
        data,
        begin=tuple(begin[axis] for axis in axes),
        end=tuple(end[axis] for axis in axes),
        strides=(1,) * len(axes),
        axes=axes,
    )


def slice_box(call_: Call) -> tuple[tuple[int, int], ...] | None:
    """(begin, end) for every axis of a slice with unit strides and static shape, else None."""
    shape, result = static_shape(call_.arguments[0]), static_shape(call_)
    strides = attribute(call_, "strides") or (1,)
    if shape is None or result is None or set(strides) != {1}:
        return None
    axes = attribute(call_, "axes")
    given = range(len(attribute(call_, "begin"))) if axes is None else axes
    begin = [0] * len(shape)
    for axis, start in zip(given, attribute(call_, "begin"), strict=True):
        size = shape[axis]
        begin[axis % len(shape)] = min(max(start + size if start < 0 else start, 0), size)
    return tuple((b, b + size) for b, size in zip(begin, result, strict=True))


def split_to_slices(call_: Call) -> Expr | None:
    """split(x) is a tuple of slices, each of which can join the kernel that reads it."""
    data = tensor_type(call_.arguments[0])
    if data is None or not isinstance(call_.type, TupleType):
        return None
    dims = data.shape
    axis, begin = attribute(call_, "axis") % len(dims), 0
    if not isinstance(dims[axis], int):
        return None
    fields: list[Expr] = []
    for field in call_.type.fields:
        size = getattr(field, "shape", ())[axis]
        low = tuple(begin if place == axis else 0 for place in range(len(dims)))
        high = tuple(begin + size if place == axis else dim for place, dim in enumerate(dims))
        fields.append(slice_of(call_.arguments[0], low, high))
        begin += size
    return with_types(Tuple(tuple(fields)))


def _same_constant_pad(first: Call, second: Call) -> bool:
    modes = {attribute(pad, "pad_mode", "constant") for pad in (first, second)}
    widths = [*attribute(first, "pad_width"), *attribute(second, "pad_width")]
    same_value = attribute(first, "pad_value") == attribute(second, "pad_value") and all(
        a is b for a, b in zip(first.arguments[1:], second.arguments[1:], strict=True)
    )
    return modes == {"constant"} and same_value and all(min(pair) >= 0 for pair in widths)


LOSSLESS_CASTS = frozenset(
    {
        ("float16", "float32"),
        ("bfloat16", "float32"),
        ("float16", "float64"),
        ("float32", "float64"),
        ("int8", "int32"),
        ("uint8", "int32"),
        ("int8", "int64"),
        ("uint8", "int64"),
        ("int16", "int32"),
        ("int32", "int64"),
        ("bool", "int32"),
        ("bool", "float32"),
        ("bool", "int64"),
    }
)

_OTHER_RESHAPES: RuleTable = {
    name: (drop_identity, to_reshape) for name in RESHAPES if name != "reshape"
}

RULES: RuleTable = {
    **_OTHER_RESHAPES,
    "reshape": (drop_identity, merge_reshapes),
    "transpose": (drop_identity_transpose, merge_transposes, transpose_of_unit_dims),
    "layout_transform": (layout_to_transpose,),
    "concatenate": (drop_single_concatenate, merge_concatenates),
    "nn.pad": (drop_identity, merge_pads),
    "cast": (drop_identity_cast, merge_casts),
    "cast_like": (drop_identity_cast,),
    "broadcast_to": (drop_identity,),
    "strided_slice": (drop_whole_slice, merge_slices),
    "split": (split_to_slices,),
}
