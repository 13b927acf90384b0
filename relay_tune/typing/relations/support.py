"""Helpers of type relations: reading inputs, comparing dimensions, reporting conflicts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from typing import Any

from relay_tune.ir.dim import Dim, UnknownDim
from relay_tune.ir.operator import Relation, RelationContext, RelationError
from relay_tune.ir.types import IncompleteType, TensorType, TupleType, Type
from relay_tune.typing.type_text import type_text


def known_tensor(type_: Type) -> TensorType | None:
    """The input as a tensor type, or None while it is unknown; RelationError if it is no tensor."""
    if isinstance(type_, TensorType):
        return type_
    if isinstance(type_, IncompleteType):
        return None
    raise RelationError(f"expects a tensor, but the argument has type {type_text(type_)}")


def known_tensors(inputs: Sequence[Type]) -> tuple[TensorType, ...] | None:
    """All inputs as tensor types, or None while one of them is unknown."""
    tensors = [known_tensor(type_) for type_ in inputs]
    known = tuple(tensor for tensor in tensors if tensor is not None)
    return known if len(known) == len(tensors) else None


def of_tensor(rule: Callable[[Any, TensorType], Type]) -> Relation:
    """The relation that asks a rule(attributes, data) as soon as the first input is known."""

    @wraps(rule)
    def relation(inputs: Sequence[Type], attributes: Any, context: RelationContext) -> Type | None:
        data = known_tensor(inputs[0])
        return None if data is None else rule(attributes, data)

    return relation


def of_tensors(rule: Callable[..., Type]) -> Relation:
    """The relation that asks a rule(attributes, *tensors) as soon as all inputs are known."""

    @wraps(rule)
    def relation(inputs: Sequence[Type], attributes: Any, context: RelationContext) -> Type | None:
        tensors = known_tensors(inputs)
        return None if tensors is None else rule(attributes, *tensors)

    return relation


def tensors_of_tuple(type_: Type) -> tuple[TensorType, ...] | None:
    """The fields of a tuple of tensors, or None while unknown; RelationError otherwise."""
    if isinstance(type_, IncompleteType):
        return None
    if not isinstance(type_, TupleType):
        raise RelationError(f"expects a tuple of tensors, but found {type_text(type_)}")
    return known_tensors(type_.fields)


def normalize_axis(axis: int, rank: int, tensor: Type) -> int:
    """`axis` counted from the front; RelationError if it is out of range for `rank`."""
    if not -rank <= axis < rank:
        raise RelationError(
            f"axis {axis} is out of range for {type_text(tensor)}: it must be in [{-rank}, {rank})"
        )
    return axis % rank


def same_dim(left: Dim, right: Dim) -> Dim | None:
    """The dimension that equals both, the more specific one of a `?` pair; None on a conflict."""
    if left == right or isinstance(right, UnknownDim):
        return left
    return right if isinstance(left, UnknownDim) else None


def conflict(
    rule: str,
    left: Type,
    right: Type,
    detail: str,
    remedy: str | None = None,
    sizes: tuple[Dim, Dim] | None = None,
) -> RelationError:
    """The error of two types that contradict a rule, with the position where they do.

    `sizes` are those of the two that would have to be equal.
    """
    message = f"{rule}: {type_text(left)} and {type_text(right)} conflict, {detail}"
    return RelationError(message, label=detail, remedy=remedy, sizes=sizes)


def require_same_dim(rule: str, left: TensorType, right: TensorType, axes: tuple[int, int]) -> Dim:
    """The common size of `left` at axes[0] and `right` at axes[1]; RelationError if they differ."""
    first, second = left.shape[axes[0]], right.shape[axes[1]]
    common = same_dim(first, second)
    if common is None:
        raise conflict(
            rule,
            left,
            right,
            f"dimension {axes[0]} of the first is {first}, "
            f"dimension {axes[1]} of the second is {second}",
            remedy="Make the sizes equal, for example with transpose, reshape or strided_slice.",
            sizes=(first, second),
        )
    return common


def require_same_dtype(rule: str, left: TensorType, right: TensorType) -> None:
    """RelationError unless both have one element type."""
    if left.dtype != right.dtype:
        raise conflict(
            rule,
            left,
            right,
            f"dtype {left.dtype} does not match {right.dtype}",
            f'Convert one of the two, such as cast(value, dtype="{left.dtype}").',
        )


def require_rank(tensor: TensorType, rank: int, rule: str) -> None:
    """RelationError unless `tensor` has `rank` dimensions."""
    if len(tensor.shape) != rank:
        raise RelationError(
            f"{rule}: expects {rank} dimension(s), but {type_text(tensor)} has {len(tensor.shape)}"
        )


def require_shape(rule: str, actual: Type, expected: TensorType, context: RelationContext) -> None:
    """Solve an unknown `actual` to `expected`; a known one must have the shape of `expected`."""
    tensor = known_tensor(actual)
    if tensor is None:
        context.unify(actual, expected)
    else:
        require_same_shape(rule, tensor, expected)


def require_same_shape(rule: str, tensor: TensorType, expected: TensorType) -> None:
    """RelationError unless the shapes are equal."""
    if len(tensor.shape) != len(expected.shape):
        raise conflict(
            rule,
            tensor,
            expected,
            f"they have {len(tensor.shape)} and {len(expected.shape)} dimensions",
        )
    for axis in range(len(tensor.shape)):
        require_same_dim(rule, tensor, expected, (axis, axis))


def require_within(rule: str, part: TensorType, whole: TensorType, axes: Iterable[int]) -> None:
    """RelationError where `part` is known to be larger than `whole` along one of the axes.

    What only a run can tell is checked when it comes (`relay_tune.op.window_fit`).
    """
    for axis in axes:
        size, most = part.shape[axis], whole.shape[axis]
        if isinstance(size, int) and isinstance(most, int) and size > most:
            raise conflict(rule, whole, part, f"dimension {axis} is {most}, less than {size}")


def as_tuple(value: int | Sequence[int], length: int, name: str) -> tuple[int, ...]:
    """An attribute that may be one number for all axes, or one number an axis."""
    numbers = (value,) if isinstance(value, int) else tuple(value)
    if len(numbers) == 1:
        return numbers * length
    if len(numbers) != length:
        raise RelationError(f"attribute {name} has {len(numbers)} values, but {length} are needed")
    return numbers
