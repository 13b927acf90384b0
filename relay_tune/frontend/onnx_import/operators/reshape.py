"""Reshaping, also to sizes that are known by name only."""

from __future__ import annotations

import math
from collections.abc import Sequence

from relay_tune.errors import FIX_SIZES, ModelError, UnsupportedOperatorError
from relay_tune.frontend.onnx_import.build import Builder, shape_of, tensor_type
from relay_tune.ir.dim import Dim
from relay_tune.ir.dim_arithmetic import multiply
from relay_tune.ir.expr import Expr
from relay_tune.typing.relations.reshape_codes import reshaped

COPY, INFER, JOIN, SPLIT = 0, -1, -3, -4
"""The codes of `reshape` (see `relay_tune.typing.relations.reshape_codes`)."""


def reshape_to(build: Builder, data: Expr, target: Sequence[Dim]) -> Expr:
    """`data` with exactly the sizes `target`, which may be symbolic.

    A symbolic size is written as a copy of the size at its place, or as what is left of the
    elements, or as part of an axis that is split or of two that are joined; raises
    UnsupportedOperatorError where that is not enough.
    """
    source = shape_of(data)
    if tuple(target) == source:
        return data
    if all(isinstance(dim, int) for dim in target):
        _check_count(source, target)
        return build.call("reshape", data, newshape=tuple(target), allowzero=True)
    return reshape_with_rest(build, data, target)


def reshape_with_rest(build: Builder, data: Expr, target: Sequence[Dim]) -> Expr:
    """`data` with the sizes `target`, one of which may be INFER: whatever is left of the elements.

    Raises UnsupportedOperatorError where the symbols among the sizes are no codes of `reshape`.
    """
    source = shape_of(data)
    codes = [_code(source, place, dim) for place, dim in enumerate(target)]
    if codes.count(INFER) <= 1 and 0 not in target:
        return build.call("reshape", data, newshape=tuple(codes))
    result = reshaped(tensor_type(data), tuple(target), True)
    grouped = _codes_by_groups(source, [dim for dim in result if dim != 1])
    if grouped is None or 0 in target:
        raise UnsupportedOperatorError(
            f"a reshape of ({_text(source)}) to ({_text(target)}) has too many unknown sizes.",
            remedy=FIX_SIZES,
        )
    ones = tuple(axis for axis, dim in enumerate(source) if dim == 1)
    data = build.call("squeeze", data, axis=ones) if ones else data
    data = build.call("reshape", data, newshape=tuple(grouped))
    for place, dim in enumerate(result):
        if dim == 1:
            data = build.call("expand_dims", data, axis=place)
    return data


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


def _codes_by_groups(source: Sequence[Dim], target: Sequence[Dim]) -> list[int] | None:
    """Codes that copy axes, join two or split one; None where the shapes differ in other ways.

    Axes of size 1 are left out on both sides.
    (n, 27, h, w) to (n, 3, 9, h, w) is COPY, SPLIT 3 9, COPY, COPY.
    """
    codes: list[int] = []
    left, right = [dim for dim in source if dim != 1], list(target)
    while left and right:
        if left[0] == right[0]:
            codes.append(left[0] if isinstance(left[0], int) else COPY)
            del left[0], right[0]
        elif len(left) > 1 and multiply(left[0], left[1]) == right[0]:
            codes.append(JOIN)
            del left[:2], right[0]
        elif len(right) > 1 and multiply(right[0], right[1]) == left[0]:
            codes += [SPLIT, *(each if isinstance(each, int) else INFER for each in right[:2])]
            del left[0], right[:2]
        else:
            return None
    return None if left or right or codes.count(INFER) > 1 else codes


def _check_count(source: Sequence[Dim], target: Sequence[Dim]) -> None:
    before, after = _product(source), _product(target)
    if before is not None and before != after:
        raise ModelError(
            f"({_text(source)}) has {before} elements, which do not fit the shape "
            f"({_text(target)})."
        )


def _text(dims: Sequence[Dim]) -> str:
    return ", ".join(map(str, dims))
