"""Broadcasting to shapes, also to those that only a run knows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from relay_tune.errors import ModelError
from relay_tune.frontend.onnx_import.build import (
    Builder,
    check_size,
    dtype_of,
    rank_of,
    shape_of,
    static_dim,
)
from relay_tune.frontend.onnx_import.node import OnnxNode
from relay_tune.frontend.onnx_import.open_sizes import broadcast_to_sizes
from relay_tune.frontend.onnx_import.operators.translator import Translator
from relay_tune.frontend.onnx_import.symbolic import vector_dims
from relay_tune.ir.dim import UNKNOWN, Dim
from relay_tune.ir.expr import Expr


def translate_expand(node: OnnxNode, build: Builder) -> Expr:
    """Broadcast to a shape, which the input may also stretch."""
    data = node.input(0)
    shape = node.input(1)
    target = vector_dims(build, shape, "the shape")
    return expand_to(build, data, target, shape)


def expand_to(build: Builder, data: Expr, target: Sequence[Dim], vector: Expr) -> Expr:
    """`data` broadcast against a shape, which is also given as a vector."""
    source = shape_of(data)
    rank = max(len(source), len(target))
    left, right = _padded(source, rank), _padded(target, rank)
    result = [_stretched(a, b) for a, b in zip(left, right, strict=True)]
    if tuple(result) == source:
        return data
    numbers = [dim for dim in result if isinstance(dim, int)]
    check_size(math.prod(numbers), dtype_of(data))
    if len(numbers) == rank and all(isinstance(dim, int) for dim in source):
        return build.call("broadcast_to", data, shape=tuple(numbers))
    if any(
        old not in (1, new) or UNKNOWN in (old, new) for old, new in zip(left, result, strict=True)
    ):
        return _expand_by_vector(build, data, vector, result)
    return _expand_symbolic(build, data, left, result)


def _expand_symbolic(
    build: Builder, data: Expr, source: Sequence[Dim], result: Sequence[Dim]
) -> Expr:
    """Broadcast of axes of size 1 to new sizes that are numbers or symbols."""
    pairs = list(zip(source, result, strict=True))
    if any(old != new and not isinstance(new, int) for old, new in pairs):
        like = build.shaped.get(tuple(result))
        if like is not None:
            return build.call("broadcast_to_like", data, like)
        return broadcast_to_sizes(build, data, result)
    for _ in range(len(result) - rank_of(data)):
        data = build.call("expand_dims", data, axis=0)
    for axis, (old, new) in enumerate(pairs):
        if old != new and isinstance(new, int):
            data = build.call("repeat", data, repeats=new, axis=axis)
    return data


def _expand_by_vector(build: Builder, data: Expr, vector: Expr, result: Sequence[Dim]) -> Expr:
    """Broadcast against sizes of which only a run knows whether they are 1."""
    rank = len(result)
    vector = build.call("cast", vector, dtype="int64")
    sizes = build.call("shape_of", data, dtype="int64") if rank_of(data) else None
    ones = [build.filled((rank - rank_of(data),), 1, "int64")]
    own = build.call("concatenate", build.tuple_of([*ones, sizes] if sizes else ones), axis=0)
    missing = rank - static_dim(shape_of(vector)[0])
    if missing:
        parts = [build.filled((missing,), 1, "int64"), vector]
        vector = build.call("concatenate", build.tuple_of(parts), axis=0)
    is_one = build.call("equal", vector, build.constant(1, "int64"))
    wanted = build.call("where", is_one, own, vector)
    return build.with_shape(build.call("dyn.broadcast_to", data, wanted), result)


def _padded(shape: Sequence[Dim], rank: int) -> tuple[Dim, ...]:
    return (*(1,) * (rank - len(shape)), *shape)


def _stretched(left: Dim, right: Dim) -> Dim:
    """The common size; `?` where it depends on which of two is 1 in a run."""
    if isinstance(right, int) and right < 0:
        raise ModelError(f"the shape contains the size {right}.")
    if right in (left, 1):
        return left
    if left == 1:
        return right
    if isinstance(left, int) and isinstance(right, int):
        raise ModelError(f"sizes {left} and {right} do not broadcast.")
    if isinstance(left, int):
        return left
    return right if isinstance(right, int) else UNKNOWN


EXPANSIONS: Mapping[str, Translator] = {"Expand": translate_expand}
