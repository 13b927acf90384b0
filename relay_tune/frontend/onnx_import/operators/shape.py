"""ONNX operators that change the shape or the order of elements."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from relay_tune.errors import ModelError
from relay_tune.frontend.onnx_import.build import (
    Builder,
    check_size,
    checked_axes,
    checked_axis,
    dtype_of,
    is_known,
    known_integer,
    known_integers,
    rank_of,
    shape_of,
    static_shape,
)
from relay_tune.frontend.onnx_import.node import OnnxNode
from relay_tune.frontend.onnx_import.open_sizes import Size, are_known, axis_size, size_vector
from relay_tune.frontend.onnx_import.operators.elementwise import cast_to
from relay_tune.frontend.onnx_import.operators.reshape import (
    flatten_to_matrix,
    reshape_by_vector,
    reshape_to,
    reshape_with_rest,
)
from relay_tune.frontend.onnx_import.operators.split import translate_split
from relay_tune.frontend.onnx_import.operators.translator import Translator
from relay_tune.frontend.onnx_import.run_time_axes import (
    checked_below,
    int64_vector,
    other_sizes,
    reshaped_at_run_time,
    selected_axes,
    sizes_between_ones,
    sizes_of,
    vector_length,
)
from relay_tune.frontend.onnx_import.symbolic import vector_dims
from relay_tune.ir.dim import Dim, UnknownDim, shape_text
from relay_tune.ir.dim_arithmetic import multiply, subtract
from relay_tune.ir.dim_order import is_never_negative
from relay_tune.ir.expr import Expr


def translate_reshape(node: OnnxNode, build: Builder) -> Expr:
    """New sizes; 0 copies a size (unless `allowzero`), -1 is what is left of the elements."""
    data, shape = node.input(0), node.input(1)
    target, source = vector_dims(build, shape, "the new shape"), shape_of(data)
    allow_zero = node.flag("allowzero", 0)
    if not are_known(target):
        return reshape_by_vector(build, data, shape, target, allow_zero)
    sizes = [
        _copied(source, index) if dim == 0 and not allow_zero else dim
        for index, dim in enumerate(target)
    ]
    if sizes.count(-1) > 1 or any(isinstance(size, int) and size < -1 for size in sizes):
        raise ModelError(f"the new shape {shape_text(target)} is not a shape.")
    return _reshape_with_rest(build, data, sizes)


def _copied(source: Sequence[Dim], axis: int) -> Dim:
    if axis >= len(source):
        raise ModelError(
            f"the new shape copies the size of axis {axis}, but the input has {len(source)} axes."
        )
    return source[axis]


def _reshape_with_rest(build: Builder, data: Expr, sizes: Sequence[Dim]) -> Expr:
    """Reshape to sizes of which one may be -1."""
    if -1 not in sizes:
        return reshape_to(build, data, sizes)
    source = shape_of(data)
    numbers = [size for size in sizes if isinstance(size, int) and size != -1]
    if len(numbers) == len(sizes) - 1 and all(isinstance(dim, int) for dim in source):
        rest = _rest(math.prod(static_shape(data)), math.prod(numbers))
        return reshape_to(build, data, [rest if size == -1 else size for size in sizes])
    return reshape_with_rest(build, data, sizes)


def _rest(count: int, divisor: int) -> int:
    if divisor == 0 or count % divisor:
        raise ModelError(f"{count} elements cannot be divided among {divisor}.")
    return count // divisor


def translate_flatten(node: OnnxNode, build: Builder) -> Expr:
    """Two axes: all before `axis`, and the others."""
    data = node.input(0)
    axis, rank = node.integer("axis", 1), rank_of(data)
    if not -rank <= axis <= rank:
        raise ModelError(f"axis {axis} is out of range for a tensor of {rank} dimension(s).")
    return flatten_to_matrix(build, data, axis + rank if axis < 0 else axis)


def translate_transpose(node: OnnxNode, build: Builder) -> Expr:
    """The axes in another order, reversed by default."""
    data = node.input(0)
    rank = rank_of(data)
    order = node.integers("perm", tuple(reversed(range(rank))))
    if sorted(order) != list(range(rank)):
        raise ModelError(f"perm {order} is no order of {rank} axes.")
    return data if order == tuple(range(rank)) else build.call("transpose", data, axes=order)


def _run_time_axes(node: OnnxNode) -> Expr | None:
    """The axes of Squeeze and Unsqueeze where a run computes them."""
    axes = None if node.opset < 13 else node.optional(1)
    return None if axes is None or is_known(axes) else axes


def _axes(node: OnnxNode) -> tuple[int, ...] | None:
    """The axes of Squeeze and Unsqueeze, an input since version 13."""
    if node.opset < 13:
        return node.integers("axes") if node.has("axes") else None
    axes = node.optional(1)
    return None if axes is None else known_integers(axes, "the input axes")


def translate_squeeze(node: OnnxNode, build: Builder) -> Expr:
    """Without axes of size 1: all of them where none are given, or an empty list.

    Of axes that are not given, those of open sizes stay: a run where such a size is 1 is an error,
    since the result would have another rank.
    """
    data, run_time_axes = node.input(0), _run_time_axes(node)
    if run_time_axes is not None:
        return _squeezed_at_run_time(build, data, run_time_axes)
    given, shape = _axes(node), shape_of(data)
    if not given:
        axes = tuple(index for index, dim in enumerate(shape) if dim == 1)
    else:
        axes = checked_axes(given, len(shape))
    wrong = [axis for axis in axes if isinstance(shape[axis], int) and shape[axis] != 1]
    if wrong:
        raise ModelError(f"axis {wrong[0]} has the size {shape[wrong[0]]}, not 1.")
    if not given and any(map(_may_be_one, shape)):
        return _squeezed_unless_one(build, data)
    return build.call("squeeze", data, axis=axes) if axes else data


def _may_be_one(dim: Dim) -> bool:
    """Whether a size is open, and perhaps 1."""
    return isinstance(dim, UnknownDim) or not (
        isinstance(dim, int) or is_never_negative(subtract(dim, 2))
    )


def _squeezed_unless_one(build: Builder, data: Expr) -> Expr:
    """Without the axes whose size is the number 1; no tensor has the shape where another is 1."""
    sizes: list[Size] = []
    dims = [dim for dim in shape_of(data) if dim != 1]
    for axis, dim in enumerate(shape_of(data)):
        if _may_be_one(dim):
            size = axis_size(build, data, axis)
            is_one = build.call("equal", size, build.like(1, size))
            sizes.append(build.call("where", is_one, build.like(0, size), size))
        elif dim != 1:
            sizes.append(dim)
    vector = size_vector(build, sizes)
    return build.with_shape(reshaped_at_run_time(build, data, vector), dims)


def _squeezed_at_run_time(build: Builder, data: Expr, axes: Expr) -> Expr:
    """Reshaped to the sizes of the axes that are left."""
    count = max(rank_of(data) - vector_length(axes), 0)
    selected = selected_axes(build, axes, rank_of(data))
    sizes = other_sizes(build, sizes_of(build, data), selected, count)
    return reshaped_at_run_time(build, data, sizes)


def translate_unsqueeze(node: OnnxNode, build: Builder) -> Expr:
    """With new axes of size 1, at the given positions of the result."""
    data, run_time_axes = node.input(0), _run_time_axes(node)
    if run_time_axes is not None:
        selected = selected_axes(build, run_time_axes, rank_of(data) + vector_length(run_time_axes))
        sizes = sizes_between_ones(build, sizes_of(build, data), selected)
        return reshaped_at_run_time(build, data, sizes)
    given = _axes(node)
    if given is None:
        raise ModelError("the axes are missing.")
    for axis in sorted(checked_axes(given, rank_of(data) + len(given))):
        data = build.call("expand_dims", data, axis=axis)
    return data


def translate_concat(node: OnnxNode, build: Builder) -> Expr:
    """Tensors one after another along an axis."""
    inputs = node.all_inputs()
    axis = checked_axis(node.integer("axis"), rank_of(inputs[0]))
    if len(inputs) == 1:
        return inputs[0]
    return build.call("concatenate", build.tuple_of(inputs), axis=axis)


def translate_tile(node: OnnxNode, build: Builder) -> Expr:
    """Repetitions along each axis."""
    data = node.input(0)
    wanted = vector_dims(build, node.input(1), "the input repeats")
    if not all(isinstance(number, int) for number in wanted):
        tiled = build.call("dyn.tile", data, int64_vector(build, node.input(1)))
        pairs = zip(shape_of(data), wanted, strict=True)
        return build.with_shape(tiled, [multiply(size, number) for size, number in pairs])
    repeats = tuple(number for number in wanted if isinstance(number, int))
    if len(repeats) != rank_of(data) or any(number < 0 for number in repeats):
        raise ModelError(f"{repeats} are no repetitions of a tensor of {rank_of(data)} axes.")
    _check_result(data, repeats)
    if 0 in repeats:
        shape = static_shape(data)
        empty = [dim * number for dim, number in zip(shape, repeats, strict=True)]
        return build.filled(empty, 0, dtype_of(data))
    return data if set(repeats) <= {1} else build.call("tile", data, reps=repeats)


def _check_result(data: Expr, repeats: Sequence[int]) -> None:
    sizes = [dim for dim in shape_of(data) if isinstance(dim, int)]
    check_size(math.prod(sizes) * math.prod(repeats), dtype_of(data))


def translate_trilu(node: OnnxNode, build: Builder) -> Expr:
    """The upper or lower triangle of matrices, 0 elsewhere."""
    given = node.optional(1)
    if given is not None and not is_known(given):
        return _open_trilu(node, build, given)
    offset = 0 if given is None else known_integer(given, "the input k")
    rows, columns = shape_of(node.input(0))[-2:]
    bound = max(d for d in (rows, columns, 1) if isinstance(d, int)) + 1
    if isinstance(rows, int) and isinstance(columns, int):
        offset = max(-bound, min(bound, offset))
    diagonal = build.constant(offset, "int32")
    upper = node.flag("upper", 1)
    return build.call("trilu", node.input(0), diagonal, upper=upper)


def _open_trilu(node: OnnxNode, build: Builder, offset: Expr) -> Expr:
    """A triangle whose diagonal only a run knows."""
    diagonal = build.call("reshape", cast_to(build, offset, "int32"), newshape=())
    return build.call("trilu", node.input(0), diagonal, upper=node.flag("upper", 1))


def translate_reverse_sequence(node: OnnxNode, build: Builder) -> Expr:
    """The first elements of each batch row in reverse order, as many as its length says."""
    time, batch = node.integer("time_axis", 0), node.integer("batch_axis", 1)
    if sorted((time, batch)) != [0, 1]:
        raise ModelError("time_axis and batch_axis must be 0 and 1, or 1 and 0.")
    data, lengths = node.input(0), node.input(1)
    limit = build.call("add", axis_size(build, data, time), build.constant(1))
    lengths = checked_below(build, lengths, limit)
    return build.call("reverse_sequence", data, lengths, seq_axis=time, batch_axis=batch)


SHAPES: Mapping[str, Translator] = {
    "Reshape": translate_reshape,
    "Flatten": translate_flatten,
    "Transpose": translate_transpose,
    "Squeeze": translate_squeeze,
    "Unsqueeze": translate_unsqueeze,
    "Concat": translate_concat,
    "Split": translate_split,
    "Tile": translate_tile,
    "Trilu": translate_trilu,
    "ReverseSequence": translate_reverse_sequence,
}
