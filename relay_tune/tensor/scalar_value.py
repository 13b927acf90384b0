"""The value of a scalar expression over a grid of axis values, in numpy."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence

import numpy as np

from relay_tune.remembered import remembered
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
    binary_value,
    converted,
    numpy_dtype,
    reinterpret_bits,
    unary_value,
    word_of,
)
from relay_tune.tensor.walk import REMEMBERED, operands

Mask = Array | None
"""Where a value is used; None is everywhere."""

Visit = Generator[tuple[Scalar, Mask], Array, Array]
"""A visit of nodes: asks for operands of selects where they count, returns the last's value."""


def scalar_value(root: Scalar, axes: Mapping[Axis, Array], arrays: Mapping[Tensor, Array]) -> Array:
    """The value of `root` with axes and tensors as given; broadcasts over the axis arrays.

    Each branch of a `select` is evaluated only where it is taken: IndexError is raised if a load
    that counts is outside of its tensor.
    """
    values: dict[Scalar, Array] = dict(axes.items())
    known = {id(None): values.copy()}
    masks: list[Mask] = []
    pending = [_visit(root, None, known[id(None)], arrays)]
    answer: Array | None = None
    with np.errstate(all="ignore"):
        while pending:
            try:
                node, mask = next(pending[-1]) if answer is None else pending[-1].send(answer)
            except StopIteration as stop:
                answer = stop.value
                pending.pop()
                continue
            masks.append(mask)  # an id is only unique while the mask lives
            below = known.get(id(mask))
            if below is None:
                below = known[id(mask)] = values.copy()
            answer = below.get(node)
            if answer is None:
                pending.append(_visit(node, mask, below, arrays))
    assert answer is not None
    return answer


def values_over(root: Scalar, axes: Sequence[Axis], arrays: Mapping[Tensor, Array]) -> Array:
    """The value of `root` at all points of `axes`, of the shape of their extents.

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

    Of a dimension with a number for an index that is one position.
    """
    if not isinstance(root, Load):
        return None
    array = arrays[root.tensor]
    subscripts: list[int | slice] = []
    for index, size in zip(root.indices, array.shape, strict=True):
        is_number = isinstance(index, Literal) and index.value in range(size)
        if not (isinstance(index, Axis) or is_number):
            return None
        subscripts.append(int(index.value) if isinstance(index, Literal) else slice(None))
    indices = [index for index in root.indices if isinstance(index, Axis)]
    array = array[tuple(subscripts)]
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
    root: Scalar, mask: Mask, known: dict[Scalar, Array], arrays: Mapping[Tensor, Array]
) -> Visit:
    """The value of `root`; `known` are those that are used at the same points."""
    for node in _nodes_beside_selects(root):
        if node in known:
            continue
        if not isinstance(node, Select):
            known[node] = _value(node, mask, known, arrays)
            continue
        condition = yield node.condition, mask
        if condition.ndim == 0:
            known[node] = yield node.if_true if condition else node.if_false, mask
        else:
            if_true = yield node.if_true, _restrict(mask, condition)
            if_false = yield node.if_false, _restrict(mask, ~condition)
            known[node] = np.where(condition, if_true, if_false)
    return known[root]


@remembered(REMEMBERED)
def _nodes_beside_selects(root: Scalar) -> tuple[Scalar, ...]:
    """Each node once, operands first; without those of selects, which count at some points only."""
    seen: set[Scalar] = set()
    found: list[Scalar] = []
    stack: list[Scalar | None] = [root]
    while stack:
        node = stack.pop()
        if node is None:  # the operands of the node below were visited
            found.append(stack.pop() or root)
        elif node not in seen:
            seen.add(node)
            stack += (node, None)
            if not isinstance(node, Select):
                stack += operands(node)[::-1]
    return tuple(found)


def _value(
    node: Scalar, mask: Mask, known: Mapping[Scalar, Array], arrays: Mapping[Tensor, Array]
) -> Array:
    """The value of a node over those of its operands."""
    match node:
        case Binary():
            return binary_value(node.operation, known[node.left], known[node.right])
        case Literal():
            return _literal_value(node)
        case Load():
            indices = [known[index] for index in node.indices]
            return _load(node.tensor.name, arrays[node.tensor], indices, mask)
        case UnaryNode():
            return unary_value(node.operation, known[node.operand])
        case Cast():
            return converted(known[node.operand], node.dtype)
        case Reinterpret():
            return reinterpret_bits(known[node.operand], node.dtype)
        case Word():
            return word_of([known[element] for element in node.elements])
        case Axis():
            raise KeyError(node)  # an axis without a value
        case _:
            raise TypeError(f"a {node.__class__.__name__} only stands at the root of a tensor")


@remembered(REMEMBERED)
def _literal_value(node: Literal) -> Array:
    return np.asarray(node.value).astype(numpy_dtype(node.dtype))


def _restrict(mask: Mask, condition: Array) -> Array:
    return condition if mask is None else mask & condition


def _load(name: str, array: Array, indices: list[Array], mask: Mask) -> Array:
    """`array[indices]`; lanes that are masked out read any element."""
    for dimension, (index, size) in enumerate(zip(indices, array.shape, strict=True)):
        if _is_inside(index, size):
            continue
        if mask is None or (((index < 0) | (index >= size)) & mask).any():
            raise IndexError(f"{name} is read outside of dimension {dimension} of size {size}")
        if size:
            indices[dimension] = np.clip(index, 0, size - 1)
    if array.size == 0:
        return np.zeros(np.broadcast_shapes(*(index.shape for index in indices)), array.dtype)
    return np.asarray(array[tuple(indices)])


def _is_inside(index: Array, size: int) -> bool:
    """Whether all of an index is inside of a dimension."""
    if index.ndim == 0:
        return bool(0 <= index.item() < size)
    return index.size == 0 or bool(index.min() >= 0 and index.max() < size)
