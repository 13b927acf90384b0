"""Padding by widths, or of sizes, that only a run knows.

i = (0, 1, 2 ..) - before;   take(x, i brought into the axis), or the value where i is outside
"""

from __future__ import annotations

from relay_tune.frontend.onnx_import.build import Builder, rank_of, shape_of
from relay_tune.frontend.onnx_import.open_sizes import axis_size, numbers_below
from relay_tune.frontend.onnx_import.run_time_axes import range_at_run_time
from relay_tune.ir.dim import Dim, UnknownDim
from relay_tune.ir.dim_arithmetic import add
from relay_tune.ir.expr import Expr

Width = tuple[Dim, Expr]
"""A width as a dimension, `?` where it is none, and as an int64 scalar."""


def padded_axis(
    build: Builder, data: Expr, axis: int, widths: tuple[Width, Width], mode: str, value: Expr
) -> Expr:
    """`data` with elements before and behind those of one axis; negative widths cut off.

    `mode` is constant (elements of a scalar value), edge, reflect or wrap.
    """
    (before, before_count), (after, after_count) = widths
    size = shape_of(data)[axis]
    count = axis_size(build, data, axis)
    wanted = add(add(before, size), after)
    if isinstance(wanted, UnknownDim):
        total = build.call("add", build.call("add", before_count, count), after_count)
        numbers = range_at_run_time(build, build.constant(0, "int64"), total)
    else:
        numbers = numbers_below(build, wanted)
    positions = build.call("subtract", numbers, before_count)
    one = build.constant(1, "int64")
    last = build.call("subtract", count, one)
    inner = _brought_inside(build, positions, count, last, mode)
    taken = build.call("take", data, inner, axis=axis)
    if mode != "constant":
        return taken
    is_inside = build.call("equal", positions, inner)
    behind = rank_of(data) - axis - 1
    if behind:
        is_inside = build.call("expand_dims", is_inside, axis=1, num_newaxis=behind)
    return build.call("where", is_inside, taken, value)


def _brought_inside(build: Builder, positions: Expr, count: Expr, last: Expr, mode: str) -> Expr:
    """For each position the index of the element that it shows."""
    zero = build.constant(0, "int64")
    match mode:
        case "wrap":
            return build.call("floor_mod", positions, count)
        case "reflect":
            period = build.call("add", last, last)
            period = build.call("maximum", period, build.constant(1, "int64"))
            folded = build.call("floor_mod", positions, period)
            return build.call("minimum", folded, build.call("subtract", period, folded))
        case _:
            return build.call("maximum", build.call("minimum", positions, last), zero)
