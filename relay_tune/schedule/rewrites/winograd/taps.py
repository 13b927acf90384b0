"""The transformed taps of Winograd's filtering: a constant, or a stage where they are arguments.

    u[k, .., c, o] = G g G^T of the taps g[.., c, o]

Constants are transformed when the program is planned, and packed as any constant is. What is only
known at run time is transformed once in each call, into panels that the products read in a line:

    panel[k, o // 64, .., c, o % 64] = u[k, .., c, o]
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from relay_tune.schedule.nests.panels import panel_width
from relay_tune.schedule.nests.rewritten_stages import Rewriting
from relay_tune.schedule.rewrites.winograd.match import Convolution
from relay_tune.schedule.rewrites.winograd.tile_elements import row_and_column, two_passes
from relay_tune.schedule.rewrites.winograd.transforms import (
    PlaneFiltering,
    rows_of_taps,
    transformed_taps,
)
from relay_tune.tensor.expression import Load, Scalar, Tensor
from relay_tune.tensor.scalar_semantics import Array, numpy_dtype
from relay_tune.tensor.tensor import compute, input_tensor
from relay_tune.tensor.walk import substitute

Taps = Callable[..., Scalar]
"""taps(k, .., c, o): element k of the transformed taps of channels c and o."""


def taps_of(convolution: Convolution, filtering: PlaneFiltering, rewriting: Rewriting) -> Taps:
    """The transformed taps of a convolution, for the stages that replace it."""
    if all(tensor in rewriting.constants for tensor in convolution.weight_tensors):
        return _constant(convolution, filtering, rewriting)
    return _in_panels(convolution, filtering, rewriting)


def _constant(convolution: Convolution, filtering: PlaneFiltering, rewriting: Rewriting) -> Taps:
    weights = convolution.weight_tensors
    shape = (filtering.products, *convolution.taps_shape[2:])
    dtype = convolution.numbers.transformed

    def transformed(arrays: Mapping[Tensor, Array]) -> Array:
        return transformed_taps(filtering, convolution.taps(arrays), numpy_dtype(dtype))

    taps = input_tensor(f"{weights[0].name}_taps", shape, dtype)
    constant = rewriting.constant(taps, weights, transformed)
    return lambda *at: constant[at]


def _in_panels(convolution: Convolution, filtering: PlaneFiltering, rewriting: Rewriting) -> Taps:
    *steps, outputs = convolution.taps_shape[2:]
    width = panel_width(outputs) or outputs
    extents = filtering.rows.products, filtering.columns.products
    maps = rows_of_taps(filtering.rows), rows_of_taps(filtering.columns)
    axes = (*convolution.steps, convolution.stage.axes[-1])

    def element(k: Scalar, block: Scalar, *at: Scalar) -> Scalar:
        *step, index = at

        def tap(row: int, column: int) -> Scalar:
            own = dict(zip(axes, (*step, block * width + index), strict=True))
            read = substitute(convolution.weights[row][column], own)
            assert isinstance(read, Load)
            return rewriting.now(read.tensor)[read.indices]

        return two_passes(maps, tap, convolution.tap_counts, row_and_column(k, extents))

    shape = (filtering.products, outputs // width, *steps, width)
    panels = compute("winograd_taps", shape, element)

    def read(k: Scalar, *at: Scalar) -> Scalar:
        *step, o = at
        return panels[(k, o // width, *step, o % width)]

    return read
