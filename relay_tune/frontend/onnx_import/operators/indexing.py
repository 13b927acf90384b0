"""ONNX operators that read or write parts of tensors by position."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from relay_tune.errors import ModelError
from relay_tune.frontend.onnx_import.build import (
    Builder,
    checked_axes,
    checked_axis,
    is_known,
    known_array,
    known_integers,
    rank_of,
    shape_of,
    static_dim,
)
from relay_tune.frontend.onnx_import.node import OnnxNode
from relay_tune.frontend.onnx_import.open_sizes import axis_size, known_size, positions, size_vector
from relay_tune.frontend.onnx_import.operators.elementwise import cast_to
from relay_tune.frontend.onnx_import.operators.open_slice import (
    open_slice,
    slice_along,
    slice_from_front,
)
from relay_tune.frontend.onnx_import.operators.translator import Translator
from relay_tune.frontend.onnx_import.symbolic import vector_dims
from relay_tune.frontend.onnx_import.symbolic_rules import is_equal
from relay_tune.ir.dim import UNKNOWN, Dim
from relay_tune.ir.expr import Constant, Expr

_OPEN_END = 2**31 - 1


def translate_slice(node: OnnxNode, build: Builder) -> Expr:
    """A part of a tensor: start, end and step along some axes, as in Python."""
    data = node.input(0)
    if node.opset < 10:
        starts, ends = node.integers("starts"), node.integers("ends")
        axes = node.integers("axes", tuple(range(len(starts))))
        steps: tuple[int, ...] = (1,) * len(starts)
    else:
        return _slice_by_vectors(node, build, data)
    cuts = [_numbers_of(cut) for cut in _cuts(data, axes, starts, ends, steps)]
    return _sliced(build, data, [cut for cut in cuts if cut is not None])


def _slice_by_vectors(node: OnnxNode, build: Builder, data: Expr) -> Expr:
    """A slice whose bounds are vectors, which only a run may know."""
    if (axes_of_run := node.optional(3)) is not None and not is_known(axes_of_run):
        bounds_of_run = (node.input(1), node.input(2), node.optional(4))
        return slice_along(build, data, bounds_of_run, axes_of_run)
    if axes_of_run is None and shape_of(node.input(1)) == (UNKNOWN,):
        return slice_from_front(build, data, (node.input(1), node.input(2), node.optional(4)))
    starts, ends = (
        vector_dims(build, node.input(index), f"the input {name}")
        for index, name in ((1, "starts"), (2, "ends"))
    )
    given_axes, given_steps = node.optional(3), node.optional(4)
    axes = tuple(range(len(starts)))
    if given_axes is not None:
        axes = known_integers(given_axes, "the input axes")
    steps: tuple[Dim, ...] = (1,) * len(starts)
    if given_steps is not None:
        steps = vector_dims(build, given_steps, "the input steps")
    sizes = shape_of(data)
    bounds = [
        (axis, start, _OPEN_END if is_equal(end, sizes[axis]) == step == 1 else end, step)
        for axis, start, end, step in _cuts(data, axes, starts, ends, steps)
    ]
    numbers = [_numbers_of(bound) for bound in bounds]
    cuts = [cut for cut in numbers if cut is not None]
    if len(cuts) == len(bounds) and all(_is_simple(sizes[cut[0]], cut) for cut in cuts):
        return _sliced(build, data, cuts)
    vectors = [node.input(1), node.input(2)]
    vectors.append(build.constant(np.array(steps)) if given_steps is None else given_steps)
    return open_slice(build, data, vectors, {each[0]: each[1:] for each in bounds})


def _cuts(
    data: Expr,
    axes: Sequence[int],
    starts: Sequence[Dim],
    ends: Sequence[Dim],
    steps: Sequence[Dim],
) -> list[tuple[int, Dim, Dim, Dim]]:
    if not len(starts) == len(ends) == len(axes) == len(steps):
        raise ModelError("starts, ends, axes and steps have different lengths.")
    if 0 in steps:
        raise ModelError("a step of a slice is 0.")
    return list(zip(checked_axes(axes, rank_of(data)), starts, ends, steps, strict=True))


def _numbers_of(bound: tuple[int, Dim, Dim, Dim]) -> Cut | None:
    """A cut all of whose bounds are numbers."""
    axis, start, end, step = bound
    if isinstance(start, int) and isinstance(end, int) and isinstance(step, int):
        return axis, start, end, step
    return None


def _is_simple(size: Dim, cut: Cut) -> bool:
    """Whether the size of a cut follows from its numbers: not for some backwards ones."""
    _, start, end, step = cut
    is_reversed = start in (-1, _OPEN_END, 2**63 - 1) and end <= -_OPEN_END
    return isinstance(size, int) or step > 0 or is_reversed


Cut = tuple[int, int, int, int]
"""Axis, start, end, step."""


def _sliced(build: Builder, data: Expr, cuts: Sequence[Cut]) -> Expr:
    """Slices with a negative step read the axis backwards, from its reversed end."""
    shape = shape_of(data)
    forward = [_forward(shape[axis], start, end, step) for axis, start, end, step in cuts]
    backward = [cut[0] for cut in cuts if cut[3] < 0]
    for axis in backward:
        data = build.call("reverse", data, axis=axis)
    kept = [
        (cut[0], *bounds)
        for cut, bounds in zip(cuts, forward, strict=True)
        if not _is_whole(shape[cut[0]], bounds)
    ]
    if not kept:
        return data
    axes, begins, ends, steps = (tuple(column) for column in zip(*kept, strict=True))
    return build.call("strided_slice", data, begin=begins, end=ends, strides=steps, axes=axes)


def _is_whole(dim: Dim, bounds: tuple[int, int, int]) -> bool:
    end = dim if isinstance(dim, int) else _OPEN_END
    return bounds == (0, end, 1)


def _forward(dim: Dim, start: int, end: int, step: int) -> tuple[int, int, int]:
    """Bounds with a positive step; on a reversed axis where the step was negative."""
    if isinstance(dim, int):
        indices = range(*slice(start, end, step).indices(dim))
        if not indices:
            return 0, 0, 1
        if step > 0:
            return indices[0], indices[-1] + 1, min(step, dim)
        return dim - 1 - indices[0], dim - indices[-1], min(-step, dim)
    if step < 0:
        return 0, _OPEN_END, min(-step, _OPEN_END)
    return max(start, -_OPEN_END), min(end, _OPEN_END), min(step, _OPEN_END)


def valid_indices(build: Builder, indices: Expr, size: Dim) -> Expr:
    """Indices of an axis: those that are known are checked, and count from the front."""
    if isinstance(indices, Constant) and isinstance(size, int):
        return _wrapped_constant(build, indices.data, size)
    return indices


def _wrapped_constant(build: Builder, indices: np.ndarray, size: int) -> Expr:
    if indices.dtype.kind not in "iu":
        raise ModelError(f"indices must be integers, but have the type {indices.dtype}.")
    wide = indices.astype(np.int64)
    if wide.size and (wide.min() < -size or wide.max() >= size):
        outside = wide[(wide < -size) | (wide >= size)][0]
        raise ModelError(f"index {outside} is out of range for an axis of size {size}.")
    return build.constant(np.where(wide < 0, wide + size, wide))


def translate_gather(node: OnnxNode, build: Builder) -> Expr:
    """Slices of one axis by index."""
    data, indices = node.input(0), node.input(1)
    axis = checked_axis(node.integer("axis", 0), rank_of(data))
    size = shape_of(data)[axis]
    chosen = valid_indices(build, indices, size)
    is_known = isinstance(chosen, Constant) and isinstance(size, int)
    return build.call("take", data, chosen, axis=axis, mode="clip" if is_known else "raise")


def translate_gather_elements(node: OnnxNode, build: Builder) -> Expr:
    """Single elements, by their index along one axis."""
    data = node.input(0)
    axis = checked_axis(node.integer("axis", 0), rank_of(data))
    indices = valid_indices(build, node.input(1), shape_of(data)[axis])
    return build.call("gather", data, indices, axis=axis)


def _coordinates_first(build: Builder, indices: Expr) -> Expr:
    """Index vectors along the first axis instead of the last."""
    rank = rank_of(indices)
    order = (rank - 1, *range(rank - 1))
    return build.call("transpose", indices, axes=order) if rank > 1 else indices


def _index_vectors(build: Builder, indices: Expr, axes: int, count: int | None = None) -> Expr:
    """Index vectors of as many coordinates as `count` says; those of a run are checked there.

    Without `count` their type has to tell. ModelError if the data has fewer axes.
    """
    if rank_of(indices) < 1:
        raise ModelError("the indices have no axis.")
    last = shape_of(indices)[-1]
    if isinstance(last, int) or count is None:
        count = static_dim(last)
    if not 1 <= count <= axes:
        raise ModelError(f"index vectors of {count} elements do not fit {axes} axes.")
    return build.with_shape(indices, (*shape_of(indices)[:-1], count))


def translate_gather_nd(node: OnnxNode, build: Builder) -> Expr:
    """Slices by vectors of indices."""
    data, indices = node.input(0), node.input(1)
    batch = node.integer("batch_dims", 0)
    if not 0 <= batch < min(rank_of(data), rank_of(indices)):
        raise ModelError(f"batch_dims {batch} does not fit the inputs.")
    axes = rank_of(data) - batch
    indices = _index_vectors(build, indices, axes, count=1 if axes == 1 else None)
    count = static_dim(shape_of(indices)[-1])
    coordinates = _coordinates_first(build, indices)
    return build.call("gather_nd", data, coordinates, batch_dims=batch, index_rank=count)


_SCATTER_MODES = {"none": "update", "add": "add", "mul": "mul", "min": "min", "max": "max"}


def _scatter_mode(node: OnnxNode) -> str:
    reduction = node.text("reduction", "none")
    if reduction not in _SCATTER_MODES:
        raise ModelError(f"attribute reduction must be one of {', '.join(_SCATTER_MODES)}.")
    return _SCATTER_MODES[reduction]


def translate_scatter_elements(node: OnnxNode, build: Builder) -> Expr:
    """Single elements written, by their index along one axis."""
    data, updates = node.input(0), node.input(2)
    axis = checked_axis(node.integer("axis", 0), rank_of(data))
    indices = valid_indices(build, node.input(1), shape_of(data)[axis])
    mode = _scatter_mode(node)
    return build.call("scatter_elements", data, indices, updates, axis=axis, reduction=mode)


def translate_scatter_nd(node: OnnxNode, build: Builder) -> Expr:
    """Slices written, by vectors of indices; the axes of the updates tell how long these are."""
    data, indices, updates = node.input(0), node.input(1), node.input(2)
    axes = rank_of(data)
    count = rank_of(indices) - 1 + axes - rank_of(updates)
    coordinates = _coordinates_first(build, _index_vectors(build, indices, axes, count))
    return build.call("scatter_nd", data, coordinates, updates, mode=_scatter_mode(node))


def translate_tensor_scatter(node: OnnxNode, build: Builder) -> Expr:
    """New elements of a sequence written into a cache: for each of the batch from an index on."""
    cache, update, first = node.input(0), node.input(1), node.optional(2)
    rank = rank_of(cache)
    axis = checked_axis(node.integer("axis", -2), rank)
    if axis == 0 or rank_of(update) != rank:
        raise ModelError(
            "the cache and what is written need the same axes, the first is the batch."
        )
    mode = node.text("mode", "linear")
    if mode not in ("linear", "circular"):
        raise ModelError(f"attribute mode must be linear or circular, not {mode!r}.")
    indices = positions(build, update, axis)
    if rank - axis > 1:
        indices = build.call("expand_dims", indices, axis=1, num_newaxis=rank - axis - 1)
    if first is not None:
        start = cast_to(build, first, "int64")
        indices = build.call(
            "add", indices, build.call("expand_dims", start, axis=1, num_newaxis=rank - 1)
        )
    if mode == "circular":
        indices = build.call("floor_mod", indices, axis_size(build, cache, axis))
    indices = build.call("broadcast_to_like", indices, update)
    return build.call("scatter_elements", cache, indices, update, axis=axis, reduction="update")


def translate_compress(node: OnnxNode, build: Builder) -> Expr:
    """Slices (or elements) where a condition holds; none where an axis is longer or shorter."""
    data, given = node.input(0), node.input(1)
    if node.has("axis"):
        axis = checked_axis(node.integer("axis"), rank_of(data))
    else:
        data = build.call("reshape", data, newshape=(-1,))
        axis = 0
    size = shape_of(data)[axis]
    if is_known(given) and isinstance(size, int):
        indices = np.flatnonzero(known_array(given, "the condition").reshape(-1)[:size])
        return build.call("take", data, build.constant(indices, "int64"), axis=axis)
    condition = _condition_of_axis(build, build.call("reshape", given, newshape=(-1,)), data, axis)
    chosen = build.call("argwhere", condition)
    return build.call("take", data, build.call("squeeze", chosen, axis=(1,)), axis=axis)


def _condition_of_axis(build: Builder, condition: Expr, data: Expr, axis: int) -> Expr:
    """A condition without what lies beyond the end of an axis."""
    size, length = shape_of(data)[axis], shape_of(condition)[0]
    if isinstance(size, int):
        is_within = isinstance(length, int) and length <= size
        whole = {"begin": (0,), "end": (size,)}
        return condition if is_within else build.call("strided_slice", condition, **whole)
    if length == size and length != UNKNOWN:
        return condition
    end = size_vector(build, [known_size(build, data, axis)])
    begin, step = (build.filled((1,), each, "int64") for each in (0, 1))
    return build.call("dyn.strided_slice", condition, begin, end, step)


def translate_nonzero(node: OnnxNode, build: Builder) -> Expr:
    """The positions of elements that are not zero, one a column."""
    data = node.input(0)
    if is_known(data):
        known = np.atleast_1d(known_array(data, "the data"))
        return build.constant(np.array(np.nonzero(known)), "int64")
    if rank_of(data) == 0:
        data = build.call("expand_dims", data, axis=0)
    return cast_to(build, build.call("transpose", build.call("argwhere", data)), "int64")


INDEXING: Mapping[str, Translator] = {
    "Slice": translate_slice,
    "Gather": translate_gather,
    "GatherElements": translate_gather_elements,
    "GatherND": translate_gather_nd,
    "Scatter": translate_scatter_elements,
    "ScatterElements": translate_scatter_elements,
    "ScatterND": translate_scatter_nd,
    "TensorScatter": translate_tensor_scatter,
    "Compress": translate_compress,
    "NonZero": translate_nonzero,
}
