"""The value of a scalar expression over a grid of axis values, in numpy."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence

import numpy as np

from relay_tune.tensor.expression import (
    Axis,
    Binary,
    Cast,
    Literal,
    Load,
    Reinterpret,
    Scalar,
    Select,
    Tensor,
    Word,
)
from relay_tune.tensor.expression import Unary as UnaryNode
from relay_tune.tensor.scalar_semantics import (
    Array,
    apply_binary,
    apply_unary,
    convert,
    numpy_dtype,
    reinterpret_bits,
    word_of,
)

Mask = Array | None
"""Where a value is used; None is everywhere."""

Visit = Generator[tuple[Scalar, Mask], Array, Array]
"""A visit of one node: asks for operands where they are used, returns the node's value."""


def scalar_value(root: Scalar, axes: Mapping[Axis, Array], arrays: Mapping[Tensor, Array]) -> Array:
    """The value of `root` with axes and tensors as given; broadcasts over the axis arrays.

    Each branch of a `select` is evaluated only where it is taken: IndexError is raised if a load
    that counts is outside of its tensor.
    """
    done: dict[tuple[Scalar, int], Array] = {}
    masks: list[Mask] = []
    pending = [((root, id(None)), _visit(root, None, axes, arrays))]
    answer: Array | None = None
    while pending:
        key, visit = pending[-1]
        try:
            node, mask = next(visit) if answer is None else visit.send(answer)
        except StopIteration as stop:
            answer = done[key] = stop.value
            pending.pop()
            continue
        masks.append(mask)  # an id is only unique while the mask lives
        answer = done.get((node, id(mask)))
        if answer is None:
            pending.append(((node, id(mask)), _visit(node, mask, axes, arrays)))
    assert answer is not None
    return answer


def values_over(root: Scalar, axes: Sequence[Axis], arrays: Mapping[Tensor, Array]) -> Array:
    """The value of `root` at all places of `axes`, of the shape of their extents.

    It may be a view of one of the arrays.
    """
    view = _view(root, axes, arrays)
    if view is not None:
        return view
    shape = tuple(axis.extent for axis in axes)
    grid = dict(zip(axes, np.indices(shape, sparse=True), strict=True))
    return np.broadcast_to(scalar_value(root, grid, arrays), shape)


def _view(root: Scalar, axes: Sequence[Axis], arrays: Mapping[Tensor, Array]) -> Array | None:
    """The array that a load reads, its dimensions in the order of `axes`, where it reads all.

    Of a dimension with a number for an index that is one place.
    """
    if not isinstance(root, Load):
        return None
    array = arrays[root.tensor]
    places: list[int | slice] = []
    for index, size in zip(root.indices, array.shape, strict=True):
        is_place = isinstance(index, Literal) and index.value in range(size)
        if not (isinstance(index, Axis) or is_place):
            return None
        places.append(int(index.value) if isinstance(index, Literal) else slice(None))
    indices = [index for index in root.indices if isinstance(index, Axis)]
    array = array[tuple(places)]
    positions = {index: position for position, index in enumerate(indices)}
    reads_all = len(positions) == array.ndim and array.shape == tuple(a.extent for a in indices)
    used = [positions[axis] for axis in axes if axis in positions]
    if not reads_all or len(used) < array.ndim:
        return None
    ordered = array.transpose(used)
    for position, axis in enumerate(axes):
        if axis not in positions:
            ordered = np.expand_dims(ordered, position)
    return np.broadcast_to(ordered, tuple(axis.extent for axis in axes))


def _visit(
    node: Scalar, mask: Mask, axes: Mapping[Axis, Array], arrays: Mapping[Tensor, Array]
) -> Visit:
    match node:
        case Axis():
            return axes[node]
        case Literal():
            return np.asarray(node.value).astype(numpy_dtype(node.dtype))
        case Load():
            indices = []
            for index in node.indices:
                indices.append((yield index, mask))
            return _load(node.tensor.name, arrays[node.tensor], indices, mask)
        case UnaryNode():
            return apply_unary(node.operation, (yield node.operand, mask))
        case Cast():
            return convert((yield node.operand, mask), node.dtype)
        case Reinterpret():
            return reinterpret_bits((yield node.operand, mask), node.dtype)
        case Word():
            elements = []
            for element in node.elements:
                elements.append((yield element, mask))
            return word_of(elements)
        case Binary():
            left = yield node.left, mask
            right = yield node.right, mask
            return apply_binary(node.operation, left, right)
        case Select():
            condition = yield node.condition, mask
            if_true = yield node.if_true, _restrict(mask, condition)
            if_false = yield node.if_false, _restrict(mask, ~condition)
            return np.where(condition, if_true, if_false)
        case _:
            raise TypeError(f"a {node.__class__.__name__} only stands at the root of a tensor")


def _restrict(mask: Mask, condition: Array) -> Array:
    return condition if mask is None else mask & condition


def _load(name: str, array: Array, indices: list[Array], mask: Mask) -> Array:
    """`array[indices]`; lanes that are masked out read any element."""
    for dimension, (index, size) in enumerate(zip(indices, array.shape, strict=True)):
        if _leaves(index, size, mask):
            raise IndexError(f"{name} is read outside of dimension {dimension} of size {size}")
    if array.size == 0:
        return np.zeros(np.broadcast_shapes(*(index.shape for index in indices)), array.dtype)
    if mask is not None:
        indices = [np.clip(i, 0, size - 1) for i, size in zip(indices, array.shape, strict=True)]
    return np.asarray(array[tuple(indices)])


def _leaves(index: Array, size: int, mask: Mask) -> bool:
    """Whether an index that counts is outside of a dimension."""
    if mask is not None:
        return bool((((index < 0) | (index >= size)) & mask).any())
    if index.ndim == 0:
        return not 0 <= index.item() < size
    return index.size > 0 and not (index.min() >= 0 and index.max() < size)
