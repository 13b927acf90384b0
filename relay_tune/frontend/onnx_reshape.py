"""Reshaping, also to sizes that are known by name only."""

from __future__ import annotations

import math
from collections.abc import Sequence

from relay_tune.errors import ModelError, UnsupportedOperatorError
from relay_tune.frontend.onnx_build import Builder, shape_of
from relay_tune.ir.dim import Dim
from relay_tune.ir.expr import Expr

COPY, INFER = 0, -1


def reshape_to(build: Builder, data: Expr, target: Sequence[Dim]) -> Expr:
    """`data` with exactly the sizes `target`, which may be symbolic.

    A symbolic size is written as a copy of the size at its place, or as what is left of the
    elements; raises UnsupportedOperatorError where that is not enough.
    """
    source = shape_of(data)
    if tuple(target) == source:
        return data
    if all(isinstance(dim, int) for dim in target):
        _check_count(source, target)
        return build.call("reshape", data, newshape=tuple(target), allowzero=True)
    codes = [_code(source, place, dim) for place, dim in enumerate(target)]
    if codes.count(INFER) > 1 or any(dim == 0 for dim in target):
        raise UnsupportedOperatorError(
            f"a reshape of ({_text(source)}) to ({_text(target)}) has too many unknown sizes.",
            remedy="Bind the sizes of the inputs with shapes=... .",
        )
    return build.call("reshape", data, newshape=tuple(codes))


def flatten_to_matrix(build: Builder, data: Expr, axis: int) -> Expr:
    """All axes before `axis` as the first of two, the others as the second."""
    shape = shape_of(data)
    rows, columns = _product(shape[:axis]), _product(shape[axis:])
    if rows is not None and columns is not None:
        return reshape_to(build, data, (rows, columns))
    if columns is not None and columns > 0:
        return build.call("reshape", data, newshape=(INFER, columns))
    if rows is not None and rows > 0:
        return build.call("reshape", data, newshape=(rows, INFER))
    raise UnsupportedOperatorError(f"({_text(shape)}) cannot be flattened: too many unknown sizes.")


def reshape_like_source(build: Builder, data: Expr, source: Expr) -> Expr:
    """`data` with the sizes of `source`."""
    shape = shape_of(source)
    if all(isinstance(dim, int) for dim in shape):
        return reshape_to(build, data, shape)
    return build.call("reshape_like", data, source)


def _product(dims: Sequence[Dim]) -> int | None:
    numbers = [dim for dim in dims if isinstance(dim, int)]
    return math.prod(numbers) if len(numbers) == len(dims) else None


def _code(source: Sequence[Dim], place: int, dim: Dim) -> int:
    if isinstance(dim, int):
        return dim
    return COPY if place < len(source) and source[place] == dim else INFER


def _check_count(source: Sequence[Dim], target: Sequence[Dim]) -> None:
    before, after = _product(source), _product(target)
    if before is not None and before != after:
        raise ModelError(
            f"({_text(source)}) has {before} elements, which do not fit the shape "
            f"({_text(target)})."
        )


def _text(dims: Sequence[Dim]) -> str:
    return ", ".join(map(str, dims))
