"""ONNX operators that make tensors from attributes, shapes or numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from relay_tune.errors import ModelError
from relay_tune.frontend.onnx_import.build import (
    Builder,
    check_size,
    checked_axis,
    dtype_of,
    is_known,
    known_scalar,
    rank_of,
    shape_of,
    static_dim,
    weight,
)
from relay_tune.frontend.onnx_import.node import OnnxNode
from relay_tune.frontend.onnx_import.open_sizes import (
    are_known,
    filled_to_sizes,
    numbers_below,
    positions,
)
from relay_tune.frontend.onnx_import.operators.elementwise import cast_to
from relay_tune.frontend.onnx_import.operators.translator import Translator
from relay_tune.frontend.onnx_import.run_time_axes import range_at_run_time
from relay_tune.frontend.onnx_import.symbolic import known_dims, vector_dims
from relay_tune.frontend.onnx_import.symbolic_rules import dimensions
from relay_tune.frontend.onnx_import.tensor import unsupported_strings
from relay_tune.frontend.onnx_import.types import dtype_name, numpy_dtype
from relay_tune.ir.dim import Dim, shape_text
from relay_tune.ir.dim_arithmetic import add, floor_divide, multiply, subtract
from relay_tune.ir.dim_order import is_never_negative
from relay_tune.ir.expr import Expr


def translate_constant(node: OnnxNode, build: Builder) -> Expr:
    """A constant, in any of the forms of its attribute."""
    if len(node.attributes) != 1:
        raise ModelError(f"a constant has {len(node.attributes)} values instead of one.")
    match next(iter(node.attributes)):
        case "value":
            value = weight(node.tensor("value"))
            build.note_element_type(value, node.element_type("value"))
            return value
        case "sparse_value":
            return weight(node.sparse_tensor("sparse_value"))
        case "value_int":
            return build.constant(node.integer("value_int"), "int64")
        case "value_ints":
            return build.constant(np.array(node.integers("value_ints"), np.int64))
        case "value_float":
            return build.constant(node.number("value_float"), "float32")
        case "value_floats":
            return build.constant(np.array(node.numbers("value_floats"), np.float32))
        case "value_string" | "value_strings":
            raise unsupported_strings("the constant")
        case other:
            raise ModelError(f"a constant has no attribute {other!r}.")


def translate_constant_of_shape(node: OnnxNode, build: Builder) -> Expr:
    """A tensor of one value, of a shape that is a vector."""
    vector = node.input(0)
    shape = vector_dims(build, vector, "the shape")
    if any(isinstance(size, int) and size < 0 for size in shape):
        raise ModelError(f"the shape {shape_text(shape)} has a negative size.")
    value = node.tensor("value") if node.has("value") else np.zeros(1, np.float32)
    if value.size != 1:
        raise ModelError(f"attribute value has {value.size} elements instead of one.")
    number, dtype = value.reshape(())[()], value.dtype.name
    numbers = [size for size in shape if isinstance(size, int)]
    check_size(math.prod(numbers), dtype)
    if len(numbers) == len(shape):
        return build.filled(numbers, number, dtype)
    if are_known(shape):
        return filled_to_sizes(build, number, dtype, shape)
    sizes = cast_to(build, vector, "int64")
    filled = build.call("dyn.full", build.constant(number, dtype), sizes, dtype=dtype)
    return build.with_shape(filled, shape)


def translate_shape(node: OnnxNode, build: Builder) -> Expr:
    """The sizes from axis `start` to axis `end`."""
    data = node.input(0)
    rank = rank_of(data)
    chosen = slice(node.integer("start", 0), node.integer("end", rank))
    dims = shape_of(data)[chosen]
    numbers = [dim for dim in dims if isinstance(dim, int)]
    if len(numbers) == len(dims):
        return build.constant(np.array(numbers, np.int64))
    sizes = build.call("shape_of", data, dtype="int64")
    begin, end, _ = chosen.indices(rank)
    if (begin, end) != (0, rank):
        sizes = build.call("strided_slice", sizes, begin=(begin,), end=(end,), strides=(1,))
    build.symbolic[sizes] = dimensions(dims)
    return sizes


def translate_size(node: OnnxNode, build: Builder) -> Expr:
    """The number of elements."""
    data = node.input(0)
    count: Dim = 1
    for dim in shape_of(data):
        count = multiply(count, dim)
    if isinstance(count, int):
        return build.constant(count, "int64")
    size = cast_to(build, build.call("ndarray_size", data, dtype="int64"), "int64")
    build.symbolic[size] = dimensions([count]).reshape(())
    return size


def translate_range(node: OnnxNode, build: Builder) -> Expr:
    """start, start + delta, ... below limit."""
    bounds = [node.input(index) for index in range(3)]
    if not all(is_known(each) for each in bounds):
        return _open_range(build, *bounds)
    start, limit, delta = (
        known_scalar(each, name)
        for each, name in zip(bounds, ("start", "limit", "delta"), strict=True)
    )
    if delta == 0 or not all(math.isfinite(each) for each in (start, limit, delta)):
        raise ModelError("the step of the range is 0, or a bound is not finite.")
    dtype = dtype_of(node.input(0))
    if isinstance(start, int):
        count = max(0, -((start - limit) // delta))
    else:
        count = max(0, math.ceil((limit - start) / delta))
    check_size(count, dtype)
    if count > 0 and isinstance(start, int):
        values = np.arange(count, dtype=np.int64) * delta + start
        return build.constant(values.astype(numpy_dtype(dtype)))
    steps = np.arange(count).astype(numpy_dtype(dtype))
    scale, offset = numpy_dtype(dtype).type(delta), numpy_dtype(dtype).type(start)
    return build.constant(steps * scale + offset)


def _open_range(build: Builder, *bounds: Expr) -> Expr:
    """A range between bounds that only a run knows; its length is told where sizes make it."""
    scalars = [build.call("reshape", each, newshape=()) for each in bounds]
    numbers = build.call("dyn.arange", *scalars, dtype=dtype_of(bounds[0]))
    known = [known_dims(build, each) for each in bounds]
    if any(each is None for each in known):
        return numbers
    first, last, step = (each[0] for each in known if each is not None)
    if not isinstance(step, int) or step < 1:
        return numbers
    count = floor_divide(add(subtract(last, first), step - 1), step)
    if not is_never_negative(subtract(last, first)):
        return numbers
    return build.with_shape(numbers, (count,))


def translate_eye_like(node: OnnxNode, build: Builder) -> Expr:
    """Ones on a diagonal."""
    data = node.input(0)
    if rank_of(data) != 2:
        raise ModelError(f"expects 2 dimensions, but the input has {rank_of(data)}.")
    dtype = dtype_name(node.integer("dtype"), "the result") if node.has("dtype") else dtype_of(data)
    rows, columns = shape_of(data)
    if not isinstance(rows, int) or not isinstance(columns, int):
        return _open_eye(build, data, node.integer("k", 0), dtype)
    check_size(rows * columns, dtype)
    offset = max(-rows, min(columns, node.integer("k", 0)))
    return build.constant(np.eye(rows, columns, offset, numpy_dtype(dtype)))


def _open_eye(build: Builder, data: Expr, offset: int, dtype: str) -> Expr:
    """Ones on a diagonal of a matrix as large as another, of sizes that only a run knows."""
    row, column = positions(build, data, 0), positions(build, data, 1)
    row = build.call("add", row, build.constant(offset, "int64"))
    row = build.call("expand_dims", row, axis=1)
    return build.call("cast", build.call("equal", row, column), dtype=dtype)


def translate_one_hot(node: OnnxNode, build: Builder) -> Expr:
    """For each index a vector with one element on and the others off."""
    indices, values = cast_to(build, node.input(0), "int64"), node.input(2)
    rank = rank_of(indices)
    axis = checked_axis(node.integer("axis", -1), rank + 1)
    depth, positions = _depth(build, node.input(1))
    zero, wrapped = build.like(0, indices), build.call("add", indices, depth)
    indices = build.call("where", build.call("less", indices, zero), wrapped, indices)
    if axis < rank:
        positions = build.call("expand_dims", positions, axis=1, num_newaxis=rank - axis)
    chosen = build.call("equal", build.call("expand_dims", indices, axis=axis), positions)
    off, on = (_element(build, values, position) for position in (0, 1))
    return build.call("where", chosen, on, off)


def _depth(build: Builder, given: Expr) -> tuple[Expr, Expr]:
    """How long the vectors are, and the positions in them."""
    if not is_known(given):
        depth = cast_to(build, build.call("reshape", given, newshape=()), "int64")
        known = known_dims(build, given)
        if known is not None:
            return depth, numbers_below(build, known[0])
        return depth, range_at_run_time(build, build.constant(0), depth)
    count = int(known_scalar(given, "the depth"))
    if count < 1:
        raise ModelError(f"the depth {count} is not positive.")
    check_size(count, "int64")
    return build.constant(count, "int64"), build.constant(np.arange(count), "int64")


def _element(build: Builder, values: Expr, position: int) -> Expr:
    if rank_of(values) != 1 or static_dim(shape_of(values)[0]) != 2:
        raise ModelError("the input values must hold two elements: off and on.")
    return build.call("take", values, build.constant(position, "int64"), axis=0)


_WINDOWS: Mapping[str, tuple[float, ...]] = {
    "HannWindow": (0.5, -0.5),
    "HammingWindow": (25 / 46, -21 / 46),
    "BlackmanWindow": (0.42, -0.5, 0.08),
}
"""The amplitudes of cosines of 0, 1 and 2 turns."""


def translate_window(node: OnnxNode, build: Builder) -> Expr:
    """Hann, Hamming and Blackman windows: sums of cosines."""
    dtype = dtype_name(node.integer("output_datatype", 1), "the result")
    size, indices = _window_indices(build, node.input(0))
    if not node.flag("periodic", 1):
        size = build.call("maximum", build.call("subtract", size, build.like(1, size)), _one(build))
    turns = build.call("divide", indices, size)
    angle = build.call("multiply", turns, build.like(2 * np.pi, turns))
    window: Expr = build.call("zeros_like", angle)
    for turn, amplitude in enumerate(_WINDOWS[node.operator]):
        wave = build.call("cos", build.call("multiply", angle, build.like(turn, angle)))
        window = build.call(
            "add", window, build.call("multiply", wave, build.like(amplitude, wave))
        )
    return cast_to(build, window, dtype)


def _one(build: Builder) -> Expr:
    return build.constant(1, "float64")


def _window_indices(build: Builder, given: Expr) -> tuple[Expr, Expr]:
    """How many elements a window has, and 0, 1, ... for them, both float64."""
    if not is_known(given):
        size = cast_to(build, build.call("reshape", given, newshape=()), "int64")
        indices = range_at_run_time(build, build.constant(0), size)
        return cast_to(build, size, "float64"), cast_to(build, indices, "float64")
    count = int(known_scalar(given, "the size"))
    if count < 1:
        raise ModelError(f"a window needs a positive size, not {count}.")
    check_size(count, "float64")
    return build.constant(count, "float64"), build.constant(np.arange(count), "float64")


CONSTANTS: Mapping[str, Translator] = {
    "Constant": translate_constant,
    "ConstantOfShape": translate_constant_of_shape,
    "Shape": translate_shape,
    "Size": translate_size,
    "Range": translate_range,
    "EyeLike": translate_eye_like,
    "OneHot": translate_one_hot,
    "HannWindow": translate_window,
    "HammingWindow": translate_window,
    "BlackmanWindow": translate_window,
}
