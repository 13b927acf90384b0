"""Small questions about typed expressions that many passes ask."""

from __future__ import annotations

from typing import Any

import numpy as np

from relay_tune.ir.dim import UNKNOWN, Dim
from relay_tune.ir.dim_arithmetic import substitute, symbol_names
from relay_tune.ir.expr import Call, Constant, Expr, Function
from relay_tune.ir.operator import Operator
from relay_tune.ir.types import TensorType
from relay_tune.tensor.size import EXAMPLE_SIZE

RESHAPES = ("reshape", "squeeze", "expand_dims", "nn.batch_flatten", "reshape_like")
"""The operators that keep the order of elements and change the shape only."""


def operator_name(expr: Expr) -> str | None:
    """The name of the operator that `expr` calls, or None."""
    if isinstance(expr, Call) and isinstance(expr.callee, Operator):
        return expr.callee.name
    return None


def operator_call(expr: Expr, *names: str) -> Call | None:
    """`expr` if it is a call of an operator with one of these names."""
    return expr if isinstance(expr, Call) and operator_name(expr) in names else None


def attribute(call: Call, name: str, default: Any = None) -> Any:
    """An attribute of an operator call; `default` if it has none of that name."""
    return getattr(call.attributes, name, default)


def attributes_of(call: Call) -> Any:
    """The attributes of an operator call; the defaults where it was made without."""
    if call.attributes is None and isinstance(call.callee, Operator):
        return call.callee.attributes()
    return call.attributes


def constant_data(expr: Expr) -> np.ndarray | None:
    """The value of a constant, or None."""
    return expr.data if isinstance(expr, Constant) else None


def tensor_type(expr: Expr) -> TensorType | None:
    """The type of `expr` if it is known to be a tensor."""
    return expr.type if isinstance(expr.type, TensorType) else None


def static_shape(expr: Expr) -> tuple[int, ...] | None:
    """The shape of `expr` if all of it is known as integers."""
    type_ = tensor_type(expr)
    if type_ is None:
        return None
    dims = tuple(dim for dim in type_.shape if isinstance(dim, int))
    return dims if len(dims) == len(type_.shape) else None


def have_one_shape(first: Expr, second: Expr) -> bool:
    """Whether two tensors certainly have one shape: two sizes `?` may differ."""
    left, right = tensor_type(first), tensor_type(second)
    if left is None or right is None or UNKNOWN in left.shape:
        return False
    return left.shape == right.shape


def example_type(type_: TensorType, size: int = EXAMPLE_SIZE) -> TensorType:
    """The type with an example's sizes where sizes are open: what estimates reckon with."""
    return TensorType(tuple(_example_size(dim, size) for dim in type_.shape), type_.dtype)


def example_shape(expr: Expr) -> tuple[int, ...]:
    """The shape of `expr` with the example's sizes; () if it is no tensor."""
    type_ = tensor_type(expr)
    return () if type_ is None else tuple(map(_example_size, type_.shape))


def shape_code(expr: Expr) -> tuple[int, ...] | None:
    """The shape of `expr` as reshape takes it: -1 for one open size; None if there are more."""
    type_ = tensor_type(expr)
    if type_ is None:
        return None
    code = tuple(dim if isinstance(dim, int) else -1 for dim in type_.shape)
    return code if code.count(-1) <= 1 else None


def _example_size(dim: Dim, size: int = EXAMPLE_SIZE) -> int:
    example = substitute(dim, dict.fromkeys(symbol_names(dim), size))
    return example if isinstance(example, int) else EXAMPLE_SIZE


def rank(expr: Expr) -> int | None:
    """The number of dimensions of `expr`, if its type is known."""
    type_ = tensor_type(expr)
    return None if type_ is None else len(type_.shape)


def transpose_axes(call_: Call) -> tuple[int, ...]:
    """The axes of a transpose, counted from the front."""
    dims = rank(call_.arguments[0]) or 0
    axes = attribute(call_, "axes")
    return tuple(reversed(range(dims))) if axes is None else tuple(axis % dims for axis in axes)


def uniform_value(expr: Expr) -> float | None:
    """The number that all elements of a real constant are equal to, or None."""
    data = constant_data(expr)
    if data is None or data.size == 0 or data.dtype.kind not in "fiub":
        return None
    first = data.flat[0]
    return float(first) if bool((data == first).all()) else None


def is_float(expr: Expr) -> bool:
    """Whether `expr` is a tensor of a floating-point type."""
    type_ = tensor_type(expr)
    return type_ is not None and type_.dtype.startswith(("float", "bfloat"))


def is_opaque_function(expr: Expr) -> bool:
    """Whether `expr` is a fused function, which passes do not look into."""
    return isinstance(expr, Function) and expr.is_primitive
