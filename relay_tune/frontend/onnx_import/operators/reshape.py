"""Reshaping, also to sizes that are known by name only."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise

from relay_tune.errors import ModelError
from relay_tune.frontend.onnx_import.build import Builder, shape_of, tensor_type
from relay_tune.frontend.onnx_import.open_sizes import (
    Size,
    are_known,
    axis_size,
    dims_of,
    have_equally_many,
    known_size,
    reshape_to_sizes,
    size_product,
    size_vector,
)
from relay_tune.ir.dim import (
    UNKNOWN,
    Dim,
    Polynomial,
    PositivePart,
    Quotient,
    Symbol,
    UnknownDim,
    shape_text,
)
from relay_tune.ir.dim_arithmetic import multiply, positive_part, product
from relay_tune.ir.dim_quotient import exact_quotient
from relay_tune.ir.expr import Expr
from relay_tune.typing.relations.reshape_codes import reshaped

COPY, INFER, JOIN, SPLIT = 0, -1, -3, -4
"""The codes of `reshape` (see `relay_tune.typing.relations.reshape_codes`)."""


def reshape_to_known(
    build: Builder, data: Expr, target: Sequence[Size], *, is_checked: bool = False
) -> Expr:
    """`data` with sizes of which the program computes those that are no dimensions.

    A single one of these beside numbers is what is left of the elements; where it `is_checked`, a
    run in which it is another size ends in an error.
    """
    dims = dims_of(target)
    if are_known(dims):
        return reshape_to(build, data, dims)
    numbers = [dim for dim in dims if isinstance(dim, int) and dim > 0]
    if len(numbers) == len(dims) - 1 and not is_checked:
        codes = tuple(dim if isinstance(dim, int) else INFER for dim in dims)
        return build.call("reshape", data, newshape=codes)
    return reshape_to_sizes(build, data, target)


def reshape_to(build: Builder, data: Expr, target: Sequence[Dim]) -> Expr:
    """`data` with exactly the sizes `target`, which may be symbolic; `?` is that at its axis.

    A symbolic size is written as a copy of the size at its axis, or as what is left of the
    elements, or as part of an axis that is split or of two that are joined, or else computed when
    the program runs.
    """
    source = shape_of(data)
    if tuple(target) == source:
        return data
    if all(isinstance(dim, int) for dim in target):
        _check_count(source, target)
        return build.call("reshape", data, newshape=tuple(target), allowzero=True)
    return reshape_with_rest(build, data, target)


def reshape_with_rest(build: Builder, data: Expr, target: Sequence[Dim]) -> Expr:
    """`data` with the sizes `target`, one of which may be INFER: what is left of the elements."""
    source = shape_of(data)
    codes = [_code(source, index, dim) for index, dim in enumerate(target)]
    if codes.count(INFER) <= 1 and 0 not in target:
        return _of_shape(build, build.call("reshape", data, newshape=tuple(codes)), target)
    result = reshaped(tensor_type(data), tuple(target), True)
    before, after = ([dim for dim in dims if dim != 1] for dims in (source, result))
    steps = _steps_by_groups(before, after)
    if steps is None or 0 in target:
        return _reshape_by_values(build, data, target)
    ones = tuple(axis for axis, dim in enumerate(source) if dim == 1)
    data = build.call("squeeze", data, axis=ones) if ones else data
    for step in steps:
        data = build.call("reshape", data, newshape=tuple(step))
    for index, dim in enumerate(result):
        if dim == 1:
            data = build.call("expand_dims", data, axis=index)
    return data


def _of_shape(build: Builder, data: Expr, target: Sequence[Dim]) -> Expr:
    """`data` with sizes that are told of it, which it has in any run that makes sense."""
    pairs = list(zip(shape_of(data), target, strict=True))
    wrong = [found != wanted and wanted != INFER for found, wanted in pairs]
    if not any(wrong):
        return data
    opened = [UNKNOWN if w else found for w, (found, _) in zip(wrong, pairs, strict=True)]
    wanted = [found if dim == INFER else dim for found, dim in pairs]
    return build.with_shape(build.with_shape(data, opened), wanted)


def _reshape_by_values(build: Builder, data: Expr, target: Sequence[Dim]) -> Expr:
    """A reshape to sizes that are computed when the program runs."""
    if INFER in target:
        rest = _rest(shape_of(data), [dim for dim in target if dim != INFER])
        if rest is None:
            return _reshape_with_open_rest(build, data, target)
        target = [rest if dim == INFER else dim for dim in target]
    return reshape_to_sizes(build, data, _copied(build, data, target))


def _reshape_with_open_rest(build: Builder, data: Expr, target: Sequence[Dim]) -> Expr:
    vector = size_vector(build, _copied(build, data, target))
    found = build.call("dyn.reshape", data, vector, allowzero=True)
    return build.with_shape(found, [UNKNOWN if dim == INFER else dim for dim in target])


def _copied(build: Builder, data: Expr, target: Sequence[Dim]) -> list[Size]:
    """The sizes of a target in which `?` is the size of the data at the same axis."""
    return [
        axis_size(build, data, axis) if isinstance(dim, UnknownDim) else dim
        for axis, dim in enumerate(target)
    ]


def _rest(source: Sequence[Dim], target: Sequence[Dim]) -> Dim | None:
    """Quotient of the number of elements of `source`; None where that is no polynomial."""
    if not are_known(source):
        return None
    whole, known = product(source), product(target)
    exact = exact_quotient(whole, known)
    if exact is not None:
        return exact
    # d * (n // d) is n wherever the elements can be divided so
    return exact_quotient(multiply(whole, _divisors(known)), _numerators(known))


def _numerators(dim: Dim) -> Dim:
    """`dim`, a single product, with n for each n // d."""
    if not isinstance(dim, Polynomial) or len(dim.terms) != 1:
        return dim
    ((atoms, factor),) = dim.terms
    numerators = [each.numerator if isinstance(each, Quotient) else _dim(each) for each in atoms]
    return multiply(product(numerators), factor)


def _dim(atom: Symbol | PositivePart) -> Dim:
    return atom if isinstance(atom, Symbol) else positive_part(atom.value)


def _divisors(dim: Dim) -> int:
    """The product of the d of each n // d in a single product."""
    if not isinstance(dim, Polynomial) or len(dim.terms) != 1:
        return 1
    ((atoms, _),) = dim.terms
    return math.prod(each.divisor for each in atoms if isinstance(each, Quotient))


def reshape_by_vector(
    build: Builder, data: Expr, vector: Expr, target: Sequence[Dim], allow_zero: bool
) -> Expr:
    """A reshape by a vector whose elements are only known when the program runs (`?`)."""
    sizes = [UNKNOWN if dim == INFER or (dim == 0 and not allow_zero) else dim for dim in target]
    vector = build.call("cast", vector, dtype="int64")
    return build.with_shape(build.call("dyn.reshape", data, vector, allowzero=allow_zero), sizes)


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
    sizes = [known_size(build, data, index) for index in range(len(shape))]
    parts = (size_product(build, sizes[:axis]), size_product(build, sizes[axis:]))
    return reshape_to_sizes(build, data, parts)


def reshape_like_source(build: Builder, data: Expr, source: Expr) -> Expr:
    """`data` with the sizes of `source`."""
    shape = shape_of(source)
    if all(isinstance(dim, int) for dim in shape):
        return reshape_to(build, data, shape)
    if have_equally_many(shape_of(data), shape):
        return build.call("reshape_like", data, source)
    sizes = [known_size(build, source, axis) for axis in range(len(shape))]
    return reshape_to_sizes(build, data, sizes)


def _product(dims: Sequence[Dim]) -> int | None:
    numbers = [dim for dim in dims if isinstance(dim, int)]
    return math.prod(numbers) if len(numbers) == len(dims) else None


def _code(source: Sequence[Dim], axis: int, dim: Dim) -> int:
    if isinstance(dim, int):
        return dim
    return COPY if axis < len(source) and source[axis] == dim else INFER


def _steps_by_groups(source: Sequence[Dim], target: Sequence[Dim]) -> list[list[int]] | None:
    """The codes of reshapes that split axes of known sizes in more parts than two, or join as many.

    Axes of size 1 are left out on both sides. None where the shapes differ in other ways.
    (12, h, w) to (3, 2, 2, h, w) is SPLIT 6 2, COPY, COPY and then SPLIT 3 2, 2, COPY, COPY.
    """
    codes = _codes_by_groups(source, target)
    if codes is not None:
        return [codes]
    for joined in _with_joined_sizes(target):
        first, last = _steps_by_groups(source, joined), _codes_by_groups(joined, target)
        if first is not None and last is not None:
            return [*first, last]
    for joined in _with_joined_sizes(source):
        begin, rest = _codes_by_groups(source, joined), _codes_by_groups(joined, target)
        if begin is not None and rest is not None:
            return [begin, rest]
    return None


def _with_joined_sizes(shape: Sequence[Dim]) -> Iterator[list[Dim]]:
    """The shape with two neighbours of known size as one, wherever there are such."""
    for index, (one, other) in enumerate(pairwise(shape)):
        if isinstance(one, int) and isinstance(other, int):
            yield [*shape[:index], one * other, *shape[index + 2 :]]


def _codes_by_groups(source: Sequence[Dim], target: Sequence[Dim]) -> list[int] | None:
    """Codes that copy axes, join two or split one; None where the shapes differ in other ways.

    (n, 27, h, w) to (n, 3, 9, h, w) is COPY, SPLIT 3 9, COPY, COPY.
    """
    codes: list[int] = []
    left, right = list(source), list(target)
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
            f"{shape_text(source)} has {before} elements, which do not fit the shape "
            f"{shape_text(target)}."
        )
