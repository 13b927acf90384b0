"""The target shape of `reshape`, with its codes.

 n  a size
 0  the size of the source axis at this position (a size, if zero is allowed)
-1  whatever is left of the number of elements; once at most
-2  all source axes that are left
-3  the product of the next two source axes
-4  the next source axis, split into the two sizes that follow; one of them may be -1
"""

from __future__ import annotations

from collections.abc import Sequence

from relay_tune.ir.dim import UNKNOWN, Dim, UnknownDim
from relay_tune.ir.dim_arithmetic import floor_divide, multiply, product
from relay_tune.ir.dim_quotient import exact_quotient
from relay_tune.ir.operator import RelationError
from relay_tune.ir.types import TensorType
from relay_tune.typing.type_text import type_text


def reshaped(data: TensorType, codes: tuple[Dim, ...], allow_zero: bool) -> tuple[Dim, ...]:
    """The shape that `codes` make of `data`; RelationError if the numbers of elements differ."""
    target = _expand(data, codes, allow_zero)
    if target.count(-1) > 1:
        raise RelationError(f"newshape {codes} has more than one -1")
    source, rest = _cancel(data.shape, [dim for dim in target if dim != -1])
    if -1 in target:
        inferred = _divide(data, codes, source, rest)
        return tuple(inferred if dim == -1 else dim for dim in target)
    before, after = product(source), product(rest)
    if isinstance(before, int) and isinstance(after, int) and before != after:
        raise _wrong_size(data, codes)
    return tuple(target)


def check_same_count(data: TensorType, source: Sequence[Dim], target: Sequence[Dim]) -> None:
    """RelationError if axes of `data` surely have another number of elements than `target`."""
    if UNKNOWN in (*source, *target):
        return
    before, after = (product(sizes) for sizes in _cancel(source, target))
    if isinstance(before, int) and isinstance(after, int) and before != after:
        raise _wrong_size(data, tuple(target))


def _expand(data: TensorType, codes: tuple[Dim, ...], allow_zero: bool) -> list[Dim]:
    """The target with all codes but -1 replaced by sizes."""
    target: list[Dim] = []
    axis = position = 0
    while position < len(codes):
        code = codes[position]
        position += 1
        if code == -2:
            target += data.shape[axis:]
            axis = len(data.shape)
        elif code == -3:
            target.append(multiply(_axis(data, axis, codes), _axis(data, axis + 1, codes)))
            axis += 2
        elif code == -4:
            target += _split(data, axis, codes, position)
            axis, position = axis + 1, position + 2
        else:
            copied = code == 0 and not allow_zero
            target.append(_axis(data, axis, codes) if copied else _size(code, codes))
            axis += 1
    return target


def _split(data: TensorType, axis: int, codes: tuple[Dim, ...], position: int) -> list[Dim]:
    whole = _axis(data, axis, codes)
    parts = list(codes[position : position + 2])
    if len(parts) != 2 or parts == [-1, -1]:
        raise RelationError(f"newshape {codes}: -4 needs two sizes after it, one may be -1")
    if -1 not in parts:
        if isinstance(whole, int) and product(parts) != whole:
            raise _wrong_size(data, codes)
        return parts
    known = parts[1] if parts[0] == -1 else parts[0]
    other = _divide(data, codes, [whole], [known])
    return [other if part == -1 else part for part in parts]


def _axis(data: TensorType, axis: int, codes: tuple[Dim, ...]) -> Dim:
    if axis < len(data.shape):
        return data.shape[axis]
    raise RelationError(
        f"newshape {codes} refers to dimension {axis}, but {type_text(data)} has "
        f"{len(data.shape)} dimension(s)"
    )


def _size(code: Dim, codes: tuple[Dim, ...]) -> Dim:
    if isinstance(code, int) and code < -1:
        raise RelationError(f"newshape {codes}: {code} is not a size or a code (0, -1 ... -4)")
    return code


def _cancel(source: Sequence[Dim], target: Sequence[Dim]) -> tuple[list[Dim], list[Dim]]:
    """Both without the sizes that they share, so that symbols drop out of quotients."""
    left, right = list(source), []
    for dim in target:
        if dim in left and dim != 0:
            left.remove(dim)
        else:
            right.append(dim)
    return left, right


def _divide(
    data: TensorType, codes: tuple[Dim, ...], source: Sequence[Dim], known: Sequence[Dim]
) -> Dim:
    """The number of source elements divided by the product of the sizes that are known."""
    total, divisor = product(source), product(known)
    if not isinstance(divisor, int) or isinstance(total, UnknownDim):
        exact = exact_quotient(total, divisor)
        return UNKNOWN if exact is None else exact
    if divisor == 0 or (isinstance(total, int) and total % divisor):
        raise _wrong_size(data, codes)
    return floor_divide(total, divisor)


def _wrong_size(data: TensorType, codes: tuple[Dim, ...]) -> RelationError:
    wanted = ", ".join(str(code) for code in codes)
    return RelationError(
        f"{type_text(data)} has {product(data.shape)} elements, which do not fit "
        f"newshape ({wanted})"
    )
