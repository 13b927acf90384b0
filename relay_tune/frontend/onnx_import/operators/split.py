"""Parts of an axis of given sizes, also of sizes that only a run tells.

Split(x, sizes)     the parts, as many as the node has outputs; the run ends in an error if the
                    sizes do not make up that of the axis
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from itertools import pairwise

from relay_tune.errors import ModelError
from relay_tune.frontend.onnx_import.build import Builder, checked_axis, rank_of, shape_of
from relay_tune.frontend.onnx_import.node import OnnxNode
from relay_tune.frontend.onnx_import.open_sizes import are_known, axis_size
from relay_tune.frontend.onnx_import.operators.open_slice import part_of_axis
from relay_tune.frontend.onnx_import.run_time_axes import (
    int64_vector,
    range_at_run_time,
    reshaped_at_run_time,
    sizes_of,
)
from relay_tune.frontend.onnx_import.symbolic import vector_dims
from relay_tune.frontend.onnx_import.symbolic_rules import is_equal
from relay_tune.ir.dim import Dim, UnknownDim, shape_text
from relay_tune.ir.dim_arithmetic import add, floor_divide, multiply, subtract
from relay_tune.ir.expr import Expr


def translate_split(node: OnnxNode, build: Builder) -> list[Expr]:
    """Parts along an axis: of given sizes, or as equal as can be."""
    data = node.input(0)
    axis = checked_axis(node.integer("axis", 0), rank_of(data))
    if node.opset >= 13 and node.optional(1) is not None:
        return parts_of_sizes(build, data, axis, node.input(1))
    if node.opset < 13 and node.has("split"):
        return _parts(build, data, axis, node.integers("split"))
    return _equal_parts(node, build, data, axis)


def parts_of_sizes(build: Builder, data: Expr, axis: int, given: Expr) -> list[Expr]:
    """The parts of an axis, whose sizes are the elements of a vector of known length."""
    sizes = vector_dims(build, given, "the input split")
    if are_known(sizes):
        return _parts(build, data, axis, sizes)
    ends, positions = ends_of_sizes(build, data, axis, given)
    found = [build.call("take", ends, build.constant(n), axis=0) for n in range(len(sizes))]
    indices = [
        build.call("take", positions, range_at_run_time(build, *bounds), axis=0)
        for bounds in pairwise([build.constant(0), *found])
    ]
    return [build.call("take", data, each, axis=axis) for each in indices]


def ends_of_sizes(build: Builder, data: Expr, axis: int, given: Expr) -> tuple[Expr, Expr]:
    """Where parts of given sizes end, and the positions 0, 1 .. of the axis, int64 vectors.

    Computing the positions ends in an error if the sizes do not add up to that of the axis, or if
    one is negative.
    """
    sizes, length = int64_vector(build, given), axis_size(build, data, axis)
    is_negative = build.call("less", sizes, build.constant(0))
    too_much = build.call("add", length, build.constant(1))
    ends = build.call("cumsum", build.call("where", is_negative, too_much, sizes), axis=0)
    total = build.call("sum", build.call("where", is_negative, too_much, sizes), axis=(0,))
    numbers, size = range_at_run_time(build, build.constant(0), total), shape_of(data)[axis]
    if not isinstance(size, UnknownDim):
        return ends, build.with_shape(numbers, (size,))
    return ends, reshaped_at_run_time(build, numbers, build.call("expand_dims", length, axis=0))


def _parts(build: Builder, data: Expr, axis: int, sizes: Sequence[Dim]) -> list[Expr]:
    """Parts of sizes that are numbers or follow from sizes of inputs."""
    total = shape_of(data)[axis]
    nothing: Dim = 0
    wrong = any(isinstance(size, int) and size < 0 for size in sizes)
    if wrong or not sizes or is_equal(reduce(add, sizes), total) == 0:
        raise ModelError(f"the sizes {shape_text(tuple(sizes))} do not add up to {total}.")
    ends = [reduce(add, sizes[:index], nothing) for index in range(len(sizes) + 1)]
    if ends[-1] != total:
        shape = list(shape_of(data))
        shape[axis] = ends[-1]
        data = build.with_shape(data, shape)
    if len(sizes) == 1:
        return [data]
    numbers = [end for end in ends if isinstance(end, int)]
    if len(numbers) < len(ends):
        return [part_of_axis(build, data, axis, bounds) for bounds in pairwise(ends)]
    inner = tuple(numbers[1:-1])
    parts = build.call("split", data, indices_or_sections=inner, axis=axis)
    return [build.item(parts, index) for index in range(len(sizes))]


def _equal_parts(node: OnnxNode, build: Builder, data: Expr, axis: int) -> list[Expr]:
    """As many parts as are wanted, of one size, of which the last one may be shorter."""
    total = shape_of(data)[axis]
    count = node.integer("num_outputs", len(node.wanted)) if node.opset >= 18 else len(node.wanted)
    if isinstance(total, UnknownDim):
        return _open_equal_parts(build, data, axis, count)
    if not isinstance(total, int):
        part = floor_divide(add(total, count - 1), count)
        rest = subtract(total, multiply(part, count - 1))
        return _parts(build, data, axis, (*[part] * (count - 1), rest))
    if not 1 <= count <= max(total, 1) and count != len(node.wanted):
        raise ModelError(f"an axis of size {total} cannot be split into {count} parts.")
    size = -(-total // count)
    sizes = [max(0, min(size, total - index * size)) for index in range(count)]
    return _parts(build, data, axis, sizes)


def _open_equal_parts(build: Builder, data: Expr, axis: int, count: int) -> list[Expr]:
    """Equal parts of an axis whose size has no name."""
    if count == 1:
        return [data]
    size = build.call("take", sizes_of(build, data), build.constant([axis]), axis=0)
    rounded_up = build.call("add", size, build.constant([count - 1]))
    part = build.call("floor_divide", rounded_up, build.constant([count]))
    ends = build.call("multiply", part, build.constant(list(range(1, count + 1))))
    ends = build.call("minimum", ends, size)
    found = [build.call("take", ends, build.constant(index), axis=0) for index in range(count)]
    ranges = [range_at_run_time(build, *bounds) for bounds in pairwise([build.constant(0), *found])]
    return [build.call("take", data, each, axis=axis) for each in ranges]
