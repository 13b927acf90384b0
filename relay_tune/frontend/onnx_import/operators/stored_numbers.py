"""Real numbers that ONNX stores as integers with scales and zero points.

They become qnn.dequantize and qnn.quantize, of which the pass to integers knows how they pass other
operators, wherever parameters are those of these.
"""

from __future__ import annotations

import numpy as np

from relay_tune.errors import QUANTIZE_AGAIN, ModelError
from relay_tune.frontend.onnx_import.build import Builder, checked_axis, dtype_of, rank_of, shape_of
from relay_tune.frontend.onnx_import.narrow_types import NarrowType
from relay_tune.frontend.onnx_import.operators.convolution import along_axis
from relay_tune.frontend.onnx_import.operators.elementwise import cast_to
from relay_tune.frontend.onnx_import.operators.narrow import noted
from relay_tune.frontend.onnx_import.types import integer_range, is_integer
from relay_tune.ir.expr import Constant, Expr
from relay_tune.typing.relations.quantization import STORED

QUANTIZE_FINITE = (
    "What it is a scale of had infinities in it, as masks of attention have: leave such nodes out "
    "(nodes_to_exclude of onnxruntime's quantizer), or limit the masks, and quantize again."
)


def real_numbers(
    build: Builder, data: Expr, scale: Expr, zero: Expr | None, axis: int = -1
) -> Expr:
    """(data - zero) * scale in float32; vectors count an axis, other parameters broadcast."""
    check_parameters(build, data, scale, zero)
    scale = cast_to(build, scale, "float32")
    plain = plainly_real(build, data, scale, zero, axis)
    if plain is not None:
        return plain
    wide = cast_to(build, data, "float32")
    if zero is not None:
        zero = cast_to(build, _broadcast(build, data, zero, axis), "float32")
        wide = build.call("subtract", wide, zero)
    return build.call("multiply", wide, _broadcast(build, data, scale, axis))


def check_parameters(build: Builder, data: Expr, scale: Expr, zero: Expr | None) -> None:
    """Raise ModelError where what is stored cannot be read with a scale and a zero point."""
    check_scale(scale)
    if zero is None:
        return
    stored, found = (build.narrow.get(each, dtype_of(each)) for each in (data, zero))
    if stored != found:
        raise ModelError(
            f"the zero point is {found}, but the data are {stored}.", remedy=QUANTIZE_AGAIN
        )


def check_scale(scale: Expr, *, divides: bool = False) -> None:
    """Raise ModelError where a constant scale is infinite or no number, or one that divides is 0.

    Channels of zeros may have a scale of 0 among others.
    """
    if not isinstance(scale, Constant):
        return
    values = scale.data.astype(np.float64)
    if not np.isfinite(values).all():
        raise ModelError("a scale is infinite or no number.", remedy=QUANTIZE_FINITE)
    if divides and values.size and not values.any():
        raise ModelError("the scale that data are divided by is 0.", remedy=QUANTIZE_AGAIN)


def plainly_real(
    build: Builder, data: Expr, scale: Expr, zero: Expr | None, axis: int
) -> Expr | None:
    """The same as qnn.dequantize, which is not computed now: what weights are stored as is kept.

    None where the scale is not in float32, or parameters have more than one axis.
    """
    if dtype_of(scale) != "float32" or not is_integer(dtype_of(data)):
        return None
    parameters = _vectors(build, data, scale, zero, axis)
    if parameters is None:
        return None
    scale, zero, axis = parameters
    if zero is None:
        zero = build.constant(0, dtype_of(data))
    return build.deferred("qnn.dequantize", data, scale, zero, axis=axis)


def stored_numbers(
    build: Builder, data: Expr, scale: Expr, zero: Expr | None, dtype: str, axis: int = -1
) -> Expr:
    """round(data / scale) + zero, half to even, limited to the range of `dtype`."""
    check_scale(scale, divides=True)
    scale = cast_to(build, scale, dtype_of(data))
    plain = plainly_stored(build, data, scale, zero, dtype, axis)
    if plain is not None:
        return plain
    offset = None if zero is None else _broadcast(build, data, zero, axis)
    ratio = build.call("divide", data, _broadcast(build, data, scale, axis))
    return rounded_numbers(build, ratio, offset, dtype)


def plainly_stored(
    build: Builder, data: Expr, scale: Expr, zero: Expr | None, dtype: str, axis: int
) -> Expr | None:
    """The same as qnn.quantize; None where it has no such types, or no such parameters."""
    if not dtype_of(data) == dtype_of(scale) == "float32" or dtype not in STORED:
        return None
    parameters = _vectors(build, data, scale, zero, axis)
    if parameters is None:
        return None
    scale, zero, axis = parameters
    if zero is None:
        zero = build.constant(0, dtype)
    return build.call("qnn.quantize", data, scale, zero, out_dtype=dtype, axis=axis)


def rounded_numbers(
    build: Builder, ratio: Expr, zero: Expr | None, target: str | NarrowType
) -> Expr:
    """round(ratio) + zero, half to even, limited to the range of a type."""
    rounded = build.call("round", ratio)
    if dtype_of(rounded) in ("float16", "bfloat16"):  # they have no 32767, nor sums with it
        rounded = cast_to(build, rounded, "float32")
    if zero is not None:
        rounded = build.call("add", rounded, cast_to(build, zero, dtype_of(rounded)))
    if isinstance(target, str):
        return _limited(build, rounded, integer_range(target), target)
    return noted(build, _limited(build, rounded, target.range, target.storage), target)


def _limited(build: Builder, data: Expr, bounds: tuple[int, int], dtype: str) -> Expr:
    """Rounded floats limited to bounds, as an integer type that has them.

    NaN becomes the lower one, as in onnxruntime: it is not above it.
    """
    low, high = (build.like(bound, data) for bound in bounds)
    data = build.call("where", build.call("greater", data, low), data, low)
    return cast_to(build, build.call("minimum", data, high), dtype)


def _vectors(
    build: Builder, data: Expr, scale: Expr, zero: Expr | None, axis: int
) -> tuple[Expr, Expr | None, int] | None:
    """Scale and zero point as scalars or vectors, and their axis; None if they have more axes."""
    given = [each for each in (scale, zero) if each is not None]
    if any(rank_of(each) > 1 for each in given):
        return None
    found = [
        build.settled(build.call("reshape", each, newshape=()) if shape_of(each) == (1,) else each)
        for each in given
    ]
    if any(rank_of(each) for each in found):
        axis = checked_axis(axis, rank_of(data))
    else:
        axis = -1
    return found[0], found[1] if zero is not None else None, axis


def _broadcast(build: Builder, data: Expr, parameter: Expr, axis: int) -> Expr:
    """A parameter shaped so that it broadcasts to the data."""
    if rank_of(parameter) > 1:
        return parameter
    rank = rank_of(data)
    return along_axis(build, parameter, rank, checked_axis(axis, rank) if rank else 0)
